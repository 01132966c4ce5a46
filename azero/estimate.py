"""`azero estimate connect_four`: how long would this run take here, and what would it need?

It times some games, training steps and the match of the first cycle, with the recipe's network, search and
settings, and multiplies (`forecast.py`). It touches no run. With `cluster.address=…` the workers of the
cluster play for some seconds, self-play and the match, and the estimate is that of the cluster.

Games are as long as in the run's newest cycle, or as an untrained network's. A trained network's games are
longer or shorter, and times differ from one trial to the next, so the answer is a range.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero.cli.hydra_program import program
from azero.cluster.stage import crew_of
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.match.gate import games_at_most
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.replay.shards import dump_games
from azero.report.console import TITLES, Console, Progress, format_count, format_seconds, table_text
from azero.report.forecast import Pace, cycle_seconds, cycles_in, run_seconds, window_examples
from azero.run.folder import paths_of
from azero.run.run import Run
from azero.run.state import StageName
from azero.stages.backend import batch_rows
from azero.stages.cluster_trial import ClusterSpeed, try_cluster
from azero.stages.selfplay import worker_count
from azero.stages.trials import Speed, Trial
from azero.workers.matches import match_bytes, match_search
from azero.workers.memory import memory_in_use, worker_bytes

SELFPLAY_SECONDS, TRAIN_SECONDS, MATCH_SECONDS = 20.0, 6.0, 6.0
CLUSTER_SECONDS = 10.0  # workers report at least every two seconds
LENGTH_SECONDS, LENGTH_GAMES = 30.0, 32  # games with few simulations, if too few end in time otherwise
FEW_SIMULATIONS = 8  # with one, the games of Connect Four are twice as long as with 24
SPREAD = 1.5  # by which the run may take longer or shorter
OTHER_SECONDS = 0.2  # of a cycle, to write files and stats
TENSORBOARD_BYTES = 20_000  # of a cycle, a guess from earlier runs; pictures of tic-tac-toe come on top
MIB = 2**20


@dataclass(frozen=True)
class Measured:
    """The results of the trials.

    Attributes:
        workers, rows: as the run would choose them.
        speed: of self-play.
        plies: searched plies of a game.
        source: where they come from.
        pace: of the run.
        start: seconds until a run can play: the first network, the choice of a backend, and compiling.
        game_bytes, network_bytes: of a game and of a network on the disk.
        memory: bytes that the trial had in use at most.
        choice: how the network is computed, in words.
        cluster: what the workers of a cluster do; None without one.
    """

    workers: int
    rows: int
    speed: Speed
    plies: float
    source: str
    pace: Pace
    start: float
    game_bytes: float
    network_bytes: int
    memory: int
    choice: str
    cluster: ClusterSpeed | None = None


def known_plies(config: Config, name: str) -> float | None:
    """Return the mean searched plies of a game in the newest finished cycle of the run; None without one."""
    if not paths_of(config, name).state.is_file():
        return None
    state = Run.read(config, name).state
    newest = [shard for shard in state.shards if shard.cycle == state.cycle]
    if not newest:
        return None
    return sum(shard.examples for shard in newest) / sum(shard.games for shard in newest)


def searched_plies(records: list[GameRecord]) -> float:
    """Return the mean plies of a game that were searched."""
    return float(np.mean([len(record.actions) - record.opening_plies for record in records]))


def measure(config: Config, name: str, folder: Path, progress: Progress) -> Measured:
    """Make all trials.

    Raises:
        UserError: the recipe cannot run here, or is too slow to finish one game.
    """
    begin = time.perf_counter()
    progress.update(0, now="starting and compiling")
    trial = Trial(config, folder)
    games, rows = config.selfplay.games, batch_rows(config)
    workers = worker_count(config, games, trial.choice)
    trial.play(1, rows, LENGTH_SECONDS, 2, shallow(config))  # compiles
    start, memory = time.perf_counter() - begin, memory_in_use()
    progress.update(2, now="self-play")
    speed = trial.play(workers, rows, SELFPLAY_SECONDS, games)
    records, source = typical_games(trial, speed, workers * rows)
    own, plies = searched_plies(records), known_plies(config, name)
    if plies:
        source = f"of run {name}'s newest cycle"
    plies, cluster = plies or own, None
    progress.update(4, now="training")
    step = time_step(trial, records, speed.whole)
    progress.update(6, now="the match")
    match = time_match(trial, speed, plies)
    progress.update(7, now="measuring the champion")
    correctness = trial.correctness()
    if config.cluster.address:
        progress.update(8, now="the workers of the cluster")
        crew = crew_of(config, trial.choice.device)
        cluster = try_cluster(trial, crew, CLUSTER_SECONDS, MATCH_SECONDS, plies)
        start = cluster.start
        if not math.isnan(cluster.match):
            match = cluster.match * games_at_most(config.evaluate) / config.evaluate.games
    selfplay = selfplay_seconds(games, plies, speed, workers * rows, plies / own)
    if cluster:
        selfplay = cluster_seconds(games, plies, speed, cluster, rows)
    progress.update(10, now="done")
    return Measured(
        workers=workers,
        rows=rows,
        speed=speed,
        plies=plies,
        source=source,
        pace=Pace(
            selfplay=selfplay,
            examples=games * plies,
            merging=trial.merging(records),
            step=step,
            evaluate=match,
            correctness=correctness,
            other=OTHER_SECONDS,
        ),
        start=start,
        game_bytes=len(dump_games(records, trial.game.name)) / len(records) * plies / own,
        network_bytes=trial.network_bytes(),
        memory=max(memory, memory_in_use()),
        choice=f"{trial.choice.backend} {trial.choice.precision} on {trial.choice.device}",
        cluster=cluster,
    )


def shallow(config: Config) -> Config:
    """Return the settings with few simulations a move."""
    return replace(
        config,
        search=replace(config.search, num_simulations=min(FEW_SIMULATIONS, config.search.num_simulations)),
    )


def typical_games(trial: Trial, speed: Speed, places: int) -> tuple[list[GameRecord], str]:
    """Return games as long as a stage's, and where they come from.

    The games that end first are short, so they count only if all that began with them have ended. Otherwise
    play games with few simulations a move to their end.

    Raises:
        UserError: even of those none ended.
    """
    cohort = [record for record in speed.finished if record.number < places]
    if speed.whole or len(cohort) == places:
        return speed.finished if speed.whole else cohort, "of the first network's games"
    workers = max(1, places // trial.choice.batch_size)
    quick = trial.play(workers, LENGTH_GAMES // 2, LENGTH_SECONDS, LENGTH_GAMES, shallow(trial.config))
    if not quick.finished:
        what = f"No game of {trial.game.name} ended within {LENGTH_SECONDS:g} s"
        raise UserError(f"{what}; choose a smaller network.")
    return quick.finished, f"of the first network's games with at most {FEW_SIMULATIONS} simulations a move"


def time_step(trial: Trial, records: list[GameRecord], whole: bool) -> float:
    """Return the seconds of a training step; if a whole stage was timed, with its share of all other work."""
    timer = trial.train(records, TRAIN_SECONDS, whole)
    return timer.seconds / timer.total if whole and timer.seconds else timer.each()


def time_match(trial: Trial, speed: Speed, plies: float) -> float:
    """Return the seconds of the first cycle's matches.

    Those that take too long are taken to search as fast as self-play.
    """
    evaluate = trial.config.evaluate
    if not evaluate.games and not evaluate.anchor_games:
        return 0.0
    timer = trial.match(MATCH_SECONDS)
    if timer.seconds:
        return timer.seconds
    simulations = timer.total * plies * match_search(trial.config).num_simulations
    return simulations / max(speed.simulations, 1e-9)


def selfplay_seconds(games: int, plies: float, speed: Speed, places: int, scale: float = 1.0) -> float:
    """Return the seconds of a self-play stage.

    Args:
        games, plies: of the stage, and of a game.
        speed: of a trial.
        places: games in flight; as they end at the end of the stage, batches are smaller and less efficient.
        scale: how many times as long as the trial's the games are.
    """
    if speed.whole:
        return speed.seconds * scale
    return (games + min(games, places) / 4) * plies / max(speed.plies, 1e-9)


def cluster_seconds(games: int, plies: float, speed: Speed, cluster: ClusterSpeed, rows: int) -> float:
    """Return the seconds of a self-play stage on a cluster. A ply costs as many simulations as here."""
    each = speed.simulations / max(speed.plies, 1e-9)
    there = replace(speed, plies=cluster.simulations / each, whole=False)
    return cluster.prepare + selfplay_seconds(games, plies, there, cluster.threads * rows)


def time_text(config: Config, measured: Measured) -> str:
    """Return the times of a cycle's parts and of the run."""
    pace, last = measured.pace, last_cycle(config, measured)
    first, final = (cycle_seconds(pace, config.train, cycle) for cycle in (1, last))
    rows = [["a cycle", "first", f"cycle {last}"]]
    parts = {TITLES.get(part, part): (first[part], final[part]) for part in first if final[part]}
    parts["together"] = together(config, first), together(config, final)
    rows += [[part, *map(format_seconds, seconds)] for part, seconds in parts.items()]
    if config.minutes:
        few, many = (cycles_held(config, measured, factor) for factor in (SPREAD, 1 / SPREAD))
        about = cycles_held(config, measured)
        whole = f"minutes={config.minutes:g} leaves time for about {about} cycles, {few} to {many}"
    else:
        low, high = estimate_seconds(config, measured)
        times = map(format_seconds, (whole_seconds(config, measured), low, high, measured.start))
        whole = "{} cycles: about {}, {} to {}; start {}".format(config.cycles, *times)
    return f"{table_text(rows)}\n\n{whole}"


