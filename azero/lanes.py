"""Lanes: threads that play self-play games with one network, many games in flight in each.

Kernels and inference release the GIL, so two lanes use two cores, and on a GPU one lane's tree work hides behind another's
inference. A game depends on its number alone, so neither the count of lanes nor an interruption changes what is played.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from azero.config import Config, SearchConfig, SelfplayConfig
from azero.examples import GameRecord, repeats_by_surprise
from azero.games.game import Game
from azero.machine import cores
from azero.memory import check_memory, lane_bytes
from azero.monitoring.console import Progress
from azero.network.inference import Inference
from azero.search.cache import EvaluationCache, make_cache
from azero.search.figures import LaneFigures, StageFigures
from azero.search.lane import FINISHED, IDLE, NO_ACTION, PLAYING, Lane, Policy, make_lane, make_scratch, play_wave, start_games
from azero.search.mcts import absorb, write_rows
from azero.search.puct import node_type
from azero.search.root import Fading, Temperature
from azero.search.scores import make_score, sound_for
from azero.search.tree import make_tree, nodes_needed
from azero.signals import StopSignal

NO_OPENING = np.zeros(0, np.int32)
BEGUN_TOGETHER = 16  # games that a lane takes at once when it begins, so that lanes share a few games evenly


@dataclass
class GameQueue:
    """Hands out the numbers of games still to be played, to lanes in any thread.

    Attributes:
        numbers: those not handed out yet.
        deadline: `time.perf_counter()` at which games should have ended: none is handed out, but for a first one, that would end
            later if it took as long as the finished ones did on average, or `expected_seconds` if that is more.
        expected_seconds: what a game takes from its beginning to its end, as far as that is known beforehand.
        openings: of some games, by number, the actions that they begin with, [plies] int32.
        abandoned: something has gone wrong in a lane or beside them; lanes end after the wave in hand.
        records: the finished games.
        begun: when games in flight were handed out, by number, by `time.perf_counter()`.
        played_seconds: what the finished games took, added up.
    """

    numbers: Iterator[int]
    deadline: float = math.inf
    expected_seconds: float = 0.0
    openings: Mapping[int, np.ndarray] = field(default_factory=dict)
    abandoned: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    handed_out: int = 0
    records: list[GameRecord] = field(default_factory=list)
    begun: dict[int, float] = field(default_factory=dict)
    played_seconds: float = 0.0

    @property
    def game_seconds(self) -> float:
        """What the finished games took on average; 0 before one has ended."""
        return self.played_seconds / max(1, len(self.records))

    def take(self, count: int) -> np.ndarray:
        """The next numbers, [count] int64; fewer when all games are handed out, time is up, or something has gone wrong."""
        with self.lock:
            now = time.perf_counter()
            late = now + max(self.expected_seconds, self.game_seconds) >= self.deadline
            if self.abandoned or (late and self.handed_out):
                return np.empty(0, np.int64)
            numbers = np.fromiter(itertools.islice(self.numbers, 1 if late else count), np.int64)
            self.handed_out += len(numbers)
            self.begun |= dict.fromkeys(numbers.tolist(), now)
            return numbers

    def finish(self, record: GameRecord) -> None:
        """Keep a game that has ended."""
        with self.lock:
            self.records.append(record)
            self.played_seconds += time.perf_counter() - self.begun.pop(record.number)

    def openings_of(self, numbers: np.ndarray) -> np.ndarray:
        """The actions that the games of those numbers [N] begin with, [N, plies] int32, NO_ACTION behind each."""
        given = [self.openings.get(number, NO_OPENING) for number in numbers.tolist()] if self.openings else []
        table = np.full((len(numbers), max(map(len, given), default=0)), NO_ACTION, np.int32)
        for row, actions in enumerate(given):
            table[row, : len(actions)] = actions
        return table


def make_policy(search: SearchConfig, selfplay: SelfplayConfig) -> Policy:
    """How self-play games are played."""
    return Policy(
        num_simulations=search.num_simulations,
        dirichlet_alpha=float(search.dirichlet_alpha),
        dirichlet_fraction=float(search.dirichlet_fraction),
        root_temperature=Fading(
            float(search.root_temperature), float(search.root_temperature_final), float(search.root_temperature_halflife)
        ),
        tree_reuse=search.tree_reuse,
        temperature=Temperature(
            float(selfplay.temperature),
            selfplay.temperature_plies,
            selfplay.temperature_decay_plies,
            float(selfplay.temperature_final),
        ),
        opening_fraction=float(selfplay.opening_fraction),
        opening_plies=max(1, selfplay.opening_plies),
        full_search_fraction=float(selfplay.full_search_fraction),
        fast_simulations=selfplay.fast_simulations if selfplay.full_search_fraction < 1 else 0,
        resign_threshold=float(selfplay.resign_threshold),
        resign_play_on=float(selfplay.resign_play_on),
    )


class SelfplayLane:
    """One thread's games, arrays, and view of the network."""

    def __init__(
        self,
        game: Game,
        inference: Inference,
        search: SearchConfig,
        policy: Policy,
        cache: EvaluationCache,
        surprise_share: float = 0.0,
    ) -> None:
        """Arrays for as many games in flight as the inference batch has rows. surprise_share: see `record_of`."""
        size, search = inference.batch_size, sound_for(search, game)
        num_nodes = nodes_needed(search.num_simulations, search.tree_reuse) + 1
        self.game, self.inference, self.policy, self.cache = game, inference, policy, cache
        self.surprise_share, self.proves = surprise_share, search.solver
        self.score = make_score(search, size, game.num_actions, policy.fast_simulations)
        self.tree = make_tree(size, num_nodes, game.num_actions, game.state_words, node_type(search))
        self.lane = make_lane(size, game.max_plies, game.num_actions, game.state_words)
        self.scratch = make_scratch(game, num_nodes)
        self.planes = np.zeros((size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(size, np.int64)
        self.numbers = np.zeros(size, np.int64)
        self.figures = LaneFigures()
        self.ended = math.inf  # `time.perf_counter()` since when it has nothing to do

    def play(self, queue: GameQueue, seeds: np.ndarray, deliver: Callable[[GameRecord], None], stop: StopSignal) -> None:
        """Play games until the queue has none left, or a stop is requested; each finished one goes to `deliver`."""
        places = np.arange(len(self.numbers))
        for first in range(0, len(places), BEGUN_TOGETHER):
            self.start_next(places[first : first + BEGUN_TOGETHER], queue, seeds)
        while not (stop.requested or queue.abandoned) and (self.lane.status != IDLE).any():
            begin = time.perf_counter()
            self.play_on(queue, seeds, deliver)
            rows = self.infer_leaves()
            self.count_wave(rows, time.perf_counter() - begin)
        self.figures.cache_asked, self.figures.cache_found = (int(count) for count in self.cache.counts)
        self.ended = time.perf_counter()

    def play_on(self, queue: GameQueue, seeds: np.ndarray, deliver: Callable[[GameRecord], None]) -> None:
        """Move every game to its next evaluation; games that end are delivered and replaced at once."""
        while play_wave(self.game.rule_addresses, self.tree, self.cache, self.lane, self.score, self.policy, self.scratch):
            finished = np.flatnonzero(self.lane.status == FINISHED)
            for place in finished.tolist():
                record = record_of(self.lane, place, int(self.numbers[place]), self.surprise_share, self.proves)
                self.figures.games += 1
                self.figures.plies += len(record.actions)
                self.figures.simulations += int(self.lane.simulations[place])
                self.figures.searches += int(self.lane.searches[place])
                deliver(record)
            self.start_next(finished, queue, seeds)

    def start_next(self, places: np.ndarray, queue: GameQueue, seeds: np.ndarray) -> None:
        """Begin the next games in those places [any], as far as there are any left."""
        numbers = queue.take(len(places))
        begun = places[: len(numbers)]
        self.lane.status[places[len(numbers) :]] = IDLE
        self.numbers[begun] = numbers
        chosen = (begun, seeds[numbers], queue.openings_of(numbers))
        start_games(self.game.rule_addresses, self.tree, self.lane, *chosen, self.policy, self.scratch)

    def infer_leaves(self) -> int:
        """One batch through the network. Returns how many of its rows carried a leaf."""
        rows = int(write_rows(self.game.rule_addresses, self.tree, self.planes, self.row_games))
        if rows == 0:
            return 0
        begin = time.perf_counter()
        logits, values = self.inference.infer(self.planes, rows)
        self.figures.inference_seconds += time.perf_counter() - begin
        self.figures.rows += len(logits)
        scratch = self.scratch
        absorb(
            *(self.game.rule_addresses, self.tree, self.cache, self.row_games, rows, logits, values),
            *(scratch.legal, scratch.key, scratch.prior),
        )
        return rows

    def simulations_made(self) -> int:
        """In finished games and in those in flight, of which `figures` does not know yet."""
        playing, (begun, _) = self.lane.status == PLAYING, self.under_way()
        return self.figures.simulations + int((self.lane.simulations + begun)[playing].sum())

    def searches_made(self) -> float:
        """In finished games and in those in flight, a search under way as the part of its simulations that is done."""
        playing, (begun, budgets) = self.lane.status == PLAYING, self.under_way()
        return self.figures.searches + float((self.lane.searches + begun / budgets)[playing].sum())

    def under_way(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each game's present search, the simulations made and those it is to make, [B] each."""
        searches = self.tree.searches
        budgets = np.where(searches["fast"], self.policy.fast_simulations, self.policy.num_simulations)
        return budgets - searches["simulations_left"], budgets

    def count_wave(self, rows: int, seconds: float) -> None:
        """Note a wave, which gave the network so many leaves, none where all games ended."""
        figures, size = self.figures, len(self.planes)
        figures.seconds += seconds
        figures.evaluations += rows
        if rows == size:
            figures.full_seconds += seconds
            figures.full_evaluations += rows


def lanes_wished(config: Config, device: str) -> int:
    """Threads that play: as set, else one a core on the CPU and two on a GPU, where one's tree hides behind the other's batch."""
    return config.lanes or (2 if device == "cuda" else cores())


def record_of(lane: Lane, place: int, number: int, surprise_share: float = 0.0, proves: bool = False) -> GameRecord:
    """A copy of the record of the finished game in that place.

    Args:
        lane: the games in flight.
        place: of the game.
        number: of the game.
        surprise_share: of the weight of its plies, by which they are repeated as they surprise.
        proves: whether searches prove values.
    """
    plies = int(lane.ply[place])
    searched, repeats = lane.searched[place, :plies].copy(), None
    if surprise_share:  # a generator costs more than all else of a short game's record
        rng = np.random.default_rng(lane.stream[place])
        repeats = repeats_by_surprise(searched, lane.surprise[place, :plies], surprise_share, rng)
    return GameRecord(
        number=number,
        states=lane.states[place, :plies].copy(),
        to_play=lane.to_play[place, :plies].copy(),
        actions=lane.actions[place, :plies].copy(),
        policy_target=lane.policy_target[place, :plies].copy(),
        root_value=lane.root_value[place, :plies].copy(),
        searched=searched,
        first_outcome=float(lane.first_outcome[place]),
        repeats=repeats,
        proven=lane.proven[place, :plies].copy() if proves else None,
    )


def make_lanes(game: Game, inferences: Sequence[Inference], config: Config) -> list[SelfplayLane]:
    """A lane for each inference, with a cache of its own.

    Raises:
        UserError: they do not fit into memory.
    """
    needed = sum(lane_bytes(game, inference.batch_size, config) for inference in inferences)
    settings = "selfplay.concurrent_games, search.num_simulations, inference.cache or lanes"
    check_memory(f"Self-play of {game.name}", needed, settings)
    policy, entries = make_policy(config.search, config.selfplay), config.inference.cache
    return [
        SelfplayLane(
            *(game, inference, config.search, policy, make_cache(entries, game.key_words, game.num_actions)),
            config.selfplay.surprise_share,
        )
        for inference in inferences
    ]


class LaneThreads:
    """Lanes that play games of a queue, each in a thread of its own; what goes wrong in one ends them all.

    A context: who leaves it has waited until all have ended. What goes wrong inside it ends them too, and what went wrong in one
    of them is raised.
    """

    def __init__(self, lanes: Sequence[SelfplayLane], queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Begin to play; the arguments are those of `SelfplayLane.play`."""
        self.failures: list[BaseException] = []
        self.queue = queue

        def run(lane: SelfplayLane) -> None:
            try:
                lane.play(queue, seeds, queue.finish, stop)
            except BaseException as failure:  # told in the thread that joins
                self.failures.append(failure)
                queue.abandoned = True

        self.threads = [threading.Thread(target=run, args=(lane,), daemon=True) for lane in lanes]
        for thread in self.threads:
            thread.start()

    def __enter__(self) -> LaneThreads:
        """They play already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all have ended; raises what went wrong in one of them."""
        if kind is not None:
            self.queue.abandoned = True
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def play_on(self, seconds: float) -> bool:
        """Wait so long, or until all have ended. Returns whether some still play."""
        until = time.perf_counter() + seconds
        for thread in self.threads:
            thread.join(max(0.0, until - time.perf_counter()))
        return any(thread.is_alive() for thread in self.threads)

    def looks(self, seconds: float) -> Iterator[None]:
        """Once about every so many seconds while some play, and once more when all have ended."""
        while self.play_on(seconds):
            yield
        yield


def play_games(
    game: Game,
    inferences: Sequence[Inference],
    config: Config,
    numbers: Sequence[int],
    seeds: np.ndarray,
    progress: Progress,
    stop: StopSignal,
    deadline: float = math.inf,
    expected_seconds: float = 0.0,
    openings: Mapping[int, np.ndarray] | None = None,
    keep: Callable[[list[GameRecord]], None] = lambda records: None,
) -> tuple[list[GameRecord], StageFigures]:
    """Play the games of those numbers, one lane for each inference, and return those that finished, by number, and the figures.

    Args:
        game: the rules.
        inferences: one for each lane.
        config: `search`, `selfplay` and `inference.cache` are read.
        numbers: games to play; each is replayed exactly from `seeds[number]`.
        seeds: [games] uint64.
        progress: told every tenth of a second how many games have finished.
        stop: when requested, lanes end after the wave in hand and unfinished games are dropped.
        deadline: `time.perf_counter()` at which the stage should end: no game is begun that would probably end later; those in
            flight are finished, and at least one is played.
        expected_seconds: what a game takes beside others in flight, as far as that is known.
        openings: of some games, by number, the actions that they begin with, [plies] int32.
        keep: is given the games that finished, by number, where something goes wrong, which is raised after that.

    Raises:
        UserError: the lanes do not fit into memory.
    """
    lanes = make_lanes(game, inferences, config)
    queue = GameQueue(iter(numbers), deadline, expected_seconds, openings or {})
    begin = time.perf_counter()
    try:
        with LaneThreads(lanes, queue, seeds, stop) as threads:
            for _ in threads.looks(0.1):
                made = sum(lane.simulations_made() for lane in lanes)
                progress.update(len(queue.records), **live_figures(stage_figures(lanes), made, time.perf_counter() - begin))
    except BaseException:
        keep(in_order(queue.records))
        raise
    figures = stage_figures(lanes)
    figures.game_seconds = queue.game_seconds
    return in_order(queue.records), figures


def in_order(records: Iterable[GameRecord]) -> list[GameRecord]:
    """The games by number."""
    return sorted(records, key=lambda record: record.number)


def stage_figures(lanes: Sequence[SelfplayLane]) -> StageFigures:
    """What the lanes have done until now; those that have ended are idle."""
    now = time.perf_counter()
    return StageFigures([replace(lane.figures, idle_seconds=max(0.0, now - lane.ended)) for lane in lanes])


def live_figures(figures: StageFigures, simulations: int, seconds: float) -> dict[str, float | str]:
    """What a person watching wants to know; the simulations are also those of games in flight."""
    return {
        "games_per_second": figures.games / max(seconds, 1e-9),
        "simulations_per_second": simulations / max(seconds, 1e-9),
        **figures.live(),
    }
