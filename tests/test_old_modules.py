"""Scripts and game files of users still find what has moved."""

from __future__ import annotations

import importlib
import sys

import pytest

from azero.process.old_modules import OLD_MODULES


@pytest.mark.parametrize("old", OLD_MODULES)
def test_an_older_name_gives_the_module_s_contents_and_a_warning(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {OLD_MODULES[old]}"):
        module = importlib.import_module(old)
    new = importlib.import_module(OLD_MODULES[old])
    for name in vars(new):
        if not name.startswith("_"):
            assert getattr(module, name) is getattr(new, name)


def test_the_imports_of_the_first_guide_still_work() -> None:
    """`docs/your_own_game.md` showed these lines before the package had rooms."""
    lines = (
        "from azero.games import game as interface",
        "from azero.games.bits import popcount",
        "from azero.games.board import Board, letters, numbers, square_symmetries",
        "from azero.match import play_match",
        "from azero.openings import random_openings",
        "from azero.players import make_player",
        "from azero.config import Config, UserError",
    )
    found: dict[str, object] = {}
    for old in OLD_MODULES:
        sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match="is now"):
        exec("\n".join(lines), found)

    from azero.config.schema import UserError
    from azero.match.lockstep import play_match
    from azero.match.openings import random_openings

    assert found["play_match"] is play_match and found["random_openings"] is random_openings
    assert found["UserError"] is UserError


def test_an_unknown_name_is_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("azero.games.chess")
    with pytest.raises(ImportError, match="play_games"):
        exec("from azero.match import play_games", {})
