"""The match between candidate and champion: its search, openings and seeds, and who plays its games.

Games 2n and 2n + 1 are a pair: one opening, colours swapped. What is played in a game depends on its number
alone, so the pairs of a match may be played together or apart, on this machine or on others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from azero.config.schema import Config, SearchConfig
from azero.games.game import Game
from azero.match.gate import counts_distinct, games_at_most
from azero.match.lockstep import MatchGame, MatchResult, MatchTable, summarize
from azero.match.openings import draw_openings, random_openings
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.players import pv_mcts
from azero.players.pv_mcts import PvMcts
from azero.process import seeds
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.search.counters import WorkerStats
from azero.workers.memory import cache_bytes, check_memory, tree_bytes
from azero.workers.selfplay import WorkAccount
from azero.workers.threads import GameQueue, workers_wanted

NO_OPENING = np.zeros(0, np.int32)


def match_search(config: Config) -> SearchConfig:
    """Return the search of a match: as in self-play, with its own number of simulations if one is set."""
    simulations = config.evaluate.num_simulations or config.search.num_simulations
    return replace(config.search, num_simulations=simulations)


def match_bytes(config: Config, game: Game) -> int:
    """Return the bytes of the trees of a match, or of the games against fixed opponents if that is more.

    All games of a round are under way together, and each side has a tree in each. A champion's games against
    all fixed opponents, random and exact play too, and against the champion before it run together as well.
    Either way two networks play, each with a cache.
    """
    evaluate = config.evaluate
    trees = max(2 * evaluate.games, evaluate.anchor_games * (len(evaluate.anchors) + 4))
    return trees * tree_bytes(game, match_search(config)) + (2 * cache_bytes(game, config) if trees else 0)


def check_match_memory(config: Config, game: Game) -> None:
    """Raise UserError if this machine's memory cannot hold the games of a match."""
    settings = "evaluate.games, evaluate.anchor_games, evaluate.num_simulations or inference.cache"
    check_memory(f"A match of {game.name}", match_bytes(config, game), settings)


