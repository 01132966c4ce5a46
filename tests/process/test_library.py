"""What `import azero` offers."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest
from places import PROJECT
from running import TrainedRun

import azero


def test_all_that_it_names_is_there_and_documented() -> None:
    assert azero.__all__ == ["UserError", "load_champion", "load_run", "run_recipe"]
    assert all(getattr(azero, name).__doc__ for name in azero.__all__)


def test_a_mistake_of_the_user_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense") as refused:
        azero.load_champion("nonsense", str(tmp_path))
    assert type(refused.value) is azero.UserError


def test_a_run_is_opened_by_its_name(trained_run: TrainedRun) -> None:
    places = str(trained_run.checkpoints), str(trained_run.data)
    run = azero.load_run("trained", *places, device="cpu")
    assert (run.name, run.cycles, run.settings["seed"], run.settings["game.name"]) == (
        *("trained", 5, 1, "tictactoe"),
    )
    with (run.folder / "metrics.csv").open() as table:
        rows = {int(row["cycle"]): float(row["loss/policy"]) for row in csv.DictReader(table)}
    assert {cycle: stats["loss/policy"] for cycle, stats in run.stats.items()} == rows
    assert list(rows) == [1, 2, 3, 4, 5] and run.champion().game.name == "tictactoe"
    with pytest.raises(azero.UserError, match=r"holds no run nobody; it holds trained\."):
        azero.load_run("nobody", *places)


def test_the_version_stands_in_pyproject_only() -> None:
    assert azero.__version__ == tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert not hasattr(azero, "nonsense")
