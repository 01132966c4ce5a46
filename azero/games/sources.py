"""Which files make up somebody's own rules, and their digest.

Numba keeps compiled rules on disk and checks only the file of each function, so it misses a change in a
helper of another file. The digest covers all of them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

from azero.config.schema import Setting
from azero.process.kernel_cache import add_stamp

LIBRARIES = {"azero", "numba", "numpy"}  # have versions of their own
PARSING = threading.Lock()  # Python 3.11 fails now and then when two threads parse at once


def prepare_rules(root: Path, *first: Path) -> str:
    """Return the digest of rules that are imported next; compiled code of other rules is not used for them.

    Args:
        root: the folder in which their modules are found.
        first: the files that are imported. Those below `root` that they import belong to the rules too.
    """
    digest, files = hashlib.sha256(), rule_files(root, first)
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    for path in files:
        add_stamp(path, digest.hexdigest())
    return digest.hexdigest()


def import_file(kind: str, path: Path) -> ModuleType:
    """Run a person's file; return it as a module, which is in `sys.modules`, as some decorators need."""
    spec = importlib.util.spec_from_file_location(f"azero_{kind}_{path.stem}", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def root_of(module: str) -> Path | None:
    """Return the folder in which an installed module's package lies; None if it has no files."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None:
        return None
    folders = spec.submodule_search_locations
    places = list(folders) if folders else [spec.origin] if spec.has_location and spec.origin else []
    return Path(places[0]).parent if places else None


def rule_files(root: Path, first: Sequence[Path]) -> list[Path]:
    """Return some files and those below `root` that they import, directly or not."""
    found, pending = set[Path](), [*first]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += [file for name in imported(root, path) for file in files_of(root, name)]
    return sorted(found)


def files_of(root: Path, module: str) -> Iterator[Path]:
    """Yield the files of a module, by its dotted name, and of the packages that it lies in."""
    if module.partition(".")[0] in LIBRARIES:
        return
    for name in accumulate(module.split("."), "{}/{}".format):
        for path in (root / f"{name}.py", root / name / "__init__.py"):
            if path.is_file():
                yield path


@lru_cache(maxsize=64)
def parsed(text: bytes) -> ast.Module:
    """Return the syntax tree of a file's text, which nobody changes; SyntaxError, ValueError: it has none."""
    with PARSING:
        return ast.parse(text)


def imported(root: Path, path: Path) -> Iterator[str]:
    """Yield the names of what a file imports. Some are not of modules."""
    try:
        tree = parsed(path.read_bytes())
    except (SyntaxError, ValueError):  # the import says so
        return
    package = path.relative_to(root).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*base, each.name]) for each in node.names)


def declared_options(path: Path) -> dict[str, Setting]:
    """Return the options that a person's file declares: arguments of `make_game` with a constant as default.

    The file is not run. It has none while it cannot be read.
    """
    try:
        parts = parsed(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):  # the user is just changing it; playing it says what is wrong
        return {}
    makers = [part for part in parts if isinstance(part, ast.FunctionDef) and part.name == "make_game"]
    if not makers:
        return {}
    arguments, defaults = makers[0].args.args, makers[0].args.defaults
    pairs = zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
    values = {each.arg: default.value for each, default in pairs if isinstance(default, ast.Constant)}
    return {name: declared(value) for name, value in values.items()}


def declared(value: Any) -> Setting:
    """Return the setting of an option of which only the default is known."""
    return Setting(value, "", kind="str | None" if value is None else type(value).__name__)
