"""Gumbel AlphaZero: worked numbers, a plain twin, and mctx's own results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DOUBLE_MOVE, OWN_GAMES, SUPPORT
from plain_mcts import PlainGumbel, assert_same_tree
from searching import FakeInference, after, planes_network, random_states
from targets import rows_of_targets
from trees import action_at, by_action, root_with

from azero.config.schema import Config, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.random_stream import new_stream, next_float
from azero.players import make_player
from azero.players.pv_mcts import PvMcts
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.search.algorithm import check
from azero.search.cache import cache_of
from azero.search.gumbel import (
    Gumbel,
    choose_gumbel,
    draw_noise,
    improved_policy,
    improved_value,
    make_gumbel,
    select_inner,
    select_root,
    visit_sequence,
    write_advantages,
    write_noise,
)
from azero.search.mcts import receive_evaluations, search_wave, write_rows
from azero.search.puct import make_puct, mean_value
from azero.search.repetition import ban
from azero.search.root import Temperature
from azero.search.scratch import make_scratch
from azero.search.searches import start_searches
from azero.search.tree import ROOT, Tree, edges_of, make_tree
from azero.workers.threads import GameQueue, play_games

CASES = json.loads((SUPPORT / "mctx_gumbel.json").read_text())["cases"]


def gumbel(num_actions: int, num_simulations: int = 8, **settings: Any) -> Gumbel:
    return make_gumbel(
        SearchConfig(kind="gumbel", num_simulations=num_simulations, **settings), 1, num_actions
    )


@pytest.mark.parametrize(
    "considered, num_simulations, expected",
    [
        (1, 3, [0, 1, 2]),
        (2, 5, [0, 0, 1, 1, 2]),
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),
        # two phases share sixteen: four actions twice, then two actions four times
        (4, 16, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        # three actions need two phases too; 7 // (2 * 3) = 1 visit each, then the better two share what is
        # left
        (3, 7, [0, 0, 0, 1, 1, 2, 2]),
        (16, 5, [0, 0, 0, 0, 0]),
    ],
)
def test_sequential_halving_as_a_list(considered: int, num_simulations: int, expected: list[int]) -> None:
    assert visit_sequence(considered, num_simulations) == expected


@given(st.integers(1, 40), st.integers(1, 300))
def test_halving_never_asks_for_an_action_that_has_not_been_visited_that_often(
    considered: int, num_simulations: int
) -> None:
    visits = [0] * considered
    for wanted in visit_sequence(considered, num_simulations):
        visits[visits.index(wanted)] += 1  # ValueError if nobody has so many
    assert sum(visits) == num_simulations


@pytest.mark.parametrize("num_simulations, expected", [(16, (2, 3)), (8, (0, 1))])
def test_a_search_halves_by_its_budget(num_simulations: int, expected: tuple[int, int]) -> None:
    """The seventh simulation of sixteen goes to any of four (0000 1111 ...), of eight to the better two (0000
    11 22).
    """
    settings = make_gumbel(SearchConfig(kind="gumbel", num_simulations=num_simulations), 1, 4)
    assert settings.considered_visits.shape == (5, num_simulations)
    tree = root_with([0.25] * 4, [2, 2, 1, 1], [0.0] * 4)
    assert select_root(tree, 0, settings) in expected


def test_advantages_by_hand() -> None:
    # Action 0: two visits, mean 0.5; action 1: one visit, mean -0.25; actions 2 and 3 are not visited. The
    # network says 0.1.
    # Weighted mean (0.4 * 0.5 + 0.2 * -0.25) / 0.6 = 0.25; mixed (0.1 + 3 * 0.25) / 4 = 0.2125.
    # Stretched from [-0.25, 0.5]: 1, 0, 0.61667; times (50 + 2) * 0.1 = 5.2.
    tree = with_value(root_with([0.4, 0.2, 0.3, 0.1], [2, 1, 0, 0], [1.0, -0.25, 0.0, 0.0]), 0.1)
    settings = gumbel(4)
    write_advantages(tree, 0, ROOT, settings)
    assert settings.advantage == pytest.approx([5.2, 0, 5.2 * 0.4625 / 0.75, 5.2 * 0.4625 / 0.75], abs=1e-5)


def with_value(tree: Tree, value: float) -> Tree:
    """Return the tree with the network's value at its root."""
    tree.nodes["raw_value"] = value
    return tree


