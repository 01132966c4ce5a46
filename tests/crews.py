"""A crew of workers in this process, with faults on request: head and workers are real, Ray is not."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from azero.cluster.head import Event, Joined, Lost, Reported
from azero.cluster.worker import Greeting, Order, Report, Terms, WorkerProcess

Change = Callable[[Greeting], Greeting]


class NearCrew:
    """Workers called by threads of this process.

    Attributes:
        changes: what to make of a worker's greeting, by name.
        on_report: called with a worker's name and each of its reports, before the head sees it.
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
        if process := self.processes.get(worker):
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
