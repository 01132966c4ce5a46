"""Exact play: leaves near the end are solved, and the search builds on what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE
from plain_mcts import PlainGumbel, assert_same_tree
from searching import FakeInference, after, planes_network, random_states, searched
from targets import rows_of_targets
from trees import assert_same_edges, by_action

from azero.classic.deepening import Searcher
from azero.classic.solve import solve
from azero.config.checks import check
from azero.config.schema import Config, SearchConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players import make_player
from azero.players.pv_mcts import PvMcts, read_search
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import outcome_or_proof, plies_of
from azero.report.console import Progress
from azero.search.bounds import bounded_sum
from azero.search.exact import UNSOLVED, Exact, find_forced, find_value, judge, make_exact
from azero.search.puct import move_weights
from azero.search.tree import ROOT, WIN, edges_of
from azero.workers.threads import GameQueue, play_games

ENOUGH = 1_000_000
EXACT = SearchConfig(solver=True, exact_plies=4, exact_nodes=ENOUGH, num_simulations=60)
GUMBEL = replace(EXACT, kind="gumbel", tree_reuse=False)
FORCED = SearchConfig(solver=True, forced_nodes=ENOUGH, num_simulations=60)

# X O X     X is to move. O threatens 7 (1 4 7), so 3, 5, 6 and 8 lose at once.
# 3 O 5     After 7 nobody can make a line any more unless the other side helps: a draw.
# 6 7 8
ONE_DRAW = (0, 1, 2, 4)


def indifferent(game: Game) -> FakeInference:
    """A network that finds all moves equally good and every position even."""
    return FakeInference(game, lambda planes: (np.zeros(game.num_actions, np.float32), np.float32(0)))


def exact_of(game: Game, search: SearchConfig) -> Exact:
    """The budgets and buffers of a search that solves leaves."""
    exact = make_exact(game, search)
    assert exact is not None
    return exact


def value_of(game: Game, state: np.ndarray, plies: int, nodes: int = ENOUGH) -> float:
    """Return what a leaf of that state would be proven to be, or UNSOLVED."""
    exact = exact_of(game, SearchConfig(solver=True, exact_plies=plies, exact_nodes=nodes))
    return float(find_value(game.rules, exact, state, exact.plies, nodes)[0])


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
def test_every_position_of_a_small_game_has_its_exact_value(name: str) -> None:
    game = make_game(name)
    solution = solve(game)
    exact = exact_of(game, SearchConfig(solver=True, exact_plies=9, exact_nodes=ENOUGH))
    for row in np.flatnonzero(solution.unfinished).tolist():
        found = find_value(game.rules, exact, solution.states[row], exact.plies, exact.nodes)
        assert found[0] == solution.value[row]


LATE = {
    "connect_four": ("connect_four", {}, 12),
    "hex": ("hex", {"size": 4, "swap": True}, 9),
    "othello": ("othello", {"size": 4}, 10),
    "gomoku": ("gomoku", {"rows": 4, "columns": 4, "connect": 3}, 9),
}


@pytest.mark.parametrize("name", LATE)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_late_positions_have_the_value_of_alpha_beta_to_the_end(name: str, seed: int) -> None:
    game_name, options, plies = LATE[name]
    game = make_game(game_name, **options)
    rng, state = np.random.default_rng(seed), game.initial_state()
    late = [state]
    while not game.is_terminal(state):
        if game.rules.plies_left(state) <= plies:
            late.append(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
    state = late[int(rng.integers(1, len(late)))] if len(late) > 1 else late[0]
    if game.rules.plies_left(state) <= plies:
        assert value_of(game, state, plies) == Searcher(game).search(state).value


def test_the_budget_counts_positions() -> None:
    """With as few positions as give a value, it is the exact one."""
    game = make_game("connect_four")
    state = next(each for each in random_states(game, 200, seed=8) if game.rules.plies_left(each) == 14)
    enough = next(nodes for nodes in range(1, ENOUGH) if value_of(game, state, 14, nodes) != UNSOLVED)
    assert enough > 7
    assert value_of(game, state, 14, enough) == Searcher(game).search(state).value


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), plies=st.integers(1, 7))
def test_searched_to_a_few_plies_a_position_has_the_value_of_alpha_beta_to_that_depth(
    seed: int, plies: int
) -> None:
    game = make_game("connect_four")
    state = random_states(game, 1, seed=seed)[0]
    exact = exact_of(game, FORCED)
    value, nodes = find_value(game.rules, exact, state, plies, ENOUGH)
    found = Searcher(game, depth=plies).search(state)
    assert value == found.value or (value == UNSOLVED and found.value == 0)
    assert found.exact or value == UNSOLVED
    assert 0 < nodes <= sum(7**ply for ply in range(1, plies + 1))
    if value != UNSOLVED:
        assert find_forced(game.rules, exact, state) == value


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), kept=st.sampled_from([1, 2, 64]))
def test_kept_results_change_none(seed: int, kept: int) -> None:
    """Twelve leaves, each asked for several times: with room for few results each has what it has alone."""
    game = make_game("connect_four")
    search = SearchConfig(solver=True, exact_plies=24, exact_nodes=300, forced_nodes=30)
    alone, keeping = make_exact(game, search), make_exact(game, search, kept)
    states = random_states(game, 12, seed=seed)
    for row in np.random.default_rng(seed).integers(12, size=40):
        assert judge(game.rules, keeping, states[row]) == judge(game.rules, alone, states[row])


def test_a_leaf_is_judged_once() -> None:
    """A result is there as soon as it was found, and only where one was asked for."""
    game = make_game("tictactoe")
    exact = make_exact(game, replace(EXACT, exact_plies=4), 8)
    assert exact is not None
    assert judge(game.rules, exact, game.initial_state()) == UNSOLVED and not exact.judged.any()
    assert judge(game.rules, exact, after(game, *ONE_DRAW, 3)) == 1
    assert exact.judged.sum() == 1
    exact.results[:] = 0.5
    assert judge(game.rules, exact, after(game, *ONE_DRAW, 3)) == 0.5
    assert judge(game.rules, exact, after(game, *ONE_DRAW, 5)) == 1


def test_a_draw_is_exact_only_if_every_line_ended() -> None:
    """Four plies are left. To two plies the draw is not known, so a bound that is too low proves nothing."""
    game = make_game("tictactoe")
    state = after(game, *ONE_DRAW, 7)
    exact = exact_of(game, FORCED)
    assert [find_value(game.rules, exact, state, plies, ENOUGH)[0] for plies in (2, 4)] == [UNSOLVED, 0]


# column 0 1 2 3 4 5 6     X is to move. 2 or 5 makes three in a row with a free cell on both sides, so O
#        . . . O O . .     cannot stop both: a win in three plies. After 2, O has lost in two.
#        . . . X X . .
THREE_PLIES = (3, 3, 4, 4)


def test_a_forced_win_is_found_long_before_the_end() -> None:
    """The search after 2 looks to two plies.

    O's seven moves end nothing. After each of them but 1, X's second move, 1, wins, and the rest is not
    looked at. After 1 it is X's sixth move, 5. So 7 + 6 * 2 + 6 = 25 positions.
    """
    game = make_game("connect_four")
    exact = exact_of(game, FORCED)
    root, lost = after(game, *THREE_PLIES), after(game, *THREE_PLIES, 2)
    value, nodes = find_value(game.rules, exact, lost, 2, ENOUGH)
    assert (value, nodes) == (-1, 25)
    budgets = [exact._replace(forced_nodes=nodes) for nodes in (25, 26)]
    assert [find_forced(game.rules, each, lost) for each in budgets] == [UNSOLVED, -1]
    assert find_forced(game.rules, exact, root) == 1
    assert find_value(game.rules, exact, root, 2, ENOUGH)[0] == UNSOLVED

    # all moves are equally likely: 0, 1 and 2 are visited, and 2 is the proof
    with_it = searched(game, [root], replace(FORCED, forced_nodes=26, num_simulations=7), indifferent(game))
    assert with_it.tree.nodes["proven"][0, ROOT] and with_it.tree.nodes["raw_value"][0, ROOT] == 1
    assert with_it.visit_counts(ONLY_GAME)[0].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert move_weights(with_it.tree, 0, with_it.searches.algorithm).tolist() == [0, 0, 1, 0, 0, 0, 0]
    without = searched(game, [root], replace(FORCED, forced_nodes=0, num_simulations=7), indifferent(game))
    assert not without.tree.nodes["proven"][0].any()


def test_a_budget_that_solves_nothing_changes_nothing() -> None:
    game = make_game("tictactoe")
    states = random_states(game, 20, seed=2)
    without = searched(game, states, replace(EXACT, exact_plies=0))
    poor = replace(EXACT, exact_nodes=1), replace(EXACT, exact_plies=0, forced_nodes=1)
    for player in (searched(game, states, each) for each in poor):
        assert (without.tree.edges["child_visits"] == player.tree.edges["child_visits"]).all()
        assert (without.tree.nodes["proven"] == player.tree.nodes["proven"]).all()


def test_a_solved_leaf_goes_up_the_tree() -> None:
    """The network says 0.5 at the root, and all moves are equally likely. Each child has 4 plies left.

    3, 5 and 6 lose: 0.5 - 1 - 1 - 1 = -2.5 in 4 visits. 7 draws: 5 visits, and the root is sure of 0, so its
    sum counts max(-2.5, 5 * 0) = 0 above. 8 loses as well: nothing is better than the draw, which is proven.
    Only the root was evaluated.
    """
    game = make_game("tictactoe")
    inference = FakeInference(game, lambda planes: (np.zeros(9, np.float32), np.float32(0.5)))
    player = searched(game, [after(game, *ONE_DRAW)], replace(EXACT, num_simulations=4), inference)
    root = player.tree.nodes[0, ROOT]
    visits, sums = (by_action(player.tree, 0, ROOT, name, 9) for name in ("child_visits", "child_value_sum"))
    assert visits.tolist() == [0, 0, 0, 1, 0, 1, 1, 1, 0]
    assert sums.tolist() == [0, 0, 0, -1, 0, -1, -1, 0, 0]
    assert (root["node_visits"], root["value_sum"], root["lower"], root["upper"]) == (5, -2.5, 0, 1)
    assert bounded_sum(player.tree, 0, ROOT) == 0
    assert not root["proven"] and player.tree.nodes["proven"][0, 1:5].all()
    assert not player.tree.nodes["terminal"][0].any()
    player.tree.searches["simulations_left"] = 10
    assert player.together.wave(player.searches, ONLY_GAME) == 0
    assert (root["node_visits"], root["value_sum"], root["proven"], root["raw_value"]) == (6, 0, True, 0)
    assert player.tree.searches["simulations_left"][0] == 9
    assert edges_of(player.tree, 0, ROOT)["action"].tolist() == [3, 5, 6, 7, 8]
    assert move_weights(player.tree, 0, player.searches.algorithm).tolist() == [0, 0, 0, 1, 0]
    assert inference.calls == 1


@pytest.mark.parametrize("search", [GUMBEL, replace(FORCED, kind="gumbel")], ids=["exact", "forced"])
@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
def test_gumbel_equals_its_plain_twin_visit_for_visit(name: str, search: SearchConfig) -> None:
    game, config = make_game(name), replace(search, tree_reuse=False, num_simulations=30)
    states = random_states(game, 24, seed=4)
    player = searched(game, states, config)
    for b, state in enumerate(states):
        root = PlainGumbel(game, planes_network(game), config, [0.0] * game.num_actions).run(state, 30)
        assert_same_tree(player.tree, b, ROOT, root)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), leaves=st.integers(2, 24), plies=st.integers(1, 12))
def test_prefetch_finds_what_the_plain_search_finds(seed: int, leaves: int, plies: int) -> None:
    game = make_game("connect_four", rows=4, columns=5)
    states = random_states(game, 20, seed)
    state = states[seed % 20]
    config = replace(EXACT, exact_plies=plies, exact_nodes=200, forced_nodes=20, tree_reuse=False)
    player = PvMcts(game, FakeInference(game, batch_size=leaves), config, cache=4096, leaves=leaves)
    player.search_states(state[None], ONLY_GAME)
    side_by_side = searched(game, [state, game.initial_state()], config)
    nodes = player.tree.searches["num_nodes"][0]
    assert nodes == side_by_side.tree.searches["num_nodes"][0]
    assert_same_edges(player.tree, side_by_side.tree)


def test_a_solved_leaf_that_becomes_the_root_is_searched() -> None:
    """It has no moves of its own yet: it is evaluated, and its children are solved."""
    game = make_game("tictactoe")
    player = searched(game, [after(game, *ONE_DRAW)], EXACT)
    assert player.tree.nodes["proven"][0, ROOT]
    reply = after(game, *ONE_DRAW, 7)
    player.searches.begin(reply[None], ONLY_GAME, None)
    root = player.tree.nodes[0, ROOT]
    assert not root["proven"] and not root["expanded"] and root["node_visits"] == 0
    assert (root["lower"], root["upper"], player.tree.searches["num_nodes"][0]) == (-1, 1, 1)
    player.search_states(reply[None], ONLY_GAME)
    visits = player.visit_counts(ONLY_GAME)[0]
    assert root["proven"] and root["raw_value"] == 0 and 1 <= visits.sum() <= 4
    assert player.searches.choose(ONLY_GAME, ONLY_GAME, player.temperature)[0] in game.legal_actions(reply)


def test_value_targets_are_true_from_the_end_backwards() -> None:
    """With 6 plies solved and simulations for every move, each position with 7 plies left is proven."""
    game = make_game("tictactoe")
    solution = solve(game)
    rows = {tuple(state): row for row, state in enumerate(solution.states.tolist())}
    settings = Config(search=replace(GUMBEL, exact_plies=6, num_simulations=10))
    queue, seeds = GameQueue(iter(range(20))), game_seeds(1, 1, SELFPLAY, 20)
    records, _ = play_games(game, [FakeInference(game)], settings, queue, seeds, Progress(), StopSignal())
    for record in records:
        assert record.proven is not None
        found = outcome_or_proof(plies_of([record]))
        for ply in range(2, len(record.states)):
            value = solution.value[rows[tuple(record.states[ply].tolist())]]
            assert record.proven[ply] and record.root_value[ply] == found[ply] == value


def test_self_play_does_not_look_for_forced_wins() -> None:
    game, played = make_game("tictactoe"), []
    for nodes in (0, ENOUGH):
        search = replace(FORCED, kind="gumbel", tree_reuse=False, num_simulations=10, forced_nodes=nodes)
        queue, seeds = GameQueue(iter(range(8))), game_seeds(1, 1, SELFPLAY, 8)
        inference, stop = FakeInference(game), StopSignal()
        records, _ = play_games(game, [inference], Config(search=search), queue, seeds, Progress(), stop)
        played.append([(each.actions.tolist(), rows_of_targets(each, 9).tolist()) for each in records])
    assert played[0] == played[1]


def test_settings_that_cannot_work_are_refused() -> None:
    game = make_game("tictactoe")
    alone = r"search.solver=false rules out {0}; set search.solver=true, or {0}=0"
    with pytest.raises(UserError, match=alone.format("search.exact_plies")):
        check(Config(search=SearchConfig(exact_plies=4)))
    with pytest.raises(UserError, match=alone.format("search.forced_nodes")):
        check(Config(search=SearchConfig(forced_nodes=9)))
    both = r"exact_plies and search.forced_nodes; .*exact_plies=0 search.forced_nodes=0"
    with pytest.raises(UserError, match=both):
        check(Config(search=SearchConfig(exact_plies=4, forced_nodes=9)))
    with pytest.raises(UserError, match="needs the rule plies_left, which go does not have"):
        make_exact(make_game("go", size=3), EXACT)
    assert make_exact(game, SearchConfig()) is None


def test_a_player_is_asked_for_it() -> None:
    game = make_game("tictactoe")
    player = make_player("pv_mcts", game, inference=FakeInference(game), exact_plies=8)
    assert isinstance(player, PvMcts) and player.search.solver
    assert player.choose(after(game, *ONE_DRAW)[None], ONLY_GAME, ONLY_GAME)[0] == 7
    assert player.tree.nodes["proven"][0, ROOT]


def winning_ends(game: Game, state: np.ndarray) -> list[int]:
    """The moves that win at once."""
    after = {action: game.step(state, action) for action in game.legal_actions(state)}
    return [action for action, end in after.items() if game.is_terminal(end) and game.outcome(end) == -1.0]


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("simulations", [16, 100])
def test_a_win_at_once_is_played_before_a_longer_one(kind: str, simulations: int) -> None:
    game, rng = make_game("gomoku", rows=4, columns=4, connect=3), np.random.default_rng(7)
    search = SearchConfig(
        kind=kind, solver=True, num_simulations=simulations, exact_plies=14, forced_nodes=200
    )
    player: Any = make_player("pv_mcts", game, inference=FakeInference(game), search=search)
    ply, proven = np.zeros(1, np.int64), 0
    for _ in range(40):
        state = game.initial_state()
        while not winning_ends(game, state):
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
            state = game.initial_state() if game.is_terminal(state) else state
        player.new_games(np.zeros(1, np.uint64))
        chosen = int(player.choose(state[None], ONLY_GAME, ply)[0])
        if player.tree.nodes["lower"][0, ROOT] == WIN:
            proven += 1
            assert chosen in winning_ends(game, state)
            assert read_search(player.searches, 0).best in winning_ends(game, state)  # type: ignore[union-attr]
    assert proven == 40 or (simulations == 16 and proven > 20)
