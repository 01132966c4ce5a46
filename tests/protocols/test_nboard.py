"""NBoard's protocol: whole sessions, games in GGF, hints, and whatever a window may send."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forks import azero_command
from hypothesis import given
from hypothesis import strategies as st
from playing import play
from searching import FakeInference

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config, SearchConfig, UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.players import Thought
from azero.players.pv_mcts import PvMcts
from azero.protocols.lines import Lines, Write
from azero.protocols.nboard import NBoard, check_othello, read_ggf
from azero.protocols.thinking import Thinker
from azero.search.root import Temperature

GAME = make_game("othello")
UCT = PlayerSpec("player", "uct", {"num_simulations": 200})
START = "8 ---------------------------O*------*O--------------------------- *"
HEAD = "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[me]PW[you]RE[?]TI[15:00]TY[8]BO[" + START + "]"
MOVES = "B[F5]W[F6/-1.20/3]B[D3//4.5]W[C5]"
NUMBER = r"-?\d+\.\d+"


def session(*commands: str, spec: PlayerSpec = UCT) -> list[str]:
    """Return what the engine answers to some commands."""
    answers: list[str] = []
    data = "".join(f"{command}\n" for command in commands).encode(errors="surrogateescape")
    serve(Thinker(spec, GAME, Config()), data, answers.append)
    return answers


def serve(thinker: Thinker, data: bytes, write: Write) -> NBoard:
    """Let an engine answer these bytes; return it."""
    lines = Lines(io.BytesIO(data))
    engine = NBoard(thinker, lines, write)
    engine.serve()
    lines.finish()
    return engine


def own_search(moves: str) -> Thought:
    """Return what the player itself finds after moves, in the game that follows `set game`."""
    thinker = Thinker(UCT, GAME, Config())
    thinker.new_game()
    playing = GameInProgress(GAME, [GAME.parse_action(GAME.initial_state(), move) for move in moves.split()])
    return thinker.choose(playing)


def test_go_answers_with_the_players_own_move_and_waits_for_it_to_be_played() -> None:
    thought = own_search("f5 f6 d3 c5")
    answers = session("nboard 2", "set depth 6", f"set game {HEAD}{MOVES};)", "go", "go", "ping 4")
    # the second `go` is interrupted by the ping, and nobody waits for its move
    assert answers[0] == "set myname azero" and answers[-1] == "pong 4"
    moves = [answer for answer in answers if answer.startswith("===")]
    assert len(moves) == 1
    match = re.fullmatch(rf"=== ([A-H][1-8])/({NUMBER})/{NUMBER}", moves[0])
    assert match and match[1].lower() == GAME.action_name(GAME.initial_state(), thought.best)
    assert float(match[2]) == pytest.approx(thought.value, abs=0.001)
    assert answers[1] == "status azero is thinking" and "status azero is waiting" in answers
    assert re.fullmatch(r"nodestats 200 \d+\.\d+", answers[2])


def test_hint_reports_the_best_moves_with_the_players_own_visits() -> None:
    thought = own_search("f5 f6 d3 c5 e6")
    answers = session(f"set game {HEAD}{MOVES};)", "move E6/0.50/1.0", "hint 3")
    lines = [answer.split() for answer in answers if answer.startswith("search ")]
    assert len(lines) == 3
    for words, move in zip(lines, thought.moves, strict=False):
        line = "".join(GAME.move_names(move.line)).upper()
        assert words[1] == line and words[3] == "0" and words[4] == str(len(move.line))
        assert float(words[2]) == pytest.approx(move.value, abs=0.001)
        assert words[5:] == [str(move.visits), "visits"]
    assert len([line for line in session("hint 1") if line.startswith("search ")]) == 1


@pytest.mark.parametrize(
    "number, count",
    [("1000", 4), ("1" + "0" * 30, 4), ("9" * 5000, 4), ("4", 4), ("02", 2), ("0", 1), ("", 1), ("-3", 1)],
)
def test_hint_reports_as_many_moves_as_there_are(number: str, count: int) -> None:
    answers = session(f"hint {number}")
    assert len([line for line in answers if line.startswith("search ")]) == count


def test_analyze_values_every_position_from_the_last_one_on() -> None:
    answers = session(f"set game {HEAD}{MOVES};)", "analyze")
    found = [answer.split() for answer in answers if answer.startswith("analysis")]
    assert [int(words[1]) for words in found] == [4, 3, 2, 1, 0]
    thought = own_search("f5 f6 d3 c5")
    assert float(found[0][2]) == pytest.approx(thought.value, abs=0.001)


def test_ping_learn_and_unknown_commands() -> None:
    answers = session("", "ping 1", "ping x", "learn", "set contempt 5", "dance", "f5", "F6", "ping 2")
    assert answers == ["pong 1", "learned", "pong 2"]


def test_moves_follow_the_game_and_the_position_is_the_same() -> None:
    playing = read_ggf(GAME, f"{HEAD}{MOVES};)")
    assert (playing.state == play(GAME, "f5 f6 d3 c5")).all()
    for commands in (("move F5", "move F6", "move D3", "move C5"), ("F5", "f6", "D3/1.0", "C5//2")):
        engine = serve(Thinker(UCT, GAME, Config()), "\n".join(commands).encode(), print)
        assert (engine.playing.state == playing.state).all()


def test_any_board_of_ggf_is_set_up_with_its_legal_moves() -> None:
    rng = np.random.default_rng(2)
    state = GAME.initial_state()
    while not GAME.is_terminal(state):
        assert GAME.board
        marks = GAME.board.marks(state).ravel()
        text = "".join("-*O"[mark] for mark in marks) + " " + "*O"[GAME.to_play(state)]
        found = read_ggf(GAME, f"(;GM[Othello]BO[8 {text}];)").state
        assert found.tolist() == state.tolist()
        state = GAME.step(state, int(rng.choice(GAME.legal_actions(state))))


def test_a_pass_is_written_pa() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        state, moves = GAME.initial_state(), list[str]()
        while not GAME.is_terminal(state):
            if GAME.legal_actions(state) == [64]:
                answers = session(*(f"move {move}" for move in moves), "go")
                assert any(answer.startswith("=== PA/") for answer in answers)
                answers = session(*(f"move {move}" for move in moves), "move PA", "hint 1")
                assert any(answer.startswith("search ") for answer in answers)
                return
            moves.append(GAME.action_name(state, int(rng.choice(GAME.legal_actions(state)))).upper())
            state = GAME.step(state, GAME.parse_action(state, moves[-1].lower()))
    pytest.fail("no game had a pass")


@pytest.mark.parametrize(
    "commands, status",
    [
        (["set game (;GM[Go];)"], "This is not a game of Othello in GGF."),
        (["set game (;GM[Othello]BO[6 --- *];)"], "The board is not one of 8 x 8."),
        ([f"set game {HEAD};)".replace("[8 ", "[9 ")], "The board is not one of 8 x 8."),
        (["set game (;GM[Othello]BO[];)"], "The board is not one of 8 x 8."),
        ([f"set game {HEAD}W[F5];)"], "Move 1 is of the wrong colour."),
        ([f"set game {HEAD}B[A1];)"], "move 1 is not legal."),
        (["move A1"], "move 1 is not legal."),
        (["move Z9"], "'z9' is not a move."),
        (["x" * (2**20 + 1)], "The line is too long."),
        (
            [f"set game (;GM[Othello]BO[8 {'*' * 64} O];)", "go"],
            "The game is over.",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_the_status_line(commands: list[str], status: str) -> None:
    assert [answer for answer in session(*commands) if answer != "status azero is thinking"] == [
        f"status {status}"
    ]


def test_a_game_that_is_refused_leaves_no_other_game_on_the_board() -> None:
    game = f"set game {HEAD}{MOVES};)"
    for command in ("go", "hint 1", "analyze", "move F5"):
        *_, last = session(game, "set game (;GM[Go];)", command)
        assert last == "status No game is set."
    assert any(answer.startswith("===") for answer in session("set game (;GM[Go];)", game, "go"))


def test_a_player_that_draws_its_moves_hints_at_the_best_one() -> None:
    thinker = Thinker(UCT, GAME, Config())
    search = SearchConfig(num_simulations=60, tree_reuse=False)
    thinker.player = PvMcts(GAME, FakeInference(GAME), search, Temperature(100.0, 60, 0, 0.0))
    for number in range(1, 5):
        answers, moves = list[str](), ("F5", "F6", "D3", "C5")[:number]
        data = "".join([*(f"move {move}\n" for move in moves), "hint 9\n"]).encode()
        serve(thinker, data, answers.append)
        done = next(place for place, line in enumerate(answers) if line.startswith("nodestats "))
        visits = [int(line.split()[-2]) for line in answers[done:] if line.startswith("search ")]
        assert visits and visits[0] == max(visits)


def test_a_player_without_a_search_moves_but_gives_no_hints() -> None:
    answers = session("hint 2", "go", spec=PlayerSpec("player", "random", {}))
    assert answers[0].startswith("status player random has no search")
    assert re.fullmatch(rf"=== [A-H][1-8]//{NUMBER}", answers[2])
    answers = session("go", spec=PlayerSpec("player", "alpha_beta", {"depth": 2}))
    assert re.fullmatch(rf"=== [A-H][1-8]/{NUMBER}/{NUMBER}", answers[1])


def test_only_othello_is_played() -> None:
    check_othello(GAME)
    with pytest.raises(UserError, match="NBoard plays Othello, not hex"):
        check_othello(make_game("hex"))


WORDS = st.sampled_from(
    ["go", "hint 2", "analyze", "move F5", "F5", f"set game {HEAD}{MOVES};)", "set depth 3", "nboard 2"]
)
THINKER = Thinker(PlayerSpec("player", "uct", {"num_simulations": 5}), GAME, Config())


@given(st.lists(WORDS | st.text(max_size=20).map(lambda text: text.replace("\n", " ")), max_size=6))
def test_any_lines_leave_it_alive(commands: list[str]) -> None:
    answers: list[str] = []
    data = "".join(f"{command}\n" for command in [*commands, "", "ping 9"]).encode(errors="replace")
    serve(THINKER, data, answers.append)
    ended = any(command.strip().partition(" ")[0] == "quit" for command in commands)
    assert ended or answers[-1] == "pong 9"


# The program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run_program: Any) -> Path:
    """Return a folder with a run of Othello on 4 x 4 that has not learned."""
    path = tmp_path_factory.mktemp("nboard")
    network = ("network.blocks=1", "network.channels=8", "search.num_simulations=20")
    done = run_program(
        "initialize", "game=othello", "game.options.size=4", "run=small", *network, folder=path
    )
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.long
def test_a_champion_plays_a_game_against_itself_to_its_end(folder: Path) -> None:
    command = azero_command("nboard", "run=small")
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=folder) as engine:
        assert engine.stdin and engine.stdout
        game = make_game("othello", size=4)
        start = "set game (;GM[Othello]TY[4]BO[4 -----O*--*O----- *];)"
        playing, text = GameInProgress(game), f"nboard 2\nset depth 1\n{start}\nping 1\n"
        while not playing.is_over:
            engine.stdin.write(f"{text}go\n".encode())
            engine.stdin.flush()
            while not (line := engine.stdout.readline().decode()).startswith("==="):
                assert line, "the engine has ended"
            name = line.split()[1].partition("/")[0]
            playing.play(game.parse_action(game.initial_state(), "pass" if name == "PA" else name.lower()))
            text = f"ping {len(playing.actions)}\nmove {name}\n"
        engine.stdin.write(b"quit\n")
        engine.stdin.flush()
        assert engine.wait(timeout=60) == 0


@pytest.mark.long
def test_a_search_ends_with_ping_and_with_the_input(folder: Path) -> None:
    command = azero_command("nboard", "run=small", "player.seconds=3000")
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=folder) as engine:
        assert engine.stdin and engine.stdout
        engine.stdin.write(b"go\nping 3\n")
        engine.stdin.flush()
        while (line := engine.stdout.readline()) != b"pong 3\n":
            assert line
        engine.stdin.write(b"hint 1\n")
        engine.stdin.flush()
        while not engine.stdout.readline().startswith(b"search"):
            pass
        engine.stdin.close()
        assert engine.wait(timeout=60) == 0


@pytest.mark.long
def test_ten_thousand_lines_of_any_bytes_leave_it_alive(folder: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [rng.integers(0, 256, int(rng.integers(1, 40))).astype(np.uint8).tobytes() for _ in range(10_000)]
    path = folder / "lines"
    path.write_bytes(b"\n".join([*lines, b"ping 5", b""]))
    with path.open("rb") as file:
        command = azero_command("nboard", "player=random")
        done = subprocess.run(command, stdin=file, capture_output=True, cwd=folder, timeout=250)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == b"pong 5"
