"""Alpha-beta against plain negamax, with each speed-up on and off, and a published game."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE
from plain_solvers import PlainConnectFour
from playing import printed_score
from searching import after

from azero.classic.deepening import Searcher
from azero.classic.solve import solve
from azero.classic.transposition import NO_ENTRY, find_entry, hashes_of
from azero.games import make_game
from azero.games.game import Game
from azero.heuristics import Heuristic, make_heuristic


@cache
def the_game(name: str, **options: Any) -> Game:
    """Return a game, made once."""
    return make_game(name, **options)


def negamax(
    game: Game, state: np.ndarray, depth: int, heuristic: Heuristic | None = None
) -> tuple[int, float]:
    """The plain twin: no pruning, a dictionary as table, the first of equal moves."""
    guess = heuristic.function.__wrapped__ if heuristic else lambda _state: 0.0

    @cache
    def best(words: bytes, left: int) -> tuple[int, float]:
        here = np.frombuffer(words, np.uint64)
        if game.is_terminal(here):
            return -1, game.outcome(here)
        if left == 0:
            return -1, guess(here)
        chosen, value = -1, -2.0
        for action in game.legal_actions(here):
            below = game.step(here, action)
            sign = 1.0 if game.to_play(below) == game.to_play(here) else -1.0
            reply = sign * best(below.tobytes(), left - 1)[1]
            if reply > value:
                chosen, value = action, reply
        return chosen, value

    with np.errstate(over="ignore"):
        return best(state.tobytes(), depth)


def random_state(game: Game, plies: int, seed: int) -> np.ndarray:
    """Return the position after `plies` random moves, or fewer if the next would end the game."""
    rng, state = np.random.default_rng(seed), game.initial_state()
    for _ in range(plies):
        successor = game.step(state, int(rng.choice(game.legal_actions(state))))
        if game.is_terminal(successor):
            break
        state = successor
    return state


def test_tictactoe_against_itself_is_the_published_game() -> None:
    game, moves = the_game("tictactoe"), list[int]()
    searcher, state = Searcher(game), game.initial_state()
    while not game.is_terminal(state):
        moves.append(searcher.search(state).action)
        state = game.step(state, moves[-1])
    assert moves == [0, 4, 1, 2, 6, 3, 5, 7, 8]


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"table": 0, "ordered": False},
    "ordered": {"table": 0},
    "with a table": {},
    "with a tiny table": {"table": 64},
    "without pruning": {"table": 0, "prune": False, "ordered": False},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
def test_every_position_has_its_exact_value_and_the_first_move_that_keeps_it(name: str, kind: str) -> None:
    game = the_game(name)
    solution = solve(game)
    rows = np.flatnonzero(solution.unfinished)[:: 1 if kind == "with a table" else 9]
    searcher = Searcher(game, **KINDS[kind])
    found = [searcher.search(state) for state in solution.states[rows]]
    np.testing.assert_array_equal([each.value for each in found], solution.value[rows])
    first_best = (solution.action_value[rows] == solution.value[rows][:, None]).argmax(axis=1)
    np.testing.assert_array_equal([each.action for each in found], first_best)
    assert all(each.exact for each in found)


GAMES: dict[
    str, tuple[str, dict[str, Any], str, int]
] = {  # name, options, heuristic, most plies that the twin can search
    "tictactoe": ("tictactoe", {}, "", 6),
    "double_move": (DOUBLE_MOVE, {}, "", 6),
    "connect_four": ("connect_four", {"rows": 4, "columns": 5}, "lines", 5),
    "othello": ("othello", {"size": 6}, "squares", 4),
    "go": ("go", {"size": 3}, "", 3),
    "gomoku": ("gomoku", {"rows": 4, "columns": 4, "connect": 3}, "lines", 3),
    "hex": ("hex", {"size": 4, "swap": True}, "shortest_path", 3),
    "chess": ("chess", {"variant": "gardner"}, "material", 3),
}


@cache
def searchers(name: str, depth: int) -> tuple[Game, Heuristic | None, list[Searcher]]:
    """A game and one searcher of each kind, whose tables go on from position to position."""
    game_name, options, heuristic_name, _ = GAMES[name]
    game = the_game(game_name, **options)
    heuristic = make_heuristic(heuristic_name, game) if heuristic_name else None
    return game, heuristic, [Searcher(game, depth, heuristic=heuristic, **kind) for kind in KINDS.values()]


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_value_and_move_are_those_of_plain_negamax_at_any_depth(name: str, data: st.DataObject) -> None:
    depth = data.draw(st.integers(1, GAMES[name][3]), "depth")
    game, heuristic, kinds = searchers(name, depth)
    state = random_state(
        game, data.draw(st.integers(0, 12), "plies"), data.draw(st.integers(0, 1000), "seed")
    )
    expected = negamax(game, state, depth, heuristic)
    for searcher in kinds:
        found = searcher.search(state)
        assert (found.action, found.value) == expected


@pytest.mark.parametrize("name", GAMES)
def test_growing_depth_finds_what_its_last_depth_finds(name: str) -> None:
    depth = GAMES[name][3]
    game, heuristic, kinds = searchers(name, depth)
    for seed in range(6):
        state = random_state(game, 2 + seed, seed)
        found = kinds[2].deepen(state, seconds=60.0)
        if found.value > -1.0 and len(game.legal_actions(state)) > 1:
            assert (found.action, found.value) == negamax(game, state, found.depth, heuristic)
        assert found.depth == depth or found.exact or len(game.legal_actions(state)) == 1


def test_growing_depth_takes_the_fastest_win_and_the_slowest_loss() -> None:
    game = the_game("tictactoe")
    win = after(game, 0, 3, 1, 4)  # X 0 1, O 3 4: 2 wins at once; so do others, later
    found = Searcher(game).deepen(win, seconds=60.0)
    assert (found.action, found.value, found.depth, found.exact) == (2, 1.0, 1, True)
    lost = after(
        game, 0, 1, 3
    )  # X threatens 6; O at 6 loses to 4, which threatens 5 and 8; every other move loses at once
    found = Searcher(game).deepen(lost, seconds=60.0)
    assert (found.action, found.value, found.depth, found.exact) == (6, -1.0, 4, True)


# Moves that lead to the position. Whoever owns 0, 4 and 6 threatens 2 and 3 at once.
FORCED_WINS = {
    "first player": {1: (0, 3, 1, 5), 2: (0, 1, 4, 8, 6), 3: (0, 1, 4, 8)},
    "second player": {1: (8, 0, 3, 1, 7), 2: (1, 0, 7, 4, 8, 6), 3: (1, 0, 7, 4, 8)},
}


@pytest.mark.parametrize("winner", FORCED_WINS)
@pytest.mark.parametrize("depth, value", [(1, 1.0), (2, -1.0), (3, 1.0)])
def test_a_forced_win_is_seen_at_its_depth_and_not_before(winner: str, depth: int, value: float) -> None:
    game = the_game("tictactoe")
    state = after(game, *FORCED_WINS[winner][depth])
    found = Searcher(game, depth).search(state)
    assert (found.value, found.exact) == (value, True)
    if depth > 1:
        found = Searcher(game, depth - 1).search(state)
        assert (found.value, found.exact) == (0.0, False)


def test_a_side_that_moves_twice_sees_the_win_of_two_stones_at_depth_2() -> None:
    game = the_game(DOUBLE_MOVE)
    state = after(
        game, 3, 0, 8, 4, 7
    )  # X 3 4 7, O 0 8; O places two stones: 1 and 2 complete a line, as do 2 and 5
    assert game.to_play(state) == 1
    assert Searcher(game, 1).search(state).value == 0.0
    found = Searcher(game, 2).search(state)
    assert (found.action, found.value) == (1, 1.0)
    after_one = game.step(state, 1)
    assert game.to_play(after_one) == 1
    assert Searcher(game, 1).search(after_one).value == 1.0


def test_a_table_keeps_small_states_whole_and_two_hashes_of_large_ones() -> None:
    """Gardner's chess has states of 111 words. The second search finds all replies in the table."""
    game = the_game("chess", variant="gardner")
    for other in (the_game("connect_four"), game):  # a whole state has two words, so have two hashes
        assert Searcher(other, 1).table.words.shape[1] == 2 + 2
    searcher, state = Searcher(game, 3, heuristic=make_heuristic("material", game)), game.initial_state()
    first, again = searcher.search(state), searcher.search(state)
    assert again.nodes == len(game.legal_actions(state)) < first.nodes and again[:2] == first[:2]
    words, successor = searcher.table.words, game.step(state, first.action)
    assert find_entry(words, state) == NO_ENTRY  # a search's first position is not kept
    entry = find_entry(words, successor)
    assert [*words[entry, :2]] == [*hashes_of.py_func(words, successor)]