def test_an_unvisited_root_improves_nothing() -> None:
    tree, out = with_value(root_with([0.5, None, 0.3, 0.2]), 0.7), np.zeros(3, np.float32)
    improved_policy(tree, 0, ROOT, gumbel(4), out)
    assert edges_of(tree, 0, ROOT)["action"].tolist() == [0, 2, 3]
    assert out == pytest.approx([0.5, 0.3, 0.2])


def test_the_improved_policy_by_hand() -> None:
    # Both visited once: values 0.2 and -0.2 stretch to 1 and 0, times (50 + 1) * 0.1 = 5.1. Priors 0.1 and
    # 0.9.
    tree, out = root_with([0.1, 0.9], [1, 1], [0.2, -0.2]), np.zeros(2, np.float32)
    improved_policy(tree, 0, ROOT, gumbel(2), out)
    odds = 0.1 * math.exp(5.1) / 0.9
    assert out == pytest.approx([odds / (1 + odds), 1 / (1 + odds)], rel=1e-5)


def test_what_the_search_is_worth_by_hand() -> None:
    # As in the advantages above: completed_q 0.5, -0.25, 0.2125, 0.2125 and advantages 5.2, 0, 3.20667,
    # 3.20667.
    # Weights 0.4 e^5.2 = 72.5089, 0.2, 0.3 e^3.20667 = 7.4089, 0.1 e^3.20667 = 2.4696; sum 82.5874.
    # (72.5089 * 0.5 - 0.2 * 0.25 + 9.8786 * 0.2125) / 82.5874 = 0.46380. The mean of all: (0.1 + 1 - 0.25) /
    # 4 = 0.2125.
    tree = with_value(root_with([0.4, 0.2, 0.3, 0.1], [2, 1, 0, 0], [1.0, -0.25, 0.0, 0.0], 0.1), 0.1)
    assert improved_value(tree, 0, gumbel(4)) == pytest.approx(0.4638, abs=1e-4)
    assert mean_value(tree, 0, make_puct(SearchConfig(), 1, 9)) == pytest.approx(0.2125)


def test_a_proven_root_is_worth_what_is_proven() -> None:
    tree = with_value(root_with([0.4, 0.6], [2, 1], [-1.0, 0.2]), -1.0)
    tree.nodes["proven"] = True
    assert improved_value(tree, 0, gumbel(2, solver=True)) == -1.0


def test_below_the_root_visits_follow_the_improved_policy() -> None:
    # Nothing is known but the prior: with 0.6 and 0.4 the visits go 0, 1, 0, 1, 0 (0.6 - 1/2 < 0.4, 0.6 - 1/3
    # > 0.4 - 1/3 …).
    chosen, visits = [], [0, 0]
    for _ in range(5):
        action = int(select_inner(root_with([0.6, 0.4], visits, [0.0, 0.0]), 0, ROOT, gumbel(2)))
        visits[action] += 1
        chosen.append(action)
    assert chosen == [0, 1, 0, 1, 0]


def test_the_move_is_the_best_of_the_most_visited() -> None:
    # Action 1 has the best value and prior but one visit only. Of the others, means 0.1 and 0.4 stretch to 0
    # and 0.375, times
    # (50 + 3) * 0.1: action 2 leads by 1.99, more than the ln 2 by which its prior is behind.
    tree = root_with([0.2, 0.7, 0.1], [3, 1, 3], [0.3, 0.9, 1.2])
    assert choose_gumbel(tree, 0, gumbel(3), 0.0, new_stream(0)) == 2


def test_noise_of_scale_0_is_none_and_of_scale_1_is_gumbels() -> None:
    settings, stream, tree = gumbel(4000), np.array([7, 0], np.uint64), root_with([1 / 4000] * 4000)
    draw_noise(settings, 0, 0.0, stream)
    write_noise(tree, 0, settings)
    assert not settings.noise.any() and stream.tolist() == [7, 0]
    draw_noise(settings, 0, 1.0, stream)
    write_noise(tree, 0, settings)
    # Gumbel(0, 1): mean 0.5772 (Euler's constant), variance pi^2 / 6
    assert settings.noise.mean() == pytest.approx(0.5772, abs=4 * math.sqrt(1.645 / 4000))
    assert settings.noise.var() == pytest.approx(math.pi**2 / 6, rel=0.15)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_the_noise_of_a_legal_move_is_its_own_number_of_the_stream(temperature: float) -> None:
    """As if noise were drawn for all actions, one after another, and that of legal moves taken."""
    rng = np.random.default_rng(2)
    for seed in range(20):
        legal = rng.random(12) < 0.5
        legal[rng.integers(12)] = True
        tree = root_with([1.0 / legal.sum() if each else None for each in legal])
        settings, stream, plain = gumbel(12), new_stream(seed), new_stream(seed)
        for _ in range(2):  # the second search's noise begins where the first one's ended
            draw_noise(settings, 0, temperature, stream)
            write_noise(tree, 0, settings)
            expected = np.zeros(12)
            for action in range(12):
                uniform = 1.0 - next_float(plain) if temperature > 0.0 else 0.5
                expected[action] = -temperature * math.log(max(-math.log(uniform), 1e-300))
            assert settings.noise[0, : legal.sum()].tolist() == expected[legal].tolist()
            assert stream.tolist() == plain.tolist()


