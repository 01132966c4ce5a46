"""Crews of workers in this process, or in processes of their own: head and workers are real, Ray is not.

Faults come on request.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import resource
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from azero.cluster.head import Event, Joined, Lost, Reported
from azero.cluster.worker import Greeting, Order, Report, Terms, WorkerProcess

Change = Callable[[Greeting], Greeting]


class NearCrew:
    """Workers called by threads of this process.

    Attributes:
        changes: what to make of a worker's greeting, by name.
        on_report: called with a worker's name and each of its reports, before the head sees it.
        deadly: games that kill a worker as soon as it gets them.
    """

    def __init__(self, workers: int = 1, threads: int = 1, changes: dict[str, Change] | None = None) -> None:
        self.processes = {f"near-{number + 1}": WorkerProcess(threads) for number in range(workers)}
        self.threads, self.changes = threads, changes or {}
        self.executor = ThreadPoolExecutor(16)
        self.events: queue.Queue[Event] = queue.Queue()
        self.begun: set[str] = set()
        self.refused: list[str] = []
        self.terms: Terms | None = None
        self.on_report: Callable[[str, Report], None] = lambda name, report: None
        self.deadly: set[int] = set()

    def begin(self, terms: Terms) -> None:
        self.terms, self.events, self.begun = terms, queue.Queue(), set()
        for name in self.processes:
            self.start(name)

    def start(self, name: str) -> None:
        """Let a worker prepare for the stage."""
        process = self.processes.setdefault(name, WorkerProcess(self.threads))
        assert self.terms is not None
        call = self.executor.submit(process.begin, self.terms)
        call.add_done_callback(lambda done: self.answered(name, process, done))

    def answered(self, name: str, process: WorkerProcess, done: Future[Any]) -> None:
        """Pass on an answer, unless its worker has been killed."""
        if self.processes.get(name) is not process:
            return
        if failure := done.exception():
            self.kill(name, str(failure))
            return
        answer = done.result()
        if isinstance(answer, Greeting):
            self.begun.add(name)
            change = self.changes.get(name, lambda greeting: greeting)
            self.events.put(Joined(name, change(answer)))
        else:
            if answer is not None:
                self.on_report(name, answer)
            if self.processes.get(name) is process:  # else killed meanwhile: the report is lost with it
                self.events.put(Reported(name, answer))

    def kill(self, name: str, reason: str = "killed") -> None:
        """End a worker as kill -9 does: nothing that it has not sent is ever seen."""
        process = self.processes.pop(name)
        if process.play is not None:
            self.executor.submit(process.play.end)
        self.events.put(Lost(name, reason))

    def poll(self, seconds: float) -> list[Event]:
        try:
            events = [self.events.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self.events.empty():
            events.append(self.events.get())
        return events

    def send(self, worker: str, order: Order) -> None:
        if any(self.deadly.intersection(chunk.games) for chunk in order.chunks):
            self.kill(worker)
            self.start(f"{worker}+")
        elif process := self.processes.get(worker):
            call = self.executor.submit(process.exchange, replace(order, seconds=0.05))
            call.add_done_callback(lambda done: self.answered(worker, process, done))

    def interrupt(self) -> None:
        assert self.terms is not None
        for process in self.processes.values():
            self.executor.submit(process.interrupt, self.terms.stage)

    def refuse(self, worker: str) -> None:
        self.refused.append(worker)
        self.processes.pop(worker, None)

    def replace(self, worker: str) -> None:
        self.processes.pop(worker, None)
        self.start(f"{worker}+")

    def starting(self) -> int:
        return len(self.processes.keys() - self.begun)

    def node_of(self, worker: str) -> str:
        return worker.partition("-")[0]

    def close(self) -> None:
        """End all workers and wait for their threads."""
        for process in self.processes.values():
            if process.play is not None:
                process.play.end()
        self.executor.shutdown()


CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["azero.cluster.worker"])  # what takes seconds is imported once


class LeakingProcess(WorkerProcess):
    """A worker that can use up its memory."""

    def leak(self, mib: int) -> None:
        """Take all memory that is left or becomes free, up to `mib` more than the process has."""
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + mib * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        self.kept = list[bytearray]()
        while True:  # otherwise small games may end in what others have freed
            for size in (2**20, 2**14, 2**10, 2**7):
                with contextlib.suppress(MemoryError):
                    while True:
                        self.kept.append(bytearray(size))


def serve(connection: Connection) -> None:
    """Be a worker: answer (method, argument) until the other side is gone."""
    process, sending = LeakingProcess(1), threading.Lock()

    def answer(method: str, argument: Any) -> None:
        try:
            result = getattr(process, method)(argument)
        except BaseException as failure:  # passed on
            result = failure
        with sending, contextlib.suppress(OSError):
            connection.send(result)

    with contextlib.suppress(EOFError, OSError):
        while True:
            threading.Thread(target=answer, args=connection.recv(), daemon=True).start()
    os._exit(0)


class FarCrew:
    """Workers as processes of their own.

    Attributes:
        processes: by worker.
        on_report: called with a worker's name and each of its reports, before the head sees it.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.processes: dict[str, Any] = {}
        self.connections: dict[str, Connection] = {}
        self.begun: set[str] = set()
        self.started = 0
        self.events: list[Event] = []
        self.terms: Terms | None = None
        self.on_report: Callable[[str, Report], None] = lambda name, report: None
        for _ in range(workers):
            self.start()

    def start(self) -> None:
        """Start a process; it begins as soon as it can."""
        self.started += 1
        name = f"far-{self.started}"
        here, there = CONTEXT.Pipe()
        self.processes[name] = CONTEXT.Process(target=serve, args=(there,), daemon=True)
        self.processes[name].start()
        there.close()
        self.connections[name] = here
        if self.terms is not None:
            here.send(("begin", self.terms))

    def begin(self, terms: Terms) -> None:
        self.terms, self.events, self.begun = terms, [], set()
        for connection in self.connections.values():
            connection.send(("begin", terms))

    def poll(self, seconds: float) -> list[Event]:
        names = {connection: name for name, connection in self.connections.items()}
        for ready in wait([*names], timeout=0 if self.events else seconds):
            assert isinstance(ready, Connection)
            try:
                self.take(names[ready], ready.recv())
            except (EOFError, OSError):
                self.lose(names[ready], "killed")
        events, self.events = self.events, []
        return events

    def take(self, name: str, answer: Any) -> None:
        """Take in what a worker has sent."""
        assert self.terms is not None
        if isinstance(answer, BaseException):
            self.lose(name, f"{type(answer).__name__}: {answer}")
        elif isinstance(answer, Greeting):
            if answer.ready == self.terms.stage:
                self.begun.add(name)
                self.events.append(Joined(name, answer))
        elif isinstance(answer, Report):
            self.on_report(name, answer)
            self.events.append(Reported(name, answer))

    def lose(self, name: str, reason: str) -> None:
        """Replace a worker that has failed, and say so."""
        self.events.append(Lost(name, reason))
        self.replace(name)

    def send(self, worker: str, order: Order) -> None:
        with contextlib.suppress(OSError):  # it is gone, which `poll` will see
            self.connections[worker].send(("exchange", replace(order, seconds=0.05)))

    def interrupt(self) -> None:
        assert self.terms is not None
        for connection in self.connections.values():
            with contextlib.suppress(OSError):
                connection.send(("interrupt", self.terms.stage))

    def refuse(self, worker: str) -> None:
        raise AssertionError(worker)

    def replace(self, worker: str) -> None:
        self.end(worker)
        self.start()

    def end(self, worker: str) -> None:
        """End a process, also one that is stopped."""
        self.connections.pop(worker).close()
        process = self.processes.pop(worker)
        process.kill()
        process.join(10)

    def starting(self) -> int:
        return len(self.processes.keys() - self.begun)

    def node_of(self, worker: str) -> str:
        return worker.partition("-")[0]

    def close(self) -> None:
        """End all processes."""
        for name in list(self.processes):
            self.end(name)
