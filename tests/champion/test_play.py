"""A person at the terminal: moves, mistakes, hints, taking back, leaving, and the game that is kept."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ending import check_clean, interrupt
from places import DOUBLE_MOVE
from searching import FakeInference
from toy import NAME, advance, toy_config

from azero.cli.player_spec import PlayerSpec, choose_player
from azero.config.schema import Config, GameConfig, SearchConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.play import (
    CHAMPIONS_HINT,
    PlaySession,
    at_level,
    choose_adviser,
    main,
    run_session,
    show_line,
    value_text,
)
from azero.players import Move, ThinkingPlayer, Thought, make_player
from azero.players.base import Deterministic
from azero.players.levels import level_of
from azero.players.pv_mcts import PvMcts
from azero.process.signals import StopSignal
from azero.records.__main__ import main as records_main
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.search.root import Temperature
from azero.search.tree import LOSS, WIN
from azero.stages import initialize

pytestmark = pytest.mark.usefixtures("elsewhere")

TICTACTOE = make_game("tictactoe")


def person(*words: str) -> Callable[[str], str]:
    """Types these words one after another, and then nothing more."""
    left = list(words)

    def ask(_prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


class Adviser(Deterministic):
    """Sees 30 visits on the first legal move and 10 on the last."""

    name = "adviser"

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        self.legal = TICTACTOE.legal_actions(states[0])
        return np.array(self.legal[:1])

    def read(self) -> Thought:
        first, last = int(self.legal[0]), int(self.legal[-1])
        moves = [
            Move(first, 30, 0.5, 0.5, (first,), -1.0, 1.0),
            Move(last, 10, -1.0, 0.5, (last,), -1.0, 1.0),
        ]
        return Thought(first, 40, 0.0, moves)


def sit(
    *words: str, side: int = 0, opponent: ThinkingPlayer | None = None, game: Game = TICTACTOE
) -> tuple[PlaySession, str]:
    """A session after these words were typed, and what was shown."""
    shown: list[str] = []
    session = PlaySession(
        game, opponent or make_player("alpha_beta", game), Adviser(), side, person(*words), shown.append
    )
    try:
        session.play()
    except EOFError:
        shown.append("left")
    return session, "\n".join(shown)


def test_alpha_beta_answers_and_draws() -> None:
    """0 4 1 2 6 3 5 7 8 is alpha-beta's game with itself; the person plays the first side of it."""
    session, shown = sit("0", "1", "6", "5", "8")
    assert session.at.actions == [0, 4, 1, 2, 6, 3, 5, 7, 8]
    assert "alpha_beta plays 4" in shown and shown.endswith("A draw.")


def test_a_mistake_loses_and_the_last_board_is_shown() -> None:
    session, shown = sit("1", "3", "5", "7", "8")
    assert session.at.is_over
    assert shown.endswith("alpha_beta wins.")


def test_the_second_side_waits_for_the_first_move() -> None:
    session, shown = sit("4", side=1)
    assert session.at.actions[:2] == [0, 4] and shown.startswith(
        "You play O and move second.\nYou play against alpha_beta.\nType help for the commands.\n\n"
        " . . .    0 1 2\n"
    )


def test_what_is_no_move_is_explained_and_asked_again() -> None:
    session, shown = sit("x9", "", "moves", "help", "undo", "0", "0")
    assert session.at.actions == [0, 4]
    for said in ("'x9' is not a move of tictactoe", "hint   what", "0 1 2 3 4 5 6 7 8",
                 "A move is written 0 … 8",
                 "There is nothing to take back", "0 is not legal here"):  # fmt: skip
        assert said in shown


