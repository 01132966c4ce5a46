"""A traced search equals the player's search, and what cannot be traced is refused in one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from azero import trace
from azero.games import make_game
from azero.games.game import Game
from azero.players.uct import make
from azero.tracing.tree import grown_tree, rows_of
from azero.tracing.watched_uct import Choice, Simulation, WatchedUct

DOUBLE_MOVE = str(Path(__file__).parent / "games" / "double_move.py")
SQRT_2 = math.sqrt(2.0)


def watch(
    game: Game, simulations: int, seed: int = 1, threshold: int = 10, moves: tuple[int, ...] = ()
) -> list[Simulation]:
    """Return the simulations of a search after some moves."""
    state = game.initial_state()
    for move in moves:
        state = game.step(state, move)
    search = WatchedUct(game, state, seed, SQRT_2, threshold)
    return [search.simulate() for _ in range(simulations)]


@pytest.mark.parametrize(
    "name", ["tictactoe", "connect_four", DOUBLE_MOVE], ids=["tictactoe", "connect_four", "double_move"]
)
@pytest.mark.parametrize("threshold", [1, 4, 10])
@pytest.mark.parametrize("simulations", [1, 30, 200])
def test_it_is_the_search_of_the_player(name: str, threshold: int, simulations: int) -> None:
    game = make_game(name)
    for seed, moves in ((0, ()), (1, (0,)), (2, (4, 0))):
        state = game.initial_state()
        for move in moves:
            state = game.step(state, move)
        player = make(game, num_simulations=simulations, expansion_threshold=threshold)
        player.new_games(np.array([seed], np.uint64))
        counts = player.visit_counts(state[None], np.zeros(1, np.int64))[0]
        assert watch(game, simulations, seed, threshold, moves)[-1].root_visits.tolist() == counts.tolist()


def test_every_step_follows_from_the_one_before() -> None:
    game = make_game("tictactoe")
    known: dict[
        tuple[int, ...], tuple[int, float]
    ] = {}  # visits and wins of each node, by the moves that lead to it
    for simulation in watch(game, 300, threshold=3):
        path = [choice.chosen for choice in simulation.choices]
        for place, choice in enumerate(simulation.choices):
            for candidate in choice.candidates:
                before = known.get((*path[:place], candidate.move), (0, 0.0))
                assert (candidate.visits, candidate.wins) == before
            assert choice.total == sum(candidate.visits for candidate in choice.candidates)
            check_choice(choice)
        for place, update in enumerate(simulation.updates):
            visits, wins = known.get(tuple(path[:place]), (0, 0.0))
            known[tuple(path[:place])] = (visits + 1, wins + simulation.reward)
            assert (update.visits, update.wins) == (visits + 1, wins + simulation.reward)
        state = simulation.leaf
        for move in simulation.rollout:
            state = game.step(state, move)
        assert np.array_equal(state, simulation.end) and game.is_terminal(state)


def check_choice(choice: Choice) -> None:
    """A move that was not tried comes first; then the highest score, which is UCB1 with w/n or -w/n."""
    untried = [candidate.move for candidate in choice.candidates if not candidate.visits]
    best = max(candidate.score for candidate in choice.candidates)
    assert choice.chosen in (
        untried or [each.move for each in choice.candidates if each.score > best - 1e-12]
    )
    for each in choice.candidates:
        if each.visits:
            mean = each.wins / each.visits
            bonus = math.sqrt(2.0 * math.log(choice.total) / each.visits)
            assert each.score == pytest.approx((mean if choice.to_play == 0 else -mean) + bonus)


def test_the_published_values_of_ucb1() -> None:
    search = WatchedUct(make_game("tictactoe"), make_game("tictactoe").initial_state(), 0, SQRT_2, 10)
    for wins, visits, total, published in (
        (9, 10, 42, 1.76460),
        (1, 4, 42, 1.61705),
        (0, 1, 47, 2.77494),
        (1, 1, 47, 3.77494),
    ):
        node = search.root
        node.wins, node.visits = wins, visits
        assert (
            math.floor(search.score(node, total, 0) * 1e5) / 1e5 == published
        )  # published values are cut, not rounded


def test_a_move_s_own_moves_are_listed_at_its_tenth_visit_and_not_before() -> None:
    visits = dict.fromkeys(range(9), 0)
    listed = 0
    for simulation in watch(make_game("tictactoe"), 150, threshold=10):
        for choice in simulation.choices[1:2]:
            assert visits[simulation.choices[0].chosen] >= 10
            listed += choice.listed
        visits[simulation.choices[0].chosen] += 1
    assert listed > 0


def test_the_terminal_shows_path_tables_rollout_and_update(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        trace.main(["moves=0 4", "player.num_simulations=3", "player.expansion_threshold=2", "seed=5"]) == 0
    )
    shown = capsys.readouterr().out
    assert (
        shown.count("path: the root → ")
        == shown.count("rollout: ")
        == shown.count("update, w/n: the root ")
        == 3
    )
    assert "X chooses at the root, t = 0, expanded now" in shown and "X chooses at the root, t = 2" in shown
    assert "UCB1" in shown and "not tried" in shown


def test_the_page_has_every_simulation_and_needs_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.html"
    assert (
        trace.main(
            [
                "game=connect_four",
                "game.options.rows=4",
                "game.options.columns=4",
                "player.num_simulations=25",
                f"out={path}",
            ]
        )
        == 0
    )
    text = path.read_text(encoding="utf-8")
    assert text.count("<section hidden>") == 25
    assert text.count("<svg") == 3 * 25 + 1
    assert 'id="back"' in text and 'id="next"' in text
    assert "src=" not in text and "href=" not in text
    assert capsys.readouterr().out == f"25 simulations are in {path}\n"


def test_the_tree_on_the_page_is_the_one_the_search_grew() -> None:
    """Three moves of tic-tac-toe are left, so that every node can be counted."""
    game, moves = make_game("tictactoe"), [0, 4, 8, 2, 6, 3]
    state = game.initial_state()
    for move in moves:
        state = game.step(state, move)
    simulations = watch(game, 40, threshold=2, moves=tuple(moves))
    nodes = grown_tree(simulations)
    assert nodes[0].path == () and nodes[0].parent == -1
    assert [each.visits for each in nodes[0].passed] == list(range(1, 41))
    for place, node in enumerate(nodes[1:], 1):
        assert nodes[node.parent].path == node.path[:-1] and node.parent < place
        assert [each.visits for each in node.passed] == list(range(1, len(node.passed) + 1))
    last = {update.move: update.visits for simulation in simulations for update in simulation.updates[1:2]}
    assert {node.path[0]: node.passed[-1].visits for node in nodes if len(node.path) == 1} == last
    leaves = [node for node in nodes if not any(other.path[:-1] == node.path for other in nodes[1:])]
    assert [node.row for node in leaves] == list(range(len(leaves)))


def test_rows_of_a_tree_by_hand() -> None:
    r"""
    root ── 1 ── 2      row 0
         │     └ 5      row 1, so that 1 stands at 0.5
         └ 4            row 2, and the root at 1.25
    """
    assert rows_of([(), (1,), (1, 2), (1, 5), (4,)]) == {
        (): 1.25,
        (1,): 0.5,
        (1, 2): 0.0,
        (1, 5): 1.0,
        (4,): 2.0,
    }


def test_the_terminal_ends_with_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """X wins by 7, O has 1 and 5 left: two simulations of moves 7, then both others."""
    assert trace.main(["moves=0 4 8 2 6 3", "player.num_simulations=3", "seed=1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    begin = next(number for number, line in enumerate(shown) if "the tree, w/n" in line)
    assert shown[begin + 1].startswith("the root ") and shown[begin + 1].endswith("/3")
    assert sorted(line.split()[0] for line in shown[begin + 2 :]) == ["1", "5", "7"]
    assert all(line.startswith("   ") and line.endswith("/1") for line in shown[begin + 2 :])


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--verbose"], "unknown option '--verbose'; did you mean --version?"),
        (["game=chess"], "chess"),
        (["game=connect_four", "game.options.rows=0"], "game.options.rows=0 must be a whole number"),
        (["player=alpha_beta"], "player=alpha_beta cannot be traced; there is uct."),
        (
            ["player.depth=3"],
            "a traced player has no option depth; it has num_simulations, exploration, expansion_threshold.",
        ),
        (
            ["player.num_simulations=0"],
            "player uct: num_simulations=0 must be a whole number between 1 and 10,000.",
        ),
        (["player.exploration=high"], "player uct: exploration=high must be a number"),
        (["seed=-1"], "seed=-1 must be a whole number from 0 up."),
        (["moves=0 9"], "'9' is not a move of tictactoe"),
        (["moves=0 0"], "moves: '0' is not legal after 0"),
        (["moves=0 3 1 4 2"], "moves: the game is over after 0 3 1 4 2"),
        (
            ["out=/nowhere/at/all.html", "player.num_simulations=1"],
            "out=/nowhere/at/all.html cannot be written: No such file",
        ),
    ],
)
def test_what_cannot_be_traced_is_refused_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trace.main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and sentence in printed.err
    assert printed.err.startswith("azero: ") and printed.err.count("\n") == 1
