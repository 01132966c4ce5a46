"""The text of `--help`, made from the records of the settings."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from azero.cli.overrides import conf_files, conf_folder
from azero.cli.programs import PROGRAMS
from azero.config.reading import AUTO
from azero.config.schema import Options, Setting, settings, value_text

WIDTH, NARROW = 79, 60  # columns; in a narrow terminal every text stands below its head
COLUMN = 24  # where a text begins
LONG_COLUMN = 35  # the same for the settings of a run, which have long names
LAST = ("seed", "checkpoints", "data", "device")
STAGE_EXAMPLES = {
    "": "in the run of the default recipe",
    "connect_four": "in the run of this recipe",
    "connect_four run=mine": "in the run of another name",
}
EXAMPLES = {
    "loop": {
        "connect_four_quick": "run a recipe",
        "game=mine.py minutes=30": "train on a game of your own",
        "tictactoe -m seed=1,2": "run a recipe with two seeds",
    },
    "correctness": {
        "": "the default recipe's champion",
        "run=mine": "the champion of the run mine",
        "search.num_simulations=100": "with another budget of search",
    },
    "doctor": {
        "": "the run of the default recipe",
        "connect_four": "the run of this recipe",
        "run=mine": "the run of this name",
    },
    "estimate": {
        "connect_four": "how long a recipe takes here",
        "game=mine.py cycles=20": "a game of your own",
        "hex7 workers=4": "a recipe with other settings",
    },
}


def run_help(name: str, recipe: str, values: Mapping[str, Any]) -> str:
    """Return what `azero NAME --help` prints for a program with a run.

    Args:
        name: such as "loop".
        recipe: in force for the command.
        values: of all settings, in force for the command.
    """
    examples = EXAMPLES.get(name, STAGE_EXAMPLES)
    folders = (path.name for path in sorted(conf_folder().iterdir()) if path.is_dir())
    sections = {
        "Examples": [row(f"azero {name} {words}", does, 46) for words, does in examples.items()],
        "Flags": [
            row("--cfg job", "print every value in force and end"),
            row("-m key=1,2", "multirun: one run for each value"),
            row("--version", "print azero's version and end"),
        ],
        "Recipes": [row(each, description(path)) for each, path in sorted(conf_files("experiment").items())],
        "Groups, written GROUP=NAME": [
            row(group, ", ".join(sorted(conf_files(group)))) for group in folders if group != "experiment"
        ],
    }
    for heading, known in groups().items():
        sections[f"Settings of {heading}"] = [
            row(f"{key}={value_text(values[key])}", summary(about), LONG_COLUMN)
            for key, about in known.items()
        ]
    usage = f"usage: azero {name} [RECIPE] [GROUP=NAME ...] [key=value ...]"
    usage += f"\n\nValues below are those of the recipe {recipe}, with your arguments."
    return f"{layout(name, usage, sections)}\n\ndocs/settings.md says more about each setting."


def program_help(
    name: str, schema: Any, examples: str, labels: dict[str, str], plays: bool, only: Sequence[str] = ()
) -> str:
    """Return what `azero NAME --help` prints for a program without a run.

    Args:
        name: such as "arena".
        schema: the dataclass of the settings.
        examples: arguments, one command a line.
        labels: what the labels of players mean.
        plays: whether players are listed, with their options.
        only: the players to list; none named: all.
    """
    rows = [row(label, meaning) for label, meaning in labels.items()]
    for key, about in sorted(settings(schema).items(), key=lambda each: each[0] in LAST):
        default = "" if about.default is None else value_text(about.default)
        rows.append(row(f"{key}={default}", with_choices(about.help, about)))
        if key == "game":
            rows.append(row("game.options.NAME=VALUE", "An option, such as game.options.size=5."))
    commands = [f"  azero {name} {example}".rstrip() for example in examples.removeprefix("\n").splitlines()]
    sections = {"Examples": commands, "Settings, written key=value": rows}
    if plays:
        from azero.players import MODULES  # here, because the room imports Numba

        sections["Players, with their options and defaults"] = [player_row(each) for each in only or MODULES]
    return layout(name, f"usage: azero {name} [key=value ...]", sections)


def layout(name: str, usage: str, sections: dict[str, list[str]]) -> str:
    """Return a program's purpose, its usage, and sections with headings."""
    lines = [PROGRAMS[name], "", usage]
    for heading, rows in sections.items():
        lines += ["", f"{heading}:", *rows]
    return "\n".join(lines)


def row(head: str, text: str, column: int = COLUMN) -> str:
    """Return a head and a text that begins at a column, on the next line if the head is too long."""
    width = min(WIDTH, shutil.get_terminal_size().columns)
    column = column if width >= NARROW else 6
    first = f"  {head:<{column - 3}} "
    if len(first) > column or not text:
        return f"  {head}\n{row('', text, column)}" if text else f"  {head}"
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=" " * column, break_on_hyphens=False
    )


def description(path: Path) -> str:
    """Return the first line of a recipe's comment."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line[2:] for line in lines if line.startswith("# ") and "@package" not in line), "")


def summary(about: Setting) -> str:
    """Return the first sentence about a setting, with its choices."""
    return with_choices(about.help.partition(". ")[0].rstrip(".") + ".", about)


def with_choices(text: str, about: Setting) -> str:
    """Return a text about a setting with its choices at the end."""
    if not about.choices:
        return text
    own = ", your own .py file" if about.own else ""
    return f"{text[:-1]}: {', '.join(map(value_text, about.choices))}{own}."


def groups() -> dict[str, dict[str, Setting]]:
    """Return the settings by heading, such as "run", "search" and "search, PUCT only"."""
    found: dict[str, dict[str, Setting]] = {"run": {}}
    for key, known in settings().items():
        heading = key.rpartition(".")[0] or "run"
        found.setdefault(f"{heading}, {known.only} only" if known.only else heading, {})[key] = known
    return found


def player_row(name: str) -> str:
    """Return the line about a player and its options."""
    from azero.players import options_of

    schema = options_of(name)
    run = ["run=NAME"] if schema.network else []
    return row(name, " ".join([*run, *options_text(schema)]) or "no options")


def options_text(schema: type[Options]) -> list[str]:
    """Return options with their defaults."""
    return [
        f"{name}={AUTO if known.default is None else value_text(known.default)}"
        for name, known in settings(schema).items()
    ]
