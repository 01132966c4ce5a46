"""What compiles ahead leaves on the disk what a run needs after self-play; self-play itself is noted when it has run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from azero import compile_ahead
from azero.search import kernels
from azero.search.kernels import compiled_before, note_compiled

NEEDED = (
    "mcts.search_wave",
    "pv_mcts.start_searches",
    "match.step_games",
    "uct.search_positions",
    "alpha_beta.search_on",
    "solvers.",
)


@pytest.mark.long
def test_it_compiles_what_matches_and_the_table_need_and_no_self_play(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "azero.compile_ahead", "gumbel"], env=environment, check=True, timeout=300)
    kept = [path.name for path in tmp_path.rglob("*.nbc")]
    for name in NEEDED:
        assert any(file.startswith(name) for file in kept), name
    assert not any(file.startswith("lane.") for file in kept)


def test_one_core_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(compile_ahead, "STARTED", [])
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **_: started.append(arguments))
    monkeypatch.setattr(compile_ahead, "cores", lambda: 1)
    compile_ahead.start("gumbel")
    assert not started
    monkeypatch.setattr(compile_ahead, "cores", lambda: 2)
    compile_ahead.start("gumbel")
    assert len(started) == 1 and "gumbel" in str(started)


def test_each_kind_of_search_is_noted_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    assert not compiled_before("puct")
    note_compiled("puct")
    assert compiled_before("puct") and not compiled_before("gumbel")
    monkeypatch.setattr(kernels, "_RUN_HERE", set())  # another process
    assert compiled_before("puct") and not compiled_before("gumbel")


def test_without_a_folder_nothing_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    note_compiled("puct")
    assert compiled_before("puct")  # in this process
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    assert not compiled_before("puct")
