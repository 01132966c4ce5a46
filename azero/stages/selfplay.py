"""The self-play stage: the champion plays games against itself, and their records become a shard."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from azero.cluster.head import lines_of
from azero.cluster.stage import crew_of, play_on_cluster
from azero.config.schema import Config, share_in
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.compiling import compiled_before, note_compiled
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.seeds import FORKS, SELFPLAY, game_seeds, sequence
from azero.replay.examples import GameRecord
from azero.replay.shards import load_newest, load_partial, write_games, write_partial
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.run.run import Run, Stopped, StopSignal
from azero.run.state import StageName
from azero.stages import warm_up
from azero.stages.backend import ensure_choice, positions_to_time
from azero.workers.forks import forks
from azero.workers.report import is_cut, report_games
from azero.workers.threads import GameQueue, play_games, workers_wanted

FIXED_POSITIONS = 64  # that every worker of a cluster must evaluate alike


def run_stage(
    config: Config, run: Run, report: Reporter, stop: StopSignal, deadline: float = math.inf
) -> None:
    """Play the cycle's games with the champion, write them, commit.

    Args:
        config, run, report, stop: as for every stage.
        deadline: `time.perf_counter()` at which the games should have ended; those that could be played until
            then are the cycle's games.

    Raises:
        Stopped: finished games are committed as a partial shard; the others are played again from their
            seeds. Any other error of a worker keeps them too.
        UserError: the champion does not fit the rules.
    """
    begin = time.perf_counter()
    cycle, wanted = run.state.cycle + 1, config.selfplay.games
    game = make_game(config.game.name, **config.game.options)
    champion = unpack_network(run.read_champion(), "champion", game).network
    choice = ensure_choice(run, config, game, champion, report)
    remote = bool(config.cluster.address)
    if not remote and not compiled_before(config.search.kind):
        kind = config.search.kind
        report.message(f"Compiling the {kind} search takes a minute or two; later starts skip it.")
        warm_up.start(kind)
    done = load_partial(run, report.message)
    numbers = sorted(set(range(wanted)) - {record.number for record in done})
    seeds = game_seeds(config.seed, cycle, SELFPLAY, wanted)
    config = settings_in(config, cycle)
    expected_seconds = report.last_stat(GAME_SECONDS) or 0.0
    openings = openings_of(config, run, game, report)

    def keep(played: list[GameRecord]) -> None:
        parts = write_partial(run, cycle, played, game.name)
        run.commit(replace(run.state, partial=[*run.state.partial, *parts]))

    with (
        report.stage(StageName.SELFPLAY, cycle, config.cycles, len(numbers), "games") as progress,
        one_thread_per_worker(),
    ):
        if remote:
            planes = positions_to_time(game, FIXED_POSITIONS, config.seed)
            played, stats, totals = play_on_cluster(
                *(crew_of(config, choice.device), game, champion, choice, planes, config, cycle, numbers),
                *(openings, progress, stop, report.message, deadline, expected_seconds, keep),
            )
        else:
            inferences = make_inferences(champion, game, choice, worker_count(config, len(numbers), choice))
            queue = GameQueue(iter(numbers), deadline, expected_seconds, openings)
            played, stats = play_games(game, inferences, config, queue, seeds, progress, stop, keep)
    if played and not remote:
        note_compiled(config.search.kind)
    if len(played) < len(numbers) and stop.requested:
        keep(played)
        raise Stopped
    records = [*(record for record in done if record.number < wanted), *played]
    if len(records) < wanted:
        short = f"self-play: {len(records):,} of {wanted:,} games"
        report.message(f"{short}, as many as minutes={config.minutes:g} leaves time for.")
    if cut := sum(is_cut(game, record) for record in records):
        report.message(
            f"self-play: {cut:,} of {len(records):,} games went on after {game.max_plies} plies and count as "
            f"draws; raise max_plies in the rules of {game.name}, or let its games end."
        )
    seconds = time.perf_counter() - begin
    records.sort(key=lambda record: record.number)
    report_games(report, game, cycle, records, stats, seconds, config.selfplay.resign_threshold)
    if remote:
        report.cycle_scalars(cycle, totals.scalars(seconds))
        report.message(lines_of(totals, seconds))
        if totals.mixed and not run.state.mixed:
            report.message("Workers compute the network differently, so this run is marked as mixed.")
            run.commit(replace(run.state, mixed=True))
    new = write_games(run, cycle, records, game.name)
    shards = [*run.state.shards, *new]
    run.commit(replace(run.state, shards=shards, partial=[], stage=StageName.TRAIN))


def settings_in(config: Config, cycle: int) -> Config:
    """Return the settings with the cycle's share of random openings."""
    selfplay = config.selfplay
    shares = (selfplay.opening_fraction, selfplay.opening_fraction_cycles, selfplay.opening_fraction_final)
    return replace(config, selfplay=replace(selfplay, opening_fraction=share_in(cycle, *shares)))


def openings_of(config: Config, run: Run, game: Game, report: Reporter) -> dict[int, np.ndarray]:
    """Return the openings of the cycle's games that leave earlier ones, by number; see `forks`."""
    if not config.selfplay.fork_fraction:
        return {}
    source, selfplay = sequence(config.seed, run.state.cycle + 1, FORKS), config.selfplay
    return forks(game, load_newest(run, report.message), selfplay.fork_fraction, selfplay.games, source)


def worker_count(config: Config, games: int, choice: InferenceChoice) -> int:
    """Return the number of workers: never more than batches of games."""
    return max(1, min(workers_wanted(config, choice.device), -(-games // choice.batch_size)))
