"""`azero trace`: watch a search grow its tree, one simulation after another.

Each simulation is shown in four steps: the path with the table that decided every choice, the expansion, the
evaluation by a random game or a network, and the backup. It is printed to the terminal; with `out=trace.html`
it is a page. Heavy modules are imported where they are needed, so that `--help` is fast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azero.cli.arguments import (
    NUMBER_HELP,
    POSITION_HELP,
    FolderSettings,
    GameSettings,
    refuse_rest,
    run_program,
    split_words,
    take_settings,
)
from azero.cli.help import options_text
from azero.config.reading import AUTO, read_options
from azero.config.schema import SEARCH_ALGORITHMS, Options, UserError, explaining_failure, setting

if TYPE_CHECKING:
    from azero.games.game import Game
    from azero.tracing.record import MctsSettings, UctSettings

EXAMPLES = """
out=trace.html
player=pv_mcts out=trace.html
game=connect_four moves='4 4' player.num_simulations=50
from=game.sgf ply=20
"""


@dataclass(frozen=True)
class UctOptions(Options):
    """Options of a traced uct."""

    num_simulations: int = setting(20, "Simulations.", between=(1, 10_000))
    exploration: float = setting(math.sqrt(2.0), "Constant of UCB1.", between=(0.0, 1000.0))
    expansion_threshold: int = setting(1, "Visits before a leaf is expanded.", between=(1, 1_000_000))


@dataclass(frozen=True)
class MctsOptions(Options):
    """Options of a traced pv_mcts."""

    run: str | None = setting(None, "The run whose champion searches. Default: a run of the game.")
    num_simulations: int | None = setting(None, "Simulations. Default: as in self-play.", between=(1, 10_000))
    kind: str | None = setting(
        None, "The search algorithm. Default: the run's.", choices=tuple(SEARCH_ALGORITHMS)
    )
    temperature: float = setting(0.0, "Temperature of the move.", between=(0.0, 100.0))
    solver: bool = setting(False, "Whether proofs count.")


PLAYER_OPTIONS: dict[str, type[UctOptions | MctsOptions]] = {"uct": UctOptions, "pv_mcts": MctsOptions}
HELP = {
    "from=game.sgf": "A file of games, SGF, PGN, JSON lines or Parquet, whose game's moves are played.",
    "player=uct": "The search: uct, or pv_mcts with a network or without one.",
    "player.OPTION=VALUE": "; ".join(
        f"of {name}: {' '.join(options_text(schema))}" for name, schema in PLAYER_OPTIONS.items()
    ),
}
# One move wins, one draws and one loses:  X 1 O
#                                          O O 5
#                                          X 7 X
EXAMPLE = {"tictactoe": "0 4 8 2 6 3"}


@dataclass(frozen=True)
class TraceSettings(FolderSettings, GameSettings):
    """Settings of the program."""

    moves: str = setting(
        AUTO,
        "Moves to play before the search, with spaces between. auto: an example of tic-tac-toe with three "
        "legal moves; none in other games.",
    )
    position: str = setting("", POSITION_HELP)
    number: int = setting(1, NUMBER_HELP)
    ply: int | None = setting(None, "With from=: how many moves of the game are kept; auto: all.")
    out: str = setting("", "File for a page, such as trace.html. Default: print to the terminal.")


def read_record(words: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Run the search that the command line asks for; return its record and the file of the page, "" for none.

    Raises:
        UserError: an unknown setting or player, a value that is not allowed, or moves that cannot be played.
    """
    from azero.cli.player_spec import take_player_spec
    from azero.games.titles import game_heading
    from azero.match.openings import read_opening
    from azero.records.begin import start_of, take_start
    from azero.tracing.record import UctSettings, record

    texts = split_words(words)
    is_named = "game" in texts
    asked = take_settings(texts, TraceSettings)
    game, actions, start = take_start(texts, asked, asked.ply, is_named, asked.number)
    start = start_of(game, asked.position, actions, start)
    player = take_player_spec(texts, "player", "uct")
    refuse_rest(texts, TraceSettings, ["from", "player", "player.num_simulations"])
    if player.name not in PLAYER_OPTIONS:
        raise UserError(f"player={player.name} must be one of: {', '.join(PLAYER_OPTIONS)}.")
    schema = PLAYER_OPTIONS[player.name]
    options = read_options(schema, player.options, "player.", f"a traced {player.name}")
    if actions is None:
        moves = asked.moves
        if moves == AUTO:
            moves = "" if start is not None else EXAMPLE.get(game.name, "")
        actions = read_opening(game, moves.split(), "moves", start).actions
    elif asked.moves != AUTO:
        raise UserError("from= and moves= cannot both be set.")
    settings: UctSettings | MctsSettings
    if isinstance(options, UctOptions):
        settings = UctSettings(options.exploration, options.expansion_threshold)
        simulations = options.num_simulations
    else:
        settings = network_search(game, options, asked)
        simulations = options.num_simulations or settings.search.num_simulations
    traced = record(game, actions, settings, simulations, asked.seed, start)
    return traced | {"heading": game_heading(game)}, asked.out


