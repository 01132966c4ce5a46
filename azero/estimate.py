"""`python -m azero.estimate experiment=connect_four`: how long would this run take here, and what would it need?

A few hundred moves and a few dozen training steps are timed with the recipe's own network, search and settings; the rest is
arithmetic (`forecast.py`). It touches no run. Where the run has finished cycles, its own game length is taken; else the games are
those of an untrained network, and trained ones play other, often longer games, so a range is told.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero.command_line import program
from azero.config import Config, UserError
from azero.evaluate import match_bytes, match_choice
from azero.examples import GameRecord
from azero.files.folder import paths_of
from azero.forecast import Pace, cycle_seconds, cycles_in, places_end, plies_paid, run_seconds, window_examples
from azero.games import make_game
from azero.games.game import Game
from azero.gate import games_at_most
from azero.inference_choice import batch_rows
from azero.memory import lane_bytes, memory_in_use, most_bytes
from azero.monitoring.console import Console, Progress, format_seconds, table_text
from azero.run import Run
from azero.selfplay import lane_count, settings_in
from azero.trials import MatchSpeed, Speed, Training, Trial
from azero.window import window_size

SELFPLAY_SECONDS, LANE_SECONDS, TRAIN_SECONDS, MATCH_SECONDS = 10.0, 2.0, 6.0, 6.0
LENGTH_SECONDS = 30.0
LENGTH_GAMES = 32  # whose length is asked with one simulation a move where no whole game fits into the time
OTHER_SECONDS = 0.2  # of a cycle, to write files and figures
TENSORBOARD_BYTES = 20_000  # of a cycle, a guess from runs at hand; pictures of tic-tac-toe come on top
CLEARLY = 0.8  # another way to play must take so much less time before it is suggested: trials of seconds differ by a tenth
MIB = 2**20


@dataclass(frozen=True)
class Measured:
    """What the trials have told.

    Attributes:
        lanes, rows: as the run would choose them.
        tried: self-play's speed by (lanes, rows).
        speed: of the self-play that is calculated with.
        plies: of the games of a stage, for as many games as could be played.
        source: where those lengths come from.
        longest: how many times as long the rules let games become.
        smallest, match_smallest: rows of the smallest batch in self-play and in the match.
        start: seconds until a run can play: the first network, the choice of a backend, and compiling where that is to be done.
        game_bytes: of a game on the disk.
        base: bytes of memory before any lane is made.
        choice: how the network is computed, in words.
    """

    lanes: int
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

    @property
    def mean_plies(self) -> float:
        """Searched plies of a game."""
        return float(np.mean(self.plies))


def known_plies(config: Config, name: str) -> float | None:
    """Searched plies of a game in the newest cycle of the run, if it has finished one: from its games' examples."""
    if not paths_of(config, name).state.is_file():
        return None
    state = Run.read(config, name).state
    newest = [shard for shard in state.shards if shard.cycle == state.cycle]
    if not newest:
        return None
    return sum(shard.examples for shard in newest) / config.selfplay.full_search_fraction / sum(shard.games for shard in newest)


def searched_plies(records: Sequence[GameRecord]) -> list[float]:
    """Of each game, those that were searched, fast or in full."""
    return [float(len(record.actions) - record.opening_plies) for record in records]


def examples_a_cycle(config: Config, measured: Measured) -> float:
    """Plies searched in full."""
    return config.selfplay.games * measured.mean_plies * config.selfplay.full_search_fraction


