"""A watched PV-MCTS is the player's search, and its scores are those of the plain twin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from places import DOUBLE_MOVE
from plain_mcts import Node, PlainGumbel, PlainSearch
from puct_cases import CONFIGS
from searching import FakeInference, after, planes_network, random_states
from trees import by_action

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.players.pv_mcts import PvMcts
from azero.search.algorithm import find_kind
from azero.search.root import Temperature
from azero.search.tree import ROOT, visits_of
from azero.tracing.watched_mcts import WatchedMcts, by_network, by_rollouts
from azero.tracing.watching import Simulation

GAMES = ("tictactoe", DOUBLE_MOVE)
GUMBEL = {
    "gumbel": SearchConfig(kind="gumbel"),
    "gumbel, few considered": SearchConfig(kind="gumbel", max_considered_actions=3),
    "gumbel, solver": SearchConfig(kind="gumbel", solver=True),
}
SEED, SIMULATIONS = 5, 40
ONLY_GAME = np.zeros(1, np.int64)


def watch(
    game: Game, state: np.ndarray, config: SearchConfig, temperature: float = 0.0
) -> tuple[list[Simulation], WatchedMcts]:
    search = WatchedMcts(game, state, config, by_network(game, FakeInference(game)), SEED, temperature)
    simulations = [search.simulate()]
    while len(simulations) <= config.num_simulations and not search.over:
        simulations.append(search.simulate())
    return simulations, search


@pytest.mark.parametrize("name", GAMES, ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("config", [*CONFIGS.values(), *GUMBEL.values()], ids=[*CONFIGS, *GUMBEL])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_it_is_the_search_of_the_player(name: str, config: SearchConfig, temperature: float) -> None:
    game = make_game(name)
    config = replace(config, num_simulations=SIMULATIONS, tree_reuse=False)
    for state in random_states(game, 4, seed=4):
        schedule = Temperature(temperature, 1_000_000, 0, 0.0)
        player = PvMcts(game, FakeInference(game), config, schedule, cache=0)
        player.new_games(np.array([SEED], np.uint64))
        chosen = player.choose(state[None], ONLY_GAME, ONLY_GAME)[0]
        simulations, search = watch(game, state, config, temperature)
        visits = by_action(search.tree, 0, ROOT, "child_visits", game.num_actions)
        assert visits.tolist() == player.visit_counts(ONLY_GAME)[0].tolist()
        moves = [simulation.choices[0].chosen for simulation in simulations[1:]]
        assert np.bincount(moves, minlength=game.num_actions).tolist() == visits.tolist()
        assert search.move() == chosen


def plain_twin(game: Game, config: SearchConfig) -> PlainSearch:
    """The player's own settings, without self-play's noise."""
    config = replace(config, **find_kind(config.kind).play_settings)
    network = planes_network(game)
    noise = [0.0] * game.num_actions
    return (
        PlainGumbel(game, network, config, noise)
        if config.kind == "gumbel"
        else PlainSearch(game, network, config)
    )


def scores(twin: PlainSearch, node: Node) -> Callable[[int], float]:
    """The twin's score of each move at a node."""
    if not isinstance(twin, PlainGumbel):
        return lambda action: twin.puct(node, action)
    if node is twin.root:
        logits = twin.logits(node)
        return lambda action: logits[action]
    improved = twin.improved_policy(node)
    return lambda action: improved.get(action, 0.0) - node.edge_visits.get(action, 0) / node.visits


