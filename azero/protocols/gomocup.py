"""The protocol of Gomocup and Piskvork: a manager sends commands, and the brain answers with its moves.

It is described at https://plastovicka.github.io/protocl2en.htm. A cell is X,Y, counted from 0; X is the
column, Y the row from the top.
"""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable

import azero
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.protocols.lines import Lines, TooLong, Write
from azero.protocols.look_ahead import LookAhead
from azero.protocols.thinking import Thinker
from azero.protocols.words import own_words, printable

OWN, OTHER = 1, 2  # stones of BOARD
UNLIMITED = 2**31 - 1  # milliseconds of time_left
AT_ONCE = 0.001  # seconds for a move where the manager asks for the fastest
MARGIN = 0.05  # seconds of a move for what is not search
SHARE = 20  # of the time that is left, one part for a move
STOPS = ("END", "STOP", "YXSTOP")
CELL = re.compile(r"\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*")
STONE = re.compile(CELL.pattern + r",\s*([0-9])\s*")


class Gomocup:
    """A brain and the game on its board.

    Attributes:
        limits: the latest value of each INFO that is a number.
        laid: azero's stones and the opponent's after YXBOARD, until a move shows whose turn it is.
    """

    def __init__(self, make_thinker: Callable[[int, int], Thinker], lines: Lines, write: Write) -> None:
        """Make the brain.

        Args:
            make_thinker: returns the player for columns and rows; UserError: it does not play there.
            lines: the manager's.
            write: receives the answers.
        """
        self.make_thinker, self.ahead, self.write = make_thinker, LookAhead(lines), write
        self.limits: dict[str, int] = {}
        self.thinker: Thinker | None = None
        self.playing: GameInProgress | None = None
        self.laid: tuple[list[int], list[int]] | None = None
        self.commands = {
            "START": self.start,
            "RECTSTART": self.start_rectangle,
            "RESTART": self.restart,
            "BEGIN": self.begin,
            "TURN": self.turn,
            "BOARD": self.board,
            "YXBOARD": self.silent_board,
            "TAKEBACK": self.take_back,
            "SWAP2BOARD": self.swap2,
            "ABOUT": self.about,
            "INFO": self.note,
        }

    def serve(self) -> None:
        """Obey commands until END or the end of the input."""
        while (line := self.ahead.read()) is not None:
            rest = line.strip().partition(" ")[2]
            if (name := command_of(line)) == "END":
                return
            if isinstance(line, TooLong):
                self.write("ERROR the line is too long")
            elif name in self.commands:
                try:
                    self.commands[name](rest.strip())
                except UserError as mistake:
                    self.write(f"ERROR {' '.join(own_words(mistake).split())}")
            elif name and name not in STOPS:
                self.write(f"UNKNOWN command {printable(name)}")

    def stopping(self) -> bool:
        """Return whether the search should end now; obey INFO if it is what comes next."""
        unread = self.ahead.look()
        while unread and unread[0] is not None and unread[0].strip().upper().startswith("INFO "):
            self.note(unread[0].strip()[5:])
            unread.popleft()
        stops = bool(unread) and (unread[0] or "").strip().upper() in STOPS
        return stops or self.ahead.lines.stopping()

    # Commands

    def start(self, text: str) -> None:
        """START size: begin a game on a square board."""
        if not re.fullmatch("[0-9]{1,3}", text):
            raise UserError("START needs the size of the board, such as START 15.")
        self.start_rectangle(f"{text},{text}")

    def start_rectangle(self, text: str) -> None:
        """RECTSTART columns,rows: begin a game."""
        if (size := CELL.fullmatch(text)) is None:
            raise UserError("RECTSTART needs columns and rows, such as RECTSTART 20,15.")
        self.playing = None
        self.thinker = self.make_thinker(int(size[1]), int(size[2]))
        if self.thinker.keeps_time:  # compile and make everything before a clock runs
            empty = GameInProgress(self.thinker.game)
            empty.play(self.thinker.choose(empty, AT_ONCE).best)
        self.restart("")

    def restart(self, _: str) -> None:
        """RESTART: begin another game on the same board."""
        self.thinker = self.started()
        self.thinker.new_game()
        self.playing, self.laid = GameInProgress(self.thinker.game), None
        self.write("OK")

    def begin(self, _: str) -> None:
        """BEGIN: make the first move, or the first one after YXBOARD."""
        self.move(self.game_on_board(own_turn=True))

    def turn(self, text: str) -> None:
        """TURN X,Y: play the opponent's move and answer with a move."""
        playing = self.game_on_board(own_turn=False)
        self.check_rule()
        playing.play(self.cell(text))
        self.move(playing)

    def board(self, _: str) -> None:
        """BOARD, stones, DONE: set up a position and answer with a move."""
        self.playing = self.placed(*self.stones(), own_turn=True)
        self.move(self.playing)

    def silent_board(self, _: str) -> None:
        """YXBOARD, stones, DONE: set up a position; whose turn it is follows from BEGIN or TURN."""
        own, other = self.stones()
        self.playing = self.placed(own, other, own_turn=len(own) <= len(other))
        self.laid = own, other

    def stones(self) -> tuple[list[int], list[int]]:
        """Return the cells of azero's stones and of the opponent's that come up to DONE; UserError: wrong."""
        stones: dict[int, list[int]] = {OWN: [], OTHER: []}
        mistakes = list[str]()
        self.playing = self.laid = None  # also if it is refused: the manager has another board than before
        for line in self.rows():
            stone = STONE.fullmatch(line)
            if stone is None or int(stone[3]) not in stones:
                mistakes.append(f"{printable(line)} is not a stone of a board: X,Y,1 or X,Y,2.")
            else:
                stones[int(stone[3])].append(self.cell(f"{stone[1]},{stone[2]}"))
        if mistakes:
            raise UserError(mistakes[0])
        return stones[OWN], stones[OTHER]

    def placed(self, own: list[int], other: list[int], own_turn: bool) -> GameInProgress:
        """Return a game with these stones; UserError: their numbers are wrong for whose turn it is."""
        mover, waiter = (own, other) if own_turn else (other, own)
        if not 0 <= len(waiter) - len(mover) <= 1:
            turn = "azero's" if own_turn else "the opponent's"
            raise UserError(f"with {len(own)} own and {len(other)} other stones it is not {turn} turn.")
        first, second = (mover, waiter) if len(mover) == len(waiter) else (waiter, mover)
        # The order does not matter: no line is complete before all stones are there
        playing = GameInProgress(self.started().game)
        for place in range(len(first) + len(second)):
            playing.play((first, second)[place % 2][place // 2])
        return playing

    def take_back(self, text: str) -> None:
        """TAKEBACK X,Y: take the last move back."""
        playing = self.game_on_board()
        if not playing.actions or playing.actions[-1] != self.cell(text):
            raise UserError(f"{printable(text)} is not the last move.")
        playing.undo()
        self.write("OK")

    def swap2(self, _: str) -> None:
        """SWAP2BOARD, stones, DONE: refuse."""
        for _ in self.rows():
            pass
        raise UserError("azero does not play swap2; use an opening and BOARD.")

    def about(self, _: str) -> None:
        """ABOUT: say who this is."""
        self.write(f'name="azero", version="{azero.__version__}", author="the azero authors"')

    def note(self, text: str) -> None:
        """INFO key value: note a limit. It is never answered."""
        key, _, value = text.partition(" ")
        if re.fullmatch(r"-?\d{1,18}", value.strip()):
            self.limits[key.lower()] = int(value)

    # Moves

    def move(self, playing: GameInProgress) -> None:
        """Choose a move, play it and answer with it."""
        assert self.thinker
        if playing.is_over:
            raise UserError("the game is over.")
        self.check_rule()
        self.warn_of_memory()
        action = self.thinker.choose(playing, self.seconds(), self.stopping).best
        playing.play(action)
        columns = playing.game.options["columns"]
        self.write(f"{action % columns},{action // columns}")

    def check_rule(self) -> None:
        """Raise UserError if the manager plays another rule than azero."""
        if rule := self.limits.get("rule", 0):
            raise UserError(f"rule {rule} is not known; azero plays rule 0, where five or more in a row win.")

    def seconds(self) -> float:
        """Return the seconds for a move; 0: no limit is known."""
        turn, left = self.limits.get("timeout_turn"), self.limits.get("time_left", UNLIMITED)
        if left == UNLIMITED and self.limits.get("timeout_match") and "time_left" not in self.limits:
            left = self.limits["timeout_match"]
        limits = [] if turn is None else [turn / 1000 - MARGIN]
        if left != UNLIMITED:
            limits.append(left / 1000 / SHARE - MARGIN)
        return max(AT_ONCE, min(limits)) if limits else 0.0

    def warn_of_memory(self) -> None:
        """Say so if this process has needed more memory than the manager allows."""
        most, used = (
            self.limits.get("max_memory", 0),
            (1 if sys.platform == "darwin" else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )
        if 0 < most < used:
            del self.limits["max_memory"]  # once is enough
            self.write(f"MESSAGE azero uses {used / 1e6:.0f} MB, and max_memory is {most / 1e6:.0f} MB")

    # Board

    def rows(self) -> list[str]:
        """Return the lines up to DONE; UserError: another command, which is obeyed next, comes before it."""
        found = list[str]()
        while (line := self.ahead.read()) is not None and (name := command_of(line)) != "DONE":
            if name in self.commands or name in STOPS:
                self.ahead.unread.appendleft(line)
                raise UserError(f"{name} came before DONE.")
            found += [line] if name else []
        return found

    def cell(self, text: str) -> int:
        """Return the action of X,Y; UserError: there is no such cell."""
        options, cell = self.started().game.options, CELL.fullmatch(text)
        if cell is None or int(cell[1]) >= options["columns"] or int(cell[2]) >= options["rows"]:
            raise UserError(f"{printable(text)} is not a cell of this board.")
        return int(cell[2]) * int(options["columns"]) + int(cell[1])

    def started(self) -> Thinker:
        """Return the player; UserError: no game has begun."""
        if self.thinker is None:
            raise UserError("no game has begun; send START and the size of the board.")
        return self.thinker

    def game_on_board(self, own_turn: bool | None = None) -> GameInProgress:
        """Return the game; UserError: none has begun.

        After YXBOARD `own_turn` decides who is to move; None: as the numbers of the stones say.
        """
        self.started()
        if self.playing is None:
            raise UserError("no game has begun; send START and the size of the board.")
        if self.laid and own_turn is not None:
            self.playing = self.placed(*self.laid, own_turn)
        self.laid = None
        return self.playing


def command_of(line: str) -> str:
    """Return the command of a line in capitals; "" if it is empty."""
    return line.strip().partition(" ")[0].upper()


def check_gomoku(game: Game) -> None:
    """Raise UserError unless a game is Gomoku, where five in a row win."""
    if game.name != "gomoku" or game.options["connect"] != 5:
        raise UserError(
            f"{game.name} with {game.options} is not Gomoku as Gomocup plays it; choose game=gomoku."
        )
