"""`azero runs`: list all runs. `azero runs delete=NAME` deletes one: its folders of networks and of games."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from azero.cli.arguments import FolderSettings, refuse_rest, run_program, split_words, take_settings
from azero.config.schema import Config, UserError, setting
from azero.config.suggest import did_you_mean
from azero.report.console import format_size, table_text
from azero.report.listing import age_text, facts_of, remove_run, runs_by_use, size_of_run
from azero.run.folder import is_shipped, names_of_runs, names_of_shipped, names_without_state, paths_of
from azero.run.run import Run

EXAMPLES = """

format=json
delete=tictactoe
checkpoints=/disk/checkpoints data=/disk/data
"""
HEAD = ["run", "game", "recipe", "cycle", "strength", "size", "last used"]
DROPPED = ["recipe", "size", "last used", "strength", "cycle", "game"]  # in a narrow terminal, in this order
SHORT_NAME, SHORTEST_NAME = 24, 10  # characters to which names are cut, in that order
WITHOUT_TERMINAL = 10_000  # columns of a file or a pipe


@dataclass(frozen=True)
class RunsSettings(FolderSettings):
    """Settings of the program."""

    format: str = setting("table", "How the list is printed.", choices=("table", "json"))
    delete: str = setting("", "A run to delete. The program shows what goes and asks first.")


class RunRow(NamedTuple):
    """What the list says of a run."""

    run: str
    game: str
    recipe: str
    cycle: int | None  # None: the run is damaged
    strength: str
    bytes: int
    last_used: float  # seconds since 1970
    damage: str = ""  # what is wrong with the run
    settings: Mapping[str, Any] = {}  # such as "train.lr"


def shipped_text() -> str:
    """Return the champions that come with azero, in lines as wide as the terminal; "" if none does."""
    names, width = names_of_shipped(), shutil.get_terminal_size((WITHOUT_TERMINAL, 24)).columns
    text = f"With azero come {', '.join(names)}; azero play run=NAME plays one." if names else ""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def list_runs(config: Config) -> str:
    """Return the table of all runs, the one used last first, as wide as the terminal allows."""
    found = rows_of(config)
    if not found:
        if not Path(config.checkpoints).is_dir():
            return f"There is no run yet, nor a folder {config.checkpoints}; azero loop makes both."
        return f"There is no run in {config.checkpoints} yet; azero loop makes one."
    rows, width = [HEAD, *map(cells_of, found)], shutil.get_terminal_size((WITHOUT_TERMINAL, 24)).columns
    lengths = lengths_of([row.run for row in found])
    ways = [(lengths[0], other) for other in range(SHORT_NAME, SHORTEST_NAME, -1)]
    ways += [(length, SHORTEST_NAME) for length in lengths]
    for dropped in range(len(DROPPED) + 1):
        places = [place for place, head in enumerate(HEAD) if head not in DROPPED[:dropped]]
        for longest, other in ways:
            shown = [
                [shortened(name, longest), cut(game, other), cut(recipe, other), *rest]
                for name, game, recipe, *rest in rows
            ]
            table = table_text([[row[place] for place in places] for row in shown])
            if max(map(len, table.splitlines())) <= width:
                return table
    return table


def lengths_of(names: Sequence[str]) -> list[int]:
    """Return the lengths to which names can be shortened so that all still differ, from none to most."""
    full = max(map(len, names))
    lengths = range(full, min(full, SHORT_NAME) - 1, -1)
    return [each for each in lengths if len({shortened(name, each) for name in names}) == len(names)]


def rows_of(config: Config) -> list[RunRow]:
    """Return a row for each run, the one used last first."""
    return [row_of(config, name, used) for name, used in runs_by_use(config)]


def row_of(config: Config, name: str, used: float) -> RunRow:
    """Return what the list says of a run; used: when it was last used."""
    paths = paths_of(config, name)
    size = size_of_run(paths)
    try:
        run = Run.read(config, name)
        return RunRow(name, **facts_of(run), bytes=size, last_used=used, settings=run.state.config)
    except UserError:
        what = "damaged" if paths.state.exists() else f"{paths.state.name} is missing"
        return RunRow(name, "", "", None, "", size, used, what)


def cells_of(row: RunRow) -> list[str]:
    """Return the cells of a row of the table."""
    used = [format_size(row.bytes), age_text(time.time() - row.last_used)]
    if row.cycle is None:
        return [row.run, row.damage, "", "", "", *used]
    return [row.run, row.game, row.recipe or "-", str(row.cycle), row.strength, *used]


def json_text(rows: Sequence[RunRow]) -> str:
    """Return the rows as JSON, with the times in UTC as ISO 8601 writes them."""
    times = [datetime.fromtimestamp(row.last_used, UTC).isoformat(timespec="seconds") for row in rows]
    runs = [{**row._asdict(), "last_used": used} for row, used in zip(rows, times, strict=True)]
    return json.dumps(runs, indent=2)


def cut(name: str, longest: int) -> str:
    """Return a name with at most so many characters."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def shortened(name: str, longest: int) -> str:
    """Return a name with at most so many characters, without some of its middle: names differ at the end."""
    end = longest // 3
    return name if len(name) <= longest else f"{name[: longest - 1 - end]}…{name[-end:]}"


def delete_run(config: Config, name: str, ask: Callable[[str], str] = input) -> int:
    """Show what would go, ask, and delete both folders of a run; return the exit status: 1 if it stays.

    Raises:
        UserError: there is no such run, a process works on it, or the disk refuses.
    """
    paths = paths_of(config, name)
    if is_shipped(name):
        raise UserError(f"{name} comes with azero, so it stays.")
    if name not in names_of_runs(config) + names_without_state(config):
        hint = did_you_mean(name, names_of_runs(config), "; azero runs lists them.")
        raise UserError(f"{config.checkpoints} holds no run {name}{hint}")

    def confirm(folders: Sequence[tuple[Path, int]]) -> bool:
        for each, size in folders:
            print(f"  {each}  {format_size(size)}")
        try:
            return ask("Delete both folders? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            print()
            return False

    if not remove_run(paths, "azero runs", confirm):
        print("Nothing was deleted.")
        return 1
    print(f"Run {name} is deleted.")
    return 0


def runs_asked(words: Sequence[str]) -> int:
    """List runs or delete one, as the command line asks; return the exit status."""
    texts = split_words(words, bare="")
    asked = take_settings(texts, RunsSettings)
    refuse_rest(texts, RunsSettings)
    config = asked.config
    if asked.delete:
        return delete_run(config, asked.delete)
    table = f"{list_runs(config)}\n{shipped_text()}".rstrip()
    print(json_text(rows_of(config)) if asked.format == "json" else table)
    return 0


main = partial(run_program, "runs", runs_asked, RunsSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