def test_no_piece_looks_like_the_number_of_a_cell_and_the_last_move_is_marked() -> None:
    _, shown = sit("1", "3")
    for board in (
        " . . .    0 1 2\n . . .    3 4 5\n",
        "(O)X .    0 1 2\n . . .    3 4 5\n",
        " O X .    0 1 2\n X(O).    3 4 5\n",
    ):
        assert board in shown
    for name, moves, marked in (
        ("connect_four", "4 4 7", "1 . . . X . .(X)"),
        ("hex", "a1 g7", "7 . . . . . .(O)"),
        ("othello", "d3", "3 . . .(X). . . ."),
    ):
        game = make_game(name)
        begin = [game.parse_action(game.initial_state(), move) for move in moves.split()]
        session = PlaySession(game, make_player("random", game), Adviser(), 0, begin=begin)
        picture = session.picture()
        assert marked in map(str.strip, picture.splitlines()) and picture.count("(") == 1, picture


def test_a_pass_and_a_board_in_other_words_are_shown_without_a_mark() -> None:
    game = make_game("go", size=5)
    session = PlaySession(game, make_player("random", game), Adviser(), 0, begin=[25])
    assert session.picture() == game.format_state(session.at.state)
    other = replace(TICTACTOE, format_state=lambda state: "no board")
    session = PlaySession(other, make_player("random", other), Adviser(), 0, begin=[4])
    assert session.picture() == "no board"


def test_a_run_names_the_game_and_the_champion(tmp_path: Path) -> None:
    advance(toy_config(tmp_path, game=GameConfig("connect_four"), cycles=1))
    for opponent, name in (([], "the champion"), (["opponent=policy"], "policy with the")):
        shown: list[str] = []
        run_session([f"run={NAME}", *opponent, "side=second"], person(), shown.append)
        assert f"You play against {name}" in shown[0] and f" of run {NAME} after " in shown[0]
        assert "1 2 3 4 5 6 7" in shown[1]
    shown.clear()
    run_session([f"run={NAME}", "opponent=uct", "opponent.num_simulations=5"], person(), shown.append)
    assert "You play against uct 5" in shown[0] and "1 2 3 4 5 6 7" in shown[1]


@pytest.mark.parametrize(
    "words, parts",
    [
        (["run=nobody"], ["nobody"]),
        (["run=nobody", "ply=3"], ["ply= needs a game"]),
        (["run=../x"], ["cannot name a folder"]),
        (["rum=nobody"], ["unknown setting 'rum'; did you mean run?"]),
    ],
)
def test_a_run_that_cannot_be_played_is_one_sentence(words: list[str], parts: list[str]) -> None:
    with pytest.raises(UserError) as refusal:
        run_session(words, person(), print)
    assert all(part in str(refusal.value) for part in parts)


@pytest.mark.parametrize(
    "name, meant", [("conect_four", "connect_four"), ("hexx7", "hex7"), ("otello6", "othello6")]
)
@pytest.mark.parametrize("program", ["play", "arena", "check_game", "gtp", "oracle"])
def test_a_misspelt_game_is_answered_with_the_closest_one(
    program: str, name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"game={name}", *(["out=positions.gz"] if program == "oracle" else [])]
    assert importlib.import_module(f"azero.{program}").main(words) == 2
    assert capsys.readouterr().err == f"azero: game={name} does not exist; did you mean {meant}?\n"


def test_a_hint_shows_the_most_visited_moves_first() -> None:
    _, shown = sit("4", "hint")
    rows = [line.split() for line in shown.splitlines()]
    at = rows.index(["move", "visits", "value"])
    assert rows[at + 1] == ["1", "30", "+0.50"]  # alpha-beta has answered 4 with 0
    assert rows[at + 2] == ["8", "10", "-1.00"]
    assert rows[at - 1] == ["best", "2", "of", "7", "moves"]
    assert "Best move first, then by visits. value: +1 you win, 0 draw, -1 you lose" in shown


def test_a_hint_names_a_proven_win_first_however_few_its_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    """X to move wins at 8, which was visited once.

    . . .
    O O .
    X X .
    """
    others = [Move(action, 10, 0.5, 0.3, (action,), LOSS, WIN) for action in (0, 1, 2)]
    found = Thought(8, 31, 1.0, [*others, Move(8, 1, 1.0, 0.01, (8,), WIN, WIN)])
    player = PvMcts(TICTACTOE, FakeInference(TICTACTOE), SearchConfig(num_simulations=4, solver=True))
    session = PlaySession(TICTACTOE, player, player, 0, person(), print, begin=[6, 3, 7, 4])
    monkeypatch.setattr(session, "think", lambda player: found)
    rows = [line.split() for line in session.hint_text().splitlines()]
    assert ["8", "1", "+1.00"] == next(row for row in rows if row[0].isdecimal())


