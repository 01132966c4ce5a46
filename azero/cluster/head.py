"""The head of a stage on a cluster: gives chunks to workers, checks what comes back, and replaces the lost.

A `Crew` is how the head reaches workers: through Ray (`ray_crew`), or in a test without any process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from azero.cluster.chunks import MOST_DEATHS, Book
from azero.cluster.worker import Greeting, Order, Report, Terms, own_version
from azero.config.schema import UserError
from azero.games import rules_digest
from azero.process.signals import StopSignal
from azero.report.console import Progress, format_count
from azero.search.counters import StageStats, WorkerStats
from azero.workers.selfplay import WorkAccount

POLL_SECONDS = 0.2
HEARTBEAT_SECONDS = 2.0  # a worker reports at least so often
SILENT_SECONDS = 60.0  # beyond that, after which a worker counts as lost
STUCK_SECONDS = 600.0  # in which a worker with chunks searches nothing; compiling takes minutes
NOBODY_SECONDS = 60.0  # without a worker, after which the stage ends
STOP_SECONDS = 5.0  # that workers get to send what they have finished when a stop is requested


@dataclass(frozen=True)
class Joined:
    """A worker is ready for the stage."""

    worker: str
    greeting: Greeting


@dataclass(frozen=True)
class Reported:
    """A worker has reported; None: it had nothing to do with this stage."""

    worker: str
    report: Report | None


@dataclass(frozen=True)
class Lost:
    """A worker has died, hangs, or could not begin."""

    worker: str
    reason: str


Event = Joined | Reported | Lost


class Crew(Protocol):
    """Workers, wherever they are. Calls do not wait."""

    def begin(self, terms: Terms) -> None:
        """Tell every worker, and those that join later, of a stage. Workers that joined are yet to come."""
        ...

    def poll(self, seconds: float) -> list[Event]:
        """Return what has happened; wait for something at most so long."""
        ...

    def send(self, worker: str, order: Order) -> None:
        """Send an order to a worker whose last one has been answered."""
        ...

    def interrupt(self) -> None:
        """Ask all workers to end their games now."""
        ...

    def refuse(self, worker: str) -> None:
        """End a worker; none is started in its place."""
        ...

    def replace(self, worker: str) -> None:
        """End a worker that has failed, and start another one."""
        ...

    def starting(self) -> int:
        """Return how many workers are on their way."""
        ...

    def node_of(self, worker: str) -> str:
        """Return the name of the machine on which a worker runs."""
        ...


@dataclass
class Member:
    """What the head knows of a worker that has joined.

    Attributes:
        room: the most chunks that it has at once.
        moved: `time.perf_counter()` at which it was seen to get on, or had nothing to do.
        busy: whether an order is not answered yet.
        due: `time.perf_counter()` at which the answer is overdue.
        ended: whether it has sent all that it had.
        report: the newest one.
        needless: chunks that it need not begin any more.
    """

    node: str
    room: int
    moved: float
    busy: bool = False
    due: float = math.inf
    ended: bool = False
    report: Report | None = None
    needless: list[int] = field(default_factory=list)


@dataclass
class Totals:
    """What the cluster did in a stage, for the report."""

    nodes: dict[str, int] = field(default_factory=dict)  # games by machine
    workers: int = 0
    lost: int = 0
    refused: int = 0
    retries: int = 0
    repeats: int = 0
    aside: dict[int, str] = field(default_factory=dict)  # see `Book`
    received: int = 0
    sent: int = 0  # bytes, without Ray's own; the same of `received`
    play_seconds: float = 0.0
    busy_seconds: float = 0.0  # in which the head did not wait
    mixed: bool = False

    def account(self, seconds: float, what: str = "") -> WorkAccount:
        """Return them for a report; `what` was played, such as "match", if that is not self-play."""
        of = f"{what}_" if what else ""
        rates = {f"games_per_second_{node}": games / seconds for node, games in self.nodes.items()}
        named = {
            "nodes": float(len(self.nodes)),
            "workers": float(self.workers),
            "lost": float(self.lost),
            "retries": float(self.retries),
            "repeats": float(self.repeats),
            "set_aside": float(len(self.aside)),
            "mib_received": self.received / 2**20,
            "mib_sent": self.sent / 2**20,
            "play_seconds": self.play_seconds,
            "head_busy": self.busy_seconds / seconds,
            **rates,
        }
        scalars = {f"cluster/{of}{name}": value for name, value in named.items()}
        return WorkAccount(scalars, self.line(seconds, what), self.mixed)

    def line(self, seconds: float, what: str) -> str:
        """Return one sentence about the cluster in a stage; see `account`."""
        nodes = ", ".join(f"{node} {games / seconds:,.1f}" for node, games in sorted(self.nodes.items())[:8])
        more = len(self.nodes) - 8
        listed = nodes + (f" and {more} more" if more > 0 else "")
        who = format_count(self.workers, "workers")
        text = f"cluster{what and f', {what}'}: {who}; games/s by machine: {listed}; "
        text += f"{self.sent / 2**20:,.1f} MiB sent, {self.received / 2**20:,.1f} MiB received"
        if self.retries or self.repeats or self.lost:
            text += f"; {self.lost} workers lost, {self.retries} chunks again, {self.repeats} twice"
        if self.aside:
            text += f"; {len(self.aside)} games left out"
        return f"{text}."


class Head:
    """Plays the chunks of one stage with a crew."""

    def __init__(
        self,
        crew: Crew,
        terms: Terms,
        book: Book,
        digest: str,
        progress: Progress,
        stop: StopSignal,
        say: Callable[[str], object],
        deadline: float = math.inf,
        expected_seconds: float = 0.0,
    ) -> None:
        """Nothing happens before `play`.

        Args:
            crew: the workers.
            terms: of the stage.
            book: with its chunks.
            digest: of the head's own answers to the fixed positions.
            progress, stop: as for `workers.threads.play_games`.
            say: receives one sentence for each worker that is lost or refused.
            deadline, expected_seconds: as for `GameQueue`.
        """
        self.crew, self.terms, self.book, self.digest = crew, terms, book, digest
        self.progress, self.stop, self.say = progress, stop, say
        self.deadline, self.expected_seconds = deadline, expected_seconds
        self.members: dict[str, Member] = {}
        self.gone: list[Member] = []
        self.totals = Totals()
        self.last_reason = ""
        self.alone_since = time.perf_counter()
        self.shown_from = 0  # games that the progress leaves out
        self.latest = deadline  # when the last game may begin
        self.interrupted = math.inf  # when that was asked of the crew
        self.version, self.rules = own_version(), rules_digest(terms.config.game.name)
        self.began = 0.0  # when `begin` was called

    def play(self) -> None:
        """Play until every chunk is finished, time is up or a stop is requested.

        Raises:
            UserError: no worker is left, workers differ, or they die of too many games.
        """
        self.begin()
        try:
            self.play_on()
        finally:
            self.end()

    def begin(self) -> None:
        """Tell the crew of the stage."""
        self.crew.begin(self.terms)
        self.began = time.perf_counter()

    def play_on(self) -> None:
        """Play what the book holds, as `play` does; more may be added then."""
        while not self.over():
            events = self.crew.poll(POLL_SECONDS)
            woken = time.perf_counter()
            for event in events:
                self.receive(event)
            self.look_at_time()
            self.look_at_silence()
            self.give_orders()
            self.show(self.began)
            self.totals.busy_seconds += time.perf_counter() - woken

    def end(self) -> None:
        """Let the crew end what is still under way."""
        self.totals.play_seconds = time.perf_counter() - self.began
        if self.interrupted == math.inf:
            self.crew.interrupt()

    def over(self) -> bool:
        """Return whether there is nothing more to wait for."""
        if self.book.done:
            return True
        if not self.book.closed:
            return False
        waited = time.perf_counter() - self.interrupted > STOP_SECONDS
        return waited or all(member.ended for member in self.members.values())

    def receive(self, event: Event) -> None:
        """Take in what has happened."""
        if isinstance(event, Joined):
            self.welcome(event.worker, event.greeting)
        elif isinstance(event, Reported):
            member = self.members.get(event.worker)
            if member is not None:
                member.busy = False
                if event.report is not None:
                    self.take_in(event.worker, member, event.report)
        else:
            self.lose(event.worker, event.reason)

    def welcome(self, worker: str, greeting: Greeting) -> None:
        """Let a worker join, or refuse it."""
        if greeting.ready != self.terms.stage:
            return
        tokens = self.terms.config.cluster.tokens
        refusal = ""
        if greeting.version != self.version:
            refusal = f"it runs {greeting.version} and the head {self.version}; install the same on both"
        elif greeting.rules != self.rules:
            refusal = f"its copy of {self.terms.config.game.name} differs; copy the file to all machines"
        elif tokens and not greeting.tokens:
            refusal = (
                "its cluster asks nobody for a token, so everyone who reaches it can run code there; start "
                "Ray with RAY_AUTH_MODE=token, or accept that with cluster.tokens=false"
            )
        elif greeting.digest != self.digest and not self.terms.config.cluster.mixed:
            refusal = (
                "it computes the network differently, as another processor or library does; accept that with "
                "cluster.mixed=true"
            )
        if refusal:
            self.totals.refused += 1
            self.last_reason = f"{worker} was refused: {refusal}"
            self.say(f"Worker {self.last_reason}.")
            self.crew.refuse(worker)
            return
        self.totals.mixed |= greeting.digest != self.digest
        self.members[worker] = Member(self.crew.node_of(worker), greeting.room, time.perf_counter())
        if self.members[worker].node not in self.totals.nodes:  # Ray sends the terms to each machine once
            self.totals.nodes[self.members[worker].node] = 0
            self.totals.sent += self.terms.size
        self.totals.workers = max(self.totals.workers, len(self.members))

    def take_in(self, worker: str, member: Member, report: Report) -> None:
        """Keep what a worker has finished."""
        if report.answers or not member.report or report.simulations > member.report.simulations:
            member.moved = time.perf_counter()
        member.report = report
        for answer in report.answers:
            before = len(self.book.records)
            for other in self.book.finish(worker, answer):
                if other in self.members:
                    self.members[other].needless.append(answer.chunk)
            self.totals.nodes[member.node] += len(self.book.records) - before
        member.ended = report.ended
        if report.failure:
            self.crew.replace(worker)
            self.lose(worker, report.failure)

    def lose(self, worker: str, reason: str) -> None:
        """Do without a worker from now on; its chunks wait again."""
        member = self.members.pop(worker, None)
        if member is not None:
            self.gone.append(member)
            self.totals.lost += 1
        self.last_reason = f"{worker} was lost: {reason}"
        if not self.book.closed:
            self.say(f"Worker {self.last_reason.rstrip('.')}.")
        for game in self.book.lose(worker, reason):
            what = f"Game {game} of cycle {self.terms.cycle} is left out"
            self.say(f"{what}: {MOST_DEATHS} workers were lost that played nothing else.")

    def look_at_silence(self) -> None:
        """Replace workers that do not answer, or play for ever."""
        now = time.perf_counter()
        for worker, member in list(self.members.items()):
            if not self.book.load_of(worker):
                member.moved = now
            if member.busy and now > member.due:
                reason = f"it has not answered for {SILENT_SECONDS:.0f} s"
            elif now - member.moved > STUCK_SECONDS:
                reason = f"it has searched nothing for {STUCK_SECONDS:.0f} s"
            else:
                continue
            self.crew.replace(worker)
            self.lose(worker, reason)

    def look_at_time(self) -> None:
        """Close the book when a stop is requested or time is up; give up when nobody is there."""
        now = time.perf_counter()
        if self.stop.requested and self.interrupted == math.inf:
            self.interrupted = now
            self.book.close()
            self.crew.interrupt()
        known = [member.report.game_seconds for member in self.members.values() if member.report]
        longest = max([self.expected_seconds, *known])
        self.latest = self.deadline - longest
        if now >= self.latest and (self.book.records or self.book.holders):
            self.book.close()
        if self.members or self.crew.starting():
            self.alone_since = now
        elif now - self.alone_since > NOBODY_SECONDS:
            why = f" The last one: {self.last_reason}" if self.last_reason else ""
            address = self.terms.config.cluster.address
            raise UserError(
                f"The cluster {address} has had no worker for {NOBODY_SECONDS:.0f} s; ray status shows its "
                f"machines.{why}"
            )

    def give_orders(self) -> None:
        """Send the next order to every worker that waits for one and has something to do."""
        share = len(self.members) + self.crew.starting()
        seconds = min(HEARTBEAT_SECONDS, max(POLL_SECONDS, self.latest - time.perf_counter()))
        for worker, member in self.members.items():
            if member.busy or member.ended:
                continue
            chunks = self.book.take(worker, member.room - self.book.load_of(worker), share)
            if chunks or self.book.closed or self.book.load_of(worker):
                order = Order(self.terms.stage, chunks, member.needless, self.book.closed, seconds)
                member.busy, member.needless = True, []
                member.due = time.perf_counter() + seconds + SILENT_SECONDS
                self.totals.sent += sum(chunk.size for chunk in chunks)
                self.crew.send(worker, order)

    def show(self, begin: float) -> None:
        """Show progress."""
        reports = [member.report for member in [*self.members.values(), *self.gone] if member.report]
        made = sum(report.simulations for report in reports)
        seconds = max(time.perf_counter() - begin, 1e-9)
        self.progress.update(
            len(self.book.records) - self.shown_from,
            doing="" if made else "starting workers",
            simulations_per_second=made / seconds,
            workers=len(self.members),
            nodes=len({member.node for member in self.members.values()}),
        )

    def results(self) -> tuple[list[Any], StageStats]:
        """Return the finished games by number, and stats with one entry for each worker."""
        members = [*self.members.values(), *self.gone]
        reports = [member.report for member in members if member.report]
        stats = StageStats([report.stats for report in reports] or [WorkerStats()])
        played = max(1, sum(report.stats.games for report in reports))
        weighted = sum(report.game_seconds * report.stats.games for report in reports)
        stats.game_seconds = weighted / played
        stats.games = len(self.book.records)  # a game that was played twice counts once
        self.totals.retries, self.totals.repeats = self.book.retries, self.book.repeats
        self.totals.received, self.totals.aside = self.book.received, self.book.aside
        return self.book.in_order(), stats