def test_banned_moves_are_left_out_at_the_root_and_the_table_forgets_them() -> None:
    game = the_game("tictactoe")
    state = after(game, 0, 3, 1, 4)  # 2 wins
    banned = np.arange(9) == 2
    searcher = Searcher(game)
    assert searcher.search(state, banned).action == 5  # stops 3 4 5
    assert searcher.search(state).action == 2
    assert searcher.search(state, banned).action == 5


def test_nodes_are_counted_by_hand() -> None:
    """Two empty cells: without pruning two moves and one reply to each.

    A look for a win at once counts no node.
    """
    game = the_game("tictactoe")
    state = after(game, 0, 1, 2, 4, 3, 5, 7)  # empty: 6 and 8, O to move
    assert Searcher(game, table=0, prune=False, ordered=False).search(state).nodes == 4
    plain = Searcher(the_game("connect_four"), 3, table=0, prune=False, ordered=False)
    assert plain.search(the_game("connect_four").initial_state()).nodes == 7 + 49 + 343


@pytest.mark.parametrize("rows, columns", [(4, 4), pytest.param(5, 4, marks=pytest.mark.long)])
def test_small_connect_four_is_a_draw_and_agrees_with_an_independent_solver(rows: int, columns: int) -> None:
    game = the_game("connect_four", rows=rows, columns=columns)
    searcher = Searcher(game)
    found = searcher.search(game.initial_state())
    assert (found.value, found.exact) == (0.0, True)
    plain = PlainConnectFour(rows, columns)
    assert plain.value(0, 0) == 0
    rng, compared = np.random.default_rng(0), 0
    while compared < 200:
        moves, state = list[int](), game.initial_state()
        for _ in range(int(rng.integers(1, 10))):
            moves.append(int(rng.choice(game.legal_actions(state))))
            state = game.step(state, moves[-1])
            if game.is_terminal(state):
                break
        else:
            assert searcher.search(state).value == plain.value(*plain.position(moves))
            compared += 1


