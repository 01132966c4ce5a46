"""Self-play and matches over Ray: real worker processes on two pretended machines, killed while they play.

Long: Ray takes seconds to start. `.ci/run` runs these after the suite. One cluster serves all, and one crew
those whose head is this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from forks import azero_command, forked
from toy import NAME, StopInside, Told, advance, toy_config
from toy import digest_of as toy_digest
from waiting import PATIENCE, wait_for

from azero.cluster import head
from azero.cluster.guardian import MARK
from azero.cluster.head import Event, Joined, Reported
from azero.cluster.kinds import MATCH
from azero.cluster.ray_crew import RayCrew, check_reachable, places, reason_of, refusal_of
from azero.config.schema import ClusterConfig, Config, EvaluateConfig, UserError
from azero.loop import run_cycles
from azero.process.signals import Stopped
from azero.run.run import Run
from azero.run.state import StageName, State, run_digest
from azero.stages import executor

EXACT = (
    *("device=cpu", "workers=1", "inference.backend=torch", "inference.precision=fp32"),
    "train.precision=fp32",
)
LEARNS = ("cycles=5", "seed=1", *EXACT)  # to 11 of 11 fixed positions, as `conftest.trained_run`
TINY = ("experiment=smoke", "cycles=3", "selfplay.games=160", "selfplay.concurrent_games=16", *EXACT)
GATE = EvaluateConfig(games=60, opening_plies=2, num_simulations=200)

TOKEN = secrets.token_hex(32)  # one for all clusters of this process: Ray reads it once


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[Any, Any]]:
    """Two pretended machines with two cores each, as `ray start` would make them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "token")):
            patch.setenv(name, value)
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)  # a new user has no ~/.ray/auth_token
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
    output, _ = process.communicate(timeout=PATIENCE)
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


def digest_of(folder: Path) -> str:
    state = state_of(folder)
    assert state is not None
    return run_digest(state)


def commands_with(mark: bytes) -> dict[bytes, int]:
    """The processes on this machine with a mark in their environment, by command."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes():
                found[b"%s %s" % ((folder / "cmdline").read_bytes(), folder.name.encode())] = int(folder.name)
    return found


def worker_processes() -> list[int]:
    """The processes of workers on this machine that belong to this test's cluster, oldest first."""
    found = commands_with(b"AZERO_TEST_CLUSTER=%d" % os.getpid())
    return sorted(pid for command, pid in found.items() if command.startswith(b"ray::WorkerProcess"))


os.environ["AZERO_TEST_CLUSTER"] = str(os.getpid())  # Ray's processes inherit it


@pytest.fixture(scope="module")
def crew(machines: tuple[Any, Any]) -> Iterator[RayCrew]:
    """A worker on each of the machines; this process is the head."""
    crew = RayCrew(ClusterConfig(address=machines[0].address), threads=1, cuda=False)
    yield crew
    crew.close()
    crew.ray.shutdown()


