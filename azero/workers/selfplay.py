"""Self-play of a cycle: what is to be played, who plays it, and what was played."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from azero.config.schema import Config
from azero.games.game import Game
from azero.kernels.compiling import note_compiled
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import Network
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.search.counters import StageStats
from azero.workers.threads import GameQueue, play_games, workers_wanted


@dataclass(frozen=True)
class Plan:
    """What is to be played of a cycle.

    Attributes:
        config: the run's, with the cycle's share of openings.
        cycle: counted from 1.
        game, network, choice: the rules, who plays, and how the network is computed.
        numbers: of the games to play, rising.
        done: games that are finished already.
        waiting: games that go on, if a GPU plays; they are among `numbers`.
        expected_seconds: of a game; 0 if nothing is known.
    """

    config: Config
    cycle: int
    game: Game
    network: Network
    choice: InferenceChoice
    numbers: Sequence[int]
    done: Sequence[GameRecord] = ()
    waiting: Sequence[GameRecord] = ()
    expected_seconds: float = 0.0


@dataclass(frozen=True)
class Watch:
    """How a stage looks after its games.

    Attributes:
        progress: shows them; its total is `SelfPlay.games_left`.
        stop: when requested, unfinished games are dropped.
        deadline: `time.perf_counter()` at which games should have ended.
        keep: receives the finished games by number if something fails, before the error is raised again.
        began: `time.perf_counter()` at which the stage began.
    """

    progress: Progress
    stop: StopSignal
    deadline: float = math.inf
    keep: Callable[[list[GameRecord]], object] = list
    began: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class WorkAccount:
    """What others than this process did in a stage; empty if it worked alone.

    Attributes:
        scalars: stats by tag.
        line: the same for a person.
        mixed: whether workers computed the network differently.
    """

    scalars: Mapping[str, float] = field(default_factory=dict)
    line: str = ""
    mixed: bool = False


@dataclass(frozen=True)
class PlayedGames:
    """What was played of a plan.

    Attributes:
        games: the finished ones by number.
        stats: of all workers.
        seconds: that it took.
        aside: games that are played no more because workers died of them, and why the last one did.
        account: what others did.
        ahead: games of the next cycle, finished or waiting.
    """

    games: list[GameRecord]
    stats: StageStats
    seconds: float
    aside: Mapping[int, str] = field(default_factory=dict)
    account: WorkAccount = field(default_factory=WorkAccount)
    ahead: Sequence[GameRecord] = ()


class SelfPlay(ABC):
    """Who plays the games of a plan: this process (`SelfPlayHere`) or a cluster (`cluster.selfplay`)."""

    def __init__(self, plan: Plan) -> None:
        """Begin nothing yet."""
        self.plan = plan

    def games_left(self) -> int:
        """Return how many games are still to come, and count the progress from here."""
        return len(self.plan.numbers)

    @abstractmethod
    def play(self, watch: Watch) -> PlayedGames:
        """Play the games. Return those that were finished; not all if time is up or a stop is requested.

        Raises:
            UserError: the games do not fit into memory, or nobody is left to play them.
        """


class SelfPlayHere(SelfPlay):
    """Plays a plan with threads of this process."""

    def play(self, watch: Watch) -> PlayedGames:
        """Play the games; see `SelfPlay`."""
        plan, config = self.plan, self.plan.config
        workers = worker_count(config, len(plan.numbers), plan.choice)
        inferences = make_inferences(plan.network, plan.game, plan.choice, workers)
        queue = GameQueue(iter(plan.numbers), watch.deadline, plan.expected_seconds)
        seeds = game_seeds(config.seed, plan.cycle, SELFPLAY, config.selfplay.games)
        games, stats = play_games(
            plan.game, inferences, config, queue, seeds, watch.progress, watch.stop, watch.keep
        )
        if games:
            note_compiled(config.search.kind)
        return PlayedGames(games, stats, time.perf_counter() - watch.began)


def worker_count(config: Config, games: int, choice: InferenceChoice) -> int:
    """Return the number of workers: never more than batches of games."""
    return max(1, min(workers_wanted(config, choice.device), -(-games // choice.batch_size)))
