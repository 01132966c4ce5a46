"""`azero play run=hex5`, `azero play game=hex5 opponent=uct`: play against any player, in the terminal.

You may also type `hint` (what a search thinks of the moves), `undo`, `moves`, `help` and `quit`. Every game
is kept as one JSON line.
"""

from __future__ import annotations

import contextlib
import math
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from azero.cli.arguments import (
    NUMBER_HELP,
    POSITION_HELP,
    RunSettings,
    refuse_rest,
    run_program,
    split_words,
    take_settings,
)
from azero.cli.overrides import conf_files
from azero.cli.player_spec import PlayerSpec, choose_player, limited_uct, make_from_spec, take_player_spec
from azero.config.schema import Config, UserError, explaining_failure, setting
from azero.games.ending import result_for
from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.games.playing import GameInProgress
from azero.kernels.compiling import CompileNotice
from azero.players import Player, Prover, ThinkingPlayer, Thought
from azero.players.growing import Analyst, best_of
from azero.players.levels import LEVELS, options_of_level
from azero.process.background import in_background
from azero.process.ending import raise_interrupts
from azero.process.typed import azero_command
from azero.protocols.engine import game_of_run
from azero.records.begin import start_of, take_start
from azero.records.json_lines import write_json
from azero.records.record import Record
from azero.report.console import Console, format_count, is_terminal, table_text
from azero.run.run import Run, search_of
from azero.truth.known import board_of

EXAMPLES = """
game=connect_four
game=hex7 level=easy
run=hex5 opponent.seconds=2 side=second
game=othello opponent=alpha_beta opponent.depth=6
from=game.sgf ply=20
"""
LABELS = {
    "from=game.sgf": "A file of games, SGF, PGN, JSON lines or Parquet; you go on with its game.",
    "opponent=auto": "A player by name; auto: the champion of a run on this board. Without one it is uct, in "
    "chess and Breakthrough alpha-beta.",
    "opponent.OPTION=VALUE": "Such as opponent.seconds=2 or opponent.num_simulations=600.",
    "adviser=auto": "Who gives hints, uct or pv_mcts; auto: the opponent if it is a champion, else uct.",
}


@dataclass(frozen=True)
class PlayArguments(RunSettings):
    """Settings of the program."""

    run: str = setting("", "The run whose champion you play against. Default: a run of the game.")
    side: str = setting("first", "Your side.", choices=("first", "second"))
    level: str | None = setting(
        None, "How strong a champion plays; auto: as in its training.", choices=tuple(LEVELS)
    )
    number: int = setting(1, NUMBER_HELP)
    ply: int | None = setting(None, "With from=: how many moves of the game are kept; auto: all.")
    position: str = setting("", POSITION_HELP)
    record: str = setting("", "File to add the game to, as a JSON line. Default: data/play.jsonl.")


COMMANDS = """hint   what a search thinks
undo   take your last move back
resign give the game up
moves  all legal moves
quit   leave"""
HINTS = 10  # moves shown
HINT_SIMULATIONS = 10_000  # of uct as the adviser
CHAMPIONS_HINT = 400  # of a champion: those of its self-play may be too few to tell moves apart
MOVES = ("first", "second")
CLOSING = (signal.SIGTERM, signal.SIGHUP)  # what a terminal that is closed sends, the latter twice


