"""UCI, the Universal Chess Interface, for chess and every other game whose moves go from a cell to a cell.

Commands and answers are lines, see https://www.shredderchess.com/download/div/uci.zip. Variants of chess
follow Fairy-Stockfish: the option UCI_Variant names the game. A search runs between two lines and looks at
what comes meanwhile: `stop`, `ponderhit`, `isready` and `quit` are obeyed at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace

import numpy as np

import azero
from azero.cli.player_spec import PlayerSpec, needs_network, schema_of
from azero.config.reading import read_value
from azero.config.schema import Config, UserError, settings
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Thought
from azero.players.growing import LONGEST_LINE, LOOK_SECONDS
from azero.process.background import in_background
from azero.protocols.gtp_clock import LEAST
from azero.protocols.lines import Lines, TooLong, Write
from azero.protocols.look_ahead import LookAhead
from azero.protocols.thinking import Thinker
from azero.protocols.uci_go import Go, read_go
from azero.protocols.uci_info import info_lines, is_won, without_speed
from azero.protocols.words import own_words, printable

MOVE = re.compile(r"[a-z]{1,2}[0-9]{1,2}[a-z]{1,2}[0-9]{1,2}[a-z]?")
NO_MOVE = "(none)"  # of a game that is over, as Stockfish writes it
FOREVER = 86_400.0  # seconds of a search that only the client ends
STARTS = {"standard": "chess"}  # UCI_Variant of a variant with another name in azero
LIMITS = {"Simulations": "num_simulations", "Depth": "depth"}  # options of players, by their names in UCI
MOST_LINES = 500  # of MultiPV
MOST_OVERHEAD = 5_000  # milliseconds
STOPS = ("stop", "quit")  # commands that end a search
NEXT = ("position", "go", "ucinewgame")  # that end a search which would never end by itself
SOON = ("isready", "ponderhit")  # that are obeyed during a search
COMMANDS = (*STOPS, *NEXT, *SOON, "uci", "setoption", "debug", "register")


class Narrowed(GameInProgress):
    """A game in which only some moves are considered."""

    left_out: np.ndarray | None = None  # [A] bool

    def banned(self) -> np.ndarray | None:
        """Return which actions are forbidden or left out, [A] bool; None: none."""
        masks = [mask for mask in (super().banned(), self.left_out) if mask is not None]
        return np.logical_or.reduce(masks) if masks else None


class Unplayable(UserError):
    """The player cannot be made."""


class Uci:
    """An engine and the game on its board.

    Attributes:
        making: the player, which is made in a thread, so that `uci` is answered at once.
        at: the game on the board; None after a position that was refused.
        given: the words of the latest `position`, its start and its moves, to play only what is new.
        lines: moves that are reported, UCI's MultiPV.
        overhead: seconds of a move that are not thought.
        go: the limits of the search under way.
        deadline: when that search ends, by `time.perf_counter`; None: not yet known, or never.
    """

    def __init__(
        self,
        game: Game,
        spec: PlayerSpec,
        config: Config,
        lines: Lines,
        write: Write,
        seed: int = 1,
    ) -> None:
        """Begin to make the player; UserError: UCI cannot write the moves of the game."""
        check_moves(game)
        self.spec, self.config, self.seed, self.write = spec, config, seed, write
        self.ahead, self.lines, self.overhead = LookAhead(lines), 1, 0.03
        self.go = Go()
        self.deadline: float | None = None
        self.at: GameInProgress | None = None
        self.given: tuple[list[str], list[str]] = ([], [])
        self.limited: tuple[str, int, Thinker] | None = None
        self.commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self.introduce,
            "isready": self.is_ready,
            "ucinewgame": self.new_game,
            "setoption": self.set_option,
            "position": self.position,
            "go": self.search,
            **dict.fromkeys(("stop", "ponderhit", "debug", "register"), lambda words: None),
        }
        self.begin_game(game)

    def serve(self) -> None:
        """Obey commands until `quit` or the end of the input. What is unknown is skipped, as UCI asks.

        Raises:
            Unplayable: the player cannot play this game.
        """
        while (line := self.ahead.read()) is not None:
            words = command_of(line)
            if words[:1] == ["quit"]:
                return
            if isinstance(line, TooLong):
                self.say("the line is too long")
            elif words:
                try:
                    self.commands[words[0]](words[1:])
                except Unplayable:
                    raise
                except UserError as mistake:
                    self.say(own_words(mistake))
            elif line.strip():
                self.say(f"unknown command {printable(line.strip())}")

    def say(self, text: str) -> None:
        """Send a text for people."""
        self.write(f"info string {' '.join(text.split())}")

    # Commands

    def introduce(self, _: list[str]) -> None:
        """uci: say who this is, and which options there are."""
        self.write(f"id name azero {azero.__version__}")
        self.write("id author the azero authors")
        for line in self.option_lines():
            self.write(f"option name {line}")
        self.write("uciok")

    def option_lines(self) -> list[str]:
        """Return the options; those of the player only if it has them."""
        known, lines = settings(schema_of(self.spec)), list[str]()
        for name, option in LIMITS.items():
            if option in known:
                high = (known[option].between or (0, 1_000_000))[1]
                given = int(self.spec.options.get(option) or known[option].default or 0)
                lines.append(f"{name} type spin default {given} min 0 max {int(high)}")
        if self.shows_moves:
            lines.append(f"MultiPV type spin default 1 min 1 max {MOST_LINES}")
        lines.append("Ponder type check default false")
        default = round(1000 * self.overhead)
        lines.append(f"Move Overhead type spin default {default} min 0 max {MOST_OVERHEAD}")
        variants = self.variants()
        own = variant_of(self.game)
        lines.append(f"UCI_Variant type combo default {own} " + " ".join(f"var {name}" for name in variants))
        return lines

    @property
    def shows_moves(self) -> bool:
        """Whether the player's search knows more than its best move."""
        return schema_of(self.spec).shows_moves

    def variants(self) -> list[str]:
        """Return the games that the player can play, by their names in UCI."""
        if self.game.name != "chess" or needs_network(self.spec):
            return [variant_of(self.game)]
        from azero.games.chess import FORMS

        return [STARTS.get(name, name) for name in FORMS]

    def is_ready(self, _: list[str]) -> None:
        """isready: answer when the player can move."""
        self.player()
        self.write("readyok")

    def new_game(self, _: list[str]) -> None:
        """ucinewgame: forget the game before."""
        if self.making.done() and not self.making.exception():
            for thinker in set(self.making.result()):
                thinker.new_game()
        if self.limited:
            self.limited[2].new_game()

    def set_option(self, words: list[str]) -> None:
        """setoption name NAME value VALUE."""
        name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
        name, value = name.strip().lower(), value.strip()
        limits = {each.lower(): option for each, option in LIMITS.items()}
        if name == "multipv":
            self.lines = number_of(value, 1, MOST_LINES)
        elif name == "move overhead":
            self.overhead = number_of(value, 0, MOST_OVERHEAD) / 1000
        elif name == "uci_variant":
            self.set_variant(value)
        elif name in limits and limits[name] in settings(schema_of(self.spec)):
            self.set_limit(limits[name], value)
        elif name != "ponder":  # the client says by `go ponder` when to
            raise UserError(f"there is no option {printable(name)}")

    def set_limit(self, option: str, value: str) -> None:
        """Set an option of the player; 0 is its own default."""
        known = settings(schema_of(self.spec))[option]
        number = number_of(value, 0, int((known.between or (0, 1_000_000))[1]))
        options = {each: kept for each, kept in self.spec.options.items() if each != option}
        defaults = tuple(each for each in self.spec.defaults if each != option)
        spec = replace(self.spec, options=options | ({option: number} if number else {}), defaults=defaults)
        if spec != self.spec or defaults != self.spec.defaults:
            self.spec = spec
            self.begin_player()

    def set_variant(self, name: str) -> None:
        """Begin a game of another variant of chess."""
        known = {each.lower(): each for each in self.variants()}
        if name.lower() not in known:
            raise UserError(f"there is no variant {printable(name)}; known are {', '.join(known.values())}")
        name = known[name.lower()]
        if name != variant_of(self.game):
            variant = next((own for own, other in STARTS.items() if other == name), name)
            self.begin_game(make_game("chess", variant=variant))

    def position(self, words: list[str]) -> None:
        """position startpos|fen FEN [moves MOVE …]: set the board; after a refusal there is none."""
        place = words.index("moves") if "moves" in words else len(words)
        start, moves = words[:place], words[place + 1 :]
        before, played = self.given
        at, self.at, self.given = self.at, None, ([], [])
        if start != ["startpos"] and start[:1] != ["fen"]:
            raise UserError("write position startpos or position fen FEN, then moves MOVE …")
        if at is None or start != before or moves[: len(played)] != played:
            at, played = begun(self.game, " ".join(start[1:])), []
        for name in moves[len(played) :]:
            at = after(at, name)
        self.at, self.given = at, (start, moves)

    # Search

    def search(self, words: list[str]) -> None:
        """go: search, report, and answer with a move."""
        began = time.perf_counter()
        self.go, self.deadline = read_go(words), None
        self.player()
        at = self.at and self.narrowed(going_on(self.at), self.go.searchmoves)
        if at is None or at.is_over:
            self.hold()
            legal = at.game.legal_actions(at.state)[:1] if at and is_drawn(at) else []
            self.write(f"bestmove {at.game.action_name(at.state, legal[0]) if at and legal else NO_MOVE}")
            return
        seconds, is_enough, shown = self.seconds(at), False, list[str]()
        thinker, most = self.thinker(bool(seconds))
        if self.go.infinite or (self.go.ponder and seconds):
            seconds = FOREVER
        elif seconds:
            self.deadline = began + seconds
            seconds = max(LEAST, self.deadline - time.perf_counter())
        elif most or schema_of(self.spec).deepens:
            seconds = FOREVER  # depth 1, 2, …: a stop finds a good move, and the shortest mate comes first

        def report(thought: Thought) -> None:
            nonlocal is_enough, shown
            is_enough = is_enough or self.is_enough(thought)
            now = time.perf_counter() - began
            lines = info_lines(self.game, at.state, thought, self.lines, now)
            if shown != (shown := [without_speed(line) for line in lines]):
                for line in lines:
                    self.write(line)

        thought = thinker.choose(
            at, seconds, lambda: self.stopping() or is_enough, report, self.deadline is not None, most
        )
        if isinstance(at, Narrowed):  # its tree lacks the moves that were left out
            thinker.new_game()
        report(thought)  # what the last wave has found, such as the mate
        self.hold()
        self.write(self.best_line(at, thought))

    def is_enough(self, thought: Thought) -> bool:
        """Return whether a search of a tree has reached the depth, or found the mate, that is asked for."""
        best = thought.best_move()
        if best is None or self.go.waits:
            return False
        deep = bool(self.go.depth) and len(best.line) >= min(self.go.depth, LONGEST_LINE)
        return deep or (bool(self.go.mate) and is_won(best))

    def best_line(self, at: GameInProgress, thought: Thought) -> str:
        """Return the line with the move, and the reply to ponder on if one is known."""
        best = thought.best_move()
        names = self.game.move_names(best.line[:2] if best else [thought.best], at.state)
        return f"bestmove {names[0]}" + (f" ponder {names[1]}" if names[1:] else "")

    def seconds(self, at: GameInProgress) -> float:
        """Return the seconds for a move; 0: the client gives no time."""
        left = (self.game.max_plies - len(at.actions) + 1) // 2
        return self.go.seconds(at.to_play, left, self.overhead)

    def narrowed(self, at: GameInProgress, names: list[str]) -> GameInProgress:
        """Return the game with the moves that are searched; none that can be played is named: with all."""
        actions = set[int]()
        for name in [] if at.is_over else names:
            try:
                actions.add(self.game.parse_action(at.state, name))
            except ValueError:
                self.say(f"{printable(name)} is not a move here")
        if actions := {action for action in actions if at.is_legal(action)}:
            narrowed = Narrowed.along(at.game, at.actions, at.states)
            narrowed.left_out = np.ones(self.game.num_actions, np.bool_)
            narrowed.left_out[list(actions)] = False
            return narrowed
        return at

    def stopping(self) -> bool:
        """Return whether the search should end now; obey what has come and does not end it."""
        unread = self.ahead.look()
        ends = self.ahead.lines.stopping() or self.is_late()
        for line in list(unread):
            command = "" if line is None else "".join(command_of(line)[:1])
            if command in STOPS or (self.go.waits and (line is None or command in NEXT)):
                ends = True
            if ends or line is None:
                break
            if command in SOON:
                unread.remove(line)
                self.hit() if command == "ponderhit" else self.write("readyok")
        return ends

    def is_late(self) -> bool:
        """Return whether the time of the search is over."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def hit(self) -> None:
        """ponderhit: the opponent has played the expected move, and the clock runs."""
        if self.go.ponder:
            self.go = replace(self.go, ponder=False)
            if self.at and (seconds := self.seconds(going_on(self.at))):
                self.deadline = time.perf_counter() + seconds

    def hold(self) -> None:
        """Wait with the answer while the client ponders, or until it stops an infinite search."""
        while self.go.waits and not self.stopping():
            time.sleep(LOOK_SECONDS / 2)

    # Player

    def begin_game(self, game: Game) -> None:
        """Begin with a game."""
        self.game, self.given = game, (["startpos"], [])
        self.at = GameInProgress(game)
        self.begin_player()

    def begin_player(self) -> None:
        """Begin to make the player in a thread."""
        game, spec = self.game, self.spec
        self.limited = None
        self.making: Future[tuple[Thinker, Thinker]] = in_background(lambda: self.make_players(game, spec))

    def make_players(self, game: Game, spec: PlayerSpec) -> tuple[Thinker, Thinker]:
        """Return the player as it is, and without limits of its own, ready to move under a clock."""
        thinker = clocked = Thinker(spec, game, self.config, self.seed)
        thinker.warm_up()
        unlimited = without_defaults(spec)
        if unlimited != spec:
            clocked = Thinker(unlimited, game, self.config, self.seed)
            clocked.warm_up()
        if clocked.keeps_time:
            clocked.timed()
        return thinker, clocked

    def players(self) -> tuple[Thinker, Thinker]:
        """Return the player as it is, and for clocks, when it is ready.

        Raises:
            Unplayable: it cannot play this game.
            UserError: the client quits.
        """
        while True:
            try:
                return self.making.result(LOOK_SECONDS)
            except NotYet:
                if self.making.done():  # its own error
                    raise
                unread = [line for line in self.ahead.look() if line is not None]
                if self.ahead.lines.stopping() or any(command_of(line)[:1] == ["quit"] for line in unread):
                    raise UserError("the player is not ready yet") from None
            except UserError as refusal:
                raise Unplayable(str(refusal)) from refusal

    def player(self) -> Thinker:
        """Return the player as it is; see `players`."""
        return self.players()[0]

    def thinker(self, has_time: bool) -> tuple[Thinker, int]:
        """Return the player with the limits of `go`, and the most simulations or plies, 0: its own number.

        has_time: whether there are seconds for the move.
        """
        known, (plain, clocked) = settings(schema_of(self.spec)), self.players()
        if not self.go.limit or self.go.limit[0] not in known:
            return (clocked if has_time or self.go.infinite else plain), 0
        option, most = self.go.limit
        if clocked.player.takes_most:  # at once, with what it knows from before
            return clocked, most
        low, high = known[option].between or (1, 1_000_000)
        spec = without_defaults(self.spec)
        if typed := spec.options.get(option):
            most = min(most, int(read_value(option, typed, known[option]) or most))
        most = int(min(max(most, low, 1), high))
        if self.limited is None or self.limited[:2] != (option, most):
            spec = replace(spec, options={**spec.options, option: most})
            self.limited = (option, most, Thinker(spec, self.game, self.config, self.seed))
        return self.limited[2], 0


def without_defaults(spec: PlayerSpec) -> PlayerSpec:
    """Return a player that only what a person typed, and the client, limits."""
    options = {name: value for name, value in spec.options.items() if name not in spec.defaults}
    known, deepens = settings(schema_of(spec)), schema_of(spec).deepens
    if deepens and known["depth"].default != 0:
        options = {"depth": 0, **options}  # to the end of the game
    if "seconds" in known and known["seconds"].default:
        options = {"seconds": FOREVER, **options}
    return spec if options == spec.options else replace(spec, options=options, defaults=())


def begun(game: Game, text: str) -> GameInProgress:
    """Return a game that begins at a position, "" for its own. UserError: the text is not a position."""
    return GameInProgress(game, state=game.position(text) if text else None)


def is_drawn(at: GameInProgress) -> bool:
    """Return whether chess is over but can be played on: clients do not end such games by themselves."""
    return at.game.name == "chess" and at.is_over and bool(at.game.legal_actions(at.state))


def going_on(at: GameInProgress) -> GameInProgress:
    """Return a game that goes on after a draw, or when it has become long.

    After a draw the positions before it are forgotten. With kings alone it is a draw again.
    """
    if is_drawn(at):
        fields = at.game.text(at.state).split()
        return begun(at.game, " ".join([*fields[:4], "0", "1"]))
    if at.game.name != "chess" or at.is_over:
        return at
    from azero.games.chess import from_first_plies, plies_of

    if 2 * plies_of(at.state) < at.game.max_plies:
        return at
    return GameInProgress(at.game, state=from_first_plies(at.state))


def after(at: GameInProgress, name: str) -> GameInProgress:
    """Return the game after a move; UserError: it is not legal."""
    at = going_on(at)
    if is_drawn(at):  # kings alone
        legal = at.game.legal_actions(at.state)
        names = [at.game.action_name(at.state, action) for action in legal]
        if name not in names:
            raise UserError(f"illegal move {printable(name)}")
        return GameInProgress(at.game, state=at.game.step(at.state, legal[names.index(name)]))
    try:
        action = at.game.parse_action(at.state, name)
    except ValueError as mistake:
        raise UserError(f"illegal move {printable(name)}") from mistake
    if not at.is_legal(action):
        raise UserError(f"illegal move {printable(name)}")
    at.play(action)
    return at


def command_of(line: str) -> list[str]:
    """Return a line's words from the first known command on; none if there is no command."""
    words = line.split()
    return next((words[place:] for place, word in enumerate(words) if word in COMMANDS), [])


def variant_of(game: Game) -> str:
    """Return UCI's name of a game."""
    name = game.options["variant"] if game.name == "chess" else game.name
    return STARTS.get(name, name)


def number_of(text: str, low: int, high: int) -> int:
    """Return a whole number; UserError: it is not one from `low` to `high`."""
    if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
        raise UserError(f"{printable(text)!r} is not a whole number from {low} to {high}")
    return int(text)


def check_moves(game: Game) -> None:
    """Raise UserError unless the moves of a game are written from cell to cell."""
    start = game.initial_state()
    names = [game.action_name(start, action) for action in game.legal_actions(start)]
    if not all(MOVE.fullmatch(name) for name in names):
        raise UserError(
            f"UCI writes moves from cell to cell, such as e2e4; {game.name} has moves such as {names[0]}; "
            "choose game=chess, or azero gtp."
        )
