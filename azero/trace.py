"""`python -m azero.trace game=tictactoe player=uct`: watch a search grow its tree, one simulation after another.

Each simulation is shown as teaching slides do: the path that was chosen with the table that decided every choice, the expansion,
the rollout and the update. In the terminal, and with `out=trace.html` as a page with buttons.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azero.config import UserError
from azero.trace_text import Trace, choice_title, head_text, path_text, rollout_text, rows, update_text

if TYPE_CHECKING:
    import numpy as np

    from azero.games.game import Game

WRONG_INPUT = 2
PLAYER_OPTIONS = {"num_simulations": 100, "exploration": math.sqrt(2.0), "expansion_threshold": 10}
SETTINGS = {"game": "tictactoe", "player": "uct", "moves": "", "seed": 1, "out": ""}


def parse_words(words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the settings, the game's options and the player's from ``key=value`` words.

    Raises:
        UserError: a word that is no setting.
    """
    from azero.check_game import parse_value

    settings, game_options, player_options = dict[str, Any](SETTINGS), dict[str, Any](), dict[str, Any](PLAYER_OPTIONS)
    for word in words:
        key, equals, value = word.partition("=")
        group, _, option = key.partition(".")
        if equals and key in ("game", "player", "moves", "out"):
            settings[key] = value
        elif equals and key == "seed":
            settings[key] = parse_value(value)
        elif equals and group == "game" and option:
            game_options[option] = parse_value(value)
        elif equals and group == "player" and option:
            if option not in PLAYER_OPTIONS:
                raise UserError(f"a traced player has no option {option}; it has {', '.join(PLAYER_OPTIONS)}.")
            player_options[option] = parse_value(value)
        else:
            raise UserError(f"{word!r} is no setting; there are {'=, '.join(SETTINGS)}=, game.OPTION= and player.OPTION=.")
    return settings, game_options, player_options


def make_trace(settings: dict[str, Any], game_options: dict[str, Any], options: dict[str, Any]) -> Trace:
    """Run the search that the settings ask for.

    Raises:
        UserError: another player than uct, a number out of range, or moves that cannot be played.
    """
    from azero.check_game import load_game
    from azero.players import check_number
    from azero.search.watched_uct import WatchedUct

    if settings["player"] != "uct":
        raise UserError(f"player={settings['player']} cannot be traced; there is uct.")
    check_number("uct", "num_simulations", options["num_simulations"], 1, 10_000)
    check_number("uct", "exploration", options["exploration"], 0.0, 1000.0, whole=False)
    check_number("uct", "expansion_threshold", options["expansion_threshold"], 1, 1_000_000)
    if isinstance(settings["seed"], bool) or not isinstance(settings["seed"], int) or settings["seed"] < 0:
        raise UserError(f"seed={settings['seed']} must be a whole number from 0 up.")
    game = load_game(settings["game"], game_options)
    start, moves = play_moves(game, settings["moves"])
    search = WatchedUct(game, start, settings["seed"], options["exploration"], options["expansion_threshold"])
    return Trace(game, start, moves, options, [search.simulate() for _ in range(options["num_simulations"])])


def play_moves(game: Game, text: str) -> tuple[np.ndarray, list[int]]:
    """Return the position after some moves, written with spaces between, and the moves.

    Raises:
        UserError: a move that is none, that is not legal, or that ends the game.
    """
    state, moves = game.initial_state(), list[int]()
    for word in text.split():
        try:
            move = game.parse_action(word)
        except ValueError as mistake:
            raise UserError(f"moves: {mistake}") from mistake
        if not game.legal_mask(state)[move]:
            raise UserError(f"moves: {word} is not legal there.")
        state = game.step(state, move)
        if game.is_terminal(state):
            raise UserError(f"moves: the game is over after {word}, and there is nothing to search.")
        moves.append(move)
    return state, moves


def print_trace(trace: Trace) -> None:
    """Print every simulation to the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(trace.game.format_state(trace.start), markup=False)
    console.print(head_text(trace), markup=False)
    for index, step in enumerate(trace.steps, 1):
        console.rule(f"simulation {index} of {len(trace.steps)}")
        console.print(f"path: {path_text(trace.game, step)}", markup=False)
        for place, choice in enumerate(step.choices):
            console.print(choice_title(trace.game, step, place), markup=False)
            table = Table("move", "n", "w", "UCB1", box=SIMPLE_HEAD)
            for *cells, chosen in rows(trace.game, choice):
                table.add_row(*map(str, cells), style="bold green" if chosen else None)
            console.print(table)
        console.print(f"rollout: {rollout_text(trace.game, step)}", markup=False)
        console.print(f"update, w/n: {update_text(trace.game, step)}", markup=False)


def write_page(trace: Trace, path: Path) -> None:
    """Write the page.

    Raises:
        UserError: the file cannot be written.
    """
    from azero.trace_page import page

    try:
        path.write_text(page(trace), encoding="utf-8")
    except OSError as failure:
        raise UserError(f"out={path} cannot be written: {failure.strerror}.") from failure


def main(arguments: Sequence[str] | None = None) -> int:
    """Trace the search that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m azero.trace", description="Watch a search grow its tree, one simulation after another."
    )
    parser.add_argument(
        "settings",
        nargs="*",
        metavar="key=value",
        help="game=tictactoe, player=uct, moves='0 4' before the search, seed=1, out=trace.html, game.OPTION=, "
        "player.num_simulations=100, player.expansion_threshold=10, player.exploration=1.4142",
    )
    try:
        settings, game_options, player_options = parse_words(parser.parse_args(arguments).settings)
        trace = make_trace(settings, game_options, player_options)
        if settings["out"]:
            write_page(trace, Path(settings["out"]))
            print(f"{len(trace.steps)} simulations are in {settings['out']}")
        else:
            print_trace(trace)
    except UserError as mistake:
        print(f"azero: {mistake}", file=sys.stderr)
        return WRONG_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
