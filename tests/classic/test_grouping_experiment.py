"""The experiment with grouping nodes: the rules of its four findings, and what it writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from places import SCRIPTS

spec = importlib.util.spec_from_file_location("grouping_experiment", SCRIPTS / "experiments" / "grouping.py")
assert spec and spec.loader
experiment = importlib.util.module_from_spec(spec)
sys.modules["grouping_experiment"] = experiment
spec.loader.exec_module(experiment)

BUDGETS = (256, 512, 1024, 2048)
READING = experiment.READINGS[0]
NONE = [0.0, 0.0, 0.0, 0.0]


def made_up(**advantages: list[list[float]]) -> dict[object, object]:
    """Outcomes of 50 pairs with these advantages over one half, by family, grouping and budget."""
    noise = np.tile([-0.001, 0.001], 25)
    return {
        experiment.Cell(READING, family, splits, rollouts): experiment.Outcome(
            0.5 + advantage + noise, 0.5 + advantage - noise * 0.5
        )
        for family, rows in advantages.items()
        for splits, row in zip(experiment.GROUPINGS, rows, strict=True)
        for rollouts, advantage in zip(BUDGETS, row, strict=True)
    }


AS_PUBLISHED = [[0.05, 0.03, 0.0, 0.0], [0.06, 0.04, 0.01, 0.0], [0.08, 0.06, 0.02, 0.01]]


def verdicts(**advantages: list[list[float]]) -> list[str]:
    curves = {
        "x_sin_x_15": AS_PUBLISHED,
        "x_sin_x_100005": AS_PUBLISHED,
        "linear": AS_PUBLISHED,
        "sines": [NONE] * 3,
    }
    outcomes = made_up(**{**curves, **advantages})
    return [finding.verdict for finding in experiment.find(outcomes, READING, BUDGETS)]


def test_curves_as_published_hold() -> None:
    assert verdicts() == ["yes"] * 5


def test_help_that_does_not_fall_with_the_budget_is_no_help_at_small_budgets() -> None:
    level = [[0.05] * 4, [0.06] * 4, [0.07] * 4]
    assert verdicts(x_sin_x_15=level, x_sin_x_100005=level, linear=level)[0] == "no"
    assert verdicts(x_sin_x_15=level, linear=level)[0] == "in part"


def test_more_help_and_longer_help_are_two_findings() -> None:
    turned = AS_PUBLISHED[::-1]
    assert verdicts(x_sin_x_15=turned, x_sin_x_100005=turned, linear=turned)[1:3] == ["no", "no"]
    not_longer = [[0.05, 0.03, 0.01, 0.01], [0.06, 0.04, 0.01, 0.0], [0.08, 0.06, 0.02, 0.01]]
    assert verdicts(x_sin_x_15=not_longer)[1:3] == ["yes", "in part"]


def test_linear_must_answer_as_x_sin_x_does() -> None:
    assert verdicts(linear=[NONE] * 3) == ["yes", "yes", "yes", "no", "yes"]
    assert verdicts(linear=[NONE] * 3, x_sin_x_15=[NONE] * 3)[3] == "in part"


def test_a_difference_of_a_hundredth_is_one() -> None:
    assert verdicts(sines=[NONE, NONE, [-0.02] * 4])[4] == "in part"
    assert verdicts(sines=[[0.02] * 4] * 3)[4] == "no"
    assert verdicts(sines=[NONE, NONE, [-0.005] * 4])[4] == "yes"


def test_the_readings_are_both_orders_both_moves_and_two_thresholds() -> None:
    assert list(map(experiment.read_as, experiment.READINGS)) == [
        f"{order}, {played}, {threshold}"
        for order in ("random", "in order")
        for played in ("most visits", "best mean")
        for threshold in (0, 10)
    ]


def test_a_mean_has_the_band_of_its_pairs() -> None:
    mean = experiment.mean_of(np.array([0.0, 1.0, 0.0, 1.0]))
    assert (mean.value, mean.band) == (0.5, pytest.approx(1.96 * np.sqrt(1 / 3) / 2))
    assert str(experiment.Mean(0.0123, 0.004)) == "+0.0123 ± 0.0040"


def test_pairs_share_their_payoffs_and_a_cell_its_seed() -> None:
    cell = experiment.Cell(READING, "x_sin_x_15", (4, 8, 8), 64)
    one, again = (experiment.play_cell(cell, 5, 1, 1.0) for _ in range(2))
    np.testing.assert_array_equal(one.score, again.score)
    assert (experiment.play_cell(cell, 5, 2, 1.0).score != one.score).any()


@pytest.mark.long
def test_four_figures_and_a_table_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert experiment.main(["--quick", "--games", "2", "--folder", str(tmp_path)]) == 0
    assert len(list(tmp_path.glob("grouping_*.png"))) == 4
    text = (tmp_path / "grouping.md").read_text()
    assert text.count("\n## ") == 6  # verdicts over all and over large budgets, four families
    assert text.count("| 256 |") == 4 * len(experiment.READINGS)
    assert "The sum of sines shows no difference" in capsys.readouterr().out


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiment.importlib.util, "find_spec", lambda name: None)
    assert experiment.main(["--quick"]) == 2
    assert (
        capsys.readouterr().err
        == 'azero: the figures are drawn by matplotlib; pip install "azero[plots]" installs it.\n'
    )
