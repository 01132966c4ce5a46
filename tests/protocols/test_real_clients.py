"""azero as an engine of other programs: games through @sabaki/gtp, and recorded sessions of further clients.

`tests/support/transcripts` holds a session of a client in each file: `$` the program with its arguments,
`>` a line of the client, `<` a line of the answer. The client's lines are sent again. Where the player moves
otherwise than it did then, its move is taken back and the recorded one played, so that the next line fits.
Sessions that say "by its source" hold what the client's source sends, and azero's answers. Of an analysis
that goes on until the next line they hold the first report, cut after two moves. `docs/lab/programs.md` names
the clients.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from forks import azero_command
from places import PROJECT, SUPPORT

from azero.games import make_game
from azero.games.playing import GameInProgress

TRANSCRIPTS = sorted((SUPPORT / "transcripts").glob("*.txt"))
SABAKI = PROJECT / "build" / "node" / "node_modules" / "@sabaki" / "gtp"
NODE = shutil.which("node")
# what depends on nothing but the moves so far: the answer is the recorded one
EXACT = ("protocol_version", "name", "final_score", "final_status_list")


class Exchange(NamedTuple):
    """A line of the client and the lines of the answer."""

    line: str
    answer: list[str]


class Session(NamedTuple):
    """A recorded session."""

    words: list[str]  # azero's program and its arguments
    exchanges: list[Exchange]


def read_transcript(path: Path) -> Session:
    """Read a recorded session."""
    words, exchanges = list[str](), list[Exchange]()
    for text in path.read_text().splitlines():
        mark, line = text[:1], text[2:]
        if mark == "$":
            words = line.split()
        elif mark == ">":
            exchanges.append(Exchange(line, []))
        elif mark == "<":
            exchanges[-1].answer.append(line)
    return Session(words, exchanges)


class Engine:
    """A running program of azero's."""

    def __init__(self, words: list[str], folder: Path) -> None:
        program, *arguments = words
        self.process = subprocess.Popen(
            azero_command(program, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        self.analysing = False  # until the next line

    def send(self, line: str) -> None:
        """Send a line."""
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """Receive a line."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the engine has ended"
        return line.rstrip("\n")

    def ask(self, command: str) -> list[str]:
        """Return the lines of the answer to a GTP command; of an analysis only the first report."""
        self.send(command)
        while self.analysing and self.read():
            pass
        lines = [self.read()]
        self.analysing = bool(re.search("(lz|kata)-analyze", command)) and lines[0].startswith("=")
        if self.analysing:
            return [*lines, self.read()]
        while line := self.read():
            lines.append(line)
        return lines

    def obey(self, command: str) -> str:
        """Return the text of the answer to a GTP command that succeeds."""
        first, *others = self.ask(command)
        assert first.startswith("="), f"{command}: {first}"
        return "\n".join([first[2:], *others])


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    """Engines that are killed in the end."""
    started: list[Engine] = []
    yield started
    for each in started:
        each.process.kill()
        each.process.communicate()


def replay_gtp(engine: Engine, exchanges: list[Exchange]) -> None:
    """Send a GTP client's lines and compare the answers."""
    for line, recorded in exchanges:
        name, *words = line.lstrip("0123456789 ").split()  # gogui-regress numbers its tests
        chooses = name in ("genmove", "reg_genmove") or name.endswith("genmove_analyze")
        # a client that leaves passes out asks the side that is not to move
        in_turn = chooses and words[0][0].lower() == engine.obey("gogui-rules_side_to_move")[0]
        legal = engine.obey("gogui-rules_legal_moves").upper().split() if in_turn else []
        answer = engine.ask(line)
        assert answer[0][0] == recorded[0][0], (line, answer, recorded)
        if engine.analysing:
            assert answer[1].startswith("info move "), (line, answer)
        if name in EXACT or name.startswith("gogui-rules_"):
            assert answer == recorded, line
        if in_turn:
            assert answer[-1].split()[-1].upper() in (legal or ["PASS"]), (line, answer)
        if chooses and name != "reg_genmove" and answer[-1] != recorded[-1]:
            engine.obey("undo")
            engine.obey(f"play {words[0]} {recorded[-1].split()[-1]}")


def replay_gomocup(engine: Engine, exchanges: list[Exchange]) -> None:
    """Send a manager's lines; each answer is a legal move, unless the game is over.

    The engine may move otherwise than it did then. A move of the manager on a cell that is no longer empty
    goes to the first empty one.
    """
    at = GameInProgress(make_game("gomoku"))
    for line, recorded in exchanges:
        name, *words = line.split()
        size = int(words[0]) if name == "START" else at.game.options["rows"]
        if name in ("START", "BOARD"):
            at = GameInProgress(make_game("gomoku", rows=size, columns=size))
        elif "," in name:  # a stone of BOARD; this manager names them in the order of the moves
            at.play(action_at(name.rpartition(",")[0], size))
        elif name == "TURN" and not at.is_over:
            legal, action = at.legal_actions(), action_at(words[0], size)
            at.play(action if action in legal else legal[0])
            line = f"TURN {at.actions[-1] % size},{at.actions[-1] // size}"
        engine.send(line)
        if not recorded:
            continue
        while (answer := engine.read()).startswith("MESSAGE "):  # such as of the memory it uses
            pass
        if name not in ("BEGIN", "TURN", "DONE"):
            assert answer.split("=")[0] == recorded[0].split("=")[0]
        elif at.is_over:
            assert answer.startswith("ERROR")
        else:
            at.play(action_at(answer, size))


def replay_nboard(engine: Engine, exchanges: list[Exchange]) -> None:
    """Send NBoard's lines; each `go` is answered with a legal move, each `ping` with its `pong`."""
    at = GameInProgress(make_game("othello"))

    def action_of(text: str) -> int:
        name = text.partition("/")[0].lower()
        return at.game.parse_action(at.state, "pass" if name == "pa" else name)

    for line, _ in exchanges:
        name, *words = line.split()
        engine.send(line)
        wanted = {"ping": f"pong {' '.join(words)}", "go": "==="}.get(name)
        if name == "move":
            at.play(action_of(words[0]))
        while wanted and not (answer := engine.read()).startswith(wanted):
            assert not answer.startswith("=== ")
        if name == "go":
            assert action_of(answer.split()[1]) in at.legal_actions()
    assert len(at.actions) > 50


def action_at(text: str, size: int) -> int:
    """Return the action of a cell that Gomocup writes as column and row."""
    column, row = map(int, text.split(","))
    return row * size + column


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_session_of_a_client(path: Path, engines: list[Engine], tmp_path: Path) -> None:
    words, exchanges = read_transcript(path)
    engines.append(Engine(words, tmp_path))
    {"gtp": replay_gtp, "gomocup": replay_gomocup, "nboard": replay_nboard}[words[0]](engines[-1], exchanges)
    assert len(exchanges) > 10


GAMES = ("go5:5", "connect_four:7", "hex5:5", "othello6:6", "gomoku9:9")


@pytest.mark.skipif(NODE is None, reason="Node is not installed; Debian's package is nodejs")
@pytest.mark.skipif(not SABAKI.is_dir(), reason="@sabaki/gtp is not installed; .ci/programs does it")
@pytest.mark.parametrize("name", GAMES)
def test_a_whole_game_through_sabaki(name: str, tmp_path: Path) -> None:
    game, size = name.split(":")
    player = azero_command("gtp", f"game={game}", "player=uct", "player.num_simulations=40")
    players = [json.dumps([*player, f"seed={seed}"]) for seed in (1, 2)]
    command = [str(NODE), str(SUPPORT / "sabaki.js"), str(SABAKI), size, *players]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)  # each move was among the legal ones, and at the end there was none
    assert played["result"].startswith(("Black wins", "White wins", "A draw"))
    assert len(played["moves"]) >= 5