@dataclass
class PlaySession:
    """A game between a person and a player.

    Attributes:
        game: the rules.
        opponent: the player.
        adviser: who gives hints.
        side: the person's; 0 moves first in the game.
        ask: shows a prompt and returns what the person types; EOFError at the end of the input.
        say: prints text.
        show: shows a line that the next one replaces, while a player thinks.
        name: the opponent's, such as "the champion"; "" for that of the player.
        about: more about the opponent, such as " of run hex5 after 20 cycles".
        begin: moves that were played before.
        start: where the game begins, [S]; None for the game's own position.
    """

    game: Game
    opponent: ThinkingPlayer
    adviser: ThinkingPlayer
    side: int
    ask: Callable[[str], str] = input
    say: Callable[[str], None] = print
    show: Callable[[str], None] = lambda text: None
    name: str = ""
    about: str = ""
    begin: Sequence[int] = ()
    start: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.name = self.name or self.opponent.name
        self.at = GameInProgress(self.game, self.begin, self.start)
        self.resigned = False  # by the person

    def think(self, player: ThinkingPlayer) -> Thought:
        """Let a player think about the position, and show what it thinks so far; Ctrl-C stops it."""
        stop = threading.Event()
        self.show("thinking …")

        def see(thought: Thought) -> None:
            if thought.visits and not stop.is_set():
                name = self.game.action_name(self.at.state, thought.best)
                self.show(f"thinking … {name}: {self.visits_text(thought)}")

        try:
            return in_background(lambda: player.think(self.at, 0.0, stop.is_set, see)).result()
        finally:
            stop.set()
            self.show("")

    def visits_text(self, thought: Thought) -> str:
        """Return how a search sees its best move, with the value for the person."""
        move = thought.best_move()
        assert move is not None
        value = move.value if self.at.to_play == self.side else -move.value
        return f"{move.visits:,} of {thought.visits:,} visits, value {value_text(value)} for you"

    def picture(self) -> str:
        """Return the position as text, with the cell of the last move in brackets."""
        text, board, before = self.game.format_state(self.at.state), self.game.board, self.at.before
        if board is None or before is None:
            return text
        cell = board.cell_of(before, self.at.actions[-1])
        return text if cell == NO_CELL else board.mark(text, self.at.state, cell)

    def play(self) -> None:
        """Play until the game is over or the person resigns; EOFError: the person leaves."""
        self.say(self.greeting())
        while not self.at.is_over and not self.resigned:
            self.at.some_legal_actions()
            if self.at.to_play == self.side:
                self.persons_move()
            else:
                self.opponents_move()
        self.say(f"\n{self.picture()}\n{self.result_text()}")

    def greeting(self) -> str:
        """Return who the person and the opponent are."""
        order, board = MOVES[self.side], self.game.board
        you = f"You play {board.side_name(self.side)} and move {order}" if board else f"You move {order}"
        if self.at.to_play:  # at a set-up position
            names = [board.side_name(side) if board else f"the {MOVES[side]} player" for side in (0, 1)]
            you = f"You are {names[self.side]}, and {names[1]} is to move"
        goal = f" You {board.goals[self.side]}." if board and board.goals[self.side] else ""
        return f"{you}.{goal}\nYou play against {self.name}{self.about}.\nType help for the commands."

    @property
    def subject(self) -> str:
        """The opponent's name at the beginning of a sentence."""
        return self.name.replace("the champion", "The champion")

    def opponents_move(self) -> None:
        """Let the opponent move, and show what it thought where that is known."""
        if len(self.at.actions) == len(self.begin):
            self.say(f"\n{self.picture()}")
        thought = self.think(self.opponent)
        seen = f" ({self.visits_text(thought)})" if thought.visits else ""
        name = self.game.action_name(self.at.state, thought.best)
        self.at.play(thought.best)
        doubt = " (not proven)" if isinstance(self.opponent, Prover) and self.opponent.unproven else ""
        self.say(f"{self.subject} plays {name}{doubt}{seen}")

    def persons_move(self) -> None:
        """Ask until there is a move, or one is taken back, or the person resigns."""
        self.say(f"\n{self.picture()}")
        while True:
            text = self.ask("your move: ").strip()
            if text.lower() in ("quit", "exit"):
                raise EOFError
            self.resigned = text.lower() == "resign"
            if self.resigned or (text.lower() == "undo" and self.take_back()):
                return
            action = self.action_of(text)
            if action is not None:
                self.at.play(action)
                return

    def action_of(self, text: str) -> int | None:
        """Return the legal action that a person typed, or answer anything else and return None."""
        if answer := self.answer_to(text):
            self.say(answer)
            return None
        try:
            action = self.game.parse_action(self.at.state, text)
        except ValueError as mistake:
            self.say(f"{mistake} Type help for the commands.")
            return None
        if self.at.is_legal(action):
            return action
        self.say(f"{text} is not legal here; moves shows what is.")
        return None

    def answer_to(self, text: str) -> str:
        """Return the answer to a command; "" for a move."""
        match text.lower():
            case "" | "help":
                names = self.names([0, self.game.num_actions - 1])
                if not self.game.fixed_names:
                    names = self.names(self.at.legal_actions())
                return f"A move is written {names[0]} … {names[-1]}. ( ) marks the last one.\n{COMMANDS}"
            case "hint":
                return self.hint_text()
            case "moves":
                return " ".join(self.names(self.at.legal_actions()))
            case "undo":
                return "There is nothing to take back."
        return ""

    def names(self, actions: Sequence[int]) -> list[str]:
        """Return the names of actions in the position on the board."""
        return [self.game.action_name(self.at.state, action) for action in actions]

    def take_back(self) -> bool:
        """Go back to the person's last turn; False if there was none."""
        turns = [
            ply for ply, state in enumerate(self.at.states[:-1]) if self.game.to_play(state) == self.side
        ]
        while turns and len(self.at.actions) > turns[-1]:
            self.at.undo()
        return bool(turns)

    def hint_text(self) -> str:
        """Return the adviser's best move, then the most visited, with visits and values for the person."""
        self.adviser.new_games(np.zeros(1, np.uint64))  # a hint depends on the position only
        thought = best_of(self.adviser, self.think(self.adviser))
        shown = [move for move in thought.best_first() if move.visits or move.action == thought.best][:HINTS]
        rows = [["move", "visits", "value"]]
        for move in shown:
            rows.append([*self.names([move.action]), f"{move.visits:,}", value_text(move.value)])
        legal = len(self.at.legal_actions())
        count = "" if len(shown) == legal else f"best {len(shown)} of {legal} moves\n"
        legend = "Best move first, then by visits. value: +1 you win, 0 draw, -1 you lose"
        return f"{count}{table_text(rows)}\n{legend}"

    def result_text(self) -> str:
        """Return who has won, and how."""
        if self.resigned:
            return f"You resign. {self.subject} wins."
        return result_for(self.at, self.side, self.subject)

    def line(self, opponent: str, seed: int) -> str:
        """Return the game so far as a JSON line, like the arena's.

        The outcome is that of the first player; it is null in an unfinished game.
        """
        players = ("human", opponent) if self.side == 0 else (opponent, "human")
        result = ("W+R", "B+R")[self.side] if self.resigned else ""
        record = Record(self.game, players, outcome=self.at.outcome, result=result, start=self.at.start)
        record.add_line(self.at.actions)
        return write_json(record, {"seed": seed})