def test_drawing_the_best_of_noise_and_prior_draws_by_the_prior() -> None:
    settings, stream = gumbel(3, num_simulations=1, max_considered_actions=1), np.array([5, 0], np.uint64)
    drawn = np.zeros(3)
    for _ in range(3000):
        draw_noise(settings, 0, 1.0, stream)
        drawn[choose_gumbel(root_with([0.6, 0.3, 0.1]), 0, settings, 0.0, stream)] += 1
    assert drawn / 3000 == pytest.approx([0.6, 0.3, 0.1], abs=0.04)


@pytest.fixture(scope="module")
def ring() -> Game:
    return make_game(str(OWN_GAMES / "ring.py"))


def search(ring: Game, case: dict[str, Any]) -> tuple[Tree, Gumbel]:
    """Search a world of mctx's cases from its start, with the noise that mctx drew."""
    num_simulations = case["num_simulations"]
    settings = gumbel(4, num_simulations, max_considered_actions=case["considered"])
    tree = make_tree(1, num_simulations + 1, 4, 2)
    scratch, cache = make_scratch(ring, num_simulations + 1), cache_of(ring, 0)
    start, first = np.array([[case["seed"] % 97, 0]], np.uint64), np.zeros(1, np.int64)
    start_searches(
        ring.rule_addresses, tree, start, first, np.zeros(1, np.bool_), 0, False, scratch.new_index
    )
    logits, values = np.array(case["logits"], np.float32), np.array(case["values"], np.float32)
    planes, games = np.zeros((1, 1, 1, 1), np.float32), np.zeros(1, np.int64)
    while search_wave(ring.rule_addresses, tree, cache, games, settings, scratch.key, None):
        rows = write_rows(ring.rule_addresses, tree, planes, games)
        place = planes[:, 0, 0, 0].astype(int)
        answers = logits[place], values[place]
        receive_evaluations(ring.rule_addresses, tree, cache, games, rows, *answers, scratch)
        if tree.nodes["node_visits"][0, ROOT] == 1:  # only the root is there yet
            ban(tree, 0, np.isin(np.arange(4), case["illegal"]))
            legal = edges_of(tree, 0, ROOT)["action"]
            settings.noise[0, : len(legal)] = np.array(case["noise"])[legal]
            tree.searches["simulations_left"] = num_simulations
    return tree, settings


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case['num_simulations']} simulations, seed {case['seed']}" for case in CASES]
)
def test_the_search_is_mctx_s(ring: Game, case: dict[str, Any]) -> None:
    tree, settings = search(ring, case)
    assert by_action(tree, 0, ROOT, "child_visits", 4).tolist() == case["visits"]
    assert sorted(tree.nodes["node_visits"][0].tolist(), reverse=True) == case["inner_visits"]
    assert action_at(tree, choose_gumbel(tree, 0, settings, 0.0, new_stream(0))) == case["action"]
    shares, target = np.zeros(4, np.float32), np.zeros(4)
    improved_policy(tree, 0, ROOT, settings, shares)
    legal = edges_of(tree, 0, ROOT)["action"]
    target[legal] = shares[: len(legal)]
    assert target == pytest.approx(case["target"], abs=2e-4)
    root = tree.nodes[0, ROOT]
    assert root["value_sum"] / root["node_visits"] == pytest.approx(case["root_value"], abs=1e-5)