@pytest.mark.parametrize("rows, columns", [(5, 4), (4, 5)])
def test_connect_four_on_twenty_cells_is_a_draw(rows: int, columns: int) -> None:
    game = the_game("connect_four", rows=rows, columns=columns)
    assert Searcher(game).search(game.initial_state()).value == 0.0


def test_othello_4x4_is_won_by_the_second_player_by_8_discs() -> None:
    """As published.

    Discs count instead of the outcome, over one more than there are cells; the two empties are the winner's.
    """
    game = the_game("othello", size=4)
    discs = make_heuristic("discs", game)
    searcher = Searcher(game, final=discs)
    found = searcher.search(game.initial_state())
    assert (found.value, found.exact) == (-8 / 17, True)
    state = game.initial_state()
    while not game.is_terminal(state):
        state = game.step(state, searcher.search(state).action)
    first, second = printed_score(game, state)
    assert second - first == 10
    assert Searcher(game).search(game.initial_state()).value == -1.0


@pytest.mark.parametrize("size, winning", [(2, 2), (3, 5), (4, 4)])
def test_the_first_moves_that_win_at_hex_are_as_many_as_published(size: int, winning: int) -> None:
    game = the_game("hex", size=size)
    searcher = Searcher(game)
    values = [searcher.search(game.step(game.initial_state(), action)).value for action in range(size * size)]
    assert values.count(-1.0) == winning and values.count(1.0) == size * size - winning