def value_text(value: float) -> str:
    """Return such as "+0.50", or "?" for an untried move: the best one when all tried ones lose."""
    return "?" if math.isnan(value) else f"{round(value, 2) + 0.0:+.2f}"  # + 0.0 makes -0.0 plain


def limit_text(rival: PlayerSpec) -> str:
    """Return such as " with 1,000 simulations"; "" without that limit."""
    simulations = rival.options.get("num_simulations")
    return f" with {format_count(simulations, 'simulations')}" if simulations else ""


def no_champion_text(game: Game, name: str, words: Sequence[str]) -> str:
    """Return that no run has a champion of the game, and the command that trains one."""
    board = board_of(game.name, game.options)
    options = [word for word in words if word.startswith("game.options.") and not board]
    places = [word for word in words if word.startswith(("checkpoints=", "data="))]
    name = board or name
    recipe = name if name in conf_files("experiment") and not options else f"game={name}"
    command = f"{azero_command()} {shlex.join(['loop', recipe, *options, *places])}"
    return f".\nThere is no champion of this game yet; {command} trains one"


def choose_adviser(asked: PlayerSpec, opponent: PlayerSpec, game: Game, config: Config) -> ThinkingPlayer:
    """Return the adviser asked for; for `auto` one like the opponent if that has a network, else uct.

    A champion without a limit of its own searches as in self-play, and CHAMPIONS_HINT times at least.

    Raises:
        UserError: the adviser asked for gives no hints.
    """
    if asked.name == "auto":
        if opponent.name == "pv_mcts":
            cold = {key: value for key, value in opponent.options.items() if "temperature" not in key}
            options = {**cold, **asked.options}
            if "run" in options and not {"num_simulations", "seconds"} & options.keys():
                own = search_of(Run.read(config, str(options["run"]))).num_simulations
                options["num_simulations"] = max(own, CHAMPIONS_HINT)
            asked = replace(opponent, options=options)
        else:
            asked = limited_uct(asked, HINT_SIMULATIONS)
    player = make_from_spec(asked, game, config, one_game=True)
    if not isinstance(player, Analyst):
        raise UserError(f"adviser={asked.name} gives no hints; choose uct or pv_mcts.")
    return player


