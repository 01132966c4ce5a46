"""Self-play of a cycle on a cluster: at once, or while the head does something else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import POLL_SECONDS, STOP_SECONDS, Crew, Head
from azero.cluster.worker import STAGES, Terms, positions_digest
from azero.network.backends import make_inference
from azero.network.model import pack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.workers.selfplay import Plan, PlayedGames, SelfPlay, Watch


class SelfPlayOnCluster(SelfPlay):
    """Plays a plan with a crew."""

    def __init__(self, plan: Plan, crew: Crew, planes: np.ndarray, say: Callable[[str], object]) -> None:
        """Begin nothing yet.

        Args:
            plan: what is to be played.
            crew: the workers.
            planes: [N, C, H, W] float32, fixed positions whose evaluations every worker must compute alike.
            say: receives one sentence for each worker that is lost or refused.
        """
        super().__init__(plan)
        self.crew, self.planes, self.say = crew, planes, say

    def head(self, watch: Watch) -> Head:
        """Return a head that plays the plan; nothing happens yet."""
        plan, config, choice = self.plan, self.plan.config, self.plan.choice
        digest = positions_digest(make_inference(plan.network, plan.game, choice), self.planes, choice)
        packed = pack_network(plan.network, game=plan.game, cycle=plan.cycle)
        terms = Terms(next(STAGES), config, plan.cycle, packed, choice, self.planes)
        book = Book(chunks_of(plan.numbers), compare=not config.cluster.mixed)
        how = (watch.progress, watch.stop, self.say, watch.deadline, plan.expected_seconds)
        return Head(self.crew, terms, book, digest, *how)

    def play(self, watch: Watch) -> PlayedGames:
        """Play the games.

        Raises:
            UserError: no worker is left, workers differ, or they die of too many games.
        """
        head = self.head(watch)
        try:
            head.play()
        except BaseException:
            watch.keep(head.book.in_order())
            raise
        return played_by(head, time.perf_counter() - watch.began)


class SelfPlayAhead(SelfPlay):
    """Self-play on a cluster that goes on in a thread of its own, while this one trains."""

    def __init__(self, games: SelfPlayOnCluster) -> None:
        """Begin. Nobody else may use the crew until the thread has ended."""
        super().__init__(games.plan)
        with one_thread_per_worker():
            self.head = games.head(Watch(Progress(), StopSignal()))
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _play(self) -> None:
        try:
            self.head.play()
        except BaseException as failure:  # raised by `play`
            self.failure = failure

    @property
    def finished(self) -> int:
        """The number of games that are finished."""
        return len(self.head.book.records)

    def games_left(self) -> int:
        """Return how many games are still to come, and count the progress from here."""
        self.head.shown_from = self.finished
        return sum(len(chunk.games) for chunk in self.head.book.chunks) - self.head.shown_from

    def play(self, watch: Watch) -> PlayedGames:
        """Wait for the end; as `SelfPlayOnCluster.play`."""
        head, quiet, before, progress = self.head, self.head.progress, self.head.shown_from, watch.progress
        head.progress, head.deadline = progress, watch.deadline
        try:
            while self.thread.is_alive():
                self.thread.join(POLL_SECONDS)
                head.stop.requested |= watch.stop.requested
            if self.failure is not None:
                raise self.failure
        except BaseException:
            watch.keep(self.end())
            raise
        if before:
            progress.stats = quiet.stats | progress.stats | {"before": f"{before:,} before"}
        progress.update(self.finished - before)
        return played_by(head, head.totals.play_seconds)

    def end(self) -> list[GameRecord]:
        """End the games. Return the finished ones by number."""
        self.head.stop.requested = True
        self.thread.join(STOP_SECONDS + 1)
        return self.head.book.in_order()


def played_by(head: Head, seconds: float) -> PlayedGames:
    """Return what a head has played in some seconds."""
    games, stats = head.results()
    return PlayedGames(games, stats, seconds, head.totals.aside, head.totals.account(seconds))
