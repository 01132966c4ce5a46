"""`azero trace game=tictactoe player=uct`: watch a search grow its tree, one simulation after another.

Each simulation is shown step by step: the path with the table that decided every choice, the expansion, the
rollout and the update. It is printed to the terminal; with `out=trace.html` it is a page with buttons.
Heavy modules are imported where they are needed, so that `--help` is fast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azero.cli.arguments import GameSettings, refuse_rest, run_program, split_words, take_game, take_settings
from azero.config.schema import UserError, setting

if TYPE_CHECKING:
    from azero.tracing.text import Trace

EXAMPLES = """
game=tictactoe
game=connect_four player.num_simulations=50 out=trace.html
moves='0 4' player.exploration=1 player.expansion_threshold=2
"""
HELP = {
    "player=uct": "The search. Only uct can be traced.",
    "player.OPTION=VALUE": "num_simulations=100, exploration=1.4142 or expansion_threshold=10.",
}
PLAYER_OPTIONS = {"num_simulations": 100, "exploration": math.sqrt(2.0), "expansion_threshold": 10}


@dataclass(frozen=True)
class TraceSettings(GameSettings):
    """Settings of the program."""

    moves: str = setting("", "Moves to play before the search, with spaces between.")
    out: str = setting(
        "", "File for a page with buttons, such as trace.html. Default: print to the terminal."
    )


def read_trace(words: Sequence[str]) -> tuple[Trace, str]:
    """Run the search that the command line asks for; return it and the file of the page, "" for none.

    Raises:
        UserError: an unknown setting or player, a value that is not allowed, or moves that cannot be played.
    """
    from azero.cli.player_spec import take_player_spec
    from azero.match.openings import read_opening
    from azero.tracing.text import Trace
    from azero.tracing.watched_uct import WatchedUct

    texts = split_words(words)
    asked = take_settings(texts, TraceSettings)
    game, player = take_game(texts, asked), take_player_spec(texts, "player", "uct")
    refuse_rest(texts, TraceSettings, ["player", "player.num_simulations"])
    options = check_player(player.name, player.options)
    moves, start = read_opening(game, asked.moves.split(), "moves")
    search = WatchedUct(game, start, asked.seed, options["exploration"], options["expansion_threshold"])
    simulations = [search.simulate() for _ in range(options["num_simulations"])]
    return Trace(game, start, moves, options, simulations), asked.out


def check_player(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the search, with those asked for.

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

    from azero.tracing import text

    console = Console(highlight=False)
    console.print(trace.game.format_state(trace.start), markup=False)
    console.print(text.head_text(trace), markup=False)
    for index, simulation in enumerate(trace.simulations, 1):
        console.rule(f"simulation {index} of {len(trace.simulations)}")
        console.print(f"path: {text.path_text(trace.game, simulation)}", markup=False)
        for place, choice in enumerate(simulation.choices):
            console.print(text.choice_title(trace.game, simulation, place), markup=False)
            table = Table("move", "n", "w", "UCB1", box=SIMPLE_HEAD)
            for *cells, chosen in text.rows(trace.game, choice):
                table.add_row(*map(str, cells), style="bold green" if chosen else None)
            console.print(table)
        console.print(f"rollout: {text.rollout_text(trace.game, simulation)}", markup=False)
        console.print(f"update, w/n: {text.update_text(trace.game, simulation)}", markup=False)
    console.rule("the tree, w/n")
    console.print(text.tree_text(trace), markup=False)


def write_page(trace: Trace, path: Path) -> None:
    """Write the page; UserError: the file cannot be written."""
    from azero.tracing.page import page

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
    return run_program("trace", trace_asked, TraceSettings, EXAMPLES, arguments, HELP)


if __name__ == "__main__":
    sys.exit(main())
