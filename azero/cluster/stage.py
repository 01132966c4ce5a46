"""Self-play of a cycle on a cluster, as the stage calls it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from azero.cluster.chunks import Book, chunks_of
from azero.cluster.head import Crew, Head, Totals
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


def play_on_cluster(
    crew: Crew,
    game: Game,
    champion: Network,
    choice: InferenceChoice,
    planes: np.ndarray,
    config: Config,
    cycle: int,
    numbers: Sequence[int],
    openings: Mapping[int, np.ndarray],
    progress: Progress,
    stop: StopSignal,
    say: Callable[[str], object],
    deadline: float = math.inf,
    expected_seconds: float = 0.0,
    keep: Callable[[list[GameRecord]], None] = lambda records: None,
) -> tuple[list[GameRecord], StageStats, Totals]:
    """Play games of a cycle with a crew. Return finished games by number, stats, and what the cluster did.

    Args:
        crew: the workers.
        game, champion, choice: the rules, the network, and how it is computed.
        planes: [N, C, H, W] float32, fixed positions whose evaluations every worker must compute alike.
        config: the run's, with the cycle's share of openings.
        cycle: under way, counted from 1.
        numbers: of the games to play.
        openings: the actions that some of them begin with, by number.
        progress, stop, keep: as for `workers.threads.play_games`.
        say: receives one sentence for each worker that is lost or refused.
        deadline, expected_seconds: as for `GameQueue`.

    Raises:
        UserError: no worker is left, workers differ, or three died with the same games.
    """
    digest = positions_digest(make_inference(champion, game, choice), planes, choice)
    network = pack_network(champion, game=game, cycle=cycle)
    terms = Terms(next(STAGES), config, cycle, network, choice, planes)
    book = Book(chunks_of(numbers, openings), compare=not config.cluster.mixed)
    head = Head(crew, terms, book, digest, progress, stop, say, deadline, expected_seconds)
    try:
        head.play()
    except BaseException:
        keep(book.in_order())
        raise
    return *head.results(), head.totals
