"""`python -m azero.play game=connect_four opponent=uct`: play against any player, in the terminal.

Besides moves a person may type `hint` (what a search thinks of the moves), `undo`, `moves`, `help` and `quit`. Every game is kept
as one JSON line.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from azero.config import Config, UserError
from azero.entrants import Entrant, make_entrant, run_of, take_entrant
from azero.games.game import Game
from azero.match_report import record_line
from azero.monitoring.console import is_terminal, table_text
from azero.players import MODULES, Advice, Adviser, Player, Prover, Watched
from azero.search.repetition import History
from azero.words import parse_words, refuse_rest, run_program, take_config, take_game, whole_number

HELP = """
settings:
  opponent=auto        a player by name: {players};
                       auto is the champion of a run on this board if there is one, else uct
  opponent.OPTION=VALUE        such as opponent.seconds=2, or opponent.run=NAME, the run whose champion it is; if none is named,
                               that called as the rules are (connect_four, hex, go …), else the one that ran last
  adviser=auto         who gives hints: pv_mcts or uct; auto is the champion if it is your opponent, else uct
  side=first           yours: first or second
  game=tictactoe       a shipped game, a file of conf/game, the path of a Python file, or such as openspiel:breakthrough
  game.options.*       options of the game
  seed=1
  record=data/play.jsonl       games are added to it, one JSON line each
  checkpoints=checkpoints device=auto      where runs lie, and what computes their networks
