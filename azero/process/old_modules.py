"""Modules under their older names, for the scripts and game files of users. They go with the next version."""

from __future__ import annotations

import importlib
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Older name: module
OLD_MODULES = {
    "azero.games.bits": "azero.games.kit.bits",
    "azero.games.board": "azero.games.kit.board",
    "azero.games.grid": "azero.games.kit.grid",
    "azero.games.options": "azero.games.kit.options",
    "azero.games.picture": "azero.games.kit.picture",
    "azero.openings": "azero.match.openings",
}


class OldModules:
    """Finds and loads the modules of `OLD_MODULES`; the last entry of `sys.meta_path`."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return the spec of an older name, None for any other."""
        return ModuleSpec(name, self) if name in OLD_MODULES else None  # type: ignore[arg-type]

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module with what the new one holds, and warn."""
        name = OLD_MODULES[module.__name__]
        warnings.warn(f"{module.__name__} is now {name}.", DeprecationWarning, stacklevel=2)
        new = vars(importlib.import_module(name))
        vars(module).update({key: new[key] for key in new if not key.startswith("__")})
