"""`azero estimate connect_four`: how long would this run take here, and what would it need?

It times a few hundred moves and a few dozen training steps with the recipe's network, search and settings;
the rest is arithmetic (`forecast.py`). It touches no run. With `cluster.address=…` the workers of the cluster
play for some seconds, self-play and the match, and the estimate is that of the cluster.

The estimate takes `selfplay.opening_plies`, the length of random openings in the first cycles; later cycles
with shorter ones take longer. The game length is that of the run's newest cycle. Without one it is an
untrained network's; trained networks often play longer games, so the answer is a range.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero.cli.hydra_program import program
from azero.cluster.stage import crew_of
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.match.gate import games_at_most
from azero.replay.examples import GameRecord
from azero.report.console import TITLES, Console, Progress, format_count, format_seconds, table_text
from azero.report.forecast import (
    Pace,
    cycle_seconds,
    cycles_in,
    places_end,
    plies_paid,
    run_seconds,
    window_examples,
)
from azero.run.folder import paths_of
from azero.run.run import Run, StopSignal
from azero.run.state import StageName
from azero.stages.backend import batch_rows
from azero.stages.cluster_trial import ClusterSpeed, try_cluster
from azero.stages.selfplay import worker_count
from azero.stages.trials import MatchSpeed, Speed, Training, Trial
from azero.workers.matches import match_bytes, match_choice
from azero.workers.memory import memory_in_use, most_bytes, worker_bytes

SELFPLAY_SECONDS, WORKER_SECONDS, TRAIN_SECONDS, MATCH_SECONDS = 10.0, 2.0, 6.0, 6.0
CLUSTER_SECONDS = 10.0  # workers report at least every two seconds
LENGTH_SECONDS = 30.0
LENGTH_GAMES = 32  # played with one simulation a move if no whole game fits into the time
OTHER_SECONDS = 0.2  # of a cycle, to write files and stats
TENSORBOARD_BYTES = 20_000  # of a cycle, a guess from earlier runs; pictures of tic-tac-toe come on top
CLEARLY = 0.8  # suggest workers that take at most this share of the time: short trials differ by a tenth
MIB = 2**20


@dataclass(frozen=True)
class Measured:
    """The results of the trials.

    Attributes:
        workers, rows: as the run would choose them.
        tried: self-play's speed by (workers, rows).
        speed: of the self-play that the estimate uses.
        plies: searched plies of each game that was played.
        source: where those lengths come from.
        longest: how many times as long the rules let games become.
        smallest, match_smallest: rows of the smallest batch in self-play and in the match.
        start: seconds until a run can play: the first network, the choice of a backend, and compiling.
        game_bytes: of a game on the disk.
        base: bytes of memory before any worker is made.
        choice: how the network is computed, in words.
        cluster: what the workers of a cluster do; None without one.
    """

    workers: int
    rows: int
    tried: dict[tuple[int, int], Speed]
    speed: Speed
    plies: list[float]
    source: str
    training: Training
    match: MatchSpeed
    longest: float
    smallest: int
    match_smallest: int
    correctness: float
    start: float
    game_bytes: float
    base: int
    choice: str
    cluster: ClusterSpeed | None = None

    @property
    def mean_plies(self) -> float:
        """Searched plies of a game."""
        return float(np.mean(self.plies))


def known_plies(config: Config, name: str) -> float | None:
    """Return the mean searched plies of a game in the newest finished cycle of the run; None without one."""
    if not paths_of(config, name).state.is_file():
        return None
    state = Run.read(config, name).state
    newest = [shard for shard in state.shards if shard.cycle == state.cycle]
    if not newest:
        return None
    return sum(shard.examples for shard in newest) / sum(shard.games for shard in newest)


def searched_plies(records: Sequence[GameRecord]) -> list[float]:
    """Return the plies of each game that were searched."""
    return [float(len(record.actions) - record.opening_plies) for record in records]


def examples_a_cycle(config: Config, measured: Measured) -> float:
    """Return the examples of a cycle: searched plies."""
    return config.selfplay.games * measured.mean_plies


def combinations(workers: int, rows: int, games: int) -> list[tuple[int, int]]:
    """Workers and batches worth a try beside those that the run would take, which come first."""
    tried = [
        (workers, rows),
        (workers, rows // 2),
        (workers, rows * 2),
        (max(1, workers // 2), rows),
        (workers + 1, rows),
    ]
    return [
        pair
        for place, pair in enumerate(tried)
        if pair not in tried[:place] and 0 < pair[0] * pair[1] <= max(games, workers * rows)
    ]


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
    start, base = time.perf_counter() - begin, memory_in_use()
    tried: dict[tuple[int, int], Speed] = {}
    for pair in [(workers, rows)] if config.cluster.address else combinations(workers, rows, games):
        if tried and pair[0] * worker_bytes(trial.game, pair[1], config) > most_bytes():
            continue
        now = f"self-play in {format_count(pair[0], 'workers')} of {format_count(pair[1], 'games')}"
        progress.update(len(tried) + 1, now=now)
        tried[pair] = trial.play(*pair, WORKER_SECONDS if tried else SELFPLAY_SECONDS, games)
    speed = tried[workers, rows]
    records, source = typical_games(trial, speed, workers, rows)
    own = searched_plies(records)
    plies, known = own, known_plies(config, name)
    if known:
        plies = [known * length / float(np.mean(own)) for length in own]
        source = f"of run {name}'s newest cycle"
    progress.update(7, now="training")
    training = trial.train(records, TRAIN_SECONDS)
    progress.update(8, now="the match")
    games = match_games(config)
    match = trial.match(MATCH_SECONDS, games) if games else MatchSpeed(0.0, 1.0, 0.0)
    progress.update(9, now="measuring the champion")
    correctness, cluster = trial.correctness(), None
    if config.cluster.address:
        progress.update(9, now="the workers of the cluster")
        crew = crew_of(config, trial.choice.device)
        cluster = try_cluster(trial, crew, CLUSTER_SECONDS, MATCH_SECONDS, float(np.mean(plies)))
    progress.update(10, now="done")
    return Measured(
        workers=workers,
        rows=rows,
        tried=tried,
        speed=speed,
        plies=plies,
        source=source,
        training=training,
        match=match,
        longest=trial.game.max_plies / float(np.mean([len(record.actions) for record in records])),
        smallest=trial.choice.batches[0],
        match_smallest=match_choice(trial.choice, games).batches[0],
        correctness=correctness,
        start=cluster.start if cluster else start,
        game_bytes=trial.shard_bytes(records) * float(np.mean(plies) / np.mean(own)),
        base=base,
        choice=f"{trial.choice.backend} {trial.choice.precision} on {trial.choice.device}",
        cluster=cluster,
    )


def shallow(config: Config) -> Config:
    """Return the settings with one simulation a move."""
    return replace(config, search=replace(config.search, num_simulations=1))


def typical_games(trial: Trial, speed: Speed, workers: int, rows: int) -> tuple[list[GameRecord], str]:
    """Return games as long as a stage's, and where they come from.

    The games that end first are short, so they count only if all that began with them have ended. Otherwise
    play games with one simulation a move to their end.

    Raises:
        UserError: even of those none ended.
    """
    if speed.whole:
        return speed.finished, "of the first network's games"
    cohort = [record for record in speed.finished if record.number < workers * rows]
    if len(cohort) == workers * rows:
        return cohort, "of the first network's games"
    quick = trial.play(workers, LENGTH_GAMES // 2, LENGTH_SECONDS, LENGTH_GAMES, shallow(trial.config))
    if not quick.finished:
        what = f"No game of {trial.game.name} ended within {LENGTH_SECONDS:g} s"
        raise UserError(f"{what}; choose a smaller network.")
    return quick.finished, "of the first network's games with one simulation a move"


def stage_seconds(
    measured: Measured, games: int, speed: Speed, workers: int, rows: int, scale: float = 1.0
) -> float:
    """Return the seconds of a self-play stage with its tail, its games longer by `scale`."""
    if speed.whole:
        return speed.seconds * scale * measured.mean_plies / float(np.mean(searched_plies(speed.finished)))
    plies = np.resize(np.random.default_rng(0).permutation(measured.plies), games) * scale
    least = workers * (measured.smallest if rows == measured.rows else rows)
    return plies_paid(places_end(plies.tolist(), workers * rows), least) / max(speed.plies, 1e-9)


def cluster_seconds(measured: Measured, cluster: ClusterSpeed, games: int, scale: float = 1.0) -> float:
    """Return the seconds of a self-play stage on a cluster. A ply costs as many simulations as here."""
    each = measured.speed.simulations / max(measured.speed.plies, 1e-9)
    there = replace(measured.speed, plies=cluster.simulations / each, whole=False)
    return cluster.prepare + stage_seconds(measured, games, there, cluster.threads, measured.rows, scale)


def rated_games(config: Config) -> int:
    """Return the games of a new champion against fixed opponents; each counts as a game of the match."""
    return config.evaluate.anchor_games * (len(config.evaluate.anchors) + 2)


def match_games(config: Config) -> int:
    """Return the games of a match on trial: the gate's, or without one those against fixed opponents."""
    return config.evaluate.games or rated_games(config)


