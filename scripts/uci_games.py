"""Play fast games between UCI engines, and count illegal moves, crashes and losses on time.

    python scripts/uci_games.py games=1000 game=gardner seconds=5 increment=0.05 \
        first="azero uci player=uct player.num_simulations=100" second="fairy-stockfish"

The games are chess, gardner, losalamos and breakthrough. Each begins with two random plies, and the engines
change sides. azero's rules are the referee. The last line is `games=N plies=N illegal=N crashes=N time=N`;
the exit status is 1 unless the last three are 0.
"""

from __future__ import annotations

import contextlib
import queue
import random
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from azero.cli.arguments import refuse_rest, split_words, take_settings
from azero.cli.hydra_program import one_sentence
from azero.cli.programs import answers_flag
from azero.config.schema import UserError, setting
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.protocols.uci import variant_of

READY = 300.0  # seconds until an engine is ready: it may have to compile
GRACE = 10.0  # seconds after its time is over in which an engine is awaited


class Crashed(Exception):
    """An engine has ended, or does not answer."""


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    first: str = setting("", "Command of an engine.")
    second: str = setting("", "Command of the other engine.")
    game: str = setting("gardner", "The game.", choices=("chess", "gardner", "losalamos", "breakthrough"))
    games: int = setting(200, "Number of games.", between=(1, 10_000_000))
    seconds: float = setting(5.0, "Time of each side for a game.", between=(0.001, 1_000_000.0))
    increment: float = setting(0.05, "Seconds that each move adds.", between=(0.0, 1_000_000.0))
    seed: int = setting(1, "Seed of the first moves.", between=(0, 2**63))


class Engine:
    """A process that speaks UCI."""

    def __init__(self, command: str, variant: str) -> None:
        self.command = command
        try:
            self.process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sys.stderr,
                text=True,
            )
        except (OSError, ValueError, IndexError) as failure:
            raise UserError(
                f"the engine {command!r} cannot be started: {getattr(failure, 'strerror', '') or failure}."
            ) from failure
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            self.send("uci")
            options = self.wait_for("uciok", READY)
        except Crashed:
            self.close()
            raise
        if any("UCI_Variant" in line for line in options):
            self.send(f"setoption name UCI_Variant value {variant}")

    def read(self) -> None:
        """Put all lines into the queue, and an empty one at the end."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line.strip() or " ")
        self.lines.put("")

    def send(self, line: str) -> None:
        """Send a line."""
        assert self.process.stdin
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError as failure:
            raise Crashed(self.command) from failure

    def wait_for(self, word: str, seconds: float) -> list[str]:
        """Return the lines up to the one that begins with a word."""
        found, end = list[str](), time.perf_counter() + seconds
        while not found or found[-1].split()[:1] != [word]:
            try:
                found.append(self.lines.get(timeout=max(0.0, end - time.perf_counter())))
            except queue.Empty as failure:
                raise Crashed(f"{self.command}: no {word}") from failure
            if not found[-1]:
                raise Crashed(self.command)
        return found

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(Crashed):
            self.send("quit")
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            with contextlib.suppress(OSError):
                stream.close()

    def new_game(self) -> None:
        """Begin a game."""
        self.send("ucinewgame")
        self.send("isready")
        self.wait_for("readyok", READY)


@dataclass
class Clocks:
    """Seconds left of both players."""

    left: list[float]
    increment: float
    worst: float = field(default=0.0)  # the longest that a move took

    def text(self) -> str:
        """Return the clocks as `go` has them."""
        first, second = (round(1000 * seconds) for seconds in self.left)
        more = round(1000 * self.increment)
        return f"wtime {first} btime {second} winc {more} binc {more}"


def play(game: Game, engines: list[Engine], clocks: Clocks, draw: random.Random) -> tuple[str, int]:
    """Return how a game ended, "" for by the rules, and its plies; engines[0] moves first."""
    at = GameInProgress(game)
    for _ in range(2):
        at.play(draw.choice(at.legal_actions()))
    for engine in engines:
        engine.new_game()
    while not at.is_over:
        mover = at.to_play
        engines[mover].send(f"position startpos moves {' '.join(at.moves)}")
        began = time.perf_counter()
        engines[mover].send(f"go {clocks.text()}")
        answer = engines[mover].wait_for("bestmove", clocks.left[mover] + GRACE)[-1].split()
        used = time.perf_counter() - began
        clocks.worst = max(clocks.worst, used)
        clocks.left[mover] -= used
        if clocks.left[mover] < 0:
            return f"time: {engines[mover].command} after {len(at.actions)} plies", len(at.actions)
        clocks.left[mover] += clocks.increment
        try:
            at.play_moves(answer[1:2])
        except ValueError as mistake:
            return f"illegal: {engines[mover].command}: {mistake}", len(at.actions)
        if len(answer) < 2:
            return f"illegal: {engines[mover].command}: no move", len(at.actions)
    return "", len(at.actions)


def parse(words: Sequence[str]) -> Asked:
    """Return what the command line asks for; UserError: something is not known or missing."""
    texts = split_words(words)
    asked = take_settings(texts, Asked)
    refuse_rest(texts, Asked)
    for name in ("first", "second"):
        if not getattr(asked, name):
            raise UserError(f"name both engines: {name}=COMMAND is missing.")
    return asked


def begin_engines(commands: Sequence[str], game: Game) -> list[Engine]:
    """Start the engines; UserError: one cannot be started, or ends at once."""
    engines = list[Engine]()
    try:
        for command in commands:
            engines.append(Engine(command, variant_of(game)))
        return engines
    except Crashed as crash:
        for engine in engines:
            engine.close()
        raise UserError(f"the engine {str(crash)!r} ends, or does not speak UCI.") from crash


def main() -> int:
    """Play the games that the command line asks for; return the exit status."""
    if answers_flag(sys.argv[1:], lambda: __doc__ or ""):
        return 0
    asked = parse(sys.argv[1:])
    game = make_game(asked.game) if asked.game in SHIPPED else make_game("chess", variant=asked.game)
    games, draw, commands = asked.games, random.Random(asked.seed), [asked.first, asked.second]
    engines = begin_engines(commands, game)
    count, plies, worst = Counter[str](), 0, 0.0
    for number in range(games):
        clocks = Clocks([asked.seconds, asked.seconds], asked.increment)
        sides = engines if number % 2 == 0 else engines[::-1]
        try:
            end, length = play(game, sides, clocks, draw)
        except Crashed as crash:
            end, length = f"crashes: {crash}", 0
            for engine in engines:
                engine.close()
            engines = begin_engines(commands, game)
        plies, worst = plies + length, max(worst, clocks.worst)
        if end:
            print(f"game {number + 1}: {end}", flush=True)
            count[end.partition(":")[0]] += 1
    for engine in engines:
        engine.close()
    print(f"longest move: {worst:.3f} s")
    kinds = ("illegal", "crashes", "time")
    print(f"games={games} plies={plies} " + " ".join(f"{kind}={count[kind]}" for kind in kinds))
    return int(any(count[kind] for kind in kinds))


if __name__ == "__main__":
    with one_sentence():
        sys.exit(main())
