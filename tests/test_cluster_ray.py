"""Self-play over Ray: real worker processes on two pretended machines, killed while they play.

Long: Ray takes seconds to start. `.ci/run` runs these after the suite.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from azero.cluster.ray_crew import places, reason_of, refusal_of
from azero.config.schema import Config, UserError
from azero.run.run import Run, run_digest
from azero.run.state import State

EXACT = (
    *("device=cpu", "workers=1", "inference.backend=torch", "inference.precision=fp32"),
    "train.precision=fp32",
)
LEARNS = ("cycles=5", "seed=1", *EXACT)  # to 11 of 11 fixed positions, as `conftest.trained_run`
TINY = ("experiment=smoke", "cycles=3", "selfplay.games=160", "selfplay.concurrent_games=16", *EXACT)
WAIT_SECONDS = 280.0


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[Any, Any]]:
    """Two pretended machines with two cores each, as `ray start` would make them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "token")):
            patch.setenv(name, value)
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # a new user has no ~/.ray/auth_token
        pytest.importorskip("ray", reason="Ray is not installed")
        from ray.cluster_utils import Cluster

        cluster = Cluster(True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        try:
            second = cluster.add_node(num_cpus=2)
            yield cluster, second
        finally:
            cluster.shutdown()


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def ending_all() -> Iterator[None]:
    """Leave no run behind, whatever a test finds."""
    yield
    for process in STARTED:
        if process.poll() is None:
            process.kill()
            process.communicate()
    STARTED.clear()


def loop(folder: Path, *arguments: str, **popen: Any) -> subprocess.Popen[str]:
    """Start a run in a folder."""
    command = [sys.executable, "-m", "azero.loop", "run=toy", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    STARTED.append(subprocess.Popen(command, cwd=folder, **{**pipes, **popen}))
    return STARTED[-1]


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    """Wait for the end of a run; return what it printed."""
    output, _ = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == status, output
    return output


def state_of(folder: Path) -> State | None:
    """What the run of a folder has committed."""
    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    with contextlib.suppress(UserError):
        return Run.read(config, "toy").state
    return None


def place_of(folder: Path) -> tuple[int, str]:
    """How far the run of a folder is: finished cycles and the stage that comes next."""
    state = state_of(folder)
    return (state.cycle, state.stage) if state else (-1, "")


def is_at(folder: Path, place: tuple[int, str]) -> bool:
    """Whether the run of a folder has come so far."""
    return place_of(folder) >= place


def digest_of(folder: Path) -> str:
    state = state_of(folder)
    assert state is not None
    return run_digest(state)


def wait_for(what: Callable[[], Any]) -> Any:
    """Return the first true answer."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(0.02)
    raise AssertionError("waited too long")


def worker_processes() -> list[int]:
    """The processes of workers on this machine that belong to this test's Ray."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                environment = (folder / "environ").read_bytes()
                if command.startswith(b"ray::WorkerProcess") and MARK in environment:
                    found.append(int(folder.name))
    return found


MARK = b"AZERO_TEST_CLUSTER=%d" % os.getpid()
os.environ["AZERO_TEST_CLUSTER"] = str(os.getpid())  # Ray's processes inherit it


@pytest.fixture
def cluster(machines: tuple[Any, Any]) -> Any:
    """The cluster alone."""
    return machines[0]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the tiny run without Ray."""
    folder = tmp_path_factory.mktemp("tiny")
    ended(loop(folder, *TINY))
    return digest_of(folder)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_node_that_is_killed_in_the_middle_changes_no_byte_and_the_run_learns(
    machines: tuple[Any, Any], tmp_path: Path
) -> None:
    """Tic-tac-toe to 11 of 11 on two machines; one is killed in cycle 2, another joins later."""
    cluster, second = machines
    plain, spread = tmp_path / "plain", tmp_path / "spread"
    for folder in (plain, spread):
        folder.mkdir()
    run = loop(spread, *LEARNS, f"cluster.address={cluster.address}", "cluster.cores=2")
    alone = ended(loop(plain, *LEARNS))
    wait_for(lambda: place_of(spread) >= (1, ""))
    cluster.remove_node(second, allow_graceful=False)
    wait_for(lambda: place_of(spread) >= (2, ""))
    cluster.add_node(num_cpus=2)
    output = ended(run)
    right = next(line for line in output.splitlines() if line.startswith("PV-MCTS"))
    assert right.split()[-1] == "11", output
    assert digest_of(spread) == digest_of(plain), alone + output


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_worker_killed_in_each_cycle_changes_no_byte(cluster: Any, tmp_path: Path, tiny: str) -> None:
    run = loop(tmp_path, *TINY, f"cluster.address={cluster.address}", "cluster.cores=1")
    for cycle in range(3):
        wait_for(partial(is_at, tmp_path, (cycle, "selfplay")))
        with contextlib.suppress(ProcessLookupError):
            os.kill(wait_for(worker_processes)[0], signal.SIGKILL)
        wait_for(partial(is_at, tmp_path, (cycle + 1, "")))
    ended(run)
    assert digest_of(tmp_path) == tiny


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_killed_head_leaves_no_worker_behind_and_goes_on_by_the_same_command(
    cluster: Any, tmp_path: Path, tiny: str
) -> None:
    words = (*TINY, f"cluster.address={cluster.address}", "cluster.cores=2")
    run = loop(tmp_path, *words)
    wait_for(lambda: place_of(tmp_path) >= (1, ""))
    wait_for(worker_processes)
    run.kill()
    run.communicate()
    wait_for(lambda: not worker_processes())
    again = loop(tmp_path, *words)
    wait_for(worker_processes)
    again.send_signal(signal.SIGINT)
    ended(again, 130)
    wait_for(lambda: not worker_processes())
    ended(loop(tmp_path, *words))
    assert digest_of(tmp_path) == tiny


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_node_that_computes_differently_is_refused(cluster: Any, tmp_path: Path, tiny: str) -> None:
    """oneDNN without AVX adds in another order, as an older processor does."""
    odd = cluster.add_node(num_cpus=1, env_vars={"ONEDNN_MAX_CPU_ISA": "SSE41"})
    try:
        output = ended(loop(tmp_path, *TINY, f"cluster.address={cluster.address}", "cluster.cores=1"))
    finally:
        cluster.remove_node(odd)
    assert "was refused: it computes the network differently" in output, output
    assert digest_of(tmp_path) == tiny


@pytest.mark.long
@pytest.mark.parametrize(
    "address, told",
    [
        ("127.0.0.1:1", "no Ray cluster at cluster.address=127.0.0.1:1"),
        ("ray://127.0.0.1:1", "no Ray cluster at cluster.address=ray://127.0.0.1:1"),
        ("somewhere", "cluster.address=somewhere is none of: auto, local"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, address: str, told: str
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    output = ended(loop(tmp_path, "experiment=smoke", f"cluster.address={address}"), 2)
    assert told in output and len(output.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_without_the_extra_the_command_to_install_it_is_printed(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['ray'] = None; sys.argv = ['azero', 'smoke', 'cluster.address=local']; "
    start = "import runpy; runpy.run_module('azero.loop', run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [sys.executable, "-c", hidden + start], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert done.stderr == 'azero: cluster.address needs Ray; pip install "azero[cluster]".\n'


def test_tokens_switched_off_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    open_mode = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    output = ended(loop(tmp_path, "experiment=smoke", "cluster.address=local", env=open_mode), 2)
    assert "RAY_AUTH_MODE=disabled lets everyone" in output and "cluster.tokens=false" in output
    assert len(output.strip().splitlines()) == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "resources, cores, cuda, workers",
    [
        ({"CPU": 16.0}, 0, False, (1, 16, 0)),
        ({"CPU": 16.0}, 5, False, (3, 5, 0)),
        ({"CPU": 16.0, "GPU": 4.0}, 0, False, (1, 16, 0)),
        ({"CPU": 16.0, "GPU": 4.0}, 0, True, (4, 4, 1)),  # a worker a GPU, the cores shared
        ({"CPU": 16.0, "GPU": 4.0}, 8, True, (2, 8, 1)),
        ({"CPU": 16.0}, 0, True, (0, 16, 1)),  # no GPU: no worker
        ({}, 0, False, (0, 0, 0)),  # a head started with --num-cpus=0
    ],
)
def test_the_workers_of_a_machine_go_by_its_cores_and_gpus(
    resources: dict[str, float], cores: int, cuda: bool, workers: tuple[int, float, float]
) -> None:
    assert places(resources, cores, cuda) == workers


def test_what_ray_raises_becomes_one_sentence() -> None:
    mismatch = RuntimeError(
        "Version mismatch: The cluster was started with:\n    Ray: 2.60.0\n    Python: 3.12.1"
    )
    told = refusal_of("auto", mismatch)
    assert told.startswith("The cluster auto runs another Python or Ray: The cluster was started with: Ray")
    assert "\n" not in told
    assert "token" in refusal_of("h:1", ConnectionError("Failed to connect to Ray cluster at h:1."))
    lost = RuntimeError("The actor died\n  File x\nModuleNotFoundError: No module named 'azero'")
    assert reason_of(lost) == "ModuleNotFoundError: No module named 'azero'; install azero on its machine"