@pytest.mark.parametrize("name", GAMES, ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("config", [*CONFIGS.values(), *GUMBEL.values()], ids=[*CONFIGS, *GUMBEL])
def test_path_scores_and_backup_of_every_simulation_are_those_of_the_plain_twin(
    name: str, config: SearchConfig
) -> None:
    game = make_game(name)
    config = replace(config, num_simulations=SIMULATIONS, tree_reuse=False)
    for state in random_states(game, 3, seed=6):
        twin = plain_twin(game, config)
        root = twin.run(state, 0)
        twin.root = root
        simulations, _ = watch(game, state, config)
        for simulation in simulations[1:]:
            node = root
            for choice in simulation.choices:
                score = scores(twin, node)
                assert [each.move for each in choice.candidates] == sorted(node.priors)
                for each in choice.candidates:
                    assert each.visits == node.edge_visits.get(each.move, 0)
                    assert each.value_sum == node.edge_value_sum.get(each.move, np.float32(0))
                    assert each.score == pytest.approx(score(each.move), abs=1e-9)
                open_moves = [each for each in choice.candidates if not each.note] or choice.candidates
                best = max(each.score for each in open_moves)
                assert choice.chosen in [each.move for each in open_moves if each.score > best - 1e-9]
                assert twin.choose(node) == choice.chosen
                node = node.children.get(choice.chosen, node)
            twin.simulate(root, 1)
            node = root
            assert simulation.updates[0].after == (root.visits, float(root.value_sum))
            for choice, update in zip(simulation.choices, simulation.updates[1:], strict=True):
                action = choice.chosen
                assert update.after == (node.edge_visits[action], float(node.edge_value_sum[action]))
                node = node.children[action]


def test_terms_add_up_to_the_score() -> None:
    """PUCT by hand: q + c P sqrt(N) / (1 + n); Gumbel's root: noise + ln P + advantage."""
    game = make_game("tictactoe")
    state = after(game, 4)
    simulations, _ = watch(game, state, SearchConfig(num_simulations=20, c_puct=2.0, c_puct_base=0.0))
    for choice in (choice for simulation in simulations for choice in simulation.choices):
        for each in choice.candidates:
            bonus = 2.0 * each.terms["prior"] * math.sqrt(choice.shared["N"]) / (1 + each.visits)
            assert each.score == pytest.approx(each.terms["q"] + bonus)
            if each.visits:
                assert each.terms["q"] == each.value_sum / each.visits
    simulations, _ = watch(game, state, SearchConfig(kind="gumbel", num_simulations=20), temperature=1.0)
    for choice in (simulation.choices[0] for simulation in simulations[1:]):
        for each in choice.candidates:
            noise, prior, advantage = (each.terms[name] for name in ("noise", "prior", "advantage"))
            assert noise != 0.0 and each.score == pytest.approx(noise + math.log(prior) + advantage)


def test_without_a_network_priors_are_uniform_and_values_are_random_games() -> None:
    game = make_game("tictactoe")
    state = after(game, 0, 4, 8, 2, 6, 3)
    search = WatchedMcts(game, state, SearchConfig(num_simulations=12), by_rollouts(game, 3), 3)
    for simulation in [search.simulate() for _ in range(13)]:
        leaf, end = simulation.leaf, simulation.evaluation.end
        for move in simulation.evaluation.moves:
            leaf = game.step(leaf, move)
        assert np.array_equal(leaf, end) and game.is_terminal(end)
        sign = 1 if game.to_play(simulation.leaf) == 0 else -1
        assert simulation.evaluation.value == sign * game.first_outcome(end)
        for choice in simulation.choices:
            count = len(choice.candidates)
            assert all(each.terms["prior"] == pytest.approx(1 / count) for each in choice.candidates)


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_move_that_the_history_forbids_is_not_tried(kind: str) -> None:
    game = make_game("tictactoe")
    banned = np.zeros(9, np.bool_)
    banned[4] = True
    evaluate = by_network(game, FakeInference(game))
    search = WatchedMcts(
        game, game.initial_state(), SearchConfig(kind=kind, num_simulations=20), evaluate, banned=banned
    )
    simulations = [search.simulate() for _ in range(21)]
    moves = {each.move for simulation in simulations[1:] for each in simulation.choices[0].candidates}
    assert moves == {0, 1, 2, 3, 5, 6, 7, 8}
    player = PvMcts(game, FakeInference(game), search.search, cache=0)
    player.search_states(game.initial_state()[None], ONLY_GAME, banned[None])
    assert player.visit_counts(ONLY_GAME)[0].tolist() == visits_of(search.tree, ONLY_GAME, 9)[0].tolist()