def run_session(
    words: Sequence[str],
    ask: Callable[[str], str],
    say: Callable[[str], None],
    show: Callable[[str], None] = lambda text: None,
) -> None:
    """Play the game that the command line asks for, and keep it; `ask`, `say` and `show` as in `PlaySession`.

    Raises:
        UserError: an unknown setting, or a value that is not allowed.
        KeyboardInterrupt: Ctrl-C; the game so far is kept.
    """
    texts = split_words(words)
    is_named = "game" in texts
    asked = take_settings(texts, PlayArguments)
    wanted, config = take_player_spec(texts, "opponent", "auto"), asked.config
    own = str(wanted.options.get("run") or "")
    run = asked.run or own
    if run and not is_named and "from" not in texts and asked.ply is None:
        game, begin, start = game_of_run(config, run), None, None
    else:
        game, begin, start = take_start(texts, asked, asked.ply, is_named, asked.number)
    start = start_of(game, asked.position, begin, start)
    rival = choose_player(wanted, game, config, own or asked.run)
    opponent = at_level(rival, asked.level, wanted.name == "auto")
    adviser = take_player_spec(texts, "adviser", "auto")
    refuse_rest(texts, PlayArguments, ("from", "opponent", "adviser", "opponent.num_simulations"))
    record = Path(asked.record or Path(config.data) / "play.jsonl")
    player = make_from_spec(opponent, game, config, one_game=True)
    player.new_games(np.array([asked.seed % 2**64], np.uint64))
    advising = choose_adviser(adviser, rival, game, config)  # hints are as good at every level
    name, about = describe(opponent, player, config)
    if wanted.name == "auto" and opponent.name != "pv_mcts":
        named = asked.game if begin is None else game.name
        name = "UCT" if opponent.name == "uct" else "alpha-beta"
        about = limit_text(opponent) + no_champion_text(game, named, words)
    side = int(asked.side == "second")
    session = PlaySession(game, player, advising, side, ask, say, show, name, about, begin or (), start)
    with open_record(record) as file:
        try:
            raise_interrupts()
            session.play()
        except (EOFError, KeyboardInterrupt) as end:
            say("")
            if isinstance(end, KeyboardInterrupt):
                raise
        finally:
            played = tuple(session.at.actions)
            if session.resigned or played != tuple(session.begin)[: len(played)]:  # else nothing is new
                file.write(session.line(str(opponent), asked.seed) + "\n")
                file.flush()
                with contextlib.suppress(OSError):  # the terminal has been closed
                    say(f"The game is in {record}.")


def at_level(opponent: PlayerSpec, level: str | None, is_auto: bool = False) -> PlayerSpec:
    """Return the opponent with the options of a level, if one is asked for; those that were typed win.

    is_auto: nobody named the opponent.

    Raises:
        UserError: it is no champion.
    """
    if not level:
        return opponent
    if opponent.name != "pv_mcts":
        why = "no run has one of this game" if is_auto else f"the opponent is {opponent.name}"
        raise UserError(f"level={level} is for a champion, and {why}.")
    return replace(opponent, options={**options_of_level(level), **opponent.options})


def describe(spec: PlayerSpec, player: Player, config: Config) -> tuple[str, str]:
    """Return a player's name, and the run and cycle of its champion if it has one."""
    run = spec.options.get("run")
    if not run:
        return player.name, ""
    champion = Run.read(config, str(run)).state.champion
    assert champion is not None
    where = f" of run {run} after {format_count(champion.cycle, 'cycles')}"
    return ("the champion", where) if spec.name == "pv_mcts" else (player.name, f" with the champion{where}")


def open_record(path: Path) -> TextIO:
    """Open the file that games are added to.

    Raises:
        UserError: it cannot be written.
    """
    with explaining_failure(f"record={path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")


def show_line(text: str) -> None:
    """Write a line of the terminal anew, cut to its width."""
    width = shutil.get_terminal_size().columns
    print(f"\r\x1b[K{text[: width - 1]}", end="", flush=True)


def end_once(number: int, _frame: object) -> None:
    """End the program at a signal, so that it keeps the game first; ignore the signals that follow."""
    for each in (*CLOSING, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def play_asked(words: Sequence[str]) -> int:
    """Let the person at this terminal play; return the exit status."""
    for number in CLOSING:
        if signal.getsignal(number) == signal.SIG_DFL:  # else it is ignored
            signal.signal(number, end_once)
    show, console = show_line if is_terminal(sys.stdout) else lambda text: None, Console()

    def announce(text: str) -> None:
        show("")
        console.message(text)

    with CompileNotice(announce):
        run_session(words, input, console.message, show)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    return run_program("play", play_asked, PlayArguments, EXAMPLES, arguments, LABELS)


if __name__ == "__main__":
    sys.exit(main())
