"""A traced search equals the player's search, and what cannot be traced is refused in one sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from running import TrainedRun
from searching import after

from azero import trace
from azero.games import make_game
from azero.games.game import Game
from azero.players import make_player
from azero.tracing.watched_uct import WatchedNode, WatchedUct
from azero.tracing.watching import Choice, Simulation

SQRT_2 = math.sqrt(2.0)


def watch(
    game: Game, simulations: int, seed: int = 1, threshold: int = 10, moves: tuple[int, ...] = ()
) -> tuple[list[Simulation], WatchedUct]:
    """Return the simulations of a search after some moves, and the search."""
    search = WatchedUct(game, after(game, *moves), seed, SQRT_2, threshold)
    return [search.simulate() for _ in range(simulations)], search


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
        player: Any = make_player("uct", game, num_simulations=simulations, expansion_threshold=threshold)
        player.new_games(np.array([seed], np.uint64))
        counts = player.visit_counts(state[None], np.zeros(1, np.int64))[0]
        _, search = watch(game, simulations, seed, threshold, moves)
        visits = {child.move: child.visits for child in search.root.children}
        assert [visits.get(move, 0) for move in range(game.num_actions)] == counts.tolist()
        assert search.move() == counts.argmax()


def test_every_step_follows_from_the_one_before() -> None:
    game = make_game("tictactoe")
    known: dict[
        tuple[int, ...], tuple[int, float]
    ] = {}  # visits and wins of each node, by the moves that lead to it
    simulations, _ = watch(game, 300, threshold=3)
    for simulation in simulations:
        path = [choice.chosen for choice in simulation.choices]
        for place, choice in enumerate(simulation.choices):
            for candidate in choice.candidates:
                before = known.get((*path[:place], candidate.move), (0, 0.0))
                assert (candidate.visits, candidate.value_sum) == before
            assert choice.shared["t"] == sum(candidate.visits for candidate in choice.candidates)
            check_choice(choice)
        end, reward = simulation.evaluation.end, simulation.evaluation.value
        for place, update in enumerate(simulation.updates):
            visits, wins = known.get(tuple(path[:place]), (0, 0.0))
            known[tuple(path[:place])] = (visits + 1, wins + reward)
            assert update.before == (visits, wins) and update.after == (visits + 1, wins + reward)
        state = simulation.leaf
        for move in simulation.evaluation.moves:
            state = game.step(state, move)
        assert np.array_equal(state, end) and game.is_terminal(state)
        assert reward == {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[game.first_outcome(end)]


def check_choice(choice: Choice) -> None:
    """A move that was not tried comes first; then the highest score, which is UCB1 with w/n or -w/n."""
    untried = [candidate.move for candidate in choice.candidates if not candidate.visits]
    best = max(candidate.score for candidate in choice.candidates)
    assert choice.chosen in (
        untried or [each.move for each in choice.candidates if each.score > best - 1e-12]
    )
    for each in choice.candidates:
        if each.visits:
            mean = each.value_sum / each.visits
            bonus = math.sqrt(2.0 * math.log(choice.shared["t"]) / each.visits)
            assert each.score == pytest.approx((mean if choice.to_play == 0 else -mean) + bonus)
            assert each.score == each.terms["mean"] + each.terms["bonus"]


def test_the_published_values_of_ucb1() -> None:
    search = WatchedUct(make_game("tictactoe"), make_game("tictactoe").initial_state(), 0, SQRT_2, 10)
    for wins, visits, total, published in (
        (9, 10, 42, 1.76460),
        (1, 4, 42, 1.61705),
        (0, 1, 47, 2.77494),
        (1, 1, 47, 3.77494),
    ):
        node = WatchedNode(search.root.state, 0, visits, wins=wins)
        score = search.candidate(node, total, 0).score
        assert math.floor(score * 1e5) / 1e5 == published  # published values are cut, not rounded


def test_a_move_s_own_moves_are_listed_at_its_tenth_visit_and_not_before() -> None:
    visits = dict.fromkeys(range(9), 0)
    listed = 0
    simulations, _ = watch(make_game("tictactoe"), 150, threshold=10)
    for simulation in simulations:
        if len(simulation.choices) > 1:
            assert visits[simulation.choices[0].chosen] >= 10
            listed += simulation.listed == 1
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
    assert "X chooses at the root, t = 0, c = 1.414, expanded now" in shown
    assert "X chooses at the root, t = 2, c = 1.414\n" in shown
    assert "UCB1" in shown and "not tried" in shown


def test_the_terminal_ends_with_the_tree_and_the_move(capsys: pytest.CaptureFixture[str]) -> None:
    """X wins by 7, O has 1 and 5 left: two simulations of moves 7, then both others."""
    assert trace.main(["player.num_simulations=3", "seed=1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    begin = next(number for number, line in enumerate(shown) if "the tree, w/n" in line)
    assert shown[begin + 1].startswith("the root ") and shown[begin + 1].endswith("/3")
    assert sorted(line.split()[0] for line in shown[begin + 2 : -1]) == ["1", "5", "7"]
    assert all(line.startswith("   ") and line.endswith("/1") for line in shown[begin + 2 : -1])
    assert shown[-1] == "X plays 1: 1 of 3 visits, the most visits."


def test_the_default_example_has_three_moves_and_expands_early(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace.main([]) == 0
    shown = capsys.readouterr().out
    assert "X 1 O\nO O 5\nX 7 X\n" in shown
    assert "X plays 7: " in shown  # 6 7 8 is a line
    early = shown.partition("simulation 7 of 20")[0]
    assert "O chooses after 5, t = 0, c = 1.414, expanded now" in early


def test_the_terminal_shows_puct_without_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert trace.main(["player=pv_mcts", "player.num_simulations=2"]) == 0
    shown = capsys.readouterr().out
    assert "There is no network here" in shown and "simulation 2 of 2" in shown
    # q 0 + c 1.25 * prior 1/3 * sqrt(1) / 1 = 0.4167
    assert "X chooses at the root, N = 1, c = 1.25" in shown and "0.4167" in shown


def test_a_proof_that_ends_a_search_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = "A proof of the root's value ended the search early."
    for solver in ("true", "false"):
        assert trace.main(["player=pv_mcts", f"player.solver={solver}"]) == 0
        shown = " ".join(capsys.readouterr().out.split())  # the terminal breaks long lines
        assert (ended in shown) == (solver == "true")


def test_the_champion_of_a_run_is_traced(trained_run: TrainedRun, tmp_path: Path) -> None:
    out = tmp_path / "trace.html"
    folders = [f"checkpoints={trained_run.checkpoints}", f"data={trained_run.data}"]
    words = ["player=pv_mcts", "player.run=trained", "player.num_simulations=12", *folders]
    assert trace.main([*words, f"out={out}"]) == 0
    record, _ = trace.read_record(words)
    kinds = {each["evaluation"]["kind"] for each in record["simulations"]}
    assert "network" in kinds and "rollout" not in kinds
    assert record["chosen"]["name"] == "7"
    assert "The network gives the prior P" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--verbose"], "unknown option '--verbose'; did you mean --version?"),
        (["game=draughts"], "draughts"),
        (["game=connect_four", "game.options.rows=0"], "game.options.rows=0 must be a whole number"),
        (["player=alpha_beta"], "player=alpha_beta must be one of: uct, pv_mcts."),
        (
            ["player.depth=3"],
            "unknown setting 'player.depth'; a traced uct has num_simulations, exploration, "
            "expansion_threshold.",
        ),
        (["player=pv_mcts", "player.kind=beam"], "player.kind=beam must be one of: puct, gumbel."),
        (["player=pv_mcts", "player.run=nowhere"], "nowhere"),
        (
            ["player=pv_mcts", "player.solver=perhaps"],
            "player.solver=perhaps must be true or false.",
        ),
        (["player=pv_mcts", "player.temperature=-1"], "player.temperature=-1 must be a number"),
        (
            ["player.num_simulations=0"],
            "player.num_simulations=0 must be a whole number from 1 to 10,000.",
        ),
        (["player.exploration=high"], "player.exploration=high must be a number"),
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