def together(config: Config, parts: Mapping[str, float]) -> float:
    """Return the seconds of a cycle; with `cluster.overlap` self-play and the rest go on at the same time."""
    whole, play = sum(parts.values()), parts[StageName.SELFPLAY]
    return max(play, whole - play) if config.cluster.overlap else whole


def cycles_held(config: Config, measured: Measured, factor: float = 1.0) -> int:
    """Return the recipe's cycles, or how many `minutes` leave time for if all takes `factor` as long."""
    if not config.minutes:
        return config.cycles
    seconds = 60 * config.minutes / factor - measured.start
    return cycles_in(measured.pace, config.train, seconds, config.cycles)


def last_cycle(config: Config, measured: Measured) -> int:
    """Return the last cycle that the estimate shows, at least 1."""
    return max(1, cycles_held(config, measured))


def whole_seconds(config: Config, measured: Measured) -> float:
    """Return the seconds of the whole run, its start included."""
    if config.cluster.overlap:
        cycles = (cycle_seconds(measured.pace, config.train, cycle) for cycle in range(1, config.cycles + 1))
        return measured.start + sum(together(config, parts) for parts in cycles)
    return measured.start + run_seconds(measured.pace, config.train, 1, config.cycles)


def estimate_seconds(config: Config, measured: Measured) -> tuple[float, float]:
    """Return the least and the most seconds of the whole run."""
    bound, whole = 60 * config.minutes or math.inf, whole_seconds(config, measured)
    return min(bound, whole / SPREAD), min(bound, whole * SPREAD)