@pytest.fixture
def config(crew: RayCrew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A toy run that plays with the crew."""
    monkeypatch.setattr(executor, "crew_of", lambda config, device: crew)
    return replace(toy_config(tmp_path), cluster=crew.config)


class Disturbing(Told):
    """Sends a signal to workers in the first moment of each cycle in which games are finished."""

    def __init__(self, number: signal.Signals, workers: int) -> None:
        super().__init__()
        self.number, self.workers, self.hit = number, workers, list[int]()

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, *of: Any) -> Iterator[Any]:
        with super().stage(name, cycle, *of) as progress:

            def disturb() -> None:
                due = name == StageName.SELFPLAY and len(self.hit) < cycle * self.workers
                if due and 0 < progress.done < 40:
                    self.hit += (chosen := worker_processes()[: self.workers])
                    for process in chosen:
                        os.kill(process, self.number)

            progress.observe = disturb
            yield progress


@pytest.mark.long
@pytest.mark.parametrize("number, workers", [(signal.SIGKILL, 1), (signal.SIGSTOP, 2)])
def test_a_worker_that_is_killed_or_hangs_in_each_cycle_changes_no_byte(
    config: Config, undisturbed: str, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, workers: int
) -> None:
    """Of two workers one is killed and the other goes on; or both hang until others are started."""
    monkeypatch.setattr(head, "SILENT_SECONDS", 3.0)
    report = Disturbing(number, workers)
    advance(config, report=report)
    assert toy_digest(config) == undisturbed
    assert sum(" was lost: " in line for line in report.messages) >= 1
    for process in set(report.hit) & set(worker_processes()):
        os.kill(process, signal.SIGKILL)  # Ray ends a stopped process late, and once not within five minutes


class KillingInTraining(Told):
    """Waits in the first step of training until workers play the next cycle, and kills one of them."""

    def __init__(self, crew: RayCrew) -> None:
        super().__init__()
        self.crew, self.killed = crew, list[int]()

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        if not self.killed:
            wait_for(lambda: self.crew.terms and self.crew.terms.cycle == 2)
            self.killed.append(wait_for(worker_processes)[0])
            os.kill(self.killed[0], signal.SIGKILL)


@pytest.mark.long
def test_games_played_while_the_head_trains_are_those_of_the_rule(
    crew: RayCrew, config: Config, tmp_path: Path
) -> None:
    """The rule alone, without Ray; then games beside training, a worker killed, and a stop there."""
    alone = replace(toy_config(tmp_path / "alone"), cycles=3, cluster=ClusterConfig(overlap=True))
    advance(alone)
    config = replace(config, cycles=3, cluster=replace(crew.config, overlap=True))
    report = KillingInTraining(crew)
    with Run.open(config, "toy", "test") as run, pytest.raises(Stopped):
        run_cycles(config, run, report, StopInside(run, 1, "train", 3))
    advance(config)
    assert toy_digest(config) == toy_digest(alone) and report.killed


@pytest.mark.long
def test_tic_tac_toe_with_a_gate_is_the_same_on_two_workers_of_which_one_dies_in_each_match(
    crew: RayCrew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = toy_config(tmp_path / "alone", evaluate=GATE)
    advance(alone)
    processes, killed, poll = dict[str, int](), dict[int, str](), crew.poll

    def kill_one_in_each_match(seconds: float) -> list[Event]:
        events = poll(seconds)
        for event in events:
            if isinstance(event, Joined):
                processes[event.worker] = event.greeting.process
            if not isinstance(event, Reported) or not event.report or not crew.terms:
                continue
            more = 0 < len(event.report.answers) < 4  # it has more to play
            if crew.terms.kind is MATCH and more and crew.terms.cycle not in killed:
                killed[crew.terms.cycle] = event.worker
                os.kill(processes[event.worker], signal.SIGKILL)
        return events

    monkeypatch.setattr(crew, "poll", kill_one_in_each_match)
    monkeypatch.setattr(executor, "crew_of", lambda config, device: crew)
    spread = replace(toy_config(tmp_path / "spread", evaluate=GATE), cluster=crew.config)
    report = Told()
    advance(spread, report=report)
    one, other = (Run.read(config, NAME).state.history for config in (alone, spread))
    assert other == one and one[0]["games"] == 60  # scores, who was promoted, champions
    assert toy_digest(spread) == toy_digest(alone)
    assert killed
    for name in killed.values():
        assert any(f"{name} was lost" in line for line in report.messages)


@pytest.mark.long
def test_a_node_that_computes_differently_is_refused(
    machines: tuple[Any, Any],
    crew: RayCrew,
    config: Config,
    undisturbed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """oneDNN without AVX adds in another order, as an older processor does."""
    advance(replace(config, cycles=1))
    odd = machines[0].add_node(num_cpus=1, env_vars={"ONEDNN_MAX_CPU_ISA": "SSE41"})
    report, poll, held = Told(), crew.poll, list[Event]()

    def has_begun() -> bool:
        poll(0.1)
        return any(actor.node == odd.node_id and not actor.call for actor in crew.actors.values())

    def after_the_odd(seconds: float) -> list[Event]:
        """Hold back what the others answer until the odd one has: they would have played everything."""
        held.extend(poll(seconds))
        if any(actor.node == odd.node_id and actor.call for actor in crew.actors.values()):
            return []
        events, held[:] = held[:], []
        return events

    try:
        wait_for(has_begun)  # the toy run is over before a process can start
        monkeypatch.setattr(crew, "poll", after_the_odd)
        advance(config, report=report)
    finally:
        machines[0].remove_node(odd)
    assert any("was refused: it computes the network differently" in line for line in report.messages)
    assert toy_digest(config) == undisturbed


@pytest.mark.long
def test_each_gpu_has_a_worker_that_sees_no_other(
    machines: tuple[Any, Any],
    crew: RayCrew,
    config: Config,
    undisturbed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ray counts two GPUs that are not there; the terms of a stage tell the workers to compute on the CPU."""
    node = machines[0].add_node(num_cpus=2, num_gpus=2)
    gpus = RayCrew(crew.config, threads=0, cuda=True)
    try:
        monkeypatch.setattr(executor, "crew_of", lambda config, device: gpus)
        advance(config)
        seen = {
            gpus.ray.get(actor.handle.__ray_call__.remote(lambda worker: os.environ["CUDA_VISIBLE_DEVICES"]))
            for actor in gpus.actors.values()
        }
        threads = [
            gpus.ray.get(actor.handle.__ray_call__.remote(lambda worker: worker.threads))
            for actor in gpus.actors.values()
        ]
        assert {actor.node for actor in gpus.actors.values()} == {node.node_id}
    finally:
        gpus.close()
        machines[0].remove_node(node)
    assert seen == {"0", "1"} and threads == [2, 2]
    assert toy_digest(config) == undisturbed


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_head_and_a_node_that_are_killed_change_no_byte_and_the_run_learns(
    machines: tuple[Any, Any], crew: RayCrew, tmp_path: Path
) -> None:
    """Tic-tac-toe to 11 of 11 on two machines; Ctrl-C; the head is killed, then a machine; another joins."""
    cluster, second = machines
    plain, spread = tmp_path / "plain", tmp_path / "spread"
    for folder in (plain, spread):
        folder.mkdir()
    crew.close()  # it has all cores
    wait_for(lambda: not worker_processes())
    alone = loop(plain, *LEARNS)
    words = (*LEARNS, f"cluster.address={cluster.address}")
    run = loop(spread, *words)
    wait_for(worker_processes)
    run.send_signal(signal.SIGINT)
    ended(run, 130)
    wait_for(lambda: not worker_processes())
    run = loop(spread, *words)
    wait_for(lambda: place_of(spread) >= (1, "") and worker_processes())
    run.kill()
    run.communicate()
    wait_for(lambda: not worker_processes())
    run = loop(spread, *words)
    wait_for(lambda: place_of(spread) >= (2, "") and worker_processes())
    cluster.remove_node(second, allow_graceful=False)
    wait_for(lambda: place_of(spread) >= (3, ""))
    cluster.add_node(num_cpus=2)
    output, told = ended(run), ended(alone)
    right = next(line for line in output.splitlines() if line.startswith("PV-MCTS"))
    assert right.split()[-1] == "11", output
    assert digest_of(spread) == digest_of(plain), told + output


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_left_of_a_local_ray_whose_head_is_killed(
    tmp_path: Path, machines: tuple[Any, Any]
) -> None:
    """Also not the processes of Ray that only its first process knew."""
    run = loop(tmp_path, *TINY, "cluster.address=local")
    mark = f"{MARK}={run.pid}-".encode()
    wait_for(lambda: any(b"ray::WorkerProcess" in command for command in commands_with(mark)))
    assert len(commands_with(mark)) > 4  # raylet, GCS, agents, workers
    run.kill()
    run.communicate()
    wait_for(lambda: not commands_with(mark))


@pytest.mark.parametrize(
    "address, told",
    [
        ("127.0.0.1:1", "no Ray cluster at cluster.address=127.0.0.1:1"),
        ("ray://127.0.0.1:1", "no Ray cluster at cluster.address=ray://127.0.0.1:1"),
        ("somewhere", "cluster.address=somewhere is none of: auto, local"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_sentence(address: str, told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)) as failure:
        check_reachable(address)
    assert "\n" not in str(failure.value)


@pytest.mark.long
def test_without_a_cluster_nothing_is_written(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    output = ended(loop(tmp_path, "experiment=smoke", "cluster.address=127.0.0.1:1"), 2)
    assert "no Ray cluster at cluster.address=127.0.0.1:1" in output
    assert len(output.strip().splitlines()) == 1 and not list(tmp_path.iterdir())


def test_without_the_extra_the_command_to_install_it_is_printed(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['ray'] = None; sys.argv = ['azero', 'smoke', 'cluster.address=local']; "
    start = "import runpy; runpy.run_module('azero.loop', run_name='__main__', alter_sys=True)"
    (tmp_path / "hidden.py").write_text(hidden + start)
    done = subprocess.run(forked("hidden"), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert {path.name for path in tmp_path.iterdir()} == {"hidden.py", "__pycache__"}
    assert done.stderr == 'azero: cluster.address needs Ray; pip install "azero[cluster]".\n'


def test_tokens_switched_off_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    open_mode = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    command = azero_command("loop", "smoke", "cluster.address=local")
    done = subprocess.run(command, env=open_mode, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    output = done.stdout + done.stderr
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