def test_an_adviser_that_draws_its_moves_hints_at_the_best_one() -> None:
    search = SearchConfig(num_simulations=60, tree_reuse=False)
    hot = Temperature(100.0, 9, 0, 0.0)
    player = PvMcts(TICTACTOE, FakeInference(TICTACTOE), search, hot)
    drawn = 0
    for first in range(9):
        session = PlaySession(TICTACTOE, player, player, 0, person(), print, begin=[first])
        rows = [line.split() for line in session.hint_text().splitlines()]
        moves = [row for row in rows if row[0].isdecimal()]
        assert int(moves[0][1]) == max(int(row[1]) for row in moves)
        player.new_games(np.zeros(1, np.uint64))
        drawn += player.think(session.at).best != int(moves[0][0])
    assert drawn > 0


def test_a_move_that_nobody_tried_has_no_value() -> None:
    assert [value_text(value) for value in (0.5, -1.0, float("nan"))] == ["+0.50", "-1.00", "?"]


def test_a_value_of_nearly_zero_has_no_minus() -> None:
    assert [value_text(value) for value in (-0.004, 0.004, -0.006)] == ["+0.00", "+0.00", "-0.01"]


def test_undo_takes_back_the_move_and_its_answer() -> None:
    session, _ = sit("0", "1", "undo", "8")
    assert session.at.actions[:3] == [0, 4, 8]
    assert sit("0", "1", "undo", "undo")[0].at.actions == []
    assert sit("4", "undo", side=1)[0].at.actions == [0]  # the opponent's first move stays


def test_repeated_positions_are_refused_in_go_also_after_undo() -> None:
    r"""A ko on 5 x 5: after b3 takes at c3, the stone may not be taken back at once.

    5 . . . . .
    4 . X O . .
    3 X . X O .     O plays b3 and takes c3; X c3 would repeat
    2 . X O . .
    1 . . . . .
    """
    game = make_game("go", size=5, komi=0.5)
    moves = ["b4", "c4", "a3", "d3", "b2", "c2", "c3"]

    class Scripted(Deterministic):
        name = "scripted"

        def choose(
            self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
        ) -> np.ndarray:
            return np.array(
                [
                    game.parse_action(
                        game.initial_state(), [*moves, "b3", "e5"][int(plies[0]) if plies[0] < 8 else 8]
                    )
                ]
            )

    session, shown = sit(*moves[0::2], "c3", "undo", "c3", "c3", "e1", opponent=Scripted(), game=game)
    assert shown.count("c3 is not legal here") == 2
    assert game.action_name(game.initial_state(), session.at.actions[8]) == "e1"


def test_a_game_is_kept_as_a_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    run_session(["opponent=alpha_beta"], person("0", "1", "6", "5", "8"), shown.append)
    run_session(["opponent=alpha_beta", "side=second"], person("4", "quit"), shown.append)
    run_session(["opponent=alpha_beta"], person(), shown.append)
    finished, left = map(json.loads, Path("data/play.jsonl").read_text().splitlines())
    assert finished["moves"] == list("041263578") and finished["outcome"] == 0.0
    assert finished["players"] == ["human", "alpha_beta"]
    assert (
        left["outcome"] is None
        and left["players"] == ["alpha_beta", "human"]
        and left["moves"][:2] == ["0", "4"]
    )
    assert "The game is in data/play.jsonl." in shown


def test_uct_plays_and_advises_when_nobody_is_asked_for_and_nothing_is_trained() -> None:
    shown: list[str] = []
    run_session([], person("4", "hint"), shown.append)
    assert any(line.startswith("UCT plays") for line in shown) and any("visits" in line for line in shown)


