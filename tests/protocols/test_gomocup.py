"""Gomocup's protocol: whole sessions, clocks, positions in any order, and whatever a manager may send."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forks import azero_command
from hypothesis import given
from hypothesis import strategies as st

import azero
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.protocols.gomocup import AT_ONCE, MARGIN, Gomocup, check_gomoku
from azero.protocols.lines import MOST_BYTES, Lines
from azero.protocols.thinking import Thinker

SIZE = 7
GAME = make_game("gomoku", rows=SIZE, columns=SIZE)
UCT = PlayerSpec("player", "uct", {"num_simulations": 200})
THINKER = Thinker(UCT, GAME, Config())


def make_thinker(columns: int, rows: int) -> Thinker:
    """Return a player for 7 x 7; UserError: another size is asked for."""
    if (columns, rows) != (SIZE, SIZE):
        raise UserError("this champion plays on 7 x 7 only.")
    THINKER.seed = 0
    return THINKER


def brain(data: bytes) -> tuple[Gomocup, list[str]]:
    """Return a brain that reads these bytes, and the list that gets its answers."""
    answers: list[str] = []
    return Gomocup(make_thinker, Lines(io.BytesIO(data)), answers.append), answers


def answers_to(*commands: str) -> list[str]:
    """Return what the brain answers to some lines, which end as on Windows."""
    gomocup, answers = brain("".join(f"{command}\r\n" for command in commands).encode())
    gomocup.serve()
    gomocup.ahead.lines.finish()
    return answers


def own_answer(*cells: tuple[int, int]) -> str:
    """Return the move of the player itself after these stones, as X,Y."""
    thinker = Thinker(UCT, GAME, Config())
    playing = GameInProgress(GAME, [y * SIZE + x for x, y in cells])
    action = thinker.choose(playing).best
    return f"{action % SIZE},{action // SIZE}"


def test_a_game_is_played_with_the_players_own_moves() -> None:
    first = own_answer()
    x, y = map(int, first.split(","))
    reply = (x + 1) % SIZE, y
    answers = answers_to(f"START {SIZE}", "INFO game_type 1", "BEGIN", f"TURN {reply[0]},{reply[1]}", "END")
    assert answers == ["OK", first, own_answer((x, y), reply)]


def test_the_brain_answers_who_it_is() -> None:
    assert answers_to("ABOUT") == [f'name="azero", version="{azero.__version__}", author="the azero authors"']


@pytest.mark.parametrize(
    "stones, cells",
    [
        # azero is first: 3,3 and 2,3 are its own, in whatever order the lines come
        (["4,4,2", "2,3,1", "3,3,1", "5,4,2"], [(2, 3), (4, 4), (3, 3), (5, 4)]),
        # azero is second
        (["3,3,2"], [(3, 3)]),
        (["4,4,1", "5,5,2", "3,3,2"], [(5, 5), (4, 4), (3, 3)]),
        ([], []),
    ],
)
def test_a_board_is_set_up_in_any_order(stones: list[str], cells: list[tuple[int, int]]) -> None:
    assert answers_to(f"START {SIZE}", "BOARD", *stones, "DONE") == ["OK", own_answer(*cells)]


def own_answer_on(first: list[str], second: list[str]) -> str:
    """Return the player's own move after stones X,Y of the first player and of the second."""
    cells = list[tuple[int, int]]()
    for place in range(len(first) + len(second)):
        x, y = (first, second)[place % 2][place // 2].split(",")
        cells.append((int(x), int(y)))
    return own_answer(*cells)


@pytest.mark.parametrize(
    "stones, then, first, second",
    [
        (["3,3,2"], "BEGIN", ["3,3"], []),
        (["2,3,1", "4,4,2"], "BEGIN", ["2,3"], ["4,4"]),
        (["2,3,1", "4,4,2"], "TURN 5,5", ["4,4", "5,5"], ["2,3"]),
        (["2,3,1"], "TURN 5,5", ["2,3"], ["5,5"]),
        (["4,4,2", "2,3,1", "3,2,1"], "turn 5,5", ["2,3", "3,2"], ["4,4", "5,5"]),
        ([], "BEGIN", [], []),
        ([], "TURN 5,5", ["5,5"], []),
    ],
)
def test_a_board_of_yixin_is_set_up_without_an_answer(
    stones: list[str], then: str, first: list[str], second: list[str]
) -> None:
    """What comes next, BEGIN or TURN, says whose turn it is."""
    answers = answers_to(f"START {SIZE}", "YXBOARD", *stones, "DONE", then)
    assert answers == ["OK", own_answer_on(first, second)]


def test_a_board_of_yixin_that_is_wrong_is_an_error() -> None:
    yixin = (f"START {SIZE}", "YXBOARD")
    no_game = "ERROR no game has begun; send START and the size of the board."
    assert answers_to(*yixin, "1,1,1", "2,2,1", "DONE", "BEGIN")[1:] == [
        "ERROR with 2 own and 0 other stones it is not the opponent's turn.",
        no_game,
    ]
    assert answers_to(*yixin, "1,1,2", "DONE", "TURN 2,2", "BEGIN")[1:2] == [
        "ERROR with 0 own and 1 other stones it is not the opponent's turn.",
    ]
    assert answers_to(*yixin, "1,1,1", "DONE", "BEGIN")[1:] == [
        "ERROR with 1 own and 0 other stones it is not azero's turn.",
    ]
    assert answers_to(*yixin, "9,9,1", "DONE")[1:] == ["ERROR 9,9 is not a cell of this board."]
    [*oks, move] = answers_to(*yixin, "1,1,2", "DONE", "RESTART", "BEGIN")
    assert oks == ["OK", "OK"] and move == answers_to(f"START {SIZE}", "RESTART", "BEGIN")[-1]


def test_a_size_that_the_game_does_not_have_is_refused_in_the_manager_s_words() -> None:
    def make_any(columns: int, rows: int) -> Thinker:
        return Thinker(UCT, make_game("gomoku", rows=rows, columns=columns), Config())

    answers = list[str]()
    lines = Lines(io.BytesIO(b"START 99\nRECTSTART 15,0\n"))
    Gomocup(make_any, lines, answers.append).serve()
    lines.finish()
    assert answers == [
        "ERROR rows 99 must be a whole number from 1 to 25.",
        "ERROR rows 0 must be a whole number from 1 to 25.",
    ]


def test_five_of_its_own_are_completed() -> None:
    # y 0  1 1 1 1 .
    #   1  2 2 2 . .
    stones = [f"{x},0,1" for x in range(4)] + [f"{x},1,2" for x in range(3)] + ["6,6,2"]
    assert answers_to(f"START {SIZE}", "BOARD", *stones, "DONE") == ["OK", "4,0"]


def test_moves_are_taken_back() -> None:
    before = own_answer((3, 3))
    answers = answers_to(
        f"START {SIZE}", "TURN 3,3", f"TAKEBACK {before}", "TAKEBACK 2,2", "TAKEBACK 3,3", "TURN 3,3"
    )
    assert answers == ["OK", before, "OK", "ERROR 2,2 is not the last move.", "OK", before]


def test_a_turn_that_is_refused_leaves_no_stone() -> None:
    turn = "TURN 3,3"
    answers = answers_to(f"START {SIZE}", "INFO rule 4", turn, turn, "INFO rule 0", turn, turn)
    assert answers[1] == answers[2] and answers[1].startswith("ERROR rule 4 is not known")
    assert answers[3:] == [own_answer((3, 3)), "ERROR move 3 is not legal."]
    five = ["BOARD", *(f"{x},0,2" for x in range(5)), *(f"{x},1,1" for x in range(4)), "DONE"]
    answers = answers_to(f"START {SIZE}", *five, turn, "TAKEBACK 4,0", "TAKEBACK 3,1")
    assert answers[1:] == ["ERROR the game is over."] * 2 + ["OK", "OK"]


def test_a_command_that_comes_before_done_is_obeyed() -> None:
    answers = answers_to(
        f"START {SIZE}", "BOARD", "3,3,2", f"start {SIZE}", "BEGIN", "SWAP2BOARD", "END", "ABOUT"
    )
    assert answers == [
        "OK",
        "ERROR START came before DONE.",
        "OK",
        own_answer(),
        "ERROR END came before DONE.",
    ]


def test_restart_empties_the_board() -> None:
    answers = answers_to(f"START {SIZE}", "TURN 3,3", "RESTART", "TURN 3,3")
    assert answers[0] == answers[2] == "OK" and answers[1].count(",") == answers[3].count(",") == 1


@pytest.mark.parametrize(
    "commands, error",
    [
        (["START 8"], "ERROR this champion plays on 7 x 7 only."),
        (["START"], "ERROR START needs the size of the board, such as START 15."),
        (["START 7,7"], "ERROR START needs the size of the board, such as START 15."),
        (["RECTSTART 8,7"], "ERROR this champion plays on 7 x 7 only."),
        (["RECTSTART 8"], "ERROR RECTSTART needs columns and rows, such as RECTSTART 20,15."),
        (["BEGIN"], "ERROR no game has begun; send START and the size of the board."),
        (["TURN 1,1"], "ERROR no game has begun; send START and the size of the board."),
        (["RESTART"], "ERROR no game has begun; send START and the size of the board."),
        (["START 7", "TURN 7,0"], "ERROR 7,0 is not a cell of this board."),
        (
            ["START 7", "BOARD", "3,3,2", "START 7,7"],
            "ERROR START needs the size of the board, such as START 15.",
        ),
        (
            ["START 7", "TURN 3,3", "BOARD", "x", "DONE", "TURN 1,1"],  # on the board of before BOARD
            "ERROR no game has begun; send START and the size of the board.",
        ),
        (["START 7", "TURN x"], "ERROR x is not a cell of this board."),
        (["START 7", "BOARD", "3,3,1", "3,3,2", "DONE"], "ERROR move 2 is not legal."),
        (
            ["START 7", "BOARD", "3,3,3", "DONE"],
            "ERROR 3,3,3 is not a stone of a board: X,Y,1 or X,Y,2.",
        ),
        (
            ["START 7", "BOARD", "3,3,1", "DONE"],
            "ERROR with 1 own and 0 other stones it is not azero's turn.",
        ),
        (
            ["START 7", "BOARD", *(f"{x},0,2" for x in range(5)), *(f"{x},1,1" for x in range(4)), "DONE"],
            "ERROR the game is over.",
        ),
        (
            ["START 7", "INFO rule 1", "BEGIN"],
            "ERROR rule 1 is not known; azero plays rule 0, where five or more in a row win.",
        ),
        (
            ["SWAP2BOARD", "3,3", "DONE"],
            "ERROR azero does not play swap2; use an opening and BOARD.",
        ),
        (["SUGGEST 1,1"], "UNKNOWN command SUGGEST"),
        (["\x01é"], "UNKNOWN command ??"),
        (["x" * (MOST_BYTES + 1)], "ERROR the line is too long"),
    ],
)
def test_what_cannot_be_done_is_an_error_and_the_brain_goes_on(commands: list[str], error: str) -> None:
    *_, last, about = answers_to(*commands, "", "ABOUT")
    assert last == error and about.startswith('name="azero"')


@pytest.mark.parametrize(
    "limits, seconds",
    [
        ({}, 0.0),
        ({"timeout_turn": 5000}, 5 - MARGIN),
        ({"timeout_turn": 0}, AT_ONCE),
        ({"timeout_turn": 30_000, "timeout_match": 100_000}, 5 - MARGIN),
        ({"timeout_turn": 5000, "timeout_match": 100_000, "time_left": 20_000}, 1 - MARGIN),
        ({"timeout_turn": 5000, "time_left": 2**31 - 1}, 5 - MARGIN),
        ({"timeout_turn": 5000, "timeout_match": 0}, 5 - MARGIN),
        ({"timeout_turn": 5000, "time_left": -20}, AT_ONCE),
    ],
)
def test_the_time_for_a_move_follows_from_the_limits(limits: dict[str, int], seconds: float) -> None:
    gomocup, _ = brain(b"")
    for key, value in limits.items():
        gomocup.note(f"{key} {value}")
    assert gomocup.seconds() == pytest.approx(seconds)
    gomocup.ahead.lines.finish()


def test_too_much_memory_is_said_once() -> None:
    answers = answers_to(f"START {SIZE}", "INFO max_memory 1000", "BEGIN", "RESTART", "BEGIN")
    assert [answer.split()[0] for answer in answers if "," not in answer or "MB" in answer] == [
        *("OK", "MESSAGE", "OK")
    ]


def test_lines_that_come_during_a_search_are_obeyed_in_their_order() -> None:
    gomocup, _ = brain(b"INFO timeout_turn 7\nTURN 1,1\nINFO timeout_turn 9\nEND\n")
    while gomocup.ahead.lines.lines.qsize() != 5:  # all lines and the end of the input
        pass
    assert not gomocup.stopping()  # TURN waits until the search has ended
    assert gomocup.limits == {"timeout_turn": 7}
    assert list(gomocup.ahead.unread) == ["TURN 1,1", "INFO timeout_turn 9", "END", None]
    gomocup.ahead.unread.popleft()
    assert gomocup.stopping()  # because of END
    assert gomocup.limits == {"timeout_turn": 9}
    gomocup.ahead.lines.finish()


def test_only_gomoku_with_five_in_a_row_is_played() -> None:
    check_gomoku(GAME)
    for game in (make_game("tictactoe"), make_game("gomoku", rows=7, columns=7, connect=4)):
        with pytest.raises(UserError, match="is not Gomoku as Gomocup plays it"):
            check_gomoku(game)


COMPILE = """
import test_gomocup
from azero.kernels import compiling
compiling.NOTICE_SECONDS = 0.0
gomocup, answers = test_gomocup.brain(b"")
with compiling.CompileNotice(answers.append):
    gomocup.start("7")
with compiling.CompileNotice(answers.append):
    gomocup.begin("")
    gomocup.turn("6,6" if answers[-1] != "6,6" else "0,0")
print(len(answers), answers[0][:9], answers[1])
"""


@pytest.mark.long
def test_moves_wait_for_no_compiler(tmp_path: Path) -> None:
    paths = {
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)]),
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **paths}, timeout=250)
    assert (done.stdout, done.stderr) == ("4 Compiling OK\n", "")