def pace(config: Config, measured: Measured, scale: float = 1.0) -> Pace:
    """Return the pace of a cycle with games longer by `scale`. A sequential match plays all its games.

    With a cluster its workers play, in the cluster's time.
    """
    games, evaluated, cluster = config.selfplay.games, match_games(config), measured.cluster
    match, start = scale * measured.match.seconds, measured.match.start
    if math.isnan(match):
        lengths = np.resize(measured.plies, evaluated) * scale
        match = plies_paid(lengths.tolist(), 2 * measured.match_smallest) / measured.match.plies
    here = match / max(1, evaluated)  # of a game
    match = here * games_at_most(config.evaluate)
    if cluster and not math.isnan(cluster.match):
        rounds = games_at_most(config.evaluate) / config.evaluate.games
        match, start = scale * rounds * cluster.match, 0.0
    selfplay = stage_seconds(measured, games, measured.speed, measured.workers, measured.rows, scale)
    if cluster:
        selfplay = cluster_seconds(measured, cluster, games, scale)
    return Pace(
        selfplay=selfplay,
        examples=examples_a_cycle(config, measured) * scale,
        merging=measured.training.merging,
        step=measured.training.step,
        evaluate=start + match + here * rated_games(config),
        window_example=measured.training.window_example,
        correctness=measured.correctness,
        other=OTHER_SECONDS,
    )


