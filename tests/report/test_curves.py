"""The curves of a run, and what a notebook shows of it."""

from __future__ import annotations

from running import TrainedRun

from azero.cli.recipe import RecipeRun
from azero.report.curves import curve, curves, last_values

STATS = {1: {"loss/policy": 2.0, "rating/elo": 10.0}, 2: {"loss/policy": 1.0}, 3: {"loss/policy": 1.5}}


def test_a_curve_goes_from_its_highest_to_its_lowest_value() -> None:
    """24 of 360 and of 120 pixels are left free at each side: 2.0 lies at the top, 1.0 at the bottom."""
    drawn = curve("loss", {cycle: row["loss/policy"] for cycle, row in STATS.items()})
    assert 'points="24.0,24.0 180.0,96.0 336.0,60.0"' in drawn and '<circle cx="336.0" cy="60.0"' in drawn
    assert "cycle 1 to 3, 1 to 2, now 1.5" in drawn


def test_one_value_is_a_dot() -> None:
    assert '<circle cx="24.0" cy="96.0"' in curve("elo", {1: 10.0})


def test_the_last_values_are_of_the_cycles_that_have_them() -> None:
    assert last_values(STATS, ["loss/policy", "loss/value", "rating/elo"]) == {
        "loss/policy": 1.5,
        "rating/elo": 10.0,
    }
    assert curves(STATS, ["loss/policy", "loss/value", "rating/elo"]).count("<svg") == 2


def test_a_notebook_shows_curves_values_and_the_champion_of_a_run(trained_run: TrainedRun) -> None:
    folder, name, _ = trained_run
    shown = RecipeRun(name, str(folder / "checkpoints"), str(folder / "data"), "cpu")._repr_html_()
    assert shown.startswith("<p>run trained, 5 cycles</p>")
    assert "<tr><td>loss/policy</td><td>" in shown
    assert shown.count("<svg") >= 4 and "Tic-tac-toe: how the champion would begin" in shown