def cluster_text(config: Config, measured: Measured, cluster: ClusterSpeed) -> str:
    """Return what was measured on the cluster, what was assumed, and how many workers are worth having."""
    now = measured.pace
    times = cycle_seconds(now, config.train, last_cycle(config, measured))
    spread = not math.isnan(cluster.match)
    play = now.selfplay + (now.evaluate if spread else 0.0)
    rest = max(sum(times.values()) - play, 1e-9)
    gain = cluster.simulations / max(measured.speed.simulations, 1e-9)
    counts = {"machines": cluster.machines, "workers": cluster.workers, "threads": cluster.threads}
    who = ", ".join(format_count(number, unit) for unit, number in counts.items())
    match = "and the match on its workers" if spread else "on its workers"
    speed = f"{cluster.simulations:,.0f} simulations/s"
    if not measured.speed.whole:  # else this machine's batches were not full
        speed += f", {gain:.1f} times this machine's"
    held = ", and the head plays the match" if config.evaluate.games and not spread else ""
    worth = round(cluster.workers * play / rest)
    advice = f"about {worth:,} workers like these are worth having"
    if worth <= cluster.workers:
        advice = "more workers save little"
    sent, busy, idle = map(format_seconds, (cluster.prepare, play, rest))
    lines = [
        f"cluster {config.cluster.address}: {who}",
        f"measured: self-play {match}: {speed}; {sent} to send a network; training on this machine",
        f"assumed: nothing else runs there, a move takes as many simulations as here{held}",
        f"a cycle: the workers play for {busy}, the rest takes {idle}: {advice}",
        *cluster.said,
    ]
    return "\n".join(lines)