def time_text(config: Config, measured: Measured, scales: tuple[float, float]) -> str:
    """Return the times of a cycle's parts and of the run, for games as measured and of other lengths."""
    now, other = (pace(config, measured, scale) for scale in scales)
    last = last_cycle(config, measured, now)
    columns = [
        cycle_seconds(each, config.train, cycle) for each, cycle in ((now, 1), (now, last), (other, last))
    ]
    rows = [["a cycle", "first", f"cycle {last}", f"cycle {last}, games {scales[1]:.2g} times as long"]]
    for part in columns[0]:
        if columns[1][part]:
            rows.append([TITLES.get(part, part), *(format_seconds(column[part]) for column in columns)])
    rows.append(["together", *(format_seconds(together(config, column)) for column in columns)])
    if config.minutes:
        few, many = sorted(cycles_held(config, measured, each) for each in (now, other))
        whole = f"minutes={config.minutes:g} leaves time for {few} to {many} cycles"
    else:
        times = [*sorted(whole_seconds(config, measured, each) for each in (now, other)), measured.start]
        short, long, start = map(format_seconds, times)
        whole = f"{config.cycles} cycles: {short} to {long}, start {start}"
    return f"{table_text(rows)}\n\n{whole}"


def together(config: Config, parts: Mapping[str, float]) -> float:
    """Return the seconds of a cycle; with `cluster.overlap` self-play and the rest go on at the same time."""
    whole, play = sum(parts.values()), parts[StageName.SELFPLAY]
    return max(play, whole - play) if config.cluster.overlap else whole


def cycles_held(config: Config, measured: Measured, pace: Pace) -> int:
    """Return the recipe's cycles, or as many of them as `minutes` leave time for at that pace."""
    if not config.minutes:
        return config.cycles
    return cycles_in(pace, config.train, 60 * config.minutes - measured.start, config.cycles)


def last_cycle(config: Config, measured: Measured, pace: Pace) -> int:
    """Return the last cycle that the estimate shows, at least 1."""
    return max(1, cycles_held(config, measured, pace))


def whole_seconds(config: Config, measured: Measured, pace: Pace) -> float:
    """Return the seconds of the whole run at that pace, its start included."""
    if config.cluster.overlap:
        cycles = (cycle_seconds(pace, config.train, cycle) for cycle in range(1, config.cycles + 1))
        return measured.start + sum(together(config, parts) for parts in cycles)
    return measured.start + run_seconds(pace, config.train, 1, config.cycles)


