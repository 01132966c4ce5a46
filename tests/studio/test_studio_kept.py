"""No game is lost through sixty kills and restarts of the studio; RESULTS.json has 200."""

from __future__ import annotations

import subprocess
import sys

import pytest
from places import SCRIPTS

pytest.importorskip("starlette", reason="the extra studio is not installed")
pytest.importorskip("uvicorn", reason="the extra studio is not installed")


@pytest.mark.long
def test_no_game_is_lost_through_kills_and_restarts() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "kept_games.py"), "--rounds", "60"],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    print(done.stdout, done.stderr)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("0 lost games, 0 lost lines")