@pytest.mark.parametrize(
    "words, command",
    [
        ([], "azero loop tictactoe"),
        (["game=hex", "game.options.size=5"], "azero loop hex5"),
        (["hex11"], "azero loop hex11"),
        (["hex5", "game.options.size=3", "checkpoints=a b"],
         "azero loop game=hex5 game.options.size=3 'checkpoints=a b'"),
    ],
)  # fmt: skip
def test_without_a_champion_the_command_that_trains_one_is_said(words: list[str], command: str) -> None:
    shown: list[str] = []
    run_session(words, person(), shown.append)
    assert (
        "\nYou play against UCT with 1,000 simulations.\n"
        f"There is no champion of this game yet; {command} trains one.\n" in shown[0]
    )
    run_session([*words, "opponent.seconds=1"], person(), shown.append)
    assert any("\nYou play against UCT.\nThere is no champion" in each for each in shown)


def test_uct_that_nobody_asked_for_keeps_the_limit_that_somebody_did() -> None:
    timed = PlayerSpec("opponent", "auto", {"seconds": 2})
    assert choose_player(timed, TICTACTOE, Config()) == PlayerSpec("opponent", "uct", {"seconds": 2})


def test_alpha_beta_plays_chess_without_a_champion_unless_options_of_uct_are_asked_for() -> None:
    chess, config = make_game("chess"), Config()

    def rival(**options: float) -> PlayerSpec:
        return choose_player(PlayerSpec("opponent", "auto", options), chess, config)

    assert rival() == PlayerSpec("opponent", "iterative_deepening", {})
    assert rival(seconds=2.0) == PlayerSpec("opponent", "iterative_deepening", {"seconds": 2.0})
    assert rival(num_simulations=7) == PlayerSpec("opponent", "uct", {"num_simulations": 7})
    shown: list[str] = []
    run_session(["game=chess", "opponent.seconds=0.01"], person(), shown.append)
    assert "\nYou play against alpha-beta.\nThere is no champion of this game yet; " in shown[0]


def test_a_move_that_is_not_proven_is_said_to_be_so() -> None:
    game = make_game("connect_four")
    _, shown = sit("4", opponent=make_player("perfect", game, seconds=0.002, table=1000), game=game)
    assert "(not proven)" in shown
    assert "(not proven)" not in sit("4", opponent=make_player("perfect", TICTACTOE))[1]


def test_a_trained_champion_plays_and_advises(tmp_path: Path) -> None:
    advance(toy_config(tmp_path))
    shown: list[str] = []
    run_session(["opponent=pv_mcts", f"opponent.run={NAME}"], person("4", "hint"), shown.append)
    assert any(line.startswith("The champion plays") for line in shown)
    assert any("visits" in line for line in shown)


def test_what_a_network_s_search_thinks_is_shown_while_and_after_it_does() -> None:
    shown: list[str] = []
    lines: list[str] = []
    player = make_player("pv_mcts", TICTACTOE, inference=FakeInference(TICTACTOE), num_simulations=50)
    session = PlaySession(TICTACTOE, player, player, 0, person("4", "hint"), shown.append, lines.append)
    with pytest.raises(EOFError):
        session.play()
    answer = next(line for line in shown if line.startswith("pv_mcts plays"))
    assert re.fullmatch(r"pv_mcts plays \d \(\d+ of 50 visits, value [+-]0\.\d\d for you\)", answer)
    assert lines[0] == "thinking …" and lines[1].startswith("thinking … ") and "" in lines and lines[-1] == ""


def test_the_value_of_the_opponents_move_is_for_the_person_too() -> None:
    """The opponent, O, wins at 5: its value is +1 for itself."""
    shown: list[str] = []
    search = SearchConfig(num_simulations=60, solver=True, tree_reuse=False)
    player = PvMcts(TICTACTOE, FakeInference(TICTACTOE), search)
    begin = [0, 3, 1, 4]  # X X . / O O . / . . .
    session = PlaySession(TICTACTOE, player, player, 0, person("8"), shown.append, begin=begin)
    session.play()
    assert any(re.match(r"pv_mcts plays 5 \(.* visits, value -1.00 for you\)", line) for line in shown)