"""
COMMANDS = "hint = what a search thinks, undo = take your last move back, moves = all legal moves, quit = leave"
ONLY_GAME = np.zeros(1, np.int64)
HINTS = 5  # moves shown
HINT_SIMULATIONS = 10_000  # of uct as an adviser
OPPONENT_SIMULATIONS = 1_000  # of uct as an opponent that nobody asked for


class Left(Exception):
    """The person has left the game."""


@dataclass
class Session:
    """One game between a person and a player.

    Attributes:
        game: the rules.
        opponent: the player.
        adviser: who gives hints.
        side: the person's, 0 for who moves first in the game.
        ask: shows a prompt and returns what the person types; EOFError where there is nobody.
        tell: shows text.
        show: shows a line that the next one replaces, while a player thinks; None where that is impossible.
    """

    game: Game
    opponent: Player
    adviser: Adviser
    side: int
    ask: Callable[[str], str] = input
    tell: Callable[[str], None] = print
    show: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self.actions: list[int] = []
        self.thought: Advice | None = None  # of the latest search that could be watched
        for player in (self.opponent, self.adviser):
            if isinstance(player, Watched):
                player.watch = self.see

    def see(self, advice: Advice) -> bool:
        """Keep what a search thinks so far, and show it; never enough."""
        self.thought = advice
        if self.show is not None:
            self.show(f"thinks … {self.game.action_name(advice.best)}: {self.visits_text(advice.best)}")
        return False

    def visits_text(self, action: int) -> str:
        """How the latest search sees an action."""
        assert self.thought is not None
        visits, values = self.thought.visits, self.thought.values
        return f"{visits[action]:,} of {visits.sum():,} visits, value {value_text(values[action])}"

    def replay(self) -> tuple[np.ndarray, History]:
        """The state after the moves so far, and its history."""
        state, past = self.game.initial_state(), History(self.game, 1)
        for action in self.actions:
            past.add(ONLY_GAME, state[None])
            state = self.game.step(state, action)
        return state, past

    def play(self) -> None:
        """Play until the game is over.

        Raises:
            Left: the person wants no more.
        """
        self.tell(f"You move {'first' if self.side == 0 else 'second'}, against {self.opponent.name}. help explains.")
        while True:
            state, past = self.replay()
            if self.game.is_terminal(state):
                self.tell(f"\n{self.game.format_state(state)}\n{self.result_text(state)}")
                return
            if self.game.to_play(state) == self.side:
                self.persons_move(state, past)
            else:
                self.opponents_move(state, past)

    def opponents_move(self, state: np.ndarray, past: History) -> None:
        """Let the opponent move, and say what it thought where that is known."""
        self.thought = None
        ply = np.array([len(self.actions)])
        action = int(self.opponent.choose(state[None], ONLY_GAME, ply, past.banned(ONLY_GAME, state[None]))[0])
        self.actions.append(action)
        doubt = " (not proven)" if isinstance(self.opponent, Prover) and self.opponent.unproven else ""
        seen = "" if self.thought is None else f" ({self.visits_text(action)})"
        self.clear_line()
        self.tell(f"{self.opponent.name} plays {self.game.action_name(action)}{doubt}{seen}")

    def clear_line(self) -> None:
        """Remove what was shown of a player's thinking."""
        if self.show is not None:
            self.show("")

    def persons_move(self, state: np.ndarray, past: History) -> None:
        """Ask until there is a move or one is taken back."""
        self.tell(f"\n{self.game.format_state(state)}")
        legal = past.legal_mask(0, state)
        while True:
            try:
                text = self.ask("your move: ").strip().lower()
            except (EOFError, KeyboardInterrupt) as end:
                raise Left from end
            if text in ("quit", "exit"):
                raise Left
            if text == "undo" and self.take_back():
                return
            action = self.action_of(text, state, legal)
            if action is not None:
                self.actions.append(action)
                return

    def action_of(self, text: str, state: np.ndarray, legal: np.ndarray) -> int | None:
        """The legal action that a person typed, or None after an answer to anything else."""
        if answer := self.answer_to(text, state, legal):
            self.tell(answer)
            return None
        try:
            action = self.game.parse_action(text)
        except ValueError as mistake:
            self.tell(f"{mistake} {COMMANDS}.")
            return None
        if legal[action]:
            return action
        self.tell(f"{text} is not legal here; moves shows what is.")
        return None

    def answer_to(self, text: str, state: np.ndarray, legal: np.ndarray) -> str:
        """What is said to one of the commands; nothing to a move."""
        match text:
            case "" | "help":
                names = [self.game.action_name(action) for action in (0, self.game.num_actions - 1)]
                return f"A move is written {names[0]} … {names[1]}. {COMMANDS}."
            case "hint":
                return self.hint_text(state, ~legal & self.game.legal_mask(state))
            case "moves":
                return " ".join(self.game.action_name(action) for action in np.flatnonzero(legal).tolist())
            case "undo":
                return "There is nothing to take back."
        return ""

    def take_back(self) -> bool:
        """Go back to the person's last turn; False if there was none."""
        state, turns = self.game.initial_state(), list[int]()
        for ply, action in enumerate(self.actions):
            if self.game.to_play(state) == self.side:
                turns.append(ply)
            state = self.game.step(state, action)
        if turns:
            del self.actions[turns[-1] :]
        return bool(turns)

    def hint_text(self, state: np.ndarray, banned: np.ndarray) -> str:
        """The move that the adviser would play and then the most visited ones, with visits and values for the person."""
        visits, values, best = self.adviser.advise(state, banned if banned.any() else None)
        self.clear_line()
        others = [action for action in np.argsort(-visits, kind="stable").tolist() if visits[action] and action != best]
        shown = [best, *others][:HINTS]
        rows = [[self.game.action_name(action), f"{visits[action]:,}", value_text(values[action])] for action in shown]
        return table_text([["move", "visits", "value"], *rows]) + "\nvalue: +1 you win, 0 draw, -1 you lose"

    def result_text(self, state: np.ndarray) -> str:
        """Who has won."""
        outcome = self.game.outcome(state) * (1 if self.game.to_play(state) == self.side else -1)
        return "You win." if outcome > 0 else f"{self.opponent.name} wins." if outcome < 0 else "A draw."

    def line(self, opponent: str, seed: int) -> str:
        """The game so far as a JSON line, like the arena's; the outcome, for who moved first, is null in an unfinished game."""
        state, _ = self.replay()
        over = self.game.is_terminal(state)
        outcome = self.game.first_outcome(state) if over else None
        players = ["human", opponent] if self.side == 0 else [opponent, "human"]
        return record_line(self.game, players, self.actions, outcome, seed=seed)


