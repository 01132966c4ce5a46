"""`azero runs`: list all runs. `azero runs delete=NAME` deletes one: its folders of networks and of games."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from azero.cli.arguments import FolderSettings, refuse_rest, run_program, split_words, take_settings
from azero.config.schema import Config, UserError, setting
from azero.config.suggest import did_you_mean
from azero.report.console import table_text
from azero.report.listing import age_text, folders_of, game_of, remove_run, size_of, size_text, strength_of
from azero.run.folder import last_used, names_of_runs, paths_of
from azero.run.run import Run

EXAMPLES = """

delete=tictactoe
checkpoints=/disk/checkpoints data=/disk/data
"""
HEAD = ["run", "game", "recipe", "cycle", "strength", "size", "last used"]
DROPPED = ["recipe", "size", "last used", "strength", "cycle", "game"]  # in a narrow terminal, in this order
LONGEST_NAME, SHORTEST_NAME = 24, 10


@dataclass(frozen=True)
class RunsSettings(FolderSettings):
    """Settings of the program."""

    delete: str = setting("", "A run to delete. The program shows what goes and asks first.")


def list_runs(config: Config) -> str:
    """Return the table of all runs, the one used last first, as wide as the terminal allows."""
    names = sorted(names_of_runs(config), key=lambda name: -last_used(config, name))
    if not names:
        return f"There is no run in {config.checkpoints} yet; azero loop makes one."
    rows, width = [HEAD, *(row_of(config, name) for name in names)], shutil.get_terminal_size().columns
    for dropped in range(len(DROPPED) + 1):
        places = [place for place, head in enumerate(HEAD) if head not in DROPPED[:dropped]]
        for longest in range(LONGEST_NAME, SHORTEST_NAME - 1, -1):
            table = table_text([[fitted(row, longest)[place] for place in places] for row in rows])
            if max(map(len, table.splitlines())) <= width:
                return table
    return table


def row_of(config: Config, name: str) -> list[str]:
    """Return the cells of one run."""
    paths = paths_of(config, name)
    size = size_text(sum(map(size_of, folders_of(paths))))
    used = [size, age_text(time.time() - last_used(config, name))]
    try:
        state = Run.read(config, name).state
    except UserError:
        return [name, "damaged", "", "", "", *used]
    return [name, game_of(state), state.recipe or "-", str(state.cycle), strength_of(paths), *used]


def fitted(row: Sequence[str], longest: int) -> list[str]:
    """Return a row with game and recipe cut to `longest` characters; a run's name is cut only beyond most."""
    return [cut(row[0], LONGEST_NAME), *(cut(name, longest) for name in row[1:3]), *row[3:]]


def cut(name: str, longest: int) -> str:
    """Return a name with at most so many characters."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def delete_run(config: Config, name: str, ask: Callable[[str], str] = input) -> int:
    """Show what would go, ask, and delete both folders of a run; return the exit status: 1 if it stays.

    Raises:
        UserError: there is no such run, a process works on it, or the disk refuses.
    """
    paths = paths_of(config, name)
    if not paths.state.is_file():
        hint = did_you_mean(name, names_of_runs(config), "; azero runs lists them.")
        raise UserError(f"{config.checkpoints} holds no run {name}{hint}")

    def confirm(folders: Sequence[tuple[Path, int]]) -> bool:
        for each, size in folders:
            print(f"  {each}  {size_text(size)}")
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
    texts = split_words(words)
    asked = take_settings(texts, RunsSettings)
    refuse_rest(texts, RunsSettings)
    config = replace(Config(), checkpoints=asked.checkpoints, data=asked.data)
    if asked.delete:
        return delete_run(config, asked.delete)
    print(list_runs(config))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    return run_program("runs", runs_asked, RunsSettings, EXAMPLES, arguments)


if __name__ == "__main__":
    sys.exit(main())