def begin_run(folder: Path, name: str, size: int = 5) -> None:
    """A run of Hex with its first network, which is its champion."""
    config = toy_config(folder, run=name, game=GameConfig(name="hex", options={"size": size}))
    with Run.open(config, name, "test") as run:
        initialize.run_stage(config, run, NullReporter(), StopSignal())


def test_the_champion_of_a_run_on_the_same_board_is_the_opponent(tmp_path: Path) -> None:
    """Of the runs on a board (hex5 and mine: 5 x 5, hex6: 6 x 6) the run called hex wins, then the latest."""
    config, five = replace(Config(), checkpoints=str(tmp_path / "checkpoints")), make_game("hex", size=5)
    auto = PlayerSpec("opponent", "auto", {"num_simulations": 7})
    assert choose_player(auto, five, config) == PlayerSpec("opponent", "uct", {"num_simulations": 7})
    assert choose_player(PlayerSpec("opponent", "auto", {}), five, config).options == {
        "num_simulations": 1000
    }
    begin_run(tmp_path, "hex6", 6)
    assert choose_player(auto, five, config).name == "uct"
    for name in ("hex5", "mine", "hex"):
        begin_run(tmp_path, name)
        expected = PlayerSpec("opponent", "pv_mcts", {"num_simulations": 7, "run": name})
        assert choose_player(auto, five, config) == expected
        os.utime(tmp_path / "checkpoints" / name / "state.json", (1e9, 1e9))
    assert choose_player(auto, make_game("hex", size=6), config).options["run"] == "hex6"
    named = PlayerSpec("opponent", "auto", {"run": "mine"})
    assert choose_player(named, five, config) == PlayerSpec("opponent", "pv_mcts", {"run": "mine"})
    (tmp_path / "checkpoints" / "hex" / "state.json").write_text("{")
    assert choose_player(auto, five, config).options["run"] in ("hex5", "mine")
    asked = PlayerSpec("opponent", "random", {})
    assert choose_player(asked, five, config) == asked


def test_the_champion_of_a_game_of_one_s_own_is_found_by_its_name(tmp_path: Path) -> None:
    """The run keeps the file's path; the game's name is double_move. No other game's run is taken."""
    path = Path(DOUBLE_MOVE)
    config = toy_config(tmp_path, run="mine", game=GameConfig(str(path)))
    with Run.open(config, "mine", "test") as run:
        initialize.run_stage(config, run, NullReporter(), StopSignal())
    auto = PlayerSpec("opponent", "auto", {})
    assert choose_player(auto, make_game(str(path)), config) == PlayerSpec(
        "opponent", "pv_mcts", {"run": "mine"}
    )
    assert choose_player(auto, make_game(str(path.with_name("ring.py"))), config).name == "uct"
    assert choose_player(auto, make_game("hex", size=5), config).name == "uct"


