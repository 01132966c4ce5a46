"""Short trials of a recipe on this machine: what `azero.estimate` calculates with.

Everything is done by the run's own code, with the recipe's network as it is first made, its search and its settings, on a run in
a folder that is thrown away.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero import evaluate, initialize, seeds
from azero.config import Config
from azero.examples import Examples, GameRecord, examples_of, merge_equal
from azero.forecast import Merging, merging_of
from azero.games import make_game
from azero.games.game import Game
from azero.inference_choice import ensure_choice
from azero.lanes import GameQueue, LaneThreads, SelfplayLane, make_lanes
from azero.learning.fit import fit
from azero.match import Table
from azero.memory import memory_in_use
from azero.metrics import NullReporter
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice, resolve_device
from azero.network.model import Network, pack_network, unpack_network
from azero.network.torch_inference import one_thread_a_lane, torch_threads
from azero.replay import dump_games
from azero.run import Run, StopSignal
from azero.train import forward_products, training_threads
from azero.truth.known import told_last

TRAIN_STEPS = 60  # the most that are timed
MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2}  # numbers that the optimizer keeps for each weight


class Enough(Exception):
    """A trial has measured what it can in its time."""


@dataclass(frozen=True)
class Speed:
    """How fast self-play goes: over the whole stage where it ended in time, else while all places have games.

    Attributes:
        simulations, evaluations, plies: a second, in all lanes; plies of openings are not counted.
        finished: games that ended, by number.
        seconds: since the lanes began.
        whole: all games asked for were played.
    """

    simulations: float
    evaluations: float
    plies: float
    finished: list[GameRecord]
    seconds: float
    whole: bool


@dataclass(frozen=True)
class MatchSpeed:
    """What the match takes.

    Attributes:
        start: seconds until its networks are ready.
        plies: a second, at full speed.
        seconds: of all its games; nan where they did not end in time.
    """

    start: float
    plies: float
    seconds: float


@dataclass(frozen=True)
class Training:
    """What training takes.

    Attributes:
        step: seconds of one step.
        window_example: seconds to merge and encode one example of the window.
        merging: how many examples merging leaves.
        candidate: bytes of the network's file as it is kept, with the optimizer's moments where those are kept.
        memory: bytes that training adds beside the window; Python and torch do not give them back.
    """

    step: float
    window_example: float
    merging: Merging
    candidate: int
    memory: int


class Trial:
    """A run that is begun in a folder of its own, and what is timed with it."""

    def __init__(self, config: Config, folder: Path) -> None:
        """Begin the run: make the first network and choose how it is computed.

        Raises:
            UserError: the recipe cannot run here.
        """
        self.config = replace(config, checkpoints=str(folder), data=str(folder / "data"), run="estimate", init_from=None)
        self.game: Game = make_game(config.game.name, **config.game.options)
        with Run.open(self.config, "estimate", "azero.estimate") as run:
            initialize.run_stage(self.config, run, NullReporter(), StopSignal())
            self.first = run.read_champion()
            self.network: Network = unpack_network(self.first, "first network").network
            self.choice: InferenceChoice = ensure_choice(run, self.config, self.game, self.network, NullReporter())

    def play(self, lanes: int, rows: int, seconds: float, games: int, config: Config | None = None) -> Speed:
        """Play so many games of the first cycle for at most so many seconds; speeds are those of the second half."""
        config = config or self.config
        choice = self.choice if rows == self.choice.batch_size else replace(self.choice, batch_size=rows, batches=())
        queue, stop = GameQueue(iter(range(games))), StopSignal()
        game_seeds = seeds.game_seeds(config.seed, 1, seeds.SELFPLAY, games)
        with one_thread_a_lane():
            inferences = make_inferences(self.network, self.game, choice, lanes)
            playing = make_lanes(self.game, inferences, config)
            begin = time.perf_counter()
            counts = [self.counts(playing)]
            with LaneThreads(playing, queue, game_seeds, stop) as threads:
                for _ in threads.looks(min(0.02, seconds / 50)):
                    if all(lane.ended > counts[-1][0] for lane in playing):
                        counts.append(self.counts(playing))
                    stop.requested = time.perf_counter() - begin > seconds
            end = time.perf_counter()
        half = next(count for count in counts if count[0] >= (counts[0][0] + counts[-1][0]) / 2)
        if half is counts[-1] or len(queue.records) == games:
            half = counts[0]
        took, simulations, evaluations, plies = (late - early for late, early in zip(counts[-1], half, strict=True))
        took = max(took, 1e-9)
        return Speed(
            simulations / took,
            evaluations / took,
            plies / took,
            sorted(queue.records, key=lambda record: record.number),
            end - begin,
            len(queue.records) == games,
        )

    def counts(self, lanes: Sequence[SelfplayLane]) -> tuple[float, float, float, float]:
        """The time, and so far simulations, evaluations and searched plies, one under way as the part of it that is done."""
        simulations = sum(lane.simulations_made() for lane in lanes)
        evaluations = sum(lane.figures.evaluations for lane in lanes)
        return time.perf_counter(), simulations, evaluations, sum(lane.searches_made() for lane in lanes)

    def train(self, records: Sequence[GameRecord], seconds: float) -> Training:
        """Train on some games for at most so many seconds."""
        config, examples = self.config.train, examples_of(records, replies=self.config.network.opponent_reply)
        begin = time.perf_counter()
        left = merge_equal(examples) if config.merge_equal else examples
        merging_seconds = time.perf_counter() - begin
        merging = merging_by_halves(examples) if config.merge_equal else Merging()
        enough = Examples(*(np.resize(column, (max(len(column), config.batch_size), *column.shape[1:])) for column in left))
        ticks, held = list[float](), [memory_in_use()]

        def tick(done: int, steps: int, figures: dict[str, float]) -> None:
            ticks.append(time.perf_counter())
            held.append(memory_in_use())
            if ticks[-1] - begin > seconds and done > 1:
                raise Enough

        begin = time.perf_counter()
        try:
            products = forward_products(self.network, config.batch_size)
            with torch_threads(training_threads(products, 0, NullReporter())):
                device = resolve_device(self.config.device)
                result = fit(self.network, enough, self.game, config, self.config.seed, device, tick, steps=TRAIN_STEPS)
                moments, unseen = result.optimizer_state if config.keep_optimizer else None, 0
        except Enough:
            weights = sum(parameter.nbytes for parameter in self.network.parameters())
            moments, unseen = None, MOMENTS[config.optimizer] * weights if config.keep_optimizer else 0
        candidate = pack_network(
            self.network,
            game=self.game,
            config=self.config.network,
            cycle=0,
            train_steps=0,
            optimizer_state=moments,
            training=self.network if config.ema_decay else None,
        )
        after_first = ticks[min(3, len(ticks) - 2) :]
        return Training(
            step=float(np.median(np.diff(after_first))),
            window_example=merging_seconds / len(examples.states) + max(0.0, ticks[0] - begin) / len(enough.states) / 2,
            merging=merging,
            candidate=len(candidate) + unseen,
            memory=max(held) - held[0],
        )

    def match(self, seconds: float, games: int) -> MatchSpeed:
        """Play a match of the first network against itself for at most so many seconds; its speed is that of the first half."""
        self.play_match(replace(self.config, evaluate=replace(self.config.evaluate, games=2)), seconds)  # compiles
        before = time.perf_counter()
        played, whole = self.play_match(replace(self.config, evaluate=replace(self.config.evaluate, games=games)), seconds)
        (begin, _), (end, _) = played[0], played[-1]
        middle, moves = next(count for count in played if count[0] >= (begin + end) / 2)
        return MatchSpeed(begin - before, moves / max(middle - begin, 1e-9), end - begin if whole else float("nan"))

    def play_match(self, config: Config, seconds: float) -> tuple[list[tuple[float, int]], bool]:
        """Time and moves after each turn of a player, and whether all games ended."""
        played: list[tuple[float, int]] = []
        tables: list[Table] = []

        def watch(ended: object) -> None:
            played.extend((time.perf_counter(), sum(seat.moves for seat in table.seats)) for table in tables)
            if played and played[-1][0] - played[0][0] > seconds:
                raise Enough

        with one_thread_a_lane():
            players = evaluate.make_players(config, (self.first, self.first), self.game, self.choice)
            openings = evaluate.make_openings(config, self.game, 1)
            tables.append(evaluate.lay_table(config, players, self.game, 1, openings, watch))
            played.append((time.perf_counter(), 0))
            with contextlib.suppress(Enough):
                tables[0].play(evaluate.match_lanes(config, self.choice))
        return played, len(tables[0].ended) == config.evaluate.games

    def correctness(self) -> float:
        """Seconds to measure a champion after a cycle; 0 where nothing is measured. The first time solves the game."""
        if not told_last(self.config):
            return 0.0
        from azero.cycle_report import report_cycle

        for _ in range(2):
            begin = time.perf_counter()
            report_cycle(self.config, "estimate", 1, NullReporter())
        return time.perf_counter() - begin

    def shard_bytes(self, records: Sequence[GameRecord]) -> float:
        """Bytes of one game on the disk."""
        return len(dump_games(records, self.game.name)) / len(records)


def merging_by_halves(examples: Examples) -> Merging:
    """How many examples merging leaves, from a quarter of them, half, and all."""
    parts = [Examples(*(column[: len(column) // share] for column in examples)) for share in (4, 2, 1)]
    return merging_of(*((float(len(part.states)), float(len(merge_equal(part).states))) for part in parts if len(part.states)))