def workers_text(config: Config, measured: Measured) -> str:
    """Return a table of the workers that were tried, and a suggestion."""
    games = config.selfplay.games
    took = {pair: stage_seconds(measured, games, speed, *pair) for pair, speed in measured.tried.items()}
    rows = [["workers x games in flight", "simulations/s", "evaluations/s", "self-play of a cycle"]]
    for (workers, size), speed in measured.tried.items():
        speeds = [f"{speed.simulations:,.0f}", f"{speed.evaluations:,.0f}"]
        rows.append([f"{workers} x {size}", *speeds, format_seconds(took[workers, size])])
    workers, size = min(took, key=lambda pair: took[pair])
    advice = "as the run chooses, the first row"
    if took[workers, size] < CLEARLY * took[measured.workers, measured.rows]:
        advice = f"workers={workers} selfplay.concurrent_games={size}"
    return f"{table_text(rows)}\nsuggested: {advice}"


def cluster_text(config: Config, measured: Measured, cluster: ClusterSpeed) -> str:
    """Return what was measured on the cluster, what was assumed, and how many workers are worth having."""
    now = pace(config, measured)
    times = cycle_seconds(now, config.train, last_cycle(config, measured, now))
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


def memory_text(config: Config, measured: Measured, trial_game: Game) -> str:
    """Return the memory of the last cycle by its use. The window is held as examples and as tensors."""
    workers = measured.workers * worker_bytes(trial_game, measured.rows, config)
    last = last_cycle(config, measured, pace(config, measured))
    examples = window_examples(last, examples_a_cycle(config, measured), config.train)
    planes = int(np.prod(trial_game.planes_shape))
    cells = int(np.prod(trial_game.planes_shape[1:])) if config.network.occupation else 0
    window = examples * (8 * trial_game.state_words + planes + 9 * trial_game.num_actions + 16 + 8 * cells)
    match = match_bytes(config, trial_game)  # never at the same time as self-play
    games = {f"workers ({measured.workers})": workers} if workers >= match else {"match": match}
    parts: dict[str, float] = {"Python, torch and network": measured.base, **games}
    parts |= {"training": measured.training.memory, "replay window": window}
    listed = ", ".join(f"{name} {size / MIB:,.0f}" for name, size in parts.items())
    return f"memory about {sum(parts.values()) / MIB:,.0f} MiB: {listed}"


def disk_text(config: Config, measured: Measured) -> str:
    """Return the disk space at the end of the run by its use."""
    games, examples = config.selfplay.games, examples_a_cycle(config, measured)
    cycles = last_cycle(config, measured, pace(config, measured))
    shards = min(cycles, -(-config.train.window // max(1, int(examples)))) * games * measured.game_bytes
    kept = min(config.keep, cycles) + 1
    networks = kept * 2 * measured.training.candidate
    tensorboard = cycles * TENSORBOARD_BYTES
    parts = {"games in the window": shards, f"{2 * kept} networks": networks, "TensorBoard": tensorboard}
    listed = ", ".join(f"{name} {size / MIB:,.1f}" for name, size in parts.items())
    a_cycle = f"{games * measured.game_bytes / MIB:,.1f} MiB of games a cycle"
    return f"disk about {sum(parts.values()) / MIB:,.1f} MiB: {listed}; {a_cycle}"


def report_text(config: Config, measured: Measured, game: Game) -> str:
    """Return the whole estimate."""
    own, speed, network = measured.source.startswith("of run"), measured.speed, config.network
    training = config.train.batch_size / measured.training.step
    cluster = measured.cluster
    last = cluster_text(config, measured, cluster) if cluster else workers_text(config, measured)
    doubt = "" if own else "; a trained network's may be longer or shorter"
    return f"""\
{game.name}, {network.blocks} blocks x {network.channels} channels, {measured.choice}
games: {measured.mean_plies:.1f} searched plies, {measured.source}{doubt}

{time_text(config, measured, (1.0, longest_scale(measured)))}

speed: {speed.simulations:,.0f} simulations/s, {speed.evaluations:,.0f} evaluations/s, \
training {training:,.0f} examples/s
{memory_text(config, measured, game)}
{disk_text(config, measured)}

{last}"""


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


def longest_scale(measured: Measured) -> float:
    """Return how many times as long games may become: up to 2 for an untrained network, 1.15 for a run."""
    return 1.15 if measured.source.startswith("of run") else max(1.0, min(2.0, measured.longest))


def estimate_seconds(config: Config, measured: Measured) -> tuple[float, float]:
    """Return the seconds of the whole run, for games as measured and for longer ones."""
    bound = 60 * config.minutes or math.inf
    paces = (pace(config, measured, scale) for scale in (1.0, longest_scale(measured)))
    low, high = (min(bound, whole_seconds(config, measured, each)) for each in paces)
    return low, high


if __name__ == "__main__":
    program("estimate", main)
