"""The protocol of NBoard, Chris Welty's window for Othello, in its versions 1 and 2.

Commands and answers are lines. The window sends a game in GGF (https://skatgame.net/mburo/ggsa/ggf), moves
that follow, and asks for a move (`go`), for the best moves (`hint`) or about all positions (`analyze`). It
sends `ping` before it changes the board, and what was being searched ends then.
"""

from __future__ import annotations

import math
import re
import time

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Move, Thought
from azero.players.growing import Reports, best_of, growing_search
from azero.protocols.lines import Lines, TooLong, Write
from azero.protocols.look_ahead import LookAhead
from azero.protocols.thinking import Thinker

BLACK, WHITE, EMPTY = "*", "O", "-"
PASS = "PA"
THINKING, WAITING = "status azero is thinking", "status azero is waiting"
REPORT_SECONDS = 0.5  # between two reports of a search
PROPERTY = re.compile(r"([A-Z]+)\[([^\]]*)\]")
PROVEN = "100%W"  # depth of a move whose result is proven


class NBoard:
    """An engine and the game on its board."""

    def __init__(self, thinker: Thinker, lines: Lines, write: Write) -> None:
        """`lines`: the window's; `write`: receives the answers."""
        self.thinker, self.game, self.write = thinker, thinker.game, write
        self.ahead = LookAhead(lines)
        self.latest: GameInProgress | None = GameInProgress(self.game)

    @property
    def playing(self) -> GameInProgress:
        """The game; UserError: the latest one was refused."""
        if self.latest is None:
            raise UserError("No game is set.")
        return self.latest

    def serve(self) -> None:
        """Obey commands until `quit` or the end of the input. What is unknown is ignored, as NBoard asks."""
        commands = {
            "nboard": lambda _: self.write("set myname azero"),
            "set": self.set,
            "move": self.move,
            "hint": self.hint,
            "go": self.go,
            "ping": lambda text: self.write(f"pong {text}") if re.fullmatch(r"-?\d{1,18}", text) else None,
            "learn": lambda _: self.write("learned"),
            "analyze": self.analyze,
        }
        while (line := self.ahead.read()) is not None:
            name, _, text = line.strip().partition(" ")
            if name == "quit":
                return
            if isinstance(line, TooLong):
                self.write("status The line is too long.")
                continue
            try:
                if name in commands:
                    commands[name](text.strip())
                elif re.fullmatch("([A-Ha-h][1-8]|PA|pa)(/.*)?", name):  # NBoard 1.1 leaves `move` out
                    self.move(name)
            except UserError as mistake:
                self.write(f"status {' '.join(str(mistake).split())}")

    def stopping(self) -> bool:
        """Return whether the search should end now: `ping` or `quit` comes next, or the window is gone."""
        return self.next_command() in ("ping", "quit") or self.ahead.lines.stopping()

    def next_command(self) -> str:
        """Return the command that has come next; "" if none has."""
        unread = self.ahead.look()
        return (unread[0] or "").strip().partition(" ")[0] if unread else ""

    # Commands

    def set(self, text: str) -> None:
        """Set the game; the depth is not a measure that azero has."""
        name, _, value = text.partition(" ")
        if name == "game":
            self.latest = None  # also if this one is refused: a move never belongs to another board
            self.latest = read_ggf(self.game, value)
            self.thinker.new_game()

    def move(self, text: str) -> None:
        """Play a move, which may have an evaluation and a time: F5/1.2/3."""
        self.playing.play(read_move(self.game, text))

    def hint(self, text: str) -> None:
        """Report the best moves, also while searching."""
        number = max(1, int(text[:9])) if re.fullmatch(r"[0-9]+", text) else 1
        growing_search(self.thinker.player)  # refuses a player without one
        self.write(THINKING)
        self.report(best_of(self.thinker.player, self.search(self.playing, number)), number)
        self.write(WAITING)

    def go(self, _: str) -> None:
        """Answer with a move. The window plays it with `move`."""
        self.write(THINKING)
        began = time.monotonic()
        thought = self.search(self.playing, 0)
        if self.next_command() == "ping":
            return  # nobody waits for the move any more
        value = "" if math.isnan(thought.value) else f"{thought.value:.3f}"
        self.write(f"=== {self.name(thought.best)}/{value}/{time.monotonic() - began:.2f}")
        self.write(WAITING)

    def analyze(self, _: str) -> None:
        """Report the value of every position of the game, the last one first."""
        growing_search(self.thinker.player)  # refuses a player without one
        self.write(THINKING)
        for number in range(len(self.playing.actions), -1, -1):
            states, actions = self.playing.states[: number + 1], self.playing.actions[:number]
            part = GameInProgress.along(self.game, actions, states)
            if (outcome := part.outcome) is not None:
                value = outcome * (1 - 2 * part.to_play)
            else:
                value = self.search(part, 0).value
                if self.stopping():
                    break
            self.write(f"analysis {number} {value:.3f}")
        self.write(WAITING)

    # Search

    def search(self, playing: GameInProgress, hints: int) -> Thought:
        """Search a position; return the move and what is known of the others.

        Args:
            playing: the game.
            hints: moves to report during the search.
        """
        if playing.is_over:
            raise UserError("The game is over.")
        reports = Reports(lambda thought: self.report(thought, hints), REPORT_SECONDS)
        began = time.monotonic()
        thought = self.thinker.choose(playing, stopping=self.stopping, report=reports)
        if thought.moves:
            self.write(f"nodestats {thought.visits} {time.monotonic() - began:.2f}")
        return thought

    def report(self, thought: Thought, hints: int) -> None:
        """Write what is known of the best moves; the value is for the player to move."""
        visited = [move for move in thought.best_first() if move.visits]
        for move in visited[:hints]:
            line = "".join(map(self.name, move.line))
            self.write(f"search {line} {move.value:.3f} 0 {depth_of(move)} {move.visits} visits")

    def name(self, action: int) -> str:
        """Return a move as NBoard writes it."""
        name = self.game.action_name(self.playing.state, action)
        return PASS if name == "pass" else name.upper()


