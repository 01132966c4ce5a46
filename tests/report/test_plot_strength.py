"""The picture of strength: what its axes and curves are, by arithmetic on a run of three cycles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plot_strength
import pytest

from azero.config.schema import UserError

COLUMNS = {
    "cycle": (1, 2, 3),
    "time/initialize": (2, "", ""),
    "time/selfplay": (20, 10, 10),
    "time/train": (30, 40, 40),
    "time/evaluate": (5, 5, 5),
    "time/correctness": (3, "", 5),
    "selfplay/games": (200, 100, 100),
    "selfplay/evaluations": (15_000, 10_000, 5_000),
    "oracle/keeps_value_policy": (0.7, "", 0.8),
    "oracle/keeps_value_search": (0.9, "", 0.95),
    "oracle/mistakes_search_early_hard": (0.4, "", 0.2),
}


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    """The figures of three cycles, of which the second measured no mistakes."""
    rows = [",".join(map(str, row)) for row in zip(*COLUMNS.values(), strict=True)]
    path = tmp_path / "metrics.csv"
    path.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return path


def test_minutes_games_and_evaluations_add_up(metrics: Path) -> None:
    curve = plot_strength.read_curve(metrics)
    assert curve.along["minutes"] == pytest.approx(
        [1.0, 1.0 + 55 / 60 + 1.0]
    )  # 2 + 20 + 30 + 5 + 3 seconds, 55, then 60
    assert curve.along["games"].tolist() == [200.0, 400.0]
    assert curve.along["evaluations"].tolist() == [15_000.0, 30_000.0]
    assert [np.round(values, 6).tolist() for values in curve.mistakes.values()] == [
        [30.0, 20.0],
        [10.0, 5.0],
        [40.0, 20.0],
    ]


def test_a_run_of_another_game_has_no_curve_of_hard_positions(metrics: Path) -> None:
    metrics.write_text(metrics.read_text().replace("search_early_hard", "search_plies_5-18"))
    assert len(plot_strength.read_curve(metrics).mistakes) == 2


def test_neighbours_are_averaged() -> None:
    values = np.array([1.0, 2.0, 6.0, 10.0])
    assert plot_strength.smoothed(values, 3).tolist() == [1.5, 3.0, 6.0, 8.0]
    assert plot_strength.smoothed(values, 1).tolist() == values.tolist()


def test_a_run_without_figures_is_refused_in_one_sentence(tmp_path: Path, metrics: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        plot_strength.read_curve(tmp_path / "nowhere.csv")
    metrics.write_text(metrics.read_text().replace("selfplay/evaluations", "selfplay/others"))
    with pytest.raises(UserError, match="has no selfplay/evaluations for each cycle"):
        plot_strength.read_curve(metrics)
    metrics.write_text("cycle,time/selfplay\n1,2.0\n")
    with pytest.raises(UserError, match="holds no mistakes"):
        plot_strength.read_curve(metrics)


def test_a_picture_is_drawn(tmp_path: Path, metrics: Path) -> None:
    pytest.importorskip("matplotlib")
    curve = plot_strength.read_curve(metrics)
    for draw in (plot_strength.draw, plot_strength.draw_one_panel):
        draw({"one": curve, "two": curve}, 3, tmp_path / "strength.png")
        assert (tmp_path / "strength.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "strength.png").unlink()
