"""What `import azero` offers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from places import PROJECT

import azero


def test_all_that_it_names_is_there_and_documented() -> None:
    assert azero.__all__ == ["UserError", "load_champion", "run_recipe"]
    assert all(getattr(azero, name).__doc__ for name in azero.__all__)


def test_a_mistake_of_the_user_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense") as refused:
        azero.load_champion("nonsense", str(tmp_path))
    assert type(refused.value) is azero.UserError


def test_the_version_stands_in_pyproject_only() -> None:
    assert azero.__version__ == tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert not hasattr(azero, "nonsense")
