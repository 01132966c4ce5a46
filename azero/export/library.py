"""Write a champion as a native library with a header: rules, search and network as machine code.

azero compiles them with LLVM; the machine's C compiler adds the functions of `static/champion.c` and links.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from azero.config.schema import UserError
from azero.export.exported import Exported, code_of, facts
from azero.export.kernels import name_of
from azero.export.module import compile_apart, task_of
from azero.export.readme import names_of_actions
from azero.export.weights import checked_weights
from azero.games.titles import game_heading
from azero.run.disk import write_for_user

STATIC = Path(__file__).parent / "static"


def write_library(exported: Exported, path: Path) -> str:
    """Write a library and, beside it, its header; return what to say of them.

    Raises:
        UserError: the game cannot be exported, there is no C compiler, or a file cannot be written.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not shutil.which(compiler[0]):
        raise UserError(
            f"A library needs a C compiler, and there is no {compiler[0]}; install one, or set CC."
        )
    run, game, network, search = exported
    name, options = run.state.config["game.name"], run.state.config["game.options"]
    code = code_of(exported, "library")
    packed = checked_weights(network, code, game, "fp32")
    print("Compiling the rules, the search and the network …", flush=True)
    _, searches, task = task_of(name, options, search, code)
    compiled, _ = compile_apart(task, code.weights)
    head = header(exported)
    own = [
        f"-DALGORITHM={name_of(searches[0])}",
        f"-DMOST_SIMULATIONS={searches[0].num_simulations}",
        *(["-DPREPARED"] if searches[0].kind == "gumbel" else []),
    ]
    write_for_user(path, linked(compiler, own, compiled, head))
    write_for_user(path.with_suffix(".h"), head.encode())
    return (
        f"In {packed.positions} positions its network differs from torch's by at most {packed.distance}.\n"
        f"{path.with_suffix('.h')} declares its functions."
    )


def header(exported: Exported) -> str:
    """Return the text of the header."""
    names = textwrap.fill(f"Actions: {names_of_actions(exported.game)}", 110).replace("\n", "\n * ")
    known = facts(exported)
    parts = {
        "heading": game_heading(exported.game),
        "facts": ", ".join(f"{key.lower()} {known[key]}" for key in ("Run", "Made by")),
        "actions": names.replace("*/", "* /"),
        "count": str(exported.game.num_actions),
    }
    template = (STATIC / "champion.h").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def linked(compiler: list[str], own: list[str], compiled: bytes, head: str) -> bytes:
    """Return the library of an object file.

    Raises:
        UserError: the compiler fails, for example because the rules call what C's library does not have.
    """
    strict = [] if sys.platform == "darwin" else ["-Wl,--no-undefined"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "compiled.o").write_bytes(compiled)
        (place / "champion.h").write_text(head, encoding="utf-8")
        shutil.copy(STATIC / "champion.c", place)
        words = ["-shared", "-fPIC", "-O2", *own, "champion.c", "compiled.o", *strict, "-lm", "-o", "library"]
        done = subprocess.run([*compiler, *words], capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode:
            raise UserError(f"{shlex.join(compiler)} cannot link the library: {done.stderr.strip()}")
        return (place / "library").read_bytes()
