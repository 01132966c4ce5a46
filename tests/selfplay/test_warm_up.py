"""Compiling ahead leaves on disk all but self-play's longest kernel; self-play is noted when it has run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config
from numba.core.event import end_event, start_event
from waiting import wait_for

from azero.kernels import compiling as kernels
from azero.kernels.compiling import compiled_before, note_compiled
from azero.stages import warm_up
from azero.studio.processes import is_running

NEEDED = (
    "games.start_games",
    "mcts.receive_evaluations",
    "mcts.search_wave",
    "searches.start_searches",
    "lockstep.step_games",
    "uct.search_positions",
    "alpha_beta.search_on",
    "solve.",
)


@pytest.mark.long
@pytest.mark.timeout(960)
def test_it_compiles_all_but_the_wave_of_self_play(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "azero.stages.warm_up", "gumbel"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        assert process.wait(timeout=900) == 0
    kept = [path.name for path in tmp_path.rglob("*.nbc")]
    for name in NEEDED:
        assert any(file.startswith(name) for file in kept), name
    assert not any(file.startswith("games.play_wave") for file in kept)


def test_one_core_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(warm_up, "STARTED", [])
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **_: started.append(arguments))
    monkeypatch.setattr(warm_up, "cores", lambda: 1)
    warm_up.start("gumbel")
    assert not started
    monkeypatch.setattr(warm_up, "cores", lambda: 2)
    warm_up.start("gumbel")
    assert len(started) == 1 and "gumbel" in str(started)


def test_it_ends_with_the_process_that_started_it() -> None:
    """The parent ends without a word to it, as one that is killed; its end of the pipe closes."""
    code = (
        "import os\nfrom azero.stages import warm_up\nwarm_up.cores = lambda: 2\nwarm_up.start('puct')\n"
        "print(warm_up.STARTED[0].pid, flush=True)\nos._exit(137)\n"
    )
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    child = int(parent.stdout)
    wait_for(lambda: not is_running(child, "azero.stages.warm_up"))


def test_seconds_of_compiling_are_those_in_which_any_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads compile from 1 to 4 and from 2 to 6, later from 10 to 11: 5 s and 1 s."""
    now = [0.0]
    monkeypatch.setattr("azero.kernels.compiling.time.perf_counter", lambda: now[0])
    with kernels.CompileTimer() as timer:
        for moment, change in ((1, start_event), (2, start_event), (4, end_event), (6, end_event)):
            now[0] = moment
            change(kernels.COMPILER)
        assert timer.seconds == 5.0
        for moment, change in ((10, start_event), (11, end_event)):
            now[0] = moment
            change(kernels.COMPILER)
    start_event(kernels.COMPILER)
    now[0] = 20
    end_event(kernels.COMPILER)
    assert timer.seconds == 6.0


def test_each_kind_of_search_is_noted_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    assert not compiled_before("puct")
    note_compiled("puct")
    assert compiled_before("puct") and not compiled_before("gumbel")
    monkeypatch.setattr(kernels, "_RUN_HERE", set())  # another process
    assert compiled_before("puct") and not compiled_before("gumbel")


def test_without_a_folder_nothing_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", os.devnull)
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    note_compiled("puct")
    assert compiled_before("puct")  # in this process
    monkeypatch.setattr(kernels, "_RUN_HERE", set())
    assert not compiled_before("puct")
