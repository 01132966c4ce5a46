"""A short trial of a recipe on a cluster: what `azero estimate` measures there.

The workers play the recipe's untrained network, as in a run. The head gives out chunks and receives them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import Crew, Head
from azero.cluster.match import OnCluster
from azero.cluster.stage import STAGES
from azero.cluster.worker import Terms, places_of, positions_digest
from azero.config.schema import UserError
from azero.network.backends import make_inference
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.stages.backend import positions_to_time
from azero.stages.evaluate import worth_sending
from azero.stages.selfplay import FIXED_POSITIONS
from azero.stages.trials import Trial, is_over
from azero.workers.matches import make_openings, match_search

MANY_GAMES = 20_000  # more than a trial ends


@dataclass(frozen=True)
class ClusterSpeed:
    """What a cluster does with a recipe.

    Attributes:
        machines, workers, threads: that play.
        simulations: per second, of all workers together.
        start: seconds until the first worker searched; libraries are loaded and code compiled.
        prepare: seconds from the beginning of a later stage until a worker is ready for it.
        match: seconds of a round of the match; nan if the head plays it, or nobody.
        said: a sentence for each worker that was lost or refused.
    """

    machines: int
    workers: int
    threads: int
    simulations: float
    start: float
    prepare: float
    match: float
    said: Sequence[str]


class Look(Progress):
    """Looks at a head that plays, and stops it when all workers have searched for some seconds.

    Where they report too seldom for a rate, it looks on, but not for more than ten times as long.

    Attributes:
        head: to look at.
        made: the time and all workers' simulations since then.
        joined, searched: when a worker was ready, and when one had searched.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.stop = seconds, StopSignal()
        self.head: Head | None = None
        self.made: list[tuple[float, int]] = []
        self.joined = self.searched = math.inf
        self.observe = self.look

    def look(self) -> None:
        """Look."""
        if self.head is None or not self.head.members:
            return
        now, members = time.perf_counter(), self.head.members.values()
        made = [member.report.simulations if member.report else 0 for member in members]
        self.joined = min(self.joined, now)
        self.searched = min(self.searched, now if any(made) else math.inf)
        if all(made) and not self.head.crew.starting():
            self.made.append((now, sum(made)))
            self.stop.requested |= is_over(now - self.made[0][0], self.seconds, len(self.news()) > 1)

    def news(self) -> list[tuple[float, int]]:
        """Return what was seen when a worker had reported, which is every two seconds or oftener."""
        return [later for earlier, later in pairwise(self.made) if later[1] > earlier[1]]

    def rate(self) -> float:
        """Return simulations per second."""
        news = self.news()
        if len(news) < 2:
            raise UserError("The workers of the cluster were too slow to be measured; try once more.")
        return (news[-1][1] - news[0][1]) / (news[-1][0] - news[0][0])


def try_cluster(trial: Trial, crew: Crew, seconds: float, match_seconds: float, plies: float) -> ClusterSpeed:
    """Let the workers of a cluster play self-play, and a round of the match if it goes there.

    Args:
        trial: with the first network.
        crew: the workers.
        seconds, match_seconds: the most for each, when all workers search.
        plies: of a game, to calculate the rest of a match that does not end in time.

    Raises:
        UserError: no worker is there, or all were refused.
    """
    game, choice, said = trial.game, trial.choice, list[str]()
    config = replace(trial.config, selfplay=replace(trial.config.selfplay, games=MANY_GAMES))
    planes = positions_to_time(game, FIXED_POSITIONS, config.seed)
    digest = positions_digest(make_inference(trial.network, game, choice), planes, choice)

    def play(games: int) -> Look:
        look = Look(seconds)
        terms = Terms(next(STAGES), config, 1, trial.first, choice, planes)
        book = Book(chunks_of(range(games)), compare=False)
        look.head = Head(crew, terms, book, digest, look, look.stop, said.append)
        look.head.play()
        return look

    begin = time.perf_counter()
    first = play(MANY_GAMES)
    assert first.head is not None
    members, again = [*first.head.members.values()], time.perf_counter()
    prepare = play(1).joined - again
    places = sum(places_of(member.room) for member in members)
    return ClusterSpeed(
        machines=len({member.node for member in members}),
        workers=len(members),
        threads=max(len(members), round(places / choice.batch_size)),
        simulations=first.rate(),
        start=first.searched - begin,
        prepare=prepare,
        match=match_on(trial, crew, match_seconds, plies, said),
        said=said,
    )


def match_on(trial: Trial, crew: Crew, seconds: float, plies: float, said: list[str]) -> float:
    """Return the seconds of a round of the match on a cluster; nan if it would not go there."""
    config, game = trial.config, trial.game
    games = config.evaluate.games
    if not (games and worth_sending(config, game)):
        return math.nan
    look, planes = Look(seconds), positions_to_time(game, FIXED_POSITIONS, config.seed)
    both, openings = (trial.first, trial.first), make_openings(config, game, 1)
    of = (crew, game, both, trial.choice, planes, config, 1, look, look.stop, said.append)
    OnCluster(*of).end()  # a machine's first match compiles
    begin = time.perf_counter()
    match = OnCluster(*of)
    look.head = match.head
    played = match.play(range(games), openings)
    took = time.perf_counter() - begin
    match.end()
    if len(played) == games:
        return took
    simulations = games * plies * match_search(config).num_simulations
    return look.joined - begin + simulations / look.rate()
