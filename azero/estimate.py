"""`azero estimate connect_four`: how long would this run take here, and what would it need?

It times some games, training steps and the match of the first cycle, with the recipe's network, search and
settings, and multiplies. It touches no run. With `cluster.address=…` the workers of the cluster play for some
seconds, self-play and the match, and the estimate is that of the cluster.

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
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from azero.cli.hydra_program import program
from azero.config.schema import Config
from azero.games.legal import legal_room
from azero.kernels.compiling import PASS, CompileTimer
from azero.process.signals import StopSignal
from azero.replay.examples import narrow
from azero.report.console import TITLES, Console, Progress, format_count, format_seconds, table_text
from azero.report.forecast import cycle_seconds, cycles_in, run_seconds, window_examples
from azero.run.folder import paths_of
from azero.run.run import Run
from azero.run.state import StageName
from azero.stages.backend import batch_rows
from azero.stages.trials import ClusterSpeed, Trial
from azero.workers.matches import match_bytes
from azero.workers.memory import worker_bytes

SPREAD = 1.5  # by which the run may take longer or shorter
TENSORBOARD_BYTES = 20_000  # of a cycle, a guess from earlier runs; pictures of tic-tac-toe come on top
MIB = 2**20


def known_plies(config: Config, name: str) -> float | None:
    """Return the mean searched plies of a game in the newest finished cycle of the run; None without one."""
    if not paths_of(config, name).state.is_file():
        return None
    state = Run.read(config, name).state
    newest = [shard for shard in state.shards if shard.cycle == state.cycle]
    if not newest:
        return None
    return sum(shard.examples for shard in newest) / sum(shard.games for shard in newest)


def measure(config: Config, name: str, folder: Path, progress: Progress) -> Trial:
    """Make all trials in an empty folder.

    Raises:
        UserError: the recipe cannot run here, or is too slow to finish one game.
    """
    progress.update(0, now="starting and compiling")
    plies = known_plies(config, name)
    config = replace(config, checkpoints=str(folder), data=str(folder / "data"), init_from=None)
    with Run.open(config, "estimate", "azero.estimate") as run:
        compiling = CompileTimer()
        compiling.counted = PASS
        with compiling:
            trial = Trial(config, run)
        trial.start = max(0.0, trial.start - compiling.seconds)  # a run that follows loads what was compiled
        trial.measure(plies, progress)
    if plies:
        trial.source = f"of run {name}'s newest cycle"
    return trial


def time_text(config: Config, trial: Trial) -> str:
    """Return the times of a cycle's parts and of the run."""
    last = last_cycle(config, trial)
    first, final = (cycle_seconds(trial.pace, config.train, cycle) for cycle in (1, last))
    rows = [["a cycle", "first", f"cycle {last}"]]
    parts = {TITLES.get(part, part): (first[part], final[part]) for part in first if final[part]}
    parts["together"] = sum(first.values()), sum(final.values())
    rows += [[part, *map(format_seconds, seconds)] for part, seconds in parts.items()]
    if config.minutes:
        few, about, many = (cycles_held(config, trial, factor) for factor in (SPREAD, 1, 1 / SPREAD))
        whole = f"minutes={config.minutes:g} leaves time for about {about} cycles, {few} to {many}"
    else:
        times = map(format_seconds, (*estimate_seconds(config, trial), trial.start))
        whole = "{} cycles: about {}, {} to {}; start {}".format(config.cycles, *times)
    return f"{table_text(rows)}\n\n{whole}"


def cycles_held(config: Config, trial: Trial, factor: float = 1.0) -> int:
    """Return the recipe's cycles, or how many `minutes` leave time for if all takes `factor` as long."""
    if not config.minutes:
        return config.cycles
    seconds = 60 * config.minutes / factor - trial.start
    return cycles_in(trial.pace, config.train, seconds, config.cycles)


def last_cycle(config: Config, trial: Trial) -> int:
    """Return the last cycle that the estimate shows, at least 1."""
    return max(1, cycles_held(config, trial))


def estimate_seconds(config: Config, trial: Trial) -> tuple[float, float, float]:
    """Return the seconds of the whole run, start included: as estimated, the least and the most."""
    bound = 60 * config.minutes or math.inf
    whole = trial.start + run_seconds(trial.pace, config.train, 1, config.cycles)
    return whole, min(bound, whole / SPREAD), min(bound, whole * SPREAD)