def memory_text(config: Config, measured: Measured, game: Game) -> str:
    """Return the memory of the last cycle by its use. The window is held as examples and as tensors."""
    workers = measured.workers * worker_bytes(game, measured.rows, config)
    examples = window_examples(last_cycle(config, measured), measured.pace.examples, config.train)
    planes = int(np.prod(game.planes_shape))
    cells = int(np.prod(game.planes_shape[1:])) if config.network.occupation else 0
    window = examples * (8 * game.state_words + planes + 9 * game.num_actions + 16 + 8 * cells)
    match = match_bytes(config, game)  # never at the same time as self-play
    games = {f"workers ({measured.workers})": workers} if workers >= match else {"match": match}
    parts: dict[str, float] = {
        "Python, torch and training": measured.memory,
        **games,
        "replay window": window,
    }
    listed = ", ".join(f"{name} {size / MIB:,.0f}" for name, size in parts.items())
    return f"memory about {sum(parts.values()) / MIB:,.0f} MiB: {listed}"


def disk_text(config: Config, measured: Measured) -> str:
    """Return the disk space at the end of the run by its use."""
    games, cycles = config.selfplay.games, last_cycle(config, measured)
    shards = min(cycles, -(-config.train.window // max(1, int(measured.pace.examples)))) * games
    kept = min(config.keep, cycles) + 1
    parts = {
        "games in the window": shards * measured.game_bytes,
        f"{2 * kept} networks": kept * 2 * measured.network_bytes,
        "TensorBoard": cycles * TENSORBOARD_BYTES,
    }
    listed = ", ".join(f"{name} {size / MIB:,.1f}" for name, size in parts.items())
    a_cycle = f"{games * measured.game_bytes / MIB:,.1f} MiB of games a cycle"
    return f"disk about {sum(parts.values()) / MIB:,.1f} MiB: {listed}; {a_cycle}"


def report_text(config: Config, measured: Measured, game: Game) -> str:
    """Return the whole estimate."""
    own, speed, network = measured.source.startswith("of run"), measured.speed, config.network
    training = config.train.batch_size / measured.pace.step
    cluster = f"\n\n{cluster_text(config, measured, measured.cluster)}" if measured.cluster else ""
    doubt = "" if own else "; a trained network's may be longer or shorter"
    return f"""\
{game.name}, {network.blocks} blocks x {network.channels} channels, {measured.choice}
games: {measured.plies:.1f} searched plies, {measured.source}{doubt}

{time_text(config, measured)}

speed: {speed.simulations:,.0f} simulations/s, {speed.evaluations:,.0f} evaluations/s, \
training {training:,.0f} examples/s
{memory_text(config, measured, game)}
{disk_text(config, measured)}{cluster}"""


def main(config: Config, name: str) -> int:
    """Make the trials in a temporary folder and print the estimate. Return the exit status."""
    console, begin = Console(sys.stdout), time.perf_counter()
    with (
        StopSignal() as stop,
        tempfile.TemporaryDirectory(prefix="azero-estimate-") as folder,
        console.stage("estimate", 0, 0, 10, "trials") as progress,
    ):
        stop.end_at_once(lambda: shutil.rmtree(folder, ignore_errors=True))
        measured = measure(config, name, Path(folder), progress)
    console.message(report_text(config, measured, make_game(config.game.name, **config.game.options)))
    low, high = estimate_seconds(config, measured)
    took = format_seconds(time.perf_counter() - begin)
    whole = f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"
    console.message(f"estimated in {took}; the whole run takes {whole} s")
    return 0


if __name__ == "__main__":
    program("estimate", main)
