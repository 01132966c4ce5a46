"""GNU Go as a referee of the rules of Go: a small client of its text protocol (GTP).

`compare_with_gnugo` plays random games here and there and compares all legal moves and all stones after every
ply.
"""

from __future__ import annotations

import shutil
import subprocess
from types import TracebackType

import numpy as np

from azero.games import make_game
from azero.games.game import Game

PROGRAM = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
RULES = ("--positional-superko", "--forbid-suicide", "--chinese-rules")
COLOURS = ("black", "white")


class GnuGo:
    """A running GNU Go that knows the rules."""

    def __init__(self, size: int, *options: str) -> None:
        """options: of its command line, besides the rules."""
        assert PROGRAM is not None
        self.process = subprocess.Popen(
            [PROGRAM, "--mode", "gtp", *RULES, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask(f"boardsize {size}")

    def __enter__(self) -> GnuGo:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate("quit\n", timeout=10)

    def ask(self, command: str) -> str:
        """The answer to one command, in lower case.

        Raises:
            ValueError: it was refused.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        lines = []
        while line := self.process.stdout.readline().strip():  # an answer ends with an empty line
            lines.append(line)
        if not lines or not lines[0].startswith("="):
            raise ValueError(f"GNU Go answers {command!r} with {' '.join(lines)!r}")
        return " ".join(lines)[1:].strip().lower()

    def legal_moves(self, mover: int) -> set[str]:
        """All legal moves but the pass, which GNU Go leaves out."""
        return set(self.ask(f"all_legal {COLOURS[mover]}").split())

    def stones(self, colour: int) -> set[str]:
        """Where the stones of one colour are."""
        return set(self.ask(f"list_stones {COLOURS[colour]}").split())


class PlayedGo:
    """One game with its history, so that positional superko is exact."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.state = game.initial_state()
        self.keys = [self.key(self.state)]
        self.repeats = 0  # moves that only superko forbade, over all positions asked about

    def key(self, state: np.ndarray) -> bytes:
        """What must not come back."""
        key = np.zeros(self.game.repetition_words, np.uint64)
        self.game.rules.repetition_key(state, key)
        return key.tobytes()

    def legal_actions(self) -> list[int]:
        """The legal actions less those that bring back an earlier position."""
        actions = self.game.legal_actions(self.state)
        earlier = set(self.keys) - {self.keys[-1]}  # a pass leaves the present stones as they are
        legal = [action for action in actions if self.key(self.game.step(self.state, action)) not in earlier]
        self.repeats += len(actions) - len(legal)
        return legal

    def play(self, action: int) -> None:
        """Play a legal action."""
        self.state = self.game.step(self.state, action)
        self.keys.append(self.key(self.state))

    def stones(self, colour: int) -> set[str]:
        """The names of the cells of one colour."""
        assert self.game.board is not None
        return {
            self.game.action_name(self.game.initial_state(), int(cell))
            for cell in np.flatnonzero(self.game.board.marks(self.state) == colour + 1)
        }

    def captures(self, action: int) -> bool:
        """Return whether an action captures: the board then has no more stones than before it."""
        before, after = self.state, self.game.step(self.state, action)
        placed = action != self.game.num_actions - 1
        return placed and len(self.cells(after)) <= len(self.cells(before))

    def cells(self, state: np.ndarray) -> np.ndarray:
        """The cells that hold a stone."""
        assert self.game.board is not None
        return np.flatnonzero(self.game.board.marks(state))


def choose(played: PlayedGo, actions: list[int], rng: np.random.Generator) -> int:
    """A random action.

    Half of all times a capture if a few tries find one, for captures make positions that can come back.
    """
    tries = rng.choice(actions, 20 if rng.random() < 0.5 else 1).tolist()
    return next((action for action in tries if played.captures(action)), tries[0])


def compare_with_gnugo(games: int, seed: int, size: int = 9) -> tuple[int, int, int]:
    """Play random games beside GNU Go.

    Returns:
        games, plies, and mismatches: the plies before which the legal moves or the stones differed.
    """
    game = make_game("go", size=size)
    rng = np.random.default_rng(seed)
    plies = mismatches = 0
    with GnuGo(size) as gnugo:
        for _ in range(games):
            gnugo.ask("clear_board")
            played = PlayedGo(game)
            while not game.is_terminal(played.state):
                mover, actions = game.to_play(played.state), played.legal_actions()
                names = {game.action_name(game.initial_state(), action) for action in actions} - {"pass"}
                agreed = names == gnugo.legal_moves(mover) and all(
                    played.stones(k) == gnugo.stones(k) for k in (0, 1)
                )
                action = choose(played, actions, rng)
                gnugo.ask(f"play {COLOURS[mover]} {game.action_name(game.initial_state(), action)}")
                played.play(action)
                plies += 1
                mismatches += not agreed
    return games, plies, mismatches
