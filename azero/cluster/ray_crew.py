"""Workers as Ray actors, one or more on each machine of a cluster. The only module that imports Ray.

Ray is asked for little: to start a process on a machine, to call its methods, to move the network to each
machine once, and to report which machines and processes are there. Which worker runs where, what it plays and
what happens when it is lost is decided here and in `head`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from azero.cluster.guardian import guarded
from azero.cluster.head import Event, Joined, Lost, Reported
from azero.cluster.worker import Greeting, Order, Terms, WorkerProcess
from azero.config.schema import ClusterConfig, Config, UserError
from azero.process.machine import cores

NODES_SECONDS = 1.0  # between two looks at the machines
FETCH_SECONDS = 60.0  # that an answer takes from its machine when it is ready
START_SECONDS = 600.0  # that a worker gets to start; libraries may lie on a slow disk
REACH_SECONDS = 5.0  # to reach the address of a cluster
FAILURES = 3  # workers that could not begin, after which a machine is left alone for the stage


@dataclass
class Actor:
    """A worker process.

    Attributes:
        handle: Ray's.
        node: Ray's id of its machine.
        call: what is under way: "begin", "exchange" or "".
        until: `time.perf_counter()` at which it should have begun; the head watches the orders.
    """

    handle: Any
    node: str
    call: str = ""
    until: float = 0.0


def import_ray() -> Any:
    """Return the module `ray`, with usage statistics off and tokens on unless the user set them.

    Raises:
        UserError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as missing:
        raise UserError('cluster.address needs Ray; pip install "azero[cluster]".') from missing
    return ray


@contextlib.contextmanager
def tamed() -> Iterator[None]:
    """Undo what `ray.init` does to this process: it takes over SIGTERM and writes to the standard error.

    What it writes, from compiled code, repeats what it raises.
    """
    main = threading.current_thread() is threading.main_thread()
    handler, error = signal.getsignal(signal.SIGTERM), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(error, 2)
        os.close(error)
        os.close(nowhere)
        if main:
            signal.signal(signal.SIGTERM, handler)


def connect(config: ClusterConfig) -> None:
    """Connect this process to the cluster; do nothing if it is connected.

    Raises:
        UserError: Ray is missing, no cluster is there, or it does not fit this process.
    """
    ray = import_ray()
    if ray.is_initialized():
        return
    if os.environ["RAY_AUTH_MODE"] != "token" and config.tokens:
        raise UserError(
            f"RAY_AUTH_MODE={os.environ['RAY_AUTH_MODE']} lets everyone who reaches the cluster run code on "
            "it; unset it, or accept that with cluster.tokens=false."
        )
    local = config.address == "local"
    check_reachable(config.address)
    options = {"num_cpus": cores(), "include_dashboard": False} if local else {}
    if local:
        os.environ.setdefault("RAY_worker_niceness", "0")
    with tamed(), guarded() if local else contextlib.nullcontext():
        try:
            ray.init(config.address, log_to_driver=False, logging_level="ERROR", **options)
        except Exception as failure:
            raise UserError(refusal_of(config.address, failure)) from failure


