"""`python -m azero.trace game=tictactoe player=uct`: watch a search grow its tree, one simulation after another.

Each simulation is shown as teaching slides do: the path that was chosen with the table that decided every choice, the expansion,
the rollout and the update. In the terminal, and with `out=trace.html` as a page with buttons.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azero.config import UserError
from azero.trace_text import Trace, choice_title, head_text, path_text, rollout_text, rows, tree_text, update_text
from azero.words import parse_words, refuse_rest, run_program, take_game, whole_number

HELP = """
settings:
  game=tictactoe       a shipped game, a file of conf/game, the path of a Python file, or such as openspiel:breakthrough
  game.options.*       options of the game
  player=uct           the search; player.num_simulations=100, player.expansion_threshold=10, player.exploration=1.4142
  moves='0 4'          played before the search
  seed=1
  out=trace.html       a page instead of the terminal
"""
PLAYER_OPTIONS = {"num_simulations": 100, "exploration": math.sqrt(2.0), "expansion_threshold": 10}


def read_trace(words: Sequence[str]) -> tuple[Trace, str]:
    """Run the search that the words of the command line ask for; returns it, and the file for the page, "" for none.

    Raises:
        UserError: a word that means nothing, another player than uct, a number out of range, or moves that cannot be played.
    """
    from azero.entrants import take_entrant
    from azero.openings import read_opening
    from azero.search.watched_uct import WatchedUct

    settings = parse_words(words, "player.num_simulations=50")
    game, asked = take_game(settings), take_entrant(settings, "player", "uct")
    seed, out, text = whole_number(settings, "seed", 1, 0), settings.pop("out", ""), str(settings.pop("moves", ""))
    refuse_rest(settings)
    options = check_player(asked.name, asked.options)
    moves, start = read_opening(game, text.split(), "moves")
    search = WatchedUct(game, start, seed, options["exploration"], options["expansion_threshold"])
    return Trace(game, start, moves, options, [search.simulate() for _ in range(options["num_simulations"])]), str(out)


def check_player(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The options of the search, with those asked for.

    Raises:
        UserError: a player or an option that cannot be traced, or a number out of range.
    """
    from azero.players import check_number

    if name != "uct":
        raise UserError(f"player={name} cannot be traced; there is uct.")
    for option in asked:
        if option not in PLAYER_OPTIONS:
            raise UserError(f"a traced player has no option {option}; it has {', '.join(PLAYER_OPTIONS)}.")
    options = {**PLAYER_OPTIONS, **asked}
    check_number("uct", "num_simulations", options["num_simulations"], 1, 10_000)
    check_number("uct", "exploration", options["exploration"], 0.0, 1000.0, whole=False)
    check_number("uct", "expansion_threshold", options["expansion_threshold"], 1, 1_000_000)
    return options


def print_trace(trace: Trace) -> None:
    """Print every simulation to the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(trace.game.format_state(trace.start), markup=False)
    console.print(head_text(trace), markup=False)
    for index, simulation in enumerate(trace.simulations, 1):
        console.rule(f"simulation {index} of {len(trace.simulations)}")
        console.print(f"path: {path_text(trace.game, simulation)}", markup=False)
        for place, choice in enumerate(simulation.choices):
            console.print(choice_title(trace.game, simulation, place), markup=False)
            table = Table("move", "n", "w", "UCB1", box=SIMPLE_HEAD)
            for *cells, chosen in rows(trace.game, choice):
                table.add_row(*map(str, cells), style="bold green" if chosen else None)
            console.print(table)
        console.print(f"rollout: {rollout_text(trace.game, simulation)}", markup=False)
        console.print(f"update, w/n: {update_text(trace.game, simulation)}", markup=False)
    console.rule("the tree, w/n")
    console.print(tree_text(trace), markup=False)


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


def trace_asked(words: Sequence[str]) -> int:
    """Show the search that the words of the command line ask for; return the exit status."""
    trace, out = read_trace(words)
    if out:
        write_page(trace, Path(out))
        print(f"{len(trace.simulations)} simulations are in {out}")
    else:
        print_trace(trace)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    return run_program(trace_asked, "trace", "Watch a search grow its tree, one simulation after another.", HELP, arguments)


if __name__ == "__main__":
    sys.exit(main())
