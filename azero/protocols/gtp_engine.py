"""The commands of GTP for one player and one board; `docs/protocols.md` lists them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import azero
from azero.cli.player_spec import PlayerSpec, needs_network
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.ending import outcome_text
from azero.games.game import Game
from azero.games.go import black_lead
from azero.games.kit.grid import make_grid
from azero.games.playing import GameInProgress
from azero.players import Report, Thought, never
from azero.players.growing import Reports, growing_search
from azero.process.background import in_background
from azero.protocols import gtp_display as display
from azero.protocols.gtp_clock import LEAST, Clock, TimeSettings, of_kgs, of_time_settings
from azero.protocols.gtp_moves import COLOURS, PASS, Moves, is_pass, parse_colour
from azero.protocols.thinking import Thinker, can_ponder
from azero.protocols.turning import turned
from azero.protocols.words import integer, own_words, real, seconds_of
from azero.records.files import read_file
from azero.records.record import Record, known_game

PROTOCOL = "2"
NAME = "azero"
VERSION = f"0.17 (azero {azero.__version__})"  # Lizzie wants the commands of Leela Zero 0.15 or later
EVERY = 1.0  # seconds between two reports of an analysis, unless the client names its interval
HANDICAP = "azero plays without handicap"
SHOWN_SIMULATIONS = 400  # of the search that a display shows, if no search of the position is known

Place = tuple[GameInProgress, int]  # a game and a number of its moves
Command = Callable[["Engine", list[str]], str]


def count_words(words: list[str], least: int, most: int, usage: str) -> None:
    """Raise UserError unless there are so many words."""
    if not least <= len(words) <= most:
        raise UserError(f"syntax error: write {usage}")


class Engine:
    """A player with a board, who does what commands say.

    Attributes:
        making: the player, which is made in a thread, so that a client's first questions are answered.
        at: the game on the board.
        before: for each move of GTP the game before it and the number of its moves then. A side that plays
            out of turn begins a new history or lets the other pass, and a pass after the end changes nothing.
        clocks: of black and white.
        for_gogui: whether moves are written as GoGui draws them, see `gtp_moves`.
        komi: that the final score counts with; None in games without komi.
        ponder: whether to think in the opponent's time.
        seen: the latest search: its position, and what it found.
        late: seconds from the line's coming to its command's beginning, which the clock counts.
        stopping: asked whether a command under way should end with what it has.
        next_line: asked whether the next line has come, which ends an analysis.
        write: sends a line of a command that has not ended.
        begin: sends the beginning of such a command's answer.
    """

    def __init__(
        self, game: Game, spec: PlayerSpec, config: Config, seed: int = 1, ponder: bool = False
    ) -> None:
        """Begin to make the player; UserError: it cannot ponder, but should."""
        if ponder and not can_ponder(spec):
            raise UserError(f"player {spec.name} cannot ponder; choose pv_mcts, or set ponder=false.")
        self.spec, self.config, self.seed, self.ponder = spec, config, seed, ponder
        self.settings, self.for_gogui = TimeSettings(), False
        self.game, self.making = game, in_background(lambda: self.make_player(game))
        self.now: Callable[[], float] = time.perf_counter
        self.late = 0.0
        self.stopping: Callable[[], bool] = never
        self.next_line: Callable[[], bool] = lambda: True
        self.write: Callable[[str], None] = lambda line: None
        self.begin: Callable[[], None] = lambda: None
        self.set_game(game)

    # --- the board ----------------------------------------------------------------------------------------

    def set_game(self, game: Game) -> None:
        """Begin with a game; the player is made anew if the game is another one."""
        if game is not self.game:
            self.making = in_background(lambda: self.make_player(game))
        self.game, self.moves = game, Moves(game, self.for_gogui)
        self.komi: float | None = game.options.get("komi")
        if self.settings.kind != "none":
            self.player()  # ready before the clock runs
        self.clear()

    def clear(self) -> None:
        """Begin a new game."""
        self.at, self.before = GameInProgress(self.game), list[Place]()
        self.seen: tuple[np.ndarray, Thought] | None = None
        self.pondering = False
        self.reset_clocks()
        if self.making.done() and not self.making.exception():
            self.making.result().new_game()

    def reset_clocks(self) -> None:
        """Begin the clocks anew."""
        self.clocks = [Clock(self.settings), Clock(self.settings)]

    def make_player(self, game: Game) -> Thinker:
        """Return a player of a game that can move at once, also under a clock if there is one."""
        thinker = Thinker(self.spec, game, self.config, self.seed)
        thinker.warm_up()
        if self.settings.kind != "none":
            thinker.timed()
        return thinker

    def player(self) -> Thinker:
        """Return the player when it is ready; UserError: it cannot play this game."""
        return self.making.result()

    @property
    def is_fixed(self) -> bool:
        """Whether the player has learned one board and one komi."""
        return needs_network(self.spec)

    @property
    def place(self) -> Place:
        """Where the game is now; see `go_back_to`."""
        return self.at, len(self.at.actions)

    def go_back_to(self, place: Place) -> None:
        """Take moves back, up to where the game was before."""
        self.at, count = place
        while len(self.at.actions) > count:
            self.at.undo()

    def play(self, side: int, text: str) -> None:
        """Play a client's move; UserError: it is not legal."""
        before = self.place
        changes_nothing = self.at.is_over or side != self.at.to_play  # with a pass
        if not is_pass(text) or not changes_nothing:
            try:
                self.turn_to(side)
                self.at.play(self.moves.parse(text, self.at.state, self.at.legal_actions()))
            except UserError:
                self.go_back_to(before)
                raise
        self.moved(before)

    def moved(self, before: Place) -> None:
        """Note that a move has been played."""
        self.before.append(before)
        self.pondering = False

    def turn_to(self, side: int) -> None:
        """Let a side be to move: if it is not, a new history begins, or the other one passes.

        Raises:
            UserError: the rules of the game have neither.
        """
        if side == self.at.to_play and not self.at.is_over:
            return
        if (other := turned(self.at, side)) is not None:
            self.at = other
            return
        if self.at.is_over:
            raise UserError("illegal move: the game is over")
        passing = self.moves.pass_action(self.at.state, self.at.legal_actions())
        if passing is None:
            raise UserError(f"illegal move: it is the turn of {COLOURS[1 - side]}")
        before = self.place
        self.at.play(passing)
        if self.at.is_over:
            self.go_back_to(before)
            raise UserError(f"illegal move: {COLOURS[1 - side]} would have to pass, which ends the game")

    # --- thinking -----------------------------------------------------------------------------------------

    def generate(
        self,
        side: int,
        keeps: bool,
        report: Report | None = None,
        begin: Callable[[], None] = lambda: None,
    ) -> str:
        """Return the player's move for a side, which is then to move; play it if `keeps`.

        `begin` is called when nothing can be refused any more.
        """
        before, clock, began = self.place, self.clocks[side], self.now() - self.late
        text = PASS  # when the game is over
        try:
            if not self.at.is_over:
                self.turn_to(side)
            self.player()
            begin()
            if not self.at.is_over:
                seconds = clock.seconds_for_move((self.game.max_plies - len(self.at.actions) + 1) // 2)
                text = self.choose(max(LEAST, seconds - self.late) if seconds else 0.0, report)
        except BaseException:
            self.go_back_to(before)
            raise
        if keeps:
            clock.spend(self.now() - began)
            self.moved(before)
            self.pondering = self.ponder
        else:
            self.go_back_to(before)
        return text

    def choose(self, seconds: float, report: Report | None) -> str:
        """Play the player's move and return it."""
        state = self.at.state

        def note(thought: Thought) -> None:
            self.seen = (state, thought)
            if report:
                report(thought)

        action = self.player().choose(self.at, seconds, self.stopping, note).best
        text = self.moves.text(state, action)
        self.at.play(action)
        return text

    def ponder_on(self) -> None:
        """Think in the opponent's time until the next line comes."""
        if self.pondering:
            self.player().ponder(self.at, self.next_line)

    def analyse(self, words: list[str], style: display.Style) -> str:
        """Report a search of the position until the next line comes."""
        asked = display.read_analysis(words, self.moves, self.at.to_play, EVERY)
        player, before = self.player(), self.place
        growing_search(player.player)  # refuses a player without one
        if self.at.is_over:
            raise UserError("the game is over")

        def report(thought: Thought) -> None:
            if line := display.info_line(thought, self.moves, self.at.state, style, asked):
                self.write(line)

        try:
            self.turn_to(asked.side)
            banned = display.left_out(asked, self.moves, self.at)
            player.timed()
            self.begin()
            player.analyse(self.at, self.next_line, report, asked.every, banned)
        finally:
            self.go_back_to(before)
        return ""

    def choose_and_report(self, words: list[str], style: display.Style, keeps: bool) -> str:
        """Choose a move and report the search meanwhile; the answer ends with the move."""
        asked = display.read_analysis(words, self.moves, self.at.to_play, EVERY)
        if asked.avoided or asked.allowed:
            raise UserError("moves cannot be left out when a move is chosen")
        sent, before = "", self.seen

        def report(thought: Thought) -> None:
            nonlocal sent
            assert self.seen  # its position; the move may have been played since
            line = display.info_line(thought, self.moves, self.seen[0], style, asked)
            if line and line != sent:
                sent = line
                self.write(line)

        text = self.generate(asked.side, keeps, Reports(report, asked.every), self.begin)
        if self.seen and self.seen is not before:
            report(self.seen[1])
        return f"play {text}"

    def thought(self) -> Thought:
        """Return what the latest search of the position found, or search it."""
        if self.seen is None or self.seen[0] is not self.at.state:
            if self.at.is_over:
                raise UserError("the game is over")
            growing_search(self.player().player)  # refuses a player without one, before another is made
            found = list[Thought]()

            def enough() -> bool:
                return self.stopping() or bool(found and found[-1].visits >= SHOWN_SIMULATIONS)

            self.player().analyse(self.at, enough, found.append, 0.0, lasting=False)
            if not found:
                raise UserError("the search was stopped")
            self.seen = (self.at.state, found[-1])
        return self.seen[1]


# --- commands ---------------------------------------------------------------------------------------------


def known_command(engine: Engine, words: list[str]) -> str:
    return "true" if words and words[0] in COMMANDS else "false"


def list_commands(engine: Engine, words: list[str]) -> str:
    return "\n".join(sorted(COMMANDS))


def boardsize(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 2, "boardsize SIZE")
    asked = tuple(map(integer, words))
    size = engine.moves.size
    if engine.moves.board is None or asked in (size, (max(size),), (max(size),) * 2):
        engine.clear()
        return ""
    if engine.is_fixed:
        raise UserError(f"unacceptable size: the champion plays on {size[0]} x {size[1]}")
    options, rows = dict(engine.game.options), asked[-1]
    if "size" in options and rows == asked[0]:
        options["size"] = rows
    elif "size" in options:
        raise UserError(f"unacceptable size: {engine.game.name} needs a square board")
    elif {"rows", "columns"} <= options.keys():
        options |= {"columns": asked[0], "rows": rows}
    else:
        raise UserError(f"unacceptable size: {engine.game.name} is played on {size[0]} x {size[1]}")
    try:
        engine.set_game(make_game(engine.game.name, **options))
    except UserError as refusal:
        raise UserError(f"unacceptable size: {own_words(refusal)}") from refusal
    return ""


def set_game(engine: Engine, words: list[str]) -> str:
    if [word.lower() for word in words] != [engine.moves.game_id.lower()]:
        raise UserError(f"this engine plays {engine.moves.game_id}")
    engine.clear()
    return ""


def clear_board(engine: Engine, words: list[str]) -> str:
    engine.clear()
    return ""


def set_komi(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 1, "komi KOMI")
    komi = real(words[0])
    if engine.komi is None or komi == engine.komi:
        return ""
    if engine.is_fixed:
        learned = engine.game.options["komi"]
        print(f"azero: the champion plays as it learned, with komi {learned:g}.", file=sys.stderr, flush=True)
    else:
        at, before, clocks = engine.at, engine.before, engine.clocks
        try:
            game = make_game(engine.game.name, **{**engine.game.options, "komi": komi})
        except UserError as refusal:
            raise UserError(f"unacceptable komi: {own_words(refusal)}") from refusal
        engine.set_game(game)
        for each, _ in [*before, (at, 0)]:
            each.game = game
        engine.at, engine.before, engine.clocks = at, before, clocks
    engine.komi = komi
    return ""


def play(engine: Engine, words: list[str]) -> str:
    if len(words) < 2:
        raise UserError("syntax error: write play COLOR MOVE")
    engine.play(parse_colour(words[0]), " ".join(words[1:]))
    return ""


def genmove(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 1, "genmove COLOR")
    return engine.generate(parse_colour(words[0]), keeps=True)


def reg_genmove(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 1, "reg_genmove COLOR")
    return engine.generate(parse_colour(words[0]), keeps=False)


def undo(engine: Engine, words: list[str]) -> str:
    if not engine.before:
        raise UserError("cannot undo: no move has been played")
    engine.go_back_to(engine.before.pop())
    engine.pondering = False
    return ""


def set_time(engine: Engine, settings: TimeSettings) -> str:
    """Begin to play with a kind of clock."""
    engine.settings = settings
    engine.reset_clocks()
    if settings.kind != "none":
        engine.player().timed()  # ready before the clock runs
    return ""


def time_settings(engine: Engine, words: list[str]) -> str:
    count_words(words, 3, 3, "time_settings MAIN PERIOD STONES")
    return set_time(engine, of_time_settings(seconds_of(words[0]), seconds_of(words[1]), integer(words[2])))


def kgs_time_settings(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 4, "kgs-time_settings KIND MAIN PERIOD COUNT")
    return set_time(engine, of_kgs(words[0], list(map(seconds_of, words[1:]))))


def time_left(engine: Engine, words: list[str]) -> str:
    count_words(words, 2, 3, "time_left COLOR SECONDS STONES")
    count = integer(words[2]) if len(words) > 2 else 0
    engine.clocks[parse_colour(words[0])].set_left(max(0.0, real(words[1])), count)
    return ""


def loadsgf(engine: Engine, words: list[str]) -> str:
    if not words:
        raise UserError("syntax error: write loadsgf FILE MOVE_NUMBER")
    has_number = len(words) > 1 and words[-1].isdecimal() and words[-1].isascii()
    name = " ".join(words[:-1] if has_number else words)
    try:
        if not Path(name).is_file() and Path(name).exists():
            raise UserError(f"{name} is not a file")
        record = next(read_file(Path(name), known_game(engine.game)))
        game = game_for(engine, record)
        actions = record.path(record.main_line()[-1])
        if has_number:
            actions = actions[: max(0, integer(words[-1]) - 1)]
        at = GameInProgress(game, actions, game.position(record.start) if record.start else None)
    except UserError as refusal:
        raise UserError(f"cannot load file: {own_words(refusal)}") from refusal
    except (StopIteration, OSError, ValueError) as failure:  # a path too long or with a NUL
        raise UserError("cannot load file: it holds no game") from failure
    engine.set_game(game)
    if "komi" in record.game.options:
        engine.komi = record.game.options["komi"]
    engine.at, engine.before = at, [(at, count) for count in range(len(actions))]
    return ""


def game_for(engine: Engine, record: Record) -> Game:
    """Return the rules to play a record by: the engine's own where the board is the same."""
    theirs, ours = record.game, engine.game
    same = theirs.name == ours.name and Moves(theirs).size == engine.moves.size
    if same and (engine.is_fixed or theirs.options == ours.options):
        return ours
    if engine.is_fixed or theirs.name != ours.name:
        wanted = f"{ours.name} on {engine.moves.size[0]} x {engine.moves.size[1]}"
        size = " on {} x {}".format(*Moves(theirs).size) if theirs.name == ours.name else ""
        raise UserError(f"the file has a game of {theirs.name}{size}; this engine plays {wanted}")
    return theirs


def final_score(engine: Engine, words: list[str]) -> str:
    if engine.komi is not None:
        size = engine.game.options["size"]
        lead = float(black_lead(engine.at.state, make_grid(size))) - engine.komi
        return f"{'B' if lead > 0 else 'W'}+{abs(lead):g}" if lead else "0"
    if engine.at.outcome is None:
        raise UserError("cannot score: the game is not over")
    return "B+" if engine.at.outcome > 0 else "W+" if engine.at.outcome < 0 else "0"


def final_status_list(engine: Engine, words: list[str]) -> str:
    count_words(words, 1, 1, "final_status_list STATUS")
    if engine.game.name != "go":
        raise UserError(f"{engine.game.name} has no dead and living stones")
    if words[0] not in ("alive", "dead", "seki"):
        raise UserError("syntax error: the status is alive, dead or seki")
    if words[0] != "alive":
        return ""  # every stone that stands at the end counts
    assert engine.moves.board
    return "\n".join(
        " ".join(engine.moves.board.cell_name(cell) for cell in chain)
        for chain in display.chains(engine.moves.board.marks(engine.at.state))
    )


def showboard(engine: Engine, words: list[str]) -> str:
    turn = final_result(engine, words) if engine.at.is_over else f"{COLOURS[engine.at.to_play]} to play"
    return f"\n{engine.moves.show(engine.at.state)}\n{turn}"


def final_result(engine: Engine, words: list[str]) -> str:
    if engine.at.outcome is None:
        return "The game is not over"
    wins = [f"{colour.capitalize()} wins" for colour in COLOURS]
    return outcome_text(engine.game, engine.at.state, engine.at.outcome, wins)


def legal_moves(engine: Engine, words: list[str]) -> str:
    return " ".join(engine.moves.texts(engine.at.state, engine.at.legal_actions()))


def board_size(engine: Engine, words: list[str]) -> str:
    if engine.moves.board is None:
        raise UserError("this game has no board of cells")
    if engine.game.name != "hex":
        return str(max(engine.moves.size))
    engine.for_gogui, engine.moves = True, Moves(engine.game, for_gogui=True)
    return f"{max(engine.moves.size)} hex"


def parameters(engine: Engine, words: list[str]) -> str:
    if not words:
        return f"[bool] ponder {int(engine.ponder)}"
    if words[0] != "ponder" or words[1:] not in (["0"], ["1"]):
        raise UserError("syntax error: write azero-param ponder 0 or azero-param ponder 1")
    if words[1] == "1" and not can_ponder(engine.spec):
        raise UserError(f"player {engine.spec.name} cannot ponder; choose pv_mcts")
    engine.ponder = words[1] == "1"
    engine.pondering = engine.pondering and engine.ponder
    return ""


def shown(kind: str, hexgui: bool = False) -> Command:
    """Return the command that shows policy, value or visits on the board."""

    def show(engine: Engine, words: list[str]) -> str:
        thought = engine.thought()
        return display.board_colours(thought, engine.moves, engine.at.state, kind, hexgui)

    return show


def best_line(engine: Engine, words: list[str]) -> str:
    thought = engine.thought()
    line = next(move.line for move in thought.moves if move.action == thought.best)
    return " ".join(engine.moves.line_texts(engine.at.state, line))


def analysis(style: display.Style) -> Command:
    """Return the command that reports a search until the next line."""
    return lambda engine, words: engine.analyse(words, style)


def choice(style: display.Style, keeps: bool) -> Command:
    """Return the command that chooses a move and reports its search."""
    return lambda engine, words: engine.choose_and_report(words, style, keeps)


def refused(sentence: str) -> Command:
    """Return a command that is always refused."""

    def refuse(engine: Engine, words: list[str]) -> str:
        raise UserError(sentence)

    return refuse


COMMANDS: dict[str, Command] = {
    "protocol_version": lambda engine, words: PROTOCOL,
    "name": lambda engine, words: NAME,
    "version": lambda engine, words: VERSION,
    "known_command": known_command,
    "list_commands": list_commands,
    "quit": lambda engine, words: "",
    "boardsize": boardsize,
    "rectangular_boardsize": boardsize,
    "list_games": lambda engine, words: engine.moves.game_id,
    "set_game": set_game,
    "clear_board": clear_board,
    "komi": set_komi,
    "play": play,
    "genmove": genmove,
    "reg_genmove": reg_genmove,
    "undo": undo,
    "time_settings": time_settings,
    "kgs-time_settings": kgs_time_settings,
    "time_left": time_left,
    "loadsgf": loadsgf,
    "final_score": final_score,
    "final_status_list": final_status_list,
    "showboard": showboard,
    "lz-analyze": analysis(display.LEELA),
    "kata-analyze": analysis(display.KATA),
    "lz-genmove_analyze": choice(display.LEELA, keeps=True),
    "kata-genmove_analyze": choice(display.KATA, keeps=True),
    "kata-search": reg_genmove,
    "kata-search_analyze": choice(display.KATA, keeps=False),
    "gogui-rules_game_id": lambda engine, words: engine.moves.game_id,
    "gogui-rules_board": lambda engine, words: "\n".join(engine.moves.rows(engine.at.state)),
    "gogui-rules_board_size": board_size,
    "gogui-rules_legal_moves": legal_moves,
    "gogui-rules_side_to_move": lambda engine, words: COLOURS[engine.at.to_play],
    "gogui-rules_final_result": final_result,
    "gogui-interrupt": lambda engine, words: "",
    "gogui-analyze_commands": lambda engine, words: display.GOGUI,
    "hexgui-analyze_commands": lambda engine, words: display.HEXGUI,
    "azero-visits": shown("visits"),
    "azero-policy": shown("policy"),
    "azero-value": shown("value"),
    "azero-hex_visits": shown("visits", hexgui=True),
    "azero-hex_policy": shown("policy", hexgui=True),
    "azero-hex_value": shown("value", hexgui=True),
    "azero-line": best_line,
    "azero-param": parameters,
}
REFUSED: dict[str, Command] = {  # known, but never listed: clients then do without
    "fixed_handicap": refused(HANDICAP),
    "place_free_handicap": refused(HANDICAP),
    "set_free_handicap": refused(HANDICAP),
}
