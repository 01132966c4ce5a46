"""Every benchmark says what it does when asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
ASKED = ("bench_selfplay.py", "bench_train.py", "plot_growth.py", "experiments/training_precision.py", "peers/compare.py")


@pytest.mark.parametrize("script", ASKED)
def test_help_is_the_script_s_own_first_lines(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--help"], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first = (SCRIPTS / script).read_text().removeprefix('"""').splitlines()[0]
    assert first in done.stdout and not list(tmp_path.iterdir())
