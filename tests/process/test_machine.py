"""How many cores there are: by affinity, and by the quota of a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from azero.process import machine


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 2),  # one and a half
        ("10000 100000", 1),
        ("1600000 100000", 8),  # more than the affinity allows
        ("nonsense", 8),
        (None, 8),  # no such file
    ],
)
def test_cores(quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.process.machine.os.sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        machine.QUOTA.write_text(f"{quota}\n")
    assert machine.cores() == cores
