"""Files that a person wrote: rules, a network, a player, a heuristic, a search, an optimizer or a measure.

The path of such a file, which ends in .py, stands where azero's own have names. A file is run again only if
it has changed. Functions compiled from other texts of it, or of its helpers, are not used for it.
"""

from __future__ import annotations

import builtins
import re
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.sources import import_file, prepare_rules

GAME = "game"
REJECTED = "Rejected as the implementation raised a specific error:"
IN_WORDS = {  # what Numba says of a function, and what it means
    r"Untyped global name '(\w+)'.*<class 'function'>": r"write @njit above \1",
    r"Untyped global name '(\w+)'": r"compiled code cannot use \1",
    r"Cannot modify readonly array": r"compiled code cannot change an array that stands outside it",
    r"No conversion from none to .*return_value": r"it must return a number on every way through it",
    r"No conversion from .* to none for .*return_value": "it returns something; write into its last argument",
    r"No conversion from (?:Literal\[)?(\w+).* to (\w+) for .*return_value": r"it returns \1, not \2",
}
NOTHING_SAID = ("Failed in", "TypingError: Failed in", "- Resolution")  # what lines of Numba's begin with
UNFIT, FAILS = "cannot be loaded; fix this first", "fails"


class OwnFile(NamedTuple):
    """What a person wrote: the module, and a digest of its text and that of its own helpers."""

    module: ModuleType
    digest: str


HELD: dict[Path, OwnFile] = {}  # files of rules that stay as they are; see `azero.games.held_rules`


named: Collection[Path] | None = None  # the files that may be run; None: all


def allow_only(files: Collection[Path]) -> None:
    """Let this process run these files from now on, and no other; games are not counted."""
    global named
    named = files


def check_allowed(file: str) -> None:
    """Refuse a file that may not be run.

    Raises:
        UserError: it was not named.
    """
    if named is not None and Path(file).resolve() not in named:
        raise UserError(f"it needs {file}, which is not run here; start again with network={file}.")


def load_file(kind: str, name: str, typed: str = "") -> OwnFile:
    """Run a person's file.

    Args:
        kind: what it holds, such as "player".
        name: its path.
        typed: what a person types before it, such as "train.optimizer=".

    Raises:
        UserError: it cannot be read, fails, or may not be run here.
    """
    path = Path(name).resolve()
    if path in HELD:
        return HELD[path]
    if kind != GAME:  # a server knows the games that it may run
        check_allowed(name)
    if not path.is_file():
        where = "" if str(path) == name else f" ({path})"
        raise UserError(f"{typed or f'{kind}='}{name} cannot be read: No such file or directory{where}.")
    with explaining(name):
        return run_file(kind, path, path.stat().st_mtime_ns)


def own_part(kind: str, name: str, part: str, typed: str = "") -> Any:
    """Return one thing that a person's file must define, such as a function; arguments as for `load_file`.

    Raises:
        UserError: as there, or the file lacks it.
    """
    module = load_file(kind, name, typed).module
    if not hasattr(module, part):
        raise UserError(f"{name} must define {part}; docs/lab/own_parts.md shows how.")
    return getattr(module, part)


@cache
def run_file(kind: str, path: Path, _changed: int) -> OwnFile:
    """Return a file as a module."""
    digest = prepare_rules(path.parent, path)
    return OwnFile(import_file(kind, path), digest)


@contextmanager
def explaining(name: str, what: str = UNFIT) -> Iterator[None]:
    """Turn any error of a person's code, run by this block, into a UserError that names the line.

    what: what the file does not do, for the sentence, such as `FAILS`.
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # a person's file may not end the program
        raise fault_of(name, error, what) from error


def fault_of(name: str, error: BaseException, what: str = UNFIT) -> UserError:
    """Return an error that says what a person's code raised, and in which line."""
    if isinstance(error, UserError):
        return error
    path, frames = str(Path(name).resolve()), traceback.extract_tb(error.__traceback__)
    own = [frame.lineno or 1 for frame in frames if frame.filename == path]
    said = " ".join(str(error).split())[:300].rstrip(".")
    if type(error).__module__.startswith("numba."):
        said, line = explained(error, path)
        own = [line or own[-1]] if line or own else []
    unknown = re.search(r"name '(\w+)' is not defined", said)
    if own and unknown and "numba" in frames[-1].filename:
        own = [line_with(unknown[1], path, own[-1])]  # the compiler names the first line of the rule
    place = f" (line {own[-1]})" if own else ""
    return UserError(f"{name} {what}: {type(error).__name__}{f': {said}' * bool(said)}{place}.")


def line_with(word: str, path: str, first: int) -> int:
    """Return the first line of a file, from line `first` on, that has a word; `first` if none has it."""
    lines = Path(path).read_text("utf-8", "replace").splitlines()[first - 1 :]
    return next((line for line, text in enumerate(lines, first) if re.search(rf"\b{word}\b", text)), first)


def explained(error: BaseException, path: str) -> tuple[str, int | None]:
    """Return what Numba's error says, and the line of the file in which it arose, if known."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without colours
    lines = [line.strip() for line in text.splitlines()]
    known = re.findall(rf"{re.escape(Path(path).name)}(?:\", line | \()(\d+)", text)
    asked = re.search(r">>> (\w+)\(", text)
    # rules are compiled without Numba's memory management
    refusal = "a rule cannot make an array, a list, a text or the like; write into its last argument instead"
    if "NRT required" in text:
        said = refusal
    elif asked and callable(getattr(np, asked[1], None)) and not hasattr(builtins, asked[1]):
        said = f"np.{asked[1]} cannot be used so; {refusal}"
    else:
        if REJECTED in lines:  # of a function that azero's own code calls by another name
            lines = lines[len(lines) - lines[::-1].index(REJECTED) :]
        said = next(line for line in lines if line and not line.startswith(NOTHING_SAID))
        said += next((f" {line[4:]}" for line in lines if line.startswith(">>>")), "") * said.endswith(":")
        found = (re.search(pattern, said) for pattern in IN_WORDS)
        said = next((match.expand(IN_WORDS[match.re.pattern]) for match in found if match), said)
    line = int(known[0]) if known else None
    if line and (name := re.search(r"Untyped global name '(\w+)'", text)):
        line = line_with(name[1], path, line)
    return said.rstrip("."), line
