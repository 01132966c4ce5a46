"""Forks are forks, which is what makes them fast, unless the environment forbids it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from forks import BOX, azero_command, forked


@pytest.mark.parametrize(
    ("name", "imported"), [("LINES", True), ("TORCHINDUCTOR_CACHE_DIR", True), ("PYTHONHASHSEED", False)]
)
def test_a_fork_has_what_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, imported: bool
) -> None:
    """torch sets TORCHINDUCTOR_CACHE_DIR where it trains: what that worker started then began anew."""
    (tmp_path / "show.py").write_text(
        "import os, sys\nprint('torch' in sys.modules, os.environ[sys.argv[1]])"
    )
    command = forked("show", name)
    monkeypatch.setenv(name, "77")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == [str(imported), "77"]


def test_who_asked_for_a_fork_ends_as_it_does(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os, sys\nos.kill(os.getpid(), int(sys.argv[1]))")
    for number in (signal.SIGKILL, signal.SIGTERM):
        assert subprocess.run(forked("ends", str(number.value)), cwd=tmp_path).returncode == -number


def test_a_fork_has_the_box_of_champions_if_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = []
    for asked in (False, True):
        if asked:
            monkeypatch.setenv(BOX, "1")
        lists.append(subprocess.run(azero_command("runs"), capture_output=True, text=True, cwd=tmp_path))
    assert ["shipped/hex7" in done.stdout for done in lists] == [False, True]