def combinations(lanes: int, rows: int, games: int) -> list[tuple[int, int]]:
    """Lanes and batches worth a try beside those that the run would take, which come first."""
    tried = [(lanes, rows), (lanes, rows // 2), (lanes, rows * 2), (max(1, lanes // 2), rows), (lanes + 1, rows)]
    return [
        pair
        for place, pair in enumerate(tried)
        if pair not in tried[:place] and 0 < pair[0] * pair[1] <= max(games, lanes * rows)
    ]


def measure(config: Config, name: str, folder: Path, progress: Progress) -> Measured:
    """Make all trials.

    Raises:
        UserError: the recipe cannot run here, or is too slow to finish one game.
    """
    begin = time.perf_counter()
    config = settings_in(config, 1 + config.selfplay.opening_fraction_cycles // 2)  # a share that moves, half of the way
    progress.update(0, now="starting and compiling")
    trial = Trial(config, folder)
    games, rows = config.selfplay.games, batch_rows(config)
    lanes = lane_count(config, games, trial.choice)
    trial.play(1, rows, LENGTH_SECONDS, 2, shallow(config))  # compiles
    start, base = time.perf_counter() - begin, memory_in_use()
    tried: dict[tuple[int, int], Speed] = {}
    for pair in combinations(lanes, rows, games):
        if tried and pair[0] * lane_bytes(trial.game, pair[1], config) > most_bytes():
            continue
        progress.update(len(tried) + 1, now=f"self-play in {pair[0]} lanes of {pair[1]} games")
        tried[pair] = trial.play(*pair, LANE_SECONDS if tried else SELFPLAY_SECONDS, games)
    speed = tried[lanes, rows]
    records, source = typical_games(trial, speed, lanes, rows)
    own = searched_plies(records)
    plies, known = own, known_plies(config, name)
    if known:
        plies, source = [known * length / float(np.mean(own)) for length in own], f"of run {name}'s newest cycle"
    progress.update(7, now="training")
    training = trial.train(records, TRAIN_SECONDS)
    progress.update(8, now="the match")
    games = match_games(config)
    match = trial.match(MATCH_SECONDS, games) if games else MatchSpeed(0.0, 1.0, 0.0)
    progress.update(9, now="measuring the champion")
    correctness = trial.correctness()
    progress.update(10, now="done")
    return Measured(
        lanes=lanes,
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
        start=start,
        game_bytes=trial.shard_bytes(records) * float(np.mean(plies) / np.mean(own)),
        base=base,
        choice=f"{trial.choice.backend} {trial.choice.precision} on {trial.choice.device}",
    )


def shallow(config: Config) -> Config:
    """The same with one simulation a move."""
    selfplay = replace(config.selfplay, full_search_fraction=1.0, fast_simulations=0)
    return replace(config, search=replace(config.search, num_simulations=1), selfplay=selfplay)


def typical_games(trial: Trial, speed: Speed, lanes: int, rows: int) -> tuple[list[GameRecord], str]:
    """Games whose length is that of a stage's, and where they come from.

    The first games of a trial that end are the short ones, so they are taken only where all that began with them have ended; else
    games with one simulation a move are played to their end.

    Raises:
        UserError: even of those none ended.
    """
    if speed.whole:
        return speed.finished, "of the first network's games"
    cohort = [record for record in speed.finished if record.number < lanes * rows]
    if len(cohort) == lanes * rows:
        return cohort, "of the first network's games"
    quick = trial.play(lanes, LENGTH_GAMES // 2, LENGTH_SECONDS, LENGTH_GAMES, shallow(trial.config))
    if not quick.finished:
        raise UserError(f"No game of {trial.game.name} ended within {LENGTH_SECONDS:g} s here; ask for a smaller network.")
    return quick.finished, "of the first network's games with one simulation a move"


def stage_seconds(measured: Measured, games: int, speed: Speed, lanes: int, rows: int, scale: float = 1.0) -> float:
    """Seconds of a self-play stage with its tail, its games longer by `scale`."""
    if speed.whole:  # the stage was played to its end
        return speed.seconds * scale * measured.mean_plies / float(np.mean(searched_plies(speed.finished)))
    plies = np.resize(np.random.default_rng(0).permutation(measured.plies), games) * scale
    least = lanes * (measured.smallest if rows == measured.rows else rows)
    return plies_paid(places_end(plies.tolist(), lanes * rows), least) / max(speed.plies, 1e-9)


def rated_games(config: Config) -> int:
    """Games of a cycle's champion against fixed opponents, if it is new; one of them is taken to be like one of the match."""
    return config.evaluate.anchor_games * (len(config.evaluate.anchors) + 2)


def match_games(config: Config) -> int:
    """Games of a match as it is tried: those of the gate, or where it is off those against fixed opponents."""
    return config.evaluate.games or rated_games(config)


def pace(config: Config, measured: Measured, scale: float = 1.0) -> Pace:
    """What a cycle is made of, its games longer by `scale` than those measured; a sequential match has the most games it may."""
    games, evaluated = config.selfplay.games, match_games(config)
    match = scale * measured.match.seconds
    if math.isnan(match):
        lengths = np.resize(measured.plies, evaluated) * scale
        match = plies_paid(lengths.tolist(), 2 * measured.match_smallest) / measured.match.plies
    match *= (games_at_most(config.evaluate) + rated_games(config)) / max(1, evaluated)
    return Pace(
        selfplay=stage_seconds(measured, games, measured.speed, measured.lanes, measured.rows, scale),
        examples=examples_a_cycle(config, measured) * scale,
        merging=measured.training.merging,
        step=measured.training.step,
        evaluate=measured.match.start + match,
        window_example=measured.training.window_example,
        correctness=measured.correctness,
        other=OTHER_SECONDS,
    )


def time_text(config: Config, measured: Measured, scales: tuple[float, float]) -> str:
    """The table of a cycle's parts, and the whole run, for games as measured and for longer or shorter ones."""
    now, other = (pace(config, measured, scale) for scale in scales)
    last = last_cycle(config, measured, now)
    columns = [
        cycle_seconds(now, config.train, 1),
        cycle_seconds(now, config.train, last),
        cycle_seconds(other, config.train, last),
    ]
    title = f"cycle {last}, games {scales[1]:.2g} times as long"
    rows = [["a cycle", "first", f"cycle {last}", title]]
    rows += [[part, *(format_seconds(column[part]) for column in columns)] for part in columns[0] if columns[1][part]]
    rows += [["together", *(format_seconds(sum(column.values())) for column in columns)]]
    return f"{table_text(rows)}\n\n{run_text(config, measured, now, other)}"


def cycles_held(config: Config, measured: Measured, pace: Pace) -> int:
    """The recipe's cycles; with `minutes`, as many of them as those have time for at that pace."""
    if not config.minutes:
        return config.cycles
    return cycles_in(pace, config.train, 60 * config.minutes - measured.start, config.cycles)


def last_cycle(config: Config, measured: Measured, pace: Pace) -> int:
    """The last cycle that is told of, also where there is time for none."""
    return max(1, cycles_held(config, measured, pace))


def run_text(config: Config, measured: Measured, now: Pace, other: Pace) -> str:
    """How long the whole recipe takes; with `minutes`, how many cycles those have time for."""
    if config.minutes:
        few, many = sorted(cycles_held(config, measured, pace) for pace in (now, other))
        return f"minutes={config.minutes:g} leave time for {few} to {many} cycles"
    short, long = sorted(whole_seconds(config, measured, pace) for pace in (now, other))
    return f"{config.cycles} cycles: {format_seconds(short)} to {format_seconds(long)}, start {format_seconds(measured.start)}"


def whole_seconds(config: Config, measured: Measured, pace: Pace) -> float:
    """All cycles at that pace, from the start of the run on."""
    return measured.start + run_seconds(pace, config.train, 1, config.cycles)


def lanes_text(config: Config, measured: Measured) -> str:
    """Each way of playing that was tried, and the one to take."""
    games = config.selfplay.games
    took = {pair: stage_seconds(measured, games, speed, *pair) for pair, speed in measured.tried.items()}
    rows = [["lanes x games in flight", "simulations/s", "evaluations/s", "self-play of a cycle"]]
    for (lanes, size), speed in measured.tried.items():
        numbers = [f"{speed.simulations:,.0f}", f"{speed.evaluations:,.0f}", format_seconds(took[lanes, size])]
        rows.append([f"{lanes} x {size}", *numbers])
    lanes, size = min(took, key=lambda pair: took[pair])
    clearly = took[lanes, size] < CLEARLY * took[measured.lanes, measured.rows]
    advice = f"lanes={lanes} selfplay.concurrent_games={size}" if clearly else "as the run chooses, the first row"
    return f"{table_text(rows)}\nsuggested: {advice}"


def memory_text(config: Config, measured: Measured, trial_game: Game) -> str:
    """Memory by what takes it in the last cycle. The window is held as examples and as tensors."""
    lanes = measured.lanes * lane_bytes(trial_game, measured.rows, config)
    last = last_cycle(config, measured, pace(config, measured))
    examples = window_examples(last, examples_a_cycle(config, measured), config.train)
    planes = int(np.prod(trial_game.planes_shape))
    targets = (17 if config.network.opponent_reply else 9) * trial_game.num_actions + 16
    window = examples * (8 * trial_game.state_words + planes + targets)
    match = match_bytes(config, trial_game)
    games = {f"lanes ({measured.lanes})": lanes} if lanes >= match else {"match": match}  # one after the other
    training = {"training": measured.training.memory}
    parts = {"Python, torch and network": measured.base, **games, **training, "replay window": window}
    listed = ", ".join(f"{name} {size / MIB:,.0f}" for name, size in parts.items())
    return f"memory about {sum(parts.values()) / MIB:,.0f} MiB: {listed}"


def disk_text(config: Config, measured: Measured) -> str:
    """Disk by what takes it when the run has ended."""
    games, examples = config.selfplay.games, examples_a_cycle(config, measured)
    cycles = last_cycle(config, measured, pace(config, measured))
    window = window_size(config.train, cycles * examples)
    shards = min(cycles, -(-window // max(1, int(examples)))) * games * measured.game_bytes
    kept = min(config.keep, cycles) + 1
    networks = kept * 2 * measured.training.candidate
    tensorboard = cycles * TENSORBOARD_BYTES
    parts = {"games in the window": shards, f"{2 * kept} networks": networks, "TensorBoard": tensorboard}
    listed = ", ".join(f"{name} {size / MIB:,.1f}" for name, size in parts.items())
    a_cycle = f"{games * measured.game_bytes / MIB:,.1f} MiB of games a cycle"
    return f"disk about {sum(parts.values()) / MIB:,.1f} MiB: {listed}; {a_cycle}"


def report_text(config: Config, measured: Measured, game: Game) -> str:
    """All that is told at the end."""
    mean, own, speed = measured.mean_plies, measured.source.startswith("of run"), measured.speed
    training = config.train.batch_size / measured.training.step
    return "\n".join(
        [
            f"{game.name}, {config.network.blocks} blocks x {config.network.channels} channels, {measured.choice}",
            f"games: {mean:.1f} searched plies, {measured.source}"
            + ("" if own else "; a trained network's may be longer or shorter"),
            "",
            time_text(config, measured, (1.0, longest_scale(measured))),
            "",
            f"speed: {speed.simulations:,.0f} simulations/s, {speed.evaluations:,.0f} evaluations/s, "
            f"training {training:,.0f} examples/s",
            memory_text(config, measured, game),
            disk_text(config, measured),
            "",
            lanes_text(config, measured),
        ]
    )


def main(config: Config, name: str) -> int:
    """Make the trials in a folder that is thrown away and print the estimate. Returns the exit status."""
    console, begin = Console(sys.stdout), time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="azero-estimate-") as folder,
        console.stage("estimate", 0, 0, 10, "trials") as progress,
    ):
        measured = measure(config, name, Path(folder), progress)
    console.message(report_text(config, measured, make_game(config.game.name, **config.game.options)))
    low, high = estimate_seconds(config, measured)
    console.message(f"estimated in {format_seconds(time.perf_counter() - begin)}; estimate_seconds={low:.0f}..{high:.0f}")
    return 0


def longest_scale(measured: Measured) -> float:
    """How many times as long games may become: an untrained network's double, as far as the rules allow, a run's own a little."""
    return 1.15 if measured.source.startswith("of run") else max(1.0, min(2.0, measured.longest))


def estimate_seconds(config: Config, measured: Measured) -> tuple[float, float]:
    """The whole run, for games as measured and for longer ones."""
    low, high = (whole_seconds(config, measured, pace(config, measured, scale)) for scale in (1.0, longest_scale(measured)))
    return (min(low, 60 * config.minutes), min(high, 60 * config.minutes)) if config.minutes else (low, high)


if __name__ == "__main__":
    program(main)
