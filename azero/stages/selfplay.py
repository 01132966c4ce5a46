"""The self-play stage: the champion plays games against itself, and their records become a shard."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from azero.cluster.head import Head, Totals, lines_of
from azero.cluster.stage import Playing, crew_of, make_head, play_on_cluster
from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.compiling import compiled_before, note_compiled
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import Network, unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord
from azero.replay.shards import load_partial, write_games, write_partial
from azero.report.console import Progress
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.run.run import Run
from azero.run.state import AsideEntry, StageName
from azero.stages import warm_up
from azero.stages.backend import ensure_choice, positions_to_time
from azero.workers.report import is_cut, report_games
from azero.workers.threads import GameQueue, play_games, workers_wanted

FIXED_POSITIONS = 64  # that every worker of a cluster must evaluate alike


@dataclass(frozen=True)
class Plan:
    """What is to be played of a cycle.

    Attributes:
        config: the run's, with the cycle's share of openings.
        cycle: counted from 1.
        game, network, choice: the rules, who plays, and how the network is computed.
        done: games that an interrupted stage has finished.
        numbers: of the games to play.
    """

    config: Config
    cycle: int
    game: Game
    network: Network
    choice: InferenceChoice
    done: list[GameRecord]
    numbers: list[int]


@dataclass(frozen=True)
class Begun:
    """Self-play on a cluster that has begun while the head did something else."""

    plan: Plan
    playing: Playing


def make_plan(config: Config, run: Run, report: Reporter, cycle: int) -> Plan:
    """Return what is to be played of a cycle.

    Raises:
        UserError: the network does not fit the rules, or is damaged.
    """
    game = make_game(config.game.name, **config.game.options)
    network = unpack_network(run.read_player(), "champion", game).network
    choice = ensure_choice(run, config, game, network, report)
    done = load_partial(run, game, report.message)
    wanted = config.selfplay.games
    numbers = set(range(wanted)) - {record.number for record in done} - left_out(run, cycle, wanted)
    return Plan(settings_in(config, cycle), cycle, game, network, choice, done, sorted(numbers))


def head_for(
    plan: Plan, report: Reporter, progress: Progress, stop: StopSignal, deadline: float = math.inf
) -> Head:
    """Return a head that plays what is planned with the workers of the cluster; nothing happens yet."""
    planes = positions_to_time(plan.game, FIXED_POSITIONS, plan.config.seed)
    return make_head(
        crew_of(plan.config, plan.choice.device),
        plan.game,
        plan.network,
        plan.choice,
        planes,
        plan.config,
        plan.cycle,
        plan.numbers,
        progress,
        stop,
        report.message,
        deadline,
        report.last_stat(GAME_SECONDS) or 0.0,
    )


def keep(run: Run, plan: Plan, played: Sequence[GameRecord]) -> None:
    """Commit finished games of a cycle that is not finished."""
    parts = write_partial(run, plan.cycle, played, plan.game.name)
    run.commit(replace(run.state, partial=[*run.state.partial, *parts]))


def run_stage(
    config: Config,
    run: Run,
    report: Reporter,
    stop: StopSignal,
    deadline: float = math.inf,
    begun: Begun | None = None,
) -> None:
    """Play the cycle's games with the champion, write them, commit.

    With `cluster.overlap` the network plays that was champion when the training of the cycle before began.

    Args:
        config, run, report, stop: as for every stage.
        deadline: `time.perf_counter()` at which the games should have ended; those that could be played until
            then are the cycle's games.
        begun: the games, if they have begun already.

    Raises:
        Stopped: finished games are committed as a partial shard; the others are played again from their
            seeds. Any other error of a worker keeps them too.
        UserError: the champion does not fit the rules.
    """
    begin = time.perf_counter()
    cycle, wanted = run.state.cycle + 1, config.selfplay.games
    remote = begun is not None or bool(config.cluster.address)
    if not remote and not compiled_before(config.search.kind):
        kind = config.search.kind
        report.message(f"Compiling the {kind} search takes a minute or two; later starts skip it.")
        warm_up.start(kind)
    plan = begun.plan if begun else make_plan(config, run, report, cycle)
    game, choice, numbers, saving = plan.game, plan.choice, plan.numbers, partial(keep, run, plan)
    total = begun.playing.games_left() if begun else len(numbers)
    with (
        report.stage(StageName.SELFPLAY, cycle, config.cycles, total, "games") as progress,
        one_thread_per_worker(),
    ):
        if begun:
            played, stats, totals = begun.playing.finish(progress, stop, deadline, saving)
        elif remote:
            head = head_for(plan, report, progress, stop, deadline)
            played, stats, totals = play_on_cluster(head, saving)
        else:
            workers = worker_count(config, len(numbers), choice)
            inferences = make_inferences(plan.network, game, choice, workers)
            expected_seconds = report.last_stat(GAME_SECONDS) or 0.0
            queue = GameQueue(iter(numbers), deadline, expected_seconds)
            seeds = game_seeds(config.seed, cycle, SELFPLAY, wanted)
            played, stats = play_games(game, inferences, plan.config, queue, seeds, progress, stop, saving)
    if remote and totals.aside:
        entries = [AsideEntry(cycle, game, reason) for game, reason in sorted(totals.aside.items())]
        run.commit(replace(run.state, aside=[*run.state.aside, *entries]))
    aside = left_out(run, cycle, wanted)
    if played and not remote:
        note_compiled(config.search.kind)
    if len(played) < len(set(numbers) - aside) and stop.requested:
        saving(played)
        raise Stopped
    records = [*(record for record in plan.done if record.number < wanted), *played]
    if len(records) < wanted - len(aside):
        short = f"self-play: {len(records):,} of {wanted:,} games"
        report.message(f"{short}, as many as minutes={config.minutes:g} leaves time for.")
    if cut := sum(is_cut(game, record) for record in records):
        report.message(
            f"self-play: {cut:,} of {len(records):,} games went on after {game.max_plies} plies and count as "
            f"draws; raise max_plies in the rules of {game.name}, or let its games end."
        )
    seconds = totals.play_seconds if begun else time.perf_counter() - begin
    records.sort(key=lambda record: record.number)
    try:
        report_games(report, game, cycle, records, stats, seconds)
    except BaseException:
        saving(played)
        raise
    if remote:
        report.cycle_scalars(cycle, totals.scalars(seconds))
        report.message(lines_of(totals, seconds))
        mark_mixed(run, report, totals)
    new = write_games(run, cycle, records, game.name)
    player = run.state.champion if config.cluster.overlap else None
    state = replace(run.state, shards=[*run.state.shards, *new], partial=[], player=player)
    run.commit(replace(state, stage=StageName.TRAIN))


def left_out(run: Run, cycle: int, games: int) -> set[int]:
    """Return the games of a cycle that are not played, because workers died of them."""
    return {entry.game for entry in run.state.aside if entry.cycle == cycle and entry.game < games}


def mark_mixed(run: Run, report: Reporter, totals: Totals) -> None:
    """Mark the run if workers of a stage computed the network differently."""
    if totals.mixed and not run.state.mixed:
        report.message("Workers compute the network differently, so this run is marked as mixed.")
        run.commit(replace(run.state, mixed=True))


def settings_in(config: Config, cycle: int) -> Config:
    """Return the settings with the cycle's length of random openings."""
    selfplay = config.selfplay
    if not selfplay.opening_plies_final or cycle <= selfplay.opening_plies_cycles:
        return config
    return replace(config, selfplay=replace(selfplay, opening_plies=selfplay.opening_plies_final))


def worker_count(config: Config, games: int, choice: InferenceChoice) -> int:
    """Return the number of workers: never more than batches of games."""
    return max(1, min(workers_wanted(config, choice.device), -(-games // choice.batch_size)))
