"""The correctness table: its stats by other means, and what a small trained network must reach."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from toy import NAME, advance, toy_config

from azero.champion.load import load_players
from azero.cli.hydra_program import compose
from azero.config.schema import GameConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.players import make_player
from azero.players.pv_mcts import PvMcts
from azero.truth.tictactoe import (
    FIXED_POSITIONS,
    TicTacToeQuestions,
    alpha_beta_stats,
    check_champion,
    exhaustive_play,
    mean_stats,
    print_table,
    uct_stats,
)

if TYPE_CHECKING:
    from running import RunProgram, TrainedRun


@pytest.fixture(scope="module")
def questions(game: Game) -> TicTacToeQuestions:
    return TicTacToeQuestions(game)


def test_the_right_replies_are_those_that_keep_the_draw(questions: TicTacToeQuestions) -> None:
    solution = questions.solution
    for row, right in zip(questions.fixed, FIXED_POSITIONS.values(), strict=True):
        assert solution.value[row] == 0.0
        assert set(np.flatnonzero(solution.action_value[row] == 0.0).tolist()) == right


def test_the_fixed_positions_are_eleven_and_map_onto_each_other_by_symmetry(
    game: Game, questions: TicTacToeQuestions
) -> None:
    assert len(FIXED_POSITIONS) == 11
    for row, moves in zip(questions.fixed, FIXED_POSITIONS, strict=True):
        state = reduce(game.step, moves, game.initial_state())
        np.testing.assert_array_equal(questions.solution.states[row], state)
    for symmetry, (moves, right) in itertools.product(game.action_symmetries, FIXED_POSITIONS.items()):
        mapped = tuple(int(symmetry[move]) for move in moves)
        same = FIXED_POSITIONS.get(mapped) or FIXED_POSITIONS[mapped[2], mapped[1], mapped[0]]
        assert {int(symmetry[action]) for action in right} == same


def test_alpha_beta_is_perfect(questions: TicTacToeQuestions) -> None:
    stats = alpha_beta_stats(questions)
    assert stats.perfect and stats.fixed == 11
    assert stats.keeps_value == 1.0
    assert (stats.losses_first, stats.losses_second) == (0, 0)


def every_line(game: Game, state: np.ndarray, moves: dict[bytes, int], side: int) -> Iterator[float]:
    """The result for `side` of every game the opponent can make, by plain recursion."""
    if game.is_terminal(state):
        yield game.outcome(state) * (1 if game.to_play(state) == side else -1)
        return
    own = game.to_play(state) == side
    for action in [moves[state.tobytes()]] if own else game.legal_actions(state):
        yield from every_line(game, game.step(state, action), moves, side)


@pytest.mark.parametrize("side", [0, 1])
def test_exhaustive_play_counts_what_plain_recursion_counts(
    side: int, game: Game, questions: TicTacToeQuestions
) -> None:
    moves = questions.ask(make_player("random", game), seed=3)
    by_state = {
        state.tobytes(): int(move) for state, move in zip(questions.solution.states, moves, strict=True)
    }
    results = list(every_line(game, game.initial_state(), by_state, side))
    lost = sum(result < 0 for result in results)
    assert exhaustive_play(questions.solution, moves, side) == (lost, len(results))
    assert lost > 0


def test_a_player_s_answers_do_not_depend_on_when_it_is_asked(
    questions: TicTacToeQuestions, game: Game
) -> None:
    player = make_player("uct", game, num_simulations=20)
    first = questions.ask(player, seed=1)
    np.testing.assert_array_equal(questions.ask(player, seed=1), first)
    assert (questions.ask(player, seed=2) != first).any()
    assert (first[questions.solution.terminal] == -1).all()


def test_uct_is_good_but_not_perfect_and_better_with_more_simulations(questions: TicTacToeQuestions) -> None:
    few, many = (
        uct_stats(questions, runs=4, num_simulations=10),
        uct_stats(questions, runs=4, num_simulations=100),
    )
    assert few.keeps_value < many.keeps_value < 1.0
    assert many.keeps_value > 0.97
    assert few.losses_second > many.losses_second > 0


def test_a_mean_is_taken_of_every_figure(questions: TicTacToeQuestions, game: Game) -> None:
    one = questions.judge("one", questions.ask(make_player("random", game), seed=1))
    two = questions.judge("two", questions.ask(make_player("random", game), seed=2))
    mean = mean_stats("mean", [one, two])
    assert mean.fixed == (one.fixed + two.fixed) / 2
    assert mean.keeps_value == pytest.approx((one.keeps_value + two.keeps_value) / 2)
    assert mean.losses_first == (one.losses_first + two.losses_first) / 2
    assert mean.games_second == (one.games_second + two.games_second) / 2


def test_the_table_has_a_column_for_each_position_and_a_row_for_each_player(
    questions: TicTacToeQuestions, game: Game
) -> None:
    random = questions.judge("random", questions.ask(make_player("random", game)))
    stream = io.StringIO()
    print_table(
        [alpha_beta_stats(questions), random, uct_stats(questions, runs=3, num_simulations=10)], stream=stream
    )
    text = stream.getvalue()
    header, perfect, worst, mean, *_ = text.splitlines()
    kept = next(line for line in text.splitlines() if line.startswith("alpha-beta") and "4,520" in line)
    assert "cells 0 to 8" in text and "games lost: of all games" in text
    assert header.split() == ["right", "after", *"012345678", "048", "246", "of", "11"]
    assert perfect.split() == ["alpha-beta", *["yes"] * 11, "11"]
    assert set(worst.split()[1:-1]) == {"yes", "no"}
    assert all(cell.endswith("%") for cell in mean.split()[2:-1])
    assert kept.split() == ["alpha-beta", "4,520", "(100", "%)", "0", "of", "101", "0", "of", "681"]
    assert max(map(len, text.splitlines())) <= 80


def test_the_table_is_plain_where_the_output_is_no_terminal_and_coloured_on_one(
    questions: TicTacToeQuestions, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    table = [alpha_beta_stats(questions)]
    plain, terminal = io.StringIO(), Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")  # the table is whole on a narrow terminal too
    print_table(table, stream=plain)
    print_table(table, stream=terminal)
    assert "\x1b" not in plain.getvalue()
    coloured = terminal.getvalue()
    assert "\x1b[32myes\x1b[0m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain.getvalue()


def test_another_game_has_no_table() -> None:

    other = make_game(DOUBLE_MOVE)
    with pytest.raises(UserError, match="there is no table for double_move"):
        TicTacToeQuestions(other)


def test_the_search_of_an_untrained_network_is_judged_and_its_scalars_are_named(
    game: Game, questions: TicTacToeQuestions
) -> None:
    class Uniform:
        batch_size = 256

        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros((256, 9), np.float32), np.zeros(256, np.float32)

    inference: Any = Uniform()
    search = make_player("pv_mcts", game, inference=inference, num_simulations=20, temperature=0.0)
    stats = check_champion(search, make_player("policy", game, inference=inference), game, questions)
    # A policy without knowledge takes the first legal move; the search sees wins and threats even so.
    assert stats.policy.fixed == sum(
        min(set(range(9)) - set(moves)) in right for moves, right in FIXED_POSITIONS.items()
    )
    assert 0.5 < stats.policy.keeps_value < 0.7 < stats.search.keeps_value < 1.0
    assert stats.scalars() == {
        "correctness/fixed_search": stats.search.fixed,
        "correctness/fixed_policy": stats.policy.fixed,
        "correctness/keeps_value_search": stats.search.keeps_value,
        "correctness/keeps_value_policy": stats.policy.keeps_value,
        "correctness/losses_first_search": stats.search.losses_first,
        "correctness/losses_first_policy": stats.policy.losses_first,
        "correctness/losses_second_search": stats.search.losses_second,
        "correctness/losses_second_policy": stats.policy.losses_second,
    }


def test_a_small_trained_network_answers_all_fixed_positions_right(
    trained_run: TrainedRun, run_program: RunProgram
) -> None:
    done = run_program("correctness", f"run={trained_run.name}", folder=trained_run.folder)
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert rows["alpha-beta"] and "PV-MCTS" in rows and "UCT" in rows
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PV-MCTS" in done.stdout and " no" not in next(
        line for line in done.stdout.splitlines() if line.startswith("PV-MCTS")
    )


def test_a_run_that_is_not_there_gets_one_sentence(tmp_path: Any, run_program: RunProgram) -> None:
    done = run_program("correctness", "run=nowhere", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("azero: ") and "nowhere" in done.stderr and "Traceback" not in done.stderr


def test_the_champion_is_judged_with_its_runs_own_search_unless_another_is_asked_for(
    trained_run: TrainedRun,
) -> None:
    config = compose(
        "search.num_simulations=3", f"checkpoints={trained_run.checkpoints}", f"data={trained_run.data}"
    )
    game = make_game("tictactoe")
    own, _ = load_players(config, trained_run.name, game)
    asked, _ = load_players(config, trained_run.name, game, ["num_simulations"])
    assert isinstance(own, PvMcts)
    assert isinstance(asked, PvMcts)
    assert (own.search.num_simulations, asked.search.num_simulations) == (20, 3)


def test_another_game_is_measured_by_strength(tmp_path: Path, run_program: RunProgram) -> None:
    config = toy_config(tmp_path, game=GameConfig("hex", options={"size": 2, "swap": False}))
    advance(config, until="selfplay")
    places = f"run={NAME}", f"checkpoints={config.checkpoints}", f"data={config.data}"
    done = run_program("correctness", "game=hex5", "game.options.size=2", *places, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"this is azero strength run={NAME}" in done.stdout and re.search(
        r"right sign: \d of 4 ", done.stdout
    )
