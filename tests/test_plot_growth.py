"""How cost grows: what is measured, that every simulation is counted, and the table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from azero.examples import GameRecord
from azero.games import make_game
from azero.lanes import GameQueue
from azero.signals import StopSignal

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
import plot_growth  # noqa: E402


def test_one_thing_varies_at_a_time() -> None:
    for point in plot_growth.points(quick=False):
        plain = plot_growth.Point("", 0)
        changed = [
            name for name in ("games_at_once", "simulations", "size", "lanes") if getattr(point, name) != getattr(plain, name)
        ]
        assert len(changed) <= 1, point
        assert not changed or getattr(point, changed[0]) == point.value


def test_games_in_flight_are_counted_too() -> None:
    """Stopped at once or played to the end: finished moves of 4 simulations each, and what the last searches had begun."""
    game = make_game("tictactoe")
    point = plot_growth.Point("", 0, game="tictactoe", games_at_once=3, simulations=4, lanes=1)
    (lane,) = plot_growth.make_lanes(point, (1, 4), game)
    games: list[GameRecord] = []
    lane.play(GameQueue(iter(range(5))), np.arange(5, dtype=np.uint64), games.append, StopSignal())
    assert lane.simulations_made() == lane.figures.simulations == 4 * sum(len(record.actions) for record in games)

    (lane,) = plot_growth.make_lanes(point, (1, 4), game)
    stop = StopSignal()
    infer = lane.inference.infer
    waves = 0

    def stopping(planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        nonlocal waves
        waves += 1
        stop.requested = waves == 8
        return infer(planes, rows)

    lane.inference.infer = stopping  # type: ignore[method-assign]
    lane.play(GameQueue(iter(range(5))), np.arange(5, dtype=np.uint64), games.append, stop)
    assert lane.figures.games == 0
    assert lane.simulations_made() == 3 * 7  # three games; the first of 8 waves expanded their roots


def test_the_table_has_a_line_a_point() -> None:
    measured = [(plot_growth.Point("lanes", 1), 1234.5), (plot_growth.Point("lanes", 2), 2000.0)]
    assert plot_growth.table(measured).splitlines()[2:] == ["| lanes | 1 | 1,234 |", "| lanes | 2 | 2,000 |"]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    measured = [(point, 1000.0 + point.value) for point in plot_growth.points(quick=False)]
    plot_growth.draw(measured, "a title", tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
