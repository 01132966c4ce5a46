"""`azero gtp` as a process: clients that leave, dead pipes, files, and whole games against GNU Go."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from forks import azero_command
from gnugo import COLOURS, PROGRAM, GnuGo

pytestmark = pytest.mark.timeout(1200)  # the first test waits for what is compiled
WAIT = 120  # seconds, where nothing may hang; what is tested takes far less
UCT = ("player=uct", "player.num_simulations=200")


class Client:
    """A running `azero gtp`, asked line by line."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        """Start it in a folder."""
        self.process = subprocess.Popen(
            azero_command("gtp", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr

    def send(self, line: str) -> None:
        """Send a line."""
        self.stdin.write(f"{line}\n".encode())
        self.stdin.flush()

    def read(self) -> str:
        """Return the next line."""
        return self.stdout.readline().decode().rstrip("\n")

    def ask(self, line: str) -> str:
        """Return the answer to a line."""
        self.send(line)
        lines = []
        while text := self.read():
            lines.append(text)
        return "\n".join(lines)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit status and what went to the standard error."""
        status = self.process.wait(timeout=WAIT)
        return status, self.stderr.read().decode()


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Let what these tests use be compiled: else an engine tells of it where it should print nothing."""
    players = (
        ("game=tictactoe", *UCT),
        ("game=hex", *UCT),
        ("game=go", "player=alpha_beta", "player.depth=1"),
    )
    for words in players:
        lines, command = "genmove b\nlz-analyze 1\nquit\n", azero_command("gtp", *words)
        subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=5 * WAIT)


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    """Clients that are killed if a test fails."""
    started: list[Client] = []
    yield started
    for client in started:
        client.process.kill()
        client.process.wait()
        for stream in (client.stdin, client.stdout, client.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def start(clients: list[Client], folder: Path, *arguments: str) -> Client:
    """Start a client that the fixture ends."""
    clients.append(Client(folder, *arguments))
    return clients[-1]


def test_a_game_is_asked_for_line_by_line(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=tictactoe", *UCT)
    assert client.ask("1 name") == "=1 azero"
    assert client.ask("genmove b") in {f"= {column}{row}" for column in "ABC" for row in "123"}
    client.send("2 lz-analyze 5")
    assert client.read() == "=2" and client.read().startswith("info move ")
    client.send("")  # ends it, and has no answer of its own
    while client.read():
        pass
    assert client.ask("3 quit") == "=3"
    assert client.end() == (0, "")


@pytest.mark.parametrize("line", ["lz-analyze 5", "genmove b", "name"])
def test_the_end_of_the_input_ends_it(line: str, clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=hex", "player=uct", "player.seconds=1000")
    assert client.ask("name") == "= azero"
    client.send(line)
    if line == "lz-analyze 5":
        assert client.read() == "=" and client.read().startswith("info move ")
    client.stdin.close()
    assert client.end() == (0, "")
    answer = client.stdout.read().decode()
    assert answer.endswith("\n\n") or answer == "\n"  # of the analysis
    assert line != "genmove b" or answer.startswith("= ")


def test_gogui_interrupts_a_search(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=hex", "player=uct", "player.seconds=1000")
    assert client.ask("gogui-interrupt") == "="
    client.send("genmove b")
    client.send("# interrupt")
    assert client.read().startswith("= ") and client.read() == ""
    assert client.ask("gogui-rules_side_to_move") == "= white"


def test_all_lines_before_quit_are_answered(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=hex", "player=uct", "player.seconds=1.5")
    for line in ("genmove b", "genmove w", "quit"):
        client.send(line)
    client.stdin.close()
    assert client.end() == (0, "")
    answers = client.stdout.read().decode().split("\n\n")
    assert [answer[:2] for answer in answers] == ["= ", "= ", "=", ""]


def test_a_client_that_leaves_with_quit_is_not_waited_for(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=hex", "player=uct", "player.seconds=1000")
    assert client.ask("name") == "= azero"
    client.send("genmove b")
    client.send("quit")
    client.stdin.close()
    client.stdout.close()
    client.end()  # with any status: the answer cannot be written


def test_a_search_that_cannot_be_stopped_is_ended_too(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=go", "player=alpha_beta", "player.depth=30")
    assert client.ask("name") == "= azero"
    client.send("genmove b")
    client.stdin.close()
    assert client.end() == (0, "")


def test_a_client_that_stops_reading_leaves_no_process(clients: list[Client], tmp_path: Path) -> None:
    client = start(clients, tmp_path, "game=hex", *UCT)
    client.send("lz-analyze 2")
    assert client.read() == "="
    client.stdout.close()
    status, complaint = client.end()
    assert status == 141 and "Traceback" not in complaint  # as after SIGPIPE


def test_a_file_of_commands_is_answered_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "commands.gtp").write_text("genmove b\n" * 5 + "known_command genmove\n")
    with (tmp_path / "commands.gtp").open() as file:
        done = subprocess.run(
            azero_command("gtp", "game=hex", "player=uct", "player.seconds=0.3"),
            stdin=file,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=WAIT,
        )
    answers = done.stdout.split("\n\n")
    assert (done.returncode, done.stderr, len(answers)) == (0, "", 7)
    assert answers[1] == "? illegal move: it is the turn of white" and answers[5] == "= true"


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["run=nowhere"], "nowhere"),
        (["game=draughts"], "draughts"),
        (["player=alphazero"], "unknown player alphazero"),
        (["ponders=true"], "did you mean ponder"),
        (["ponder=true", "game=hex", "player=uct"], "player uct cannot ponder"),
        (
            ["player=uct", "player.simulations=3"],
            "unknown setting 'player.simulations'; did you mean player.num_simulations?",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(words: list[str], sentence: str, tmp_path: Path) -> None:
    done = subprocess.run(
        azero_command("gtp", *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=WAIT,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr and done.stderr.count("\n") == 1


# --- GNU Go -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(PROGRAM is None, reason="GNU Go is not installed")
@pytest.mark.parametrize("side", [0, 1])
def test_a_whole_game_against_gnu_go(side: int, clients: list[Client], tmp_path: Path) -> None:
    azero = start(clients, tmp_path, "game=go", "game.options.size=5", "game.options.komi=0.5", *UCT)
    with GnuGo(5, "--level", "1", "--capture-all-dead", "--never-resign", "--seed", "1") as gnugo:
        gnugo.ask("komi 0.5")
        passes, ply = 0, 0
        while passes < 2 and ply < 100:
            mover = COLOURS[ply % 2]
            if ply % 2 == side:
                move = azero.ask(f"genmove {mover}").removeprefix("= ")
                gnugo.ask(f"play {mover} {move}")
            else:
                move = gnugo.ask(f"genmove {mover}")
                assert azero.ask(f"play {mover} {move}") == "="
            passes = passes + 1 if move.lower() == "pass" else 0
            ply += 1
        stones = [gnugo.stones(colour) for colour in (0, 1)]
    rows = [row.split() for row in azero.ask("gogui-rules_board").removeprefix("= ").split("\n")]
    named = {
        mark: {f"{'abcde'[c]}{5 - r}" for r in range(5) for c in range(5) if rows[r][c] == mark}
        for mark in "XO"
    }
    assert passes == 2 and [named["X"], named["O"]] == stones
    assert azero.ask("gogui-rules_legal_moves") == "=" and azero.ask("final_score")[:4] in ("= B+", "= W+")
