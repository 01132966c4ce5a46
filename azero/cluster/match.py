"""The match of a cycle on a cluster, as the stage calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import Crew, Head
from azero.cluster.worker import STAGES, Terms, match_digest
from azero.config.schema import Config
from azero.games.game import Game
from azero.match.lockstep import MatchGame, MatchResult, summarize
from azero.network.backends import make_inference
from azero.network.model import unpack_network
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.workers.matches import MatchPlan, match_choice, match_search
from azero.workers.selfplay import WorkAccount

PAIR = 2  # games: one opening, colours swapped; the unit that a worker gets
# Simulations of a round if all games were as long as can be. Two cores play that many in about two seconds;
# to send the networks and compare the fixed positions takes one.
WORTH_SENDING = 20_000


def worth_sending(config: Config, game: Game) -> bool:
    """Return whether the workers of a cluster play the match: it is long, and they do not play ahead."""
    simulations = config.evaluate.games * match_search(config).num_simulations * game.max_plies
    return not config.cluster.overlap and simulations >= WORTH_SENDING


class RoundsOnCluster:
    """Plays a match with a crew, round by round; see `Rounds`."""

    def __init__(
        self,
        plan: MatchPlan,
        crew: Crew,
        planes: np.ndarray,
        progress: Progress,
        stop: StopSignal,
        say: Callable[[str], object],
    ) -> None:
        """Send both networks to the workers.

        Args:
            plan: the match.
            crew: the workers.
            planes: [N, C, H, W] float32, fixed positions whose evaluations every worker must compute alike.
            progress, stop: as for every stage.
            say: receives one sentence for each worker that is lost or refused.
        """
        config, choice, (candidate, champion) = plan.config, plan.choice, plan.networks
        terms = Terms(next(STAGES), config, plan.cycle, champion, choice, planes, candidate)
        self.book = Book(
            [], compare=not config.cluster.mixed, spare=0, kind=terms.kind
        )  # a pair counts as one
        self.head = Head(crew, terms, self.book, "", progress, stop, say)
        self.head.begin()
        used = match_choice(choice, config.evaluate.games)  # the workers prepare meanwhile
        inferences = [
            make_inference(unpack_network(data, name, plan.game).network, plan.game, used)
            for data, name in ((candidate, "candidate"), (champion, "champion"))
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

    def account(self, seconds: float) -> WorkAccount:
        """Return what the cluster did in the match, which took that long."""
        return self.head.totals.account(seconds, "match")

    def end(self) -> None:
        """End what workers still play."""
        self.head.end()