def depth_of(move: Move) -> str:
    """Return a move's depth: that of its principal variation, or that its result is proven."""
    return PROVEN if move.lower == move.upper else str(len(move.line))


def read_move(game: Game, text: str) -> int:
    """Return the action of such as "F5/1.2/3" or "PA"; UserError: it is no move."""
    name = text.partition("/")[0].strip().lower()
    try:
        return game.parse_action(game.initial_state(), "pass" if name in ("pa", "pass") else name[:2])
    except ValueError as mistake:
        raise UserError(f"{name[:10]!r} is not a move.") from mistake


def read_ggf(game: Game, text: str) -> GameInProgress:
    """Return a game from its GGF; UserError: it is none, or cannot be played."""
    if not text.startswith("(;GM[Othello]"):
        raise UserError("This is not a game of Othello in GGF.")
    playing = GameInProgress(game)
    for name, value in PROPERTY.findall(text):
        if name == "BO":
            playing.states = [read_board(game, value)]
        elif name in ("B", "W"):
            if (name == "B") != (playing.to_play == 0):
                raise UserError(f"Move {len(playing.actions) + 1} is of the wrong colour.")
            playing.play(read_move(game, value))
    return playing


def read_board(game: Game, text: str) -> np.ndarray:
    """Return the state [S] of a board such as "8 ---…--- *"; UserError: it is none of this size."""
    size, (named, _, rest) = game.options["size"], text.strip().partition(" ")
    *board, turn = list("".join(rest.split()) or EMPTY)
    if named != str(size) or len(board) != size**2 or turn == EMPTY or {turn, *board} - {BLACK, WHITE, EMPTY}:
        raise UserError(f"The board is not one of {size} x {size}.")
    black, white = (
        sum(1 << cell for cell, mark in enumerate(board) if mark == colour) for colour in (BLACK, WHITE)
    )
    before = [white, black, 0, 1] if turn == BLACK else [black, white, 0, 0]
    # After a pass of the other player it is this player's turn, with the moves that the rules find
    return game.step(np.array(before, np.uint64), size**2)


def check_othello(game: Game) -> None:
    """Raise UserError unless a game is Othello."""
    if game.name != "othello":
        raise UserError(f"NBoard plays Othello, not {game.name}; choose game=othello.")