def cluster_text(config: Config, trial: Trial, cluster: ClusterSpeed) -> str:
    """Return what was measured on the cluster, what was assumed, and how many workers are worth having."""
    pace = trial.pace
    play = cluster.selfplay + (pace.evaluate if cluster.match else 0.0)
    times = cycle_seconds(pace, config.train, last_cycle(config, trial))
    rest = max(1e-9, sum(times.values()) - times[StageName.SELFPLAY] - (play - cluster.selfplay))
    who = f"{format_count(cluster.machines, 'machines')}, {format_count(cluster.workers, 'workers')}"
    match = "and the match on its workers" if cluster.match else "on its workers"
    gain = cluster.simulations / trial.simulations
    speed = f"{cluster.simulations:,.0f} simulations/s, {gain:.1f} times this machine's"
    held = ", and the head plays the match" if config.evaluate.games and not cluster.match else ""
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


def memory_text(config: Config, trial: Trial) -> str:
    """Return the memory of the last cycle by its use. The window is held as examples and as tensors."""
    game = trial.game
    workers = trial.workers * worker_bytes(game, batch_rows(config), config)
    examples = window_examples(last_cycle(config, trial), trial.pace.examples, config.train)
    planes = int(np.prod(game.planes_shape))
    cells = int(np.prod(game.planes_shape[1:])) if config.network.occupation else 0
    place = np.dtype(narrow(game.num_actions - 1)).itemsize
    moves = legal_room(game) * (3 * place + 8)  # the pairs of the target twice, the legal moves once
    window = examples * (8 * game.state_words + planes + moves + 16 + 8 * cells)
    match = match_bytes(config, game)  # never at the same time as self-play
    games = {f"workers ({trial.workers})": workers} if workers >= match else {"match": match}
    parts = {"Python, torch and training": trial.memory, **games, "replay window": window}
    return f"memory {sizes_text(parts, 0)}"


def sizes_text(parts: Mapping[str, float], digits: int) -> str:
    """Return the sum and the parts of a number of bytes."""
    listed = ", ".join(f"{name} {size / MIB:,.{digits}f}" for name, size in parts.items())
    return f"about {sum(parts.values()) / MIB:,.{digits}f} MiB: {listed}"


def disk_text(config: Config, trial: Trial) -> str:
    """Return the disk space at the end of the run by its use."""
    games, cycles = config.selfplay.games, last_cycle(config, trial)
    shards = min(cycles, -(-config.train.window // max(1, int(trial.pace.examples)))) * games
    kept = min(config.keep, cycles) + 1
    parts = {
        "games in the window": shards * trial.game_bytes,
        f"{2 * kept} networks": kept * 2 * trial.network_bytes,
        "TensorBoard": cycles * TENSORBOARD_BYTES,
    }
    return f"disk {sizes_text(parts, 1)}; {games * trial.game_bytes / MIB:,.1f} MiB of games a cycle"


def report_text(config: Config, trial: Trial) -> str:
    """Return the whole estimate."""
    choice, network = trial.choice, config.network
    training = config.train.batch_size / trial.pace.step
    cluster = f"\n\n{cluster_text(config, trial, trial.cluster)}" if trial.cluster else ""
    own = trial.source.startswith("of run")
    doubt = "" if own else "; a trained network's may be longer or shorter"
    computed = f"{choice.backend} {choice.precision} on {choice.device}"
    layers = Path(network.file).name or f"{network.blocks} blocks x {network.channels} channels"
    return f"""\
{trial.game.name}, {layers}, {computed}
games: {trial.plies:.1f} searched plies, {trial.source}{doubt}

{time_text(config, trial)}

speed: {trial.simulations:,.0f} simulations/s, {choice.evaluations_per_second:,.0f} evaluations/s a thread, \
training {training:,.0f} examples/s
{memory_text(config, trial)}
{disk_text(config, trial)}{cluster}"""


def run_asked(config: Config, name: str) -> int:
    """Make the trials in a temporary folder and print the estimate. Return the exit status."""
    console, begin = Console(sys.stdout), time.perf_counter()
    with (
        StopSignal() as stop,
        tempfile.TemporaryDirectory(prefix="azero-estimate-") as folder,
        console.stage("estimate", 0, 0, 10, "trials") as progress,
    ):
        stop.end_at_once(lambda: shutil.rmtree(folder, ignore_errors=True))
        trial = measure(config, name, Path(folder), progress)
    console.message(report_text(config, trial))
    _, low, high = estimate_seconds(config, trial)
    took = format_seconds(time.perf_counter() - begin)
    whole = f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"
    console.message(f"estimated in {took}; the whole run takes {whole} s")
    return 0


main = partial(program, "estimate", run_asked)

if __name__ == "__main__":
    sys.exit(main())