def value_text(value: float) -> str:
    """Such as "+0.50", or "?" of a move that was not tried; it is best where all tried ones are known to lose."""
    return "?" if math.isnan(value) else f"{value:+.2f}"


def choose_opponent(asked: Entrant, game: Game, config: Config) -> Entrant:
    """The opponent asked for; for `auto` the champion of the run that is named or that `run_of` finds, or uct."""
    if asked.name != "auto":
        return asked
    if run := asked.options.get("run") or run_of(game, config):
        return replace(asked, name="pv_mcts", options={**asked.options, "run": run})
    return Entrant(asked.label, "uct", with_limit(asked.options, OPPONENT_SIMULATIONS))


def with_limit(options: dict[str, Any], num_simulations: int) -> dict[str, Any]:
    """Options of uct, with so many simulations if they set no limit."""
    return options if {"num_simulations", "seconds"} & set(options) else {"num_simulations": num_simulations, **options}


def choose_adviser(asked: Entrant, opponent: Entrant, game: Game, config: Config) -> Adviser:
    """Who gives hints: the adviser asked for; for `auto` one like the opponent if that has a network, or else uct.

    Raises:
        UserError: the adviser asked for gives no hints.
    """
    if asked.name == "auto":
        if opponent.name == "pv_mcts":
            asked = replace(opponent, options={**opponent.options, **asked.options})
        else:
            asked = replace(asked, name="uct", options=with_limit(asked.options, HINT_SIMULATIONS))
    player = make_entrant(asked, game, config, one_game=True)
    if not isinstance(player, Adviser):
        raise UserError(f"adviser={asked.name} gives no hints; uct does, and pv_mcts.")
    player.new_games(np.zeros(1, np.uint64))
    return player


def run_session(
    words: Sequence[str], ask: Callable[[str], str], tell: Callable[[str], None], show: Callable[[str], None] | None = None
) -> None:
    """Play the game that the words ask for, and keep it; `ask`, `tell` and `show` as in `Session`.

    Raises:
        UserError: a word that means nothing, or a value that cannot be.
    """
    settings = parse_words(words, "opponent=uct")
    game = take_game(settings)
    side, seed = settings.pop("side", "first"), whole_number(settings, "seed", 1, 0)
    if side not in ("first", "second"):
        raise UserError(f"side={side} must be first or second.")
    named, config = settings.pop("record", None), take_config(settings)
    record = Path(str(named)) if named else Path(config.data) / "play.jsonl"
    opponent = choose_opponent(take_entrant(settings, "opponent", "auto"), game, config)
    asked = take_entrant(settings, "adviser", "auto")
    refuse_rest(settings)
    player = make_entrant(opponent, game, config, one_game=True)
    player.new_games(np.array([seed % 2**64], np.uint64))
    session = Session(game, player, choose_adviser(asked, opponent, game, config), int(side == "second"), ask, tell, show)
    with open_record(record) as file:
        try:
            session.play()
        except (Left, KeyboardInterrupt):
            tell("")
        finally:
            if session.actions:
                file.write(session.line(str(opponent), seed) + "\n")
                tell(f"The game is in {record}.")


def open_record(path: Path) -> TextIO:
    """Open the file that games are added to.

    Raises:
        UserError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")
    except OSError as mistake:
        raise UserError(f"record={path} cannot be written: {mistake.strerror}.") from mistake


def show_line(text: str) -> None:
    """Write a line of the terminal anew."""
    print(f"\r\x1b[K{text}", end="", flush=True)


def play_asked(words: Sequence[str]) -> int:
    """Let the person at this terminal play; return the exit status."""
    run_session(words, input, print, show_line if is_terminal(sys.stdout) else None)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    does = "Play against any player, in the terminal."
    return run_program(play_asked, "play", does, HELP.format(players=", ".join(MODULES)), arguments)


if __name__ == "__main__":
    sys.exit(main())
