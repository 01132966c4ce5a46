"""Self-play of a cycle on a cluster, as the stage calls it: at once, or while the head trains."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import POLL_SECONDS, STOP_SECONDS, Crew, Head, Totals
from azero.cluster.worker import Terms, positions_digest
from azero.config.schema import Config
from azero.games.game import Game
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import Network, pack_network
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.search.counters import StageStats

if TYPE_CHECKING:
    from azero.cluster.ray_crew import RayCrew

STAGES = itertools.count(1)  # stages of this process, each with a number of its own
CREWS: dict[tuple[object, ...], RayCrew] = {}  # at most one: a run keeps its workers from cycle to cycle


def crew_of(config: Config, device: str) -> RayCrew:
    """Return the workers of the cluster, connected; those of the last call if the settings are the same.

    Raises:
        UserError: Ray is missing, no cluster is there, or it does not fit this process.
    """
    from azero.cluster.ray_crew import RayCrew  # here, because only a run with a cluster needs Ray

    wanted = (config.cluster, config.workers, device)
    if wanted not in CREWS:
        for crew in CREWS.values():
            crew.close()
        CREWS.clear()
        CREWS[wanted] = RayCrew(config.cluster, config.workers, device == "cuda")
    return CREWS[wanted]


def make_head(
    crew: Crew,
    game: Game,
    network: Network,
    choice: InferenceChoice,
    planes: np.ndarray,
    config: Config,
    cycle: int,
    numbers: Sequence[int],
    progress: Progress,
    stop: StopSignal,
    say: Callable[[str], object],
    deadline: float = math.inf,
    expected_seconds: float = 0.0,
) -> Head:
    """Return a head that plays games of a cycle with a crew; nothing happens yet.

    Args:
        crew: the workers.
        game, network, choice: the rules, the network, and how it is computed.
        planes: [N, C, H, W] float32, fixed positions whose evaluations every worker must compute alike.
        config: the run's, with the cycle's share of openings.
        cycle: of the games, counted from 1.
        numbers: of the games to play.
        progress, stop: as for `workers.threads.play_games`.
        say: receives one sentence for each worker that is lost or refused.
        deadline, expected_seconds: as for `GameQueue`.
    """
    digest = positions_digest(make_inference(network, game, choice), planes, choice)
    packed = pack_network(network, game=game, cycle=cycle)
    terms = Terms(next(STAGES), config, cycle, packed, choice, planes)
    book = Book(chunks_of(numbers), compare=not config.cluster.mixed)
    return Head(crew, terms, book, digest, progress, stop, say, deadline, expected_seconds)


def play_on_cluster(
    head: Head, keep: Callable[[list[GameRecord]], None]
) -> tuple[list[GameRecord], StageStats, Totals]:
    """Play a head's games. Return finished games by number, stats, and what the cluster did.

    keep: receives the finished games by number if something fails, before the error is raised again.

    Raises:
        UserError: no worker is left, workers differ, or they die of too many games.
    """
    try:
        head.play()
    except BaseException:
        keep(head.book.in_order())
        raise
    return *head.results(), head.totals


class Playing:
    """A head at work in a thread of its own, while this one trains."""

    def __init__(self, head: Head) -> None:
        """Begin. Nobody else may use the head's crew or its `stop` until the thread has ended."""
        self.head = head
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _play(self) -> None:
        try:
            self.head.play()
        except BaseException as failure:  # raised by `finish`
            self.failure = failure

    def games_left(self) -> int:
        """Return how many games are still to come, and count the progress from here."""
        self.head.shown_from = len(self.head.book.records)
        return sum(len(chunk.games) for chunk in self.head.book.chunks) - self.head.shown_from

    def finish(
        self,
        progress: Progress,
        stop: StopSignal,
        deadline: float,
        keep: Callable[[list[GameRecord]], None],
    ) -> tuple[list[GameRecord], StageStats, Totals]:
        """Wait for the end; as `play_on_cluster`.

        Args:
            progress: of the games that are still to come; see `games_left`.
            stop: when requested, workers send what they have finished.
            deadline, keep: as for `make_head` and `play_on_cluster`.
        """
        head, quiet, before = self.head, self.head.progress, self.head.shown_from
        head.progress, head.deadline = progress, deadline
        try:
            while self.thread.is_alive():
                self.thread.join(POLL_SECONDS)
                head.stop.requested |= stop.requested
            if self.failure is not None:
                raise self.failure
        except BaseException:
            keep(self.end())
            raise
        if before:
            progress.stats = quiet.stats | progress.stats | {"before": f"{before:,} before"}
        progress.update(len(head.book.records) - before)
        return *head.results(), head.totals

    def end(self) -> list[GameRecord]:
        """End the games. Return the finished ones by number."""
        self.head.stop.requested = True
        self.thread.join(STOP_SECONDS + 1)
        return self.head.book.in_order()