@pytest.mark.parametrize(
    "words, said",
    [
        (["side=left"], "side=left must be one of: first, second"),
        (["opponent=nobody"], "unknown player nobody; choose one of: random"),
        (
            ["opponent=uct", "opponent.depth=2"],
            "unknown setting 'opponent.depth'; did you mean opponent.rollout_depth?",
        ),
        (["opponent=random", "adviser=random"], "adviser=random gives no hints"),
        (["oponent=uct"], "unknown setting 'oponent'; did you mean opponent?"),
        (["num_simulation=5"], "did you mean opponent.num_simulations?"),
        (["--hlep"], "unknown option '--hlep'; did you mean --help?"),
        (["opponent=pv_mcts", f"opponent.run={NAME}"], f"holds no run {NAME}"),
        (["opponent=random", "record=/"], "cannot be written"),
        (["opponent=random", "data=/dev/null"], "record=/dev/null/play.jsonl cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_in_hex_the_sides_are_said() -> None:
    game = make_game("hex", size=3)
    assert sit(game=game)[1].startswith("You play X and move first. You connect top and bottom.\n")
    opponent = make_player("random", game)
    opponent.new_games(np.zeros(1, np.uint64))
    second = sit(side=1, opponent=opponent, game=game)[1]
    assert second.startswith("You play O and move second. You connect left and right.\n")


def test_figures_are_white_and_black() -> None:
    game = make_game("breakthrough", rows=5, columns=4)
    opponent = make_player("random", game)
    opponent.new_games(np.zeros(1, np.uint64))
    greetings = [sit(side=side, opponent=opponent, game=game)[1] for side in (0, 1)]
    assert [each.partition(".")[0] for each in greetings] == [
        "You play White and move first",
        "You play Black and move second",
    ]


def test_a_champion_s_hint_searches_no_less_than_400_times_unless_it_is_told_to(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Self-play of hex5 searches less often; a run that searches more often hints so."""
    game, config = make_game("hex", size=5), Config()
    opponent = PlayerSpec("opponent", "pv_mcts", {"run": "shipped/hex5"})

    def simulations(**options: Any) -> int:
        adviser = choose_adviser(PlayerSpec("adviser", "auto", options), opponent, game, config)
        return int(adviser.search.num_simulations)  # type: ignore[attr-defined]

    assert simulations() == CHAMPIONS_HINT == 400
    assert simulations(num_simulations=20) == 20
    assert simulations(seconds=1.0) > 400
    monkeypatch.setattr("azero.play.search_of", lambda run: SearchConfig(num_simulations=1000))
    assert simulations() == 1000


def test_at_a_set_up_position_the_side_to_move_is_said() -> None:
    shown: list[str] = []
    run_session(["game=tictactoe", "opponent=random", "position=.../.X./... O"], person("quit"), shown.append)
    assert shown[0].startswith("You are X, and O is to move.\nYou play against random.")


def test_the_opponent_is_named_with_run_and_cycle(tmp_path: Path) -> None:
    advance(toy_config(tmp_path))
    shown: list[str] = []
    run_session([f"opponent.run={NAME}"], person(), shown.append)
    cycle = json.loads(Path(f"checkpoints/{NAME}/state.json").read_text())["champion"]["cycle"]
    cycles = "1 cycle" if cycle == 1 else f"{cycle} cycles"
    assert f"You play against the champion of run {NAME} after {cycles}." in shown[0]
    assert not any("pv_mcts" in line for line in shown)
    run_session(["opponent=policy", "side=second"], person(), shown.append)
    assert any(f"against policy with the champion of run {NAME} after {cycles}." in line for line in shown)
    assert shown[-3].startswith("\n") or any(line.startswith("policy plays") for line in shown)


def test_the_board_comes_before_a_long_search() -> None:
    """The opponent moves first and takes 0.3 s: board and "thinking" are there before."""
    moments: dict[str, float] = {}

    def note(text: str) -> None:
        moments.setdefault(text, time.monotonic())

    opponent = make_player("uct", TICTACTOE, seconds=0.3)
    session = PlaySession(TICTACTOE, opponent, Adviser(), 1, person(), note, note)
    with pytest.raises(EOFError):
        session.play()
    board = moments["\n" + TICTACTOE.format_state(TICTACTOE.initial_state())]
    (answer,) = (at for text, at in moments.items() if text.startswith("uct 0.3 s plays"))
    assert board <= moments["thinking …"] < answer - 0.2


@pytest.mark.parametrize("name", ["uct", "flat_monte_carlo"])
def test_a_player_with_much_time_is_made_at_once(name: str) -> None:
    begin = time.monotonic()
    assert "60" in make_player(name, TICTACTOE, seconds=60).name and time.monotonic() - begin < 30


def test_an_interrupt_while_the_opponent_thinks_keeps_the_game(tmp_path: Path) -> None:
    ended = interrupt(
        ["azero.play", "opponent=uct", "opponent.seconds=60", "side=second"], tmp_path, b"thinking", 0.3
    )
    check_clean(ended)
    # a signal between the prompt and the read waits for a key: nobody is that fast
    moved = interrupt(
        ["azero.play", "opponent=uct", "opponent.seconds=0.1", "side=second"], tmp_path, b"your move: ", 0.3
    )
    check_clean(moved)
    assert b"The game is in data/play.jsonl." in moved.after
    assert (tmp_path / "data" / "play.jsonl").read_text().count("\n") == 1


def test_a_person_resigns(tmp_path: Path) -> None:
    shown: list[str] = []
    for side in ("first", "second"):
        run_session(["opponent=alpha_beta", f"side={side}"], person("4", "resign"), shown.append)
    first, second = map(json.loads, Path("data/play.jsonl").read_text().splitlines())
    assert (first["outcome"], second["outcome"]) == (-1.0, 1.0)
    assert first["moves"][0] == "4" and len(first["moves"]) == 2
    assert sum(said.endswith("You resign. alpha_beta wins.") for said in shown) == 2
    out = tmp_path / "games.sgf"
    assert records_main(["from=data/play.jsonl", f"out={out}"]) == 0
    assert "RE[W+R]" in out.read_text() and "RE[B+R]" in out.read_text()


def test_a_level_is_that_of_the_champion(box: None) -> None:
    spec = PlayerSpec("opponent", "pv_mcts", {"run": "shipped/hex5"})
    assert at_level(spec, "") == spec
    assert level_of(at_level(spec, "easy").options) == "easy"
    typed = replace(spec, options={**spec.options, "num_simulations": 60})
    assert at_level(typed, "easy").options["num_simulations"] == 60
    with pytest.raises(UserError, match=r"^level=easy is for a champion, and the opponent is uct\.$"):
        at_level(PlayerSpec("opponent", "uct", {}), "easy")
    with pytest.raises(UserError, match=r"^level=easy is for a champion, and no run has one of this game\.$"):
        at_level(PlayerSpec("opponent", "uct", {}), "easy", is_auto=True)
    shown: list[str] = []
    run_session(["game=hex5", "level=beginner"], person("hint", "quit"), shown.append)
    assert any("You play against the champion" in said for said in shown)
    (hint,) = (said for said in shown if said.startswith("best "))
    assert sum(int(line.split()[1]) for line in hint.splitlines()[2:-1]) > 100  # not the level's 25


def test_a_game_taken_back_behind_its_beginning_is_kept() -> None:
    words = ["opponent=alpha_beta", "from=start.json"]
    Path("start.json").write_text('{"game": "tictactoe", "moves": ["0", "4", "8", "1"]}\n')
    run_session(words, person("undo", "undo"), lambda text: None)  # nothing is new
    assert not Path("data/play.jsonl").read_text()
    run_session(words, person("undo", "undo", "2"), lambda text: None)
    (kept,) = map(json.loads, Path("data/play.jsonl").read_text().splitlines())
    assert kept["moves"][0] == "2" and len(kept["moves"]) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_keeps_the_game(number: int, tmp_path: Path) -> None:
    words = ["opponent=uct", "opponent.seconds=0.1", "side=second"]
    command = [sys.executable, "-m", "azero.play", *words]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # CI may ignore it
    ) as process:
        assert process.stdout is not None
        shown = b""
        while b"your move: " not in shown:
            shown += (read := process.stdout.read(1))
            assert read, shown  # it has ended
        time.sleep(0.5)  # a signal between the prompt and the read waits for a key
        process.send_signal(number)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)  # as a terminal does
        assert process.wait(60) == 128 + number
    assert (tmp_path / "data" / "play.jsonl").read_text().count("\n") == 1


def test_the_console_wraps_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr("azero.play.Console", lambda: SimpleNamespace(message=said.append))
    monkeypatch.setattr("builtins.input", person("x9", "quit"))
    assert main(["opponent=random"]) == 0
    assert said[0].startswith("You play X") and any("'x9' is not a move" in text for text in said)


def test_a_line_is_cut_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show_line("x" * 100)
    assert capsys.readouterr().out == "\r\x1b[K" + "x" * 39