def match_choice(choice: InferenceChoice, games: int) -> InferenceChoice:
    """Return how the networks of a match are computed: in batches that its games can fill.

    Half of the games wait for either network while all are under way, and fewer later, so a batch has a row
    for a quarter of the games: one of the run's smaller batches, or a size of its own where it has none. As
    in `batch_rows` the number of workers does not count. 60 games of Connect Four on two cores took 6.0 s
    with 16 rows, 5.7 s with 24, 6.3 s with 32.
    """
    sizes = choice.batches if len(choice.batches) > 1 else (8 * -(-games // 32), choice.batch_size)
    size = next((size for size in sizes if 4 * size >= games), choice.batch_size)
    return replace(choice, batch_size=min(size, choice.batch_size))


def make_players(
    config: Config, networks: tuple[bytes, bytes], game: Game, choice: InferenceChoice
) -> tuple[PvMcts, PvMcts]:
    """Return the players of a match between (candidate, champion).

    Raises:
        UserError: a network does not fit the rules, or the games of a round do not fit into memory.
    """
    check_match_memory(config, game)
    names = ("temperature", "temperature_plies", "temperature_decay_plies", "temperature_final")
    schedule = {name: getattr(config.evaluate, name) for name in names}
    choice = match_choice(choice, config.evaluate.games)
    candidate = make_searcher(config, networks[0], "candidate", game, choice, **schedule)
    return candidate, make_searcher(config, networks[1], "champion", game, choice, **schedule)


def make_searcher(
    config: Config, data: bytes, name: str, game: Game, choice: InferenceChoice, **schedule: Any
) -> PvMcts:
    """Return a player with a network's file, which `name` names in messages, and the search of a match.

    schedule: its temperature; without one it plays the most visited moves.

    Raises:
        UserError: the network does not fit the rules.
    """
    inference = make_inference(unpack_network(data, name, game).network, game, choice)
    search, cache = match_search(config), config.inference.cache
    options = pv_mcts.Options(cache=cache, **schedule)
    return pv_mcts.make(game, options, inference, search)


def make_openings(config: Config, game: Game, cycle: int) -> dict[int, np.ndarray]:
    """Return the opening of each game that a match may have, by number, [plies] int32.

    Openings differ as far as possible if copies do not count or a sequential test may need many games.
    """
    evaluate, source = config.evaluate, seeds.sequence(config.seed, cycle, seeds.OPENINGS)
    draw = draw_openings if counts_distinct(evaluate) or evaluate.gate == "sequential" else random_openings
    pairs = draw(game, evaluate.opening_plies, games_at_most(evaluate) // 2, source)
    return {number: np.array(pairs[number // 2], np.int32) for number in range(2 * len(pairs))}


def match_seeds(config: Config, cycle: int) -> np.ndarray:
    """Return the seeds of all games that a match may have, [games] uint64."""
    return seeds.game_seeds(config.seed, cycle, seeds.EVALUATE, games_at_most(config.evaluate))


def match_workers(config: Config, choice: InferenceChoice) -> int:
    """Return the threads that play a match on one machine: one for each network, or one for both."""
    return min(2, workers_wanted(config, choice.device))


def nothing() -> None:
    """Do nothing."""


class Needless(Exception):
    """The games at a table need not be played to their end."""


@dataclass
class Sharing:
    """How many workers share a queue, and how many of them have games; changed under the queue's lock."""

    workers: int = 1
    busy: int = 0


class MatchWorker:
    """Plays games of a match at one table after another.

    Attributes:
        parts: the tables so far; games of an unfinished one too.
    """

    def __init__(
        self,
        game: Game,
        players: tuple[PvMcts, PvMcts],
        threads: int,
        look: Callable[[], object] = nothing,
        sharing: Sharing | None = None,
    ) -> None:
        """Make a worker.

        Args:
            game: the rules.
            players: candidate and champion, for this worker alone.
            threads: 2 gives each of them a thread.
            look: called after each move of either, when its finished games are in the queue.
            sharing: of all workers that share a queue; None if it has one alone.
        """
        self.game, self.players, self.threads, self.look = game, players, threads, look
        self.parts: list[MatchResult] = []
        self.table: MatchTable | None = None
        self.sharing = sharing or Sharing()

    def play(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Play this worker's share of what a queue holds now, or less if a stop is requested."""
        with queue.lock:
            free = self.sharing.workers - self.sharing.busy
            numbers = queue.take(-(-operator.length_hint(queue.numbers) // free))
            self.sharing.busy += len(numbers) > 0
        if not len(numbers):
            return
        left = set(numbers.tolist())

        def watch(ended: list[MatchGame]) -> None:
            for game in ended:
                left.discard(game.number)
                queue.finish(game)
            self.look()
            if left and (stop.requested or queue.abandoned or left <= queue.needless):
                raise Needless

        openings = [queue.openings.get(number, NO_OPENING).tolist() for number in numbers.tolist()]
        try:
            self.table = MatchTable(self.game, self.players, seeds[numbers], openings, watch, numbers)
            self.table.play(self.threads)
        except Needless:
            pass
        finally:
            self.parts += [self.table.result()] if self.table else []
            self.table = None
            with queue.lock:
                self.sharing.busy -= 1

    @property
    def stats(self) -> WorkerStats:
        """What both players have done until now."""
        stats, table = WorkerStats(games=sum(len(part.games) for part in self.parts)), self.table
        under_way = (table.result(),) if table else ()
        for part in (*self.parts, *under_way):
            for each in part.stats:
                stats.add(each)
        return stats

    def simulations_made(self) -> int:
        """Return the simulations of the moves chosen until now, and those of searches under way.

        A move counts in full, also if a proof has ended its search.
        """
        budget, begun = self.players[0].search.num_simulations, 0
        for player in self.players if self.table else ():
            begun += int((budget - player.tree.searches["simulations_left"][player.thinking]).sum())
        return self.stats.plies * budget + begun


def play_here(
    worker: MatchWorker,
    numbers: range,
    openings: dict[int, np.ndarray],
    seeds: np.ndarray,
    stop: StopSignal,
    progress: Callable[[int], object],
) -> list[MatchGame]:
    """Play games of a match in this process. Return them by number; not all if a stop is requested.

    Args:
        worker: who plays.
        numbers: of the games.
        openings, seeds: of all games of the match.
        stop: ends the games.
        progress: receives the number of finished games after each move.
    """
    queue = GameQueue(iter(numbers), openings=openings)
    worker.look = lambda: progress(len(queue.records))
    try:
        worker.play(queue, seeds, stop)
    finally:
        worker.look = nothing  # `progress` may lead back to the worker, whose trees would stay in memory
    return queue.in_order()


@dataclass(frozen=True)
class MatchPlan:
    """The match of a cycle.

    Attributes:
        config: the run's.
        cycle: under way, counted from 1.
        game, choice: the rules, and how the networks are computed.
        networks: candidate and champion, as `pack_network` writes them.
    """

    config: Config
    cycle: int
    game: Game
    choice: InferenceChoice
    networks: tuple[bytes, bytes]


class Rounds(Protocol):
    """Who plays the games of a match: this process (`RoundsHere`) or a cluster (`cluster.match`)."""

    def play(self, numbers: range, openings: dict[int, np.ndarray]) -> list[MatchGame]:
        """Play games of the match, whole pairs. Return them by number; not all if a stop is requested."""
        ...

    def summary(self, games: list[MatchGame]) -> MatchResult:
        """Return the match of these games, with the stats of who played them."""
        ...

    def account(self, seconds: float) -> WorkAccount:
        """Return what others did in the match, which took that long."""
        ...

    def end(self) -> None:
        """End what is still under way."""
        ...


class RoundsHere:
    """Plays a match in this process."""

    def __init__(self, plan: MatchPlan, progress: Progress, stop: StopSignal) -> None:
        """Make the players.

        Raises:
            UserError: a network does not fit the rules, or the games of a round do not fit into memory.
        """
        config = plan.config
        players = make_players(config, plan.networks, plan.game, plan.choice)
        self.worker = MatchWorker(plan.game, players, match_workers(config, plan.choice))
        self.seeds, self.progress, self.stop = match_seeds(config, plan.cycle), progress, stop

    def play(self, numbers: range, openings: dict[int, np.ndarray]) -> list[MatchGame]:
        """Play games of the match; see `Rounds`."""

        def show(ended: int) -> None:
            self.progress.update(numbers.start + ended)

        return play_here(self.worker, numbers, openings, self.seeds, self.stop, show)

    def summary(self, games: list[MatchGame]) -> MatchResult:
        """Return the match of these games."""
        return summarize(games, self.worker.parts)

    def account(self, seconds: float) -> WorkAccount:
        """Return an empty account: this process worked alone."""
        return WorkAccount()

    def end(self) -> None:
        """Do nothing: all has ended."""
