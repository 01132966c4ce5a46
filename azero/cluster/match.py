"""The match of a cycle on a cluster, as the stage calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import Crew, Head
from azero.cluster.stage import STAGES
from azero.cluster.worker import Terms, match_digest
from azero.config.schema import Config
from azero.games.game import Game
from azero.match.lockstep import MatchGame, MatchResult, summarize
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.workers.matches import match_choice

PAIR = 2  # games: one opening, colours swapped; the unit that a worker gets


class OnCluster:
    """Plays a match of (candidate, champion) with a crew, round by round; see `stages.evaluate.Rounds`."""

    def __init__(
        self,
        crew: Crew,
        game: Game,
        networks: tuple[bytes, bytes],
        choice: InferenceChoice,
        planes: np.ndarray,
        config: Config,
        cycle: int,
        progress: Progress,
        stop: StopSignal,
        say: Callable[[str], object],
    ) -> None:
        """Send both networks to the workers.

        Args:
            crew: the workers.
            game, networks: the rules; candidate and champion, as `pack_network` writes them.
            choice: how the run computes its network.
            planes: [N, C, H, W] float32, fixed positions whose evaluations every worker must compute alike.
            config: the run's.
            cycle: under way, counted from 1.
            progress, stop: as for every stage.
            say: receives one sentence for each worker that is lost or refused.
        """
        terms = Terms(next(STAGES), config, cycle, networks[1], choice, planes, candidate=networks[0])
        self.book = Book(
            [], compare=not config.cluster.mixed, spare=0, kind=terms.kind
        )  # a pair counts as one
        self.head = Head(crew, terms, self.book, "", progress, stop, say)
        self.head.begin()
        used = match_choice(choice, config.evaluate.games)  # the workers prepare meanwhile
        inferences = [
            make_inference(unpack_network(data, name, game).network, game, used)
            for data, name in zip(networks, ("candidate", "champion"), strict=True)
        ]
        self.head.digest = match_digest(inferences, planes, choice, config)

    def play(self, numbers: range, openings: dict[int, np.ndarray]) -> list[MatchGame]:
        """Play games of the match. Return them by number; not all if a stop is requested.

        Raises:
            UserError: no worker is left, workers differ, or three died with the same games.
        """
        self.book.add(chunks_of(numbers, openings, PAIR))
        self.head.play_on()
        return [self.book.records[number] for number in numbers if number in self.book.records]

    def summary(self, games: list[MatchGame]) -> MatchResult:
        """Return the match of these games, with stats of each worker."""
        return replace(summarize(games), stats=self.head.results()[1].workers)

    def end(self) -> None:
        """End what workers still play."""
        self.head.end()
