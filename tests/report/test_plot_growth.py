"""How cost grows: what is measured, that every simulation is counted, and the table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from places import SCRIPTS

from azero.games import make_game
from azero.process.signals import StopSignal
from azero.workers.threads import GameQueue

sys.path.insert(0, str(SCRIPTS))
import plot_growth


def test_one_thing_varies_at_a_time() -> None:
    for point in plot_growth.points(quick=False):
        plain = plot_growth.Point("", 0)
        changed = [
            name
            for name in ("games_at_once", "simulations", "size", "workers")
            if getattr(point, name) != getattr(plain, name)
        ]
        assert len(changed) <= 1, point
        assert not changed or getattr(point, changed[0]) == point.value


def test_games_in_flight_are_counted_too() -> None:
    """Stopped at once or played to the end: moves of 4 simulations, and the rest of the last ones."""
    game = make_game("tictactoe")
    point = plot_growth.Point("", 0, game="tictactoe", games_at_once=3, simulations=4, workers=1)
    (worker,) = plot_growth.make_workers(point, (1, 4), game)
    queue = GameQueue(iter(range(5)))
    worker.play(queue, np.arange(5, dtype=np.uint64), StopSignal())
    moves = sum(len(record.actions) for record in queue.records)
    assert worker.simulations_made() == worker.stats.simulations == 4 * moves

    (worker,) = plot_growth.make_workers(point, (1, 4), game)
    stop = StopSignal()
    infer = worker.inference.infer
    waves = 0

    def stopping(planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        nonlocal waves
        waves += 1
        stop.requested = waves == 8
        return infer(planes, rows)

    worker.inference.infer = stopping  # type: ignore[method-assign]
    worker.play(GameQueue(iter(range(5))), np.arange(5, dtype=np.uint64), stop)
    assert worker.stats.games == 0
    assert worker.simulations_made() == 3 * 7  # three games; the first of 8 waves expanded their roots


def test_the_table_has_a_line_a_point() -> None:
    measured = [(plot_growth.Point("workers", 1), 1234.5), (plot_growth.Point("workers", 2), 2000.0)]
    assert plot_growth.table(measured).splitlines()[2:] == [
        "| workers | 1 | 1,234 |",
        "| workers | 2 | 2,000 |",
    ]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    measured = [(point, 1000.0 + point.value) for point in plot_growth.points(quick=False)]
    plot_growth.draw(measured, "a title", tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