def check_reachable(address: str) -> None:
    """Raise UserError unless somebody listens at host:port; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address in ("auto", "local"):
        return
    if not (colon and port.isdigit()):
        raise UserError(
            f"cluster.address={address} is none of: auto, local, ray://host:10001, host:6379 "
            "(docs/cluster.md)."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError) as failure:
        raise UserError(refusal_of(address, failure)) from failure


def refusal_of(address: str, failure: Exception) -> str:
    """Return one sentence for what `ray.init` raises."""
    text = " ".join(str(failure).split())
    if "version mismatch" in text.lower():
        where = text.partition("Version mismatch:")[2].strip() or text
        return f"The cluster {address} runs another Python or Ray: {where[:200].rstrip('. ')}."
    if type(failure).__name__ == "AuthenticationError" or "Failed to connect" in text:  # it is reachable
        return (
            f"The cluster {address} does not take this machine's token; copy ~/.ray/auth_token from its "
            "first machine, or set RAY_AUTH_TOKEN."
        )
    return (
        f"There is no Ray cluster at cluster.address={address}; start one with ray start --head "
        f"(docs/cluster.md), or use cluster.address=local. Ray says: {text[:160].rstrip('. ')}."
    )


class RayCrew:
    """The workers of a cluster. It starts them where there is room, and again where one was lost."""

    def __init__(self, config: ClusterConfig, threads: int, cuda: bool) -> None:
        """Connect.

        Args:
            config: the settings of the cluster.
            threads: of a worker; 0: one for each of its cores, two on a GPU.
            cuda: whether the network is computed on GPUs, one for each worker.

        Raises:
            UserError: see `connect`.
        """
        connect(config)
        self.ray = import_ray()
        self.config, self.threads, self.cuda = config, threads, cuda
        self.actors: dict[str, Actor] = {}
        self.calls: dict[Any, str] = {}  # reference of an answer to come: the worker that owes it
        self.refused: Counter[str] = Counter()  # by node, in all stages
        self.failed: Counter[str] = Counter()  # by node, in this stage
        self.names: dict[str, str] = {}  # of nodes, by id
        self.numbers = itertools.count(1)
        self.next_look = 0.0
        self.terms: Terms | None = None
        self.shared: Any = None
        self.events: list[Event] = []
        self.maker = self.ray.remote(WorkerProcess)

    def begin(self, terms: Terms) -> None:
        """Tell every worker of a stage; see `head.Crew`."""
        self.terms, self.shared = terms, self.ray.put(terms)
        self.calls, self.events, self.failed = {}, [], Counter()
        for name in self.actors:
            self._call(name, "begin")
        self._look_at_nodes()

    def poll(self, seconds: float) -> list[Event]:
        """Return what has happened; see `head.Crew`."""
        if time.perf_counter() >= self.next_look:
            self._look_at_nodes()
        if not self.calls:
            time.sleep(0 if self.events else seconds)
        elif self.events or self.ray.wait([*self.calls], timeout=seconds)[0]:
            for ready in self.ray.wait([*self.calls], num_returns=len(self.calls), timeout=0)[0]:
                self._receive(ready)
        now = time.perf_counter()
        for name, actor in list(self.actors.items()):
            if actor.call == "begin" and now > actor.until:
                self._lose(name, f"it has not begun for {START_SECONDS:.0f} s")
        events, self.events = self.events, []
        return events

    def send(self, worker: str, order: Order) -> None:
        """Send an order; see `head.Crew`."""
        if worker in self.actors:
            self._call(worker, "exchange", order)

    def interrupt(self) -> None:
        """Ask all workers to end their games now."""
        assert self.terms is not None
        for actor in self.actors.values():
            actor.handle.interrupt.remote(self.terms.stage)

    def refuse(self, worker: str) -> None:
        """End a worker; none is started in its place."""
        if worker in self.actors:
            self.refused[self.actors[worker].node] += 1
            self._end(worker)

    def replace(self, worker: str) -> None:
        """End a worker that has failed; the next look at the machines starts another one."""
        if worker in self.actors:
            self._end(worker)

    def starting(self) -> int:
        """Return how many workers are on their way."""
        return sum(actor.call == "begin" for actor in self.actors.values())

    def node_of(self, worker: str) -> str:
        """Return the name of a worker's machine."""
        return worker.rpartition("-")[0]

    def _look_at_nodes(self) -> None:
        """Start workers on machines that have room for more."""
        self.next_look = time.perf_counter() + NODES_SECONDS
        for node in self.ray.nodes():
            if not node["Alive"]:
                continue
            wanted, cpus, gpus = places(node["Resources"], self.config.cores, self.cuda)
            identity = node["NodeID"]
            there = sum(actor.node == identity for actor in self.actors.values()) + self.refused[identity]
            if self.failed[identity] < FAILURES:
                for _ in range(wanted - there):
                    self._start(identity, node["NodeManagerHostname"], cpus, gpus)

    def _start(self, node: str, host: str, cpus: float, gpus: float) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if node not in self.names:
            same = sum(name.split("#")[0] == host for name in self.names.values())
            self.names[node] = f"{host}#{same + 1}" if same else host
        name = f"{self.names[node]}-{next(self.numbers)}"
        there = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_concurrency": 4, "scheduling_strategy": there}
        threads = self.threads or (2 if self.cuda else max(1, int(cpus)))
        self.actors[name] = Actor(self.maker.options(**options).remote(threads), node)
        self._call(name, "begin")

    def _call(self, worker: str, method: str, order: Order | None = None) -> None:
        actor = self.actors[worker]
        actor.call, actor.until = method, time.perf_counter() + START_SECONDS
        self.calls[getattr(actor.handle, method).remote(order or self.shared)] = worker

    def _receive(self, reference: Any) -> None:
        worker = self.calls.pop(reference)
        if worker not in self.actors:
            return
        try:
            answer = self.ray.get(reference, timeout=FETCH_SECONDS)
        except Exception as failure:
            self._lose(worker, reason_of(failure))
            return
        self.actors[worker].call = ""
        joined = isinstance(answer, Greeting)
        self.events.append(Joined(worker, answer) if joined else Reported(worker, answer))

    def _lose(self, worker: str, reason: str) -> None:
        if self.actors[worker].call == "begin":
            self.failed[self.actors[worker].node] += 1
        self._end(worker)
        self.events.append(Lost(worker, reason))

    def _end(self, worker: str) -> None:
        actor = self.actors.pop(worker)
        self.calls = {reference: name for reference, name in self.calls.items() if name != worker}
        with contextlib.suppress(Exception):  # it may be gone already
            self.ray.kill(actor.handle)

    def close(self) -> None:
        """End all workers."""
        for worker in list(self.actors):
            self._end(worker)


def places(resources: dict[str, float], cores_each: int, cuda: bool) -> tuple[int, float, float]:
    """Return how many workers a machine has room for, and the CPUs and GPUs of each.

    Args:
        resources: of the machine, as Ray counts them.
        cores_each: of a worker; 0: all cores in one worker, or shared among the GPUs' workers.
        cuda: whether each worker computes on a GPU of its own.
    """
    cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0)) if cuda else 0
    if cuda:
        each = cores_each or max(1, cpus // max(1, gpus))
        return min(gpus, cpus // each), each, 1
    each = cores_each or cpus
    return (cpus // each if each else 0), each, 0


def reason_of(failure: Exception) -> str:
    """Return one line for what Ray raises about a worker."""
    cause = getattr(failure, "cause", None)
    if isinstance(cause, UserError):
        return str(cause)
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    if missing := next((line for line in lines if "No module named" in line), ""):
        return f"{missing}; install azero on its machine"
    return lines[0][:200] if lines else type(failure).__name__


CREWS: dict[tuple[object, ...], RayCrew] = {}  # at most one: a run keeps its workers from cycle to cycle


def crew_of(config: Config, device: str) -> RayCrew:
    """Return the workers of the cluster, connected; those of the last call if the settings are the same.

    Raises:
        UserError: Ray is missing, no cluster is there, or it does not fit this process.
    """
    wanted = (config.cluster, config.workers, device)
    if wanted not in CREWS:
        for crew in CREWS.values():
            crew.close()
        CREWS.clear()
        CREWS[wanted] = RayCrew(config.cluster, config.workers, device == "cuda")
    return CREWS[wanted]