WORDS = st.sampled_from(["START 7", "BEGIN", "TURN 1,1", "TURN 2,2", "BOARD", "1,1,1", "DONE", "INFO rule 0"])


@given(st.lists(WORDS | st.text(max_size=12).map(lambda text: text.replace("\n", " ")), max_size=6))
def test_any_lines_leave_it_alive(commands: list[str]) -> None:
    THINKER.spec.options["num_simulations"] = 5
    answers = answers_to(*commands, "DONE", "ABOUT")
    ended = any(command.strip().split(" ")[0].upper() == "END" for command in commands)
    assert ended or answers[-1].startswith("name=")


# The program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run_program: Any) -> Path:
    """Return a folder with a run of Gomoku on 7 x 7 that has not learned."""
    path = tmp_path_factory.mktemp("gomocup")
    options = ("game.options.rows=7", "game.options.columns=7")
    network = ("network.blocks=1", "network.channels=8")
    done = run_program("initialize", "game=gomoku", *options, "run=small", *network, folder=path)
    assert done.returncode == 0, done.stderr
    return path


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Return the program, which reads and writes pipes."""
    command = azero_command("gomocup", *words)
    return subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=folder)


@pytest.mark.long
def test_a_champion_plays_a_game_to_its_end_within_its_time(folder: Path) -> None:
    with start(folder, "run=small") as engine:
        assert engine.stdin and engine.stdout

        def ask(command: str) -> str:
            assert engine.stdin and engine.stdout
            engine.stdin.write(command.encode() + b"\n")
            engine.stdin.flush()
            return engine.stdout.readline().decode().strip()

        assert ask("START 8") == "ERROR this champion plays on 7 x 7, not on 8 x 8."
        assert ask("START 7") == "OK"
        playing = GameInProgress(GAME)
        answer = ask("INFO timeout_turn 100\nINFO time_left 5000\nBEGIN")
        rng = np.random.default_rng(1)
        while True:
            x, y = map(int, answer.split(","))
            playing.play(y * SIZE + x)
            if playing.is_over:
                break
            action = int(rng.choice(playing.legal_actions()))
            playing.play(action)
            if playing.is_over:
                break
            answer = ask(f"INFO time_left 4000\nTURN {action % SIZE},{action // SIZE}")
        engine.stdin.write(b"END\n")
        engine.stdin.flush()
        assert engine.wait(timeout=60) == 0 and engine.stdout.read() == b""


def test_a_search_ends_with_end_and_with_the_input(folder: Path) -> None:
    for last in (b"END\n", b""):
        with start(folder, "run=small", "player.seconds=3000") as engine:
            assert engine.stdin and engine.stdout
            engine.stdin.write(b"START 7\n")
            engine.stdin.flush()
            assert engine.stdout.readline() == b"OK\n"
            engine.stdin.write(b"BEGIN\n" + last)
            engine.stdin.flush()
            engine.stdin.close()
            assert engine.wait(timeout=60) == 0


def test_other_sizes_are_played_without_a_network_and_other_games_not_at_all(
    folder: Path, run_program: Any
) -> None:
    path = folder / "commands"
    path.write_text("START 20\nBEGIN\nRECTSTART 9,8\nTURN 8,7\n")
    with path.open("rb") as file:
        command = azero_command("gomocup", "player=random")
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, cwd=folder, timeout=120)
    one, first, other, second = done.stdout.splitlines()
    assert one == other == "OK" and max(map(int, first.split(","))) < 20
    assert int(second.split(",")[0]) < 9 and int(second.split(",")[1]) < 8
    done = run_program("gomocup", "game=tictactoe", folder=folder)
    assert done.returncode == 2 and "is not Gomoku as Gomocup plays it" in done.stderr


@pytest.mark.long
def test_ten_thousand_lines_of_any_bytes_are_answered(folder: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [rng.integers(0, 256, int(rng.integers(1, 40))).astype(np.uint8).tobytes() for _ in range(10_000)]
    lines = [line.replace(b"\n", b"x").replace(b"\r", b"x") for line in lines]
    path = folder / "lines"
    path.write_bytes(b"\n".join(lines) + b"\nABOUT\n")
    with path.open("rb") as file:
        command = azero_command("gomocup", "player=random")
        done = subprocess.run(command, stdin=file, capture_output=True, cwd=folder, timeout=250)
    expected = sum(bool(line.decode(errors="replace").strip()) for line in lines)
    assert done.returncode == 0 and done.stdout.count(b"\n") == expected + 1
