"""Commands for a person to type, which work whether or not the environment of azero is active."""

from __future__ import annotations

import os
import shlex
import shutil
import sys


def typed(program: str, module: str) -> str:
    """Return what starts a program of this environment from the person's shell, in this folder.

    Args:
        program: such as "azero", which is enough where the shell finds it.
        module: the same program for `python -m`, where pip has installed no script.
    """
    here = os.path.dirname(sys.executable)
    script, found = os.path.join(here, program), shutil.which(program)
    is_script = os.access(script, os.X_OK)
    if found and (not is_script or os.path.samefile(os.path.dirname(found), here)):
        return program
    return shlex.quote(nearby(script)) if is_script else f"{shlex.quote(nearby(sys.executable))} -m {module}"


def azero_command() -> str:
    """Return "azero", or what starts it where the shell does not find it."""
    return typed("azero", "azero")


def nearby(path: str) -> str:
    """Return a path, relative to this folder if it lies in it."""
    return os.path.relpath(path) if path.startswith(os.path.join(os.getcwd(), "")) else path