@pytest.mark.parametrize(
    "name",
    ["tictactoe", DOUBLE_MOVE],
    ids=["tictactoe", "double_move"],
)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": True},
        {"solver": True, "max_considered_actions": 4, "num_simulations": 22},
        {"solver": True, "max_considered_actions": 1, "value_scale": 0.5, "maxvisit_init": 10.0},
    ],
    ids=["all actions", "solver", "four of them, solver", "one of them, solver"],
)
def test_the_search_is_its_plain_twin_s_visit_for_visit(name: str, settings: dict[str, Any]) -> None:
    game = make_game(name)
    config = replace(SearchConfig(kind="gumbel", num_simulations=60, tree_reuse=False), **settings)
    states = random_states(game, 24, seed=3)
    player = PvMcts(game, FakeInference(game), config, cache=0)
    player.new_games(np.zeros(len(states), np.uint64))
    assert isinstance(player.searches.algorithm, Gumbel)
    player.searches.algorithm.noise[:] = np.random.default_rng(8).gumbel(
        size=player.searches.algorithm.noise.shape
    )
    player.search_states(np.stack(states), np.arange(len(states)))
    proven = 0
    for b, state in enumerate(states):
        legal, noise = game.legal_actions(state), np.zeros(game.num_actions)
        noise[legal] = player.searches.algorithm.noise[b, : len(legal)]
        twin = PlainGumbel(game, planes_network(game), config, noise.tolist())
        root = twin.run(state, config.num_simulations)
        assert_same_tree(player.tree, b, ROOT, root)
        chosen = choose_gumbel(player.tree, b, player.searches.algorithm, 0.0, new_stream(0))
        assert player.tree.edges["action"][b, chosen] == twin.move()
        target = np.zeros(len(legal), np.float32)
        improved_policy(player.tree, b, ROOT, player.searches.algorithm, target)
        shares = zip(legal, target.tolist(), strict=True)
        assert {action: share for action, share in shares if share} == pytest.approx(
            {action: share for action, share in twin.improved_policy(root).items() if share > 1e-40}, abs=1e-6
        )
        proven += root.proven
    assert (proven > 0) == config.solver