def network_search(game: Game, options: MctsOptions, asked: TraceSettings) -> MctsSettings:
    """Return the search of a run's champion, or a search without a network if there is no run.

    Raises:
        UserError: the run that was asked for has no champion for the game, or there is no such algorithm.
    """
    from azero.cli.player_spec import watched_search
    from azero.tracing.record import MctsSettings

    config = replace(asked.config, device="cpu")
    search, inference = watched_search(game, config, options.run, options.kind, options.solver)
    return MctsSettings(search, inference, float(options.temperature))


def print_record(record: dict[str, Any]) -> None:
    """Print every simulation to the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from azero.tracing import text

    console, simulations = Console(highlight=False), record["simulations"]
    head = "w/n" if record["statistic"] == "wins" else "q (n)"
    console.print(text.title(record), markup=False)
    console.print(text.board_text(record), markup=False)
    console.print(record["about"], markup=False)
    for simulation in simulations:
        number = simulation["number"]
        console.rule(f"simulation {number} of {simulations[-1]['number']}" if number else "the root")
        path = " → ".join(text.node_name(record, node) for node in simulation["path"])
        console.print(f"path: {path}", markup=False)
        for place, choice in enumerate(simulation["choices"]):
            console.print(text.choice_title(record, simulation, place), markup=False)
            table = Table(*text.heads(record, choice), box=SIMPLE_HEAD)
            for cells, chosen in text.rows(record, choice):
                table.add_row(*cells, style="bold green" if chosen else None)
            console.print(table)
        console.print(text.evaluation_text(record, simulation), markup=False)
        console.print(f"update, {head}: {text.update_text(record, simulation)}", markup=False)
    console.rule(f"the tree, {head}")
    console.print(text.tree_text(record), markup=False)
    console.print(text.chosen_text(record), markup=False)


def write_page(record: dict[str, Any], path: Path) -> None:
    """Write the page; UserError: the file cannot be written."""
    from azero.run.disk import replacing
    from azero.tracing.page import page

    with explaining_failure(f"out={path} cannot be written"), replacing(path) as temporary:
        temporary.write_text(page(record), encoding="utf-8")


def trace_asked(words: Sequence[str]) -> int:
    """Show the search that the words of the command line ask for; return the exit status."""
    record, out = read_record(words)
    if out:
        write_page(record, Path(out))
        number = record["simulations"][-1]["number"]
        print(f"{number} {'simulation is' if number == 1 else 'simulations are'} in {out}")
    else:
        print_record(record)
    return 0


main = partial(run_program, "trace", trace_asked, TraceSettings, EXAMPLES, labels=HELP)

if __name__ == "__main__":
    sys.exit(main())