def hiding(cell: int, planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """Return equal logits for all cells but one, whose logit is low."""
    logits = np.zeros(9, np.float32)
    logits[cell] = -3.0
    return logits, np.float32(0)


def test_an_immediate_win_is_played_whatever_the_prior_says_by_both_sides() -> None:
    """The network gives every cell the same value, and its prior hides the winning cell."""
    game = make_game("tictactoe")
    config = SearchConfig(kind="gumbel", num_simulations=32, tree_reuse=False)
    for moves, winning in (
        ([0, 3, 1, 4], 2),
        ([8, 0, 3, 1, 4], 2),
    ):  # first wins on 0 1 2; second wins on 0 1 2
        state = after(game, *moves)
        answers = FakeInference(game, partial(hiding, winning))
        player = PvMcts(game, answers, config, cache=0)
        assert player.choose(state[None], np.zeros(1, np.int64), np.full(1, len(moves))).tolist() == [winning]


def test_without_temperature_the_player_is_certain_and_with_it_it_varies_by_its_seed() -> None:
    game = make_game("tictactoe")
    config = SearchConfig(kind="gumbel", num_simulations=8, tree_reuse=False)
    states, games, plies = np.stack([game.initial_state()] * 64), np.arange(64), np.zeros(64, np.int64)

    def moves(temperature: float, seed: int) -> list[int]:
        player = PvMcts(game, FakeInference(game), config, Temperature(temperature, 9, 0, 0.0))
        player.new_games(np.arange(seed, seed + 64, dtype=np.uint64))
        return player.choose(states, games, plies).tolist()

    assert len(set(moves(0.0, 1))) == 1
    assert len(set(moves(1.0, 1))) > 2
    assert moves(1.0, 1) == moves(1.0, 1) != moves(1.0, 2)


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize(
    ("temperature", "certain"),
    [
        (Temperature(0.0, 0, 0, 0.0), True),
        (Temperature(0.0, 9, 9, 0.0), True),
        (Temperature(1.0, 0, 0, 0.0), True),  # no ply has that temperature
        (Temperature(1.0, 0, 5, 0.0), False),
        (Temperature(1.0, 1, 0, 0.0), False),
        (Temperature(0.0, 0, 0, 0.5), False),
    ],
)
def test_a_player_is_certain_where_no_ply_has_a_temperature(
    kind: str, temperature: Temperature, certain: bool
) -> None:
    game = make_game("tictactoe")
    config = SearchConfig(kind=kind, num_simulations=4, tree_reuse=False)
    assert PvMcts(game, FakeInference(game), config, temperature).deterministic == certain


def test_self_play_with_gumbel_records_the_improved_policy_and_is_the_same_in_any_number_of_workers() -> None:
    game = make_game("tictactoe")
    config = Config(
        search=SearchConfig(kind="gumbel", num_simulations=8, tree_reuse=False),
        selfplay=SelfplayConfig(games=24),
    )

    def play(workers: int) -> list[Any]:
        inferences = [FakeInference(game, batch_size=8) for _ in range(workers)]
        seeds = game_seeds(1, 1, SELFPLAY, 24)
        return play_games(
            game, inferences, config, GameQueue(iter(range(24))), seeds, Progress(), StopSignal()
        )[0]

    one, two = play(1), play(2)
    assert [record.actions.tolist() for record in one] == [record.actions.tolist() for record in two]
    assert all(np.array_equal(a.target_weights, b.target_weights) for a, b in zip(one, two, strict=True))
    targets = np.concatenate([rows_of_targets(record, 9) for record in one])
    assert targets.sum(axis=1) == pytest.approx(1, abs=1e-5)
    shares = targets * 8  # visit counts of eight simulations would be whole numbers
    assert np.abs(shares - np.round(shares)).max() > 0.1


def test_self_play_records_what_a_player_s_search_finds_its_root_to_be_worth() -> None:
    game = make_game("tictactoe")
    search = SearchConfig(kind="gumbel", num_simulations=8, tree_reuse=False)
    config = Config(search=search, selfplay=SelfplayConfig(games=4, temperature=0.0))
    seeds = game_seeds(1, 1, SELFPLAY, 4)
    records, _ = play_games(
        game, [FakeInference(game)], config, GameQueue(iter(range(4))), seeds, Progress(), StopSignal()
    )
    for record in records:
        player, games = PvMcts(game, FakeInference(game), search), np.arange(len(record.states))
        player.new_games(np.zeros(len(games), np.uint64))
        player.search_states(record.states, games)
        assert player.root_values(games).tolist() == record.root_value.tolist()
        assert [improved_value(player.tree, b, player.searches.algorithm) for b in games] == pytest.approx(
            record.root_value, abs=1e-6
        )


def test_gumbel_with_tree_reuse_is_refused() -> None:
    with pytest.raises(UserError, match=r"search\.tree_reuse=false"):
        check(SearchConfig(kind="gumbel"))


@pytest.mark.parametrize("option", [{"seconds": 0.1}, {"until_decided": True}])
def test_a_gumbel_search_is_not_cut_short(option: dict[str, Any]) -> None:
    game = make_game("tictactoe")
    trained: Any = {
        "inference": FakeInference(game),
        "search": SearchConfig(kind="gumbel", tree_reuse=False),
    }
    with pytest.raises(UserError, match="kind=gumbel cannot end early"):
        make_player("pv_mcts", game, **trained, kind="gumbel", **option)
    player: Any = make_player("pv_mcts", game, **trained, **option)
    assert player.search.kind == "puct"


@pytest.mark.parametrize(
    "trained_with", [SearchConfig(), SearchConfig(kind="gumbel", tree_reuse=False)], ids=["puct", "gumbel"]
)
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_champion_plays_with_either_search(trained_with: SearchConfig, kind: str) -> None:
    game = make_game("tictactoe")
    trained: Any = {"inference": FakeInference(game), "search": trained_with}
    player: Any = make_player("pv_mcts", game, **trained, kind=kind, num_simulations=10)
    plain = PvMcts(game, FakeInference(game), SearchConfig(kind=kind, num_simulations=10, tree_reuse=False))
    for each in (player, plain):
        each.search_states(after(game, 4)[None], np.zeros(1, np.int64))
    assert (
        player.visit_counts(np.zeros(1, np.int64)).tolist()
        == plain.visit_counts(np.zeros(1, np.int64)).tolist()
    )
    own: Any = make_player("pv_mcts", game, **trained)
    assert own.search.kind == trained_with.kind


def test_an_unknown_search_is_refused() -> None:
    game = make_game("tictactoe")
    with pytest.raises(UserError, match="kind=minimax must be one of: puct, gumbel"):
        make_player("pv_mcts", game, inference=FakeInference(game), kind="minimax")


def test_one_position_is_searched_with_foresight_as_many_are_without() -> None:
    game = make_game("tictactoe")
    config = SearchConfig(kind="gumbel", num_simulations=40, tree_reuse=False)
    states = np.stack([after(game, 4), after(game, 0, 8)])
    many = PvMcts(game, FakeInference(game), config)
    many.new_games(np.zeros(2, np.uint64))
    many.search_states(states, np.arange(2))
    for row in range(2):
        alone = PvMcts(game, FakeInference(game), config)
        alone.search_states(states[row : row + 1], np.zeros(1, np.int64))
        assert (
            alone.visit_counts(np.zeros(1, np.int64)).tolist() == many.visit_counts(np.array([row])).tolist()
        )
