"""The train stage: recent examples make the next candidate."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from azero.config.schema import Config, UserError
from azero.config.window import train_steps
from azero.games import make_game
from azero.games.game import Game
from azero.network.inference import resolve_device
from azero.network.model import LoadedNetwork, check_fits, pack_network, unpack_network
from azero.process.seeds import TRAIN, sequence
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import Examples, merge_equal
from azero.replay.shards import load_window
from azero.report.forecast import HALF
from azero.report.reporter import SPEED, STEPS, Reporter
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import ShardEntry, StageName
from azero.training.fit import Earlier, TrainResult, fit

SHOWN = {"loss/policy": "policy_loss", "loss/value": "value_loss"}  # stats beside the progress


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Train on the newest examples, write the candidate, commit.

    Interrupted, the stage is repeated from its start with the same seeds, so nothing is kept of it.

    Raises:
        Stopped: a stop was requested.
        UserError: training met numbers that are not finite.
    """
    cycle, steps_before = run.state.cycle + 1, run.state.train_steps
    game = make_game(config.game.name, **config.game.options)
    window = read_window(config, run, report, game)
    if window is None:
        return
    examples, in_window = window
    loaded = read_start(run, report)
    check_fits(loaded, game)
    steps = train_steps(config.train, len(examples.states), new_examples(run, cycle))
    moments = loaded.optimizer_state if config.train.keep_optimizer else None

    def watch(done: int, steps: int, stats: dict[str, float]) -> None:
        if stop.requested:
            raise Stopped
        if stats:
            report.train_scalars(steps_before + done, stats)
        # a first step waits for imports of torch
        doing = {"doing": "starting"} if done == 1 else {}
        progress.update(done, **doing, **{name: stats[tag] for tag, name in SHOWN.items() if tag in stats})

    with report.stage(StageName.TRAIN, cycle, config.cycles, steps, "steps") as progress:
        result = fit(
            loaded.training or loaded.network,
            examples,
            game,
            config.train,
            sequence(config.seed, cycle, TRAIN),
            resolve_device(config.device),
            watch,
            earlier=Earlier(moments, loaded.train_steps, loaded.network),
            steps=steps,
        )
    report_stage(report, cycle, run, examples, in_window, result)
    commit_candidate(config, run, game, result)


def read_window(config: Config, run: Run, report: Reporter, game: Game) -> tuple[Examples, int] | None:
    """Return the newest examples and how many they were before equal positions were merged.

    None: games of this cycle are damaged, and self-play makes them again.

    Raises:
        DamagedFile: no games are left, nor can they be made again.
    """
    cycle, train = run.state.cycle + 1, config.train
    mixing = train.value_mix, train.value_lambda
    of_cycle = [shard for shard in run.state.shards if shard.cycle == cycle]
    try:
        examples = load_window(run, game, train.window, report.message, *mixing, config.network.occupation)
    except DamagedFile:  # no shard is left
        if not play_again(run, report, of_cycle):
            raise
        return None
    if play_again(run, report, of_cycle):
        return None
    in_window = len(examples.states)
    if not train.merge_equal:
        return examples, in_window
    if not run.state.cycle:
        half = examples.each(lambda column: column[: in_window // 2])
        report.cycle_scalars(cycle, {HALF: float(len(merge_equal(half).states))})
    return merge_equal(examples), in_window


def commit_candidate(config: Config, run: Run, game: Game, result: TrainResult) -> None:
    """Write the network that was trained and commit it as the candidate of the cycle."""
    cycle, steps = run.state.cycle + 1, run.state.train_steps + result.steps
    data = pack_network(
        result.network,
        game=game,
        cycle=cycle,
        train_steps=steps,
        optimizer_state=result.optimizer_state if config.train.keep_optimizer else None,
        training=result.training,
    )
    candidate = run.write_network("candidate", cycle, data)
    run.commit(replace(run.state, train_steps=steps, stage=StageName.EVALUATE, candidate=candidate))


def play_again(run: Run, report: Reporter, shards: list[ShardEntry]) -> bool:
    """Go back to self-play if some of the cycle's `shards` turned out to be damaged; return whether it does.

    The same seeds and the same champion make the same games, except on a cluster that plays ahead, and of
    those that a GPU had begun in the cycle before. Games that are lost a second time are not played a third
    time: it is not the disk that damages them.
    """
    kept = [shard for shard in shards if shard in run.state.shards]
    damaged = (entry for entry in run.state.quarantine if entry.cycle == run.state.cycle + 1)
    lost = [entry for entry in damaged if "-partial-" not in entry.file]
    if len(kept) == len(shards) or len(lost) > len(shards) or run.state.player is not None:
        return False
    others = [shard for shard in run.state.shards if shard not in kept]
    run.commit(replace(run.state, stage=StageName.SELFPLAY, shards=others, partial=kept))
    report.cut_back(run)
    report.message(f"Self-play makes the lost games of cycle {run.state.cycle + 1} again.")
    return True


def read_start(run: Run, report: Reporter) -> LoadedNetwork:
    """Return the network that training starts from: the last candidate, promoted or not.

    A damaged candidate is put into quarantine, and the one before it takes its place.

    Raises:
        UserError: the champion is needed and damaged.
    """
    while True:
        try:
            return unpack_candidate(run)
        except DamagedFile as damage:
            run.drop_candidate(damage)
            place = quote(str(run.paths.quarantine))
            report.message(f"{damage} The network before it takes its place; the damaged file is in {place}.")


def unpack_candidate(run: Run) -> LoadedNetwork:
    """Return the last candidate, or the champion where that stands in for it.

    Raises:
        DamagedFile: the candidate is damaged, or holds no network although it is as it was written.
        UserError: so is the champion, which is needed; or the network's own file is missing or has changed.
    """
    data, candidate = run.read_candidate(), run.state.candidate
    assert candidate is not None
    name = str(run.paths.of(candidate.file))
    try:
        return unpack_network(data, name)
    except UserError as fault:
        if candidate == run.state.champion or run.state.config.get("network.file"):
            raise  # the file is at fault, not the candidate, which is as it was written
        raise DamagedFile(name, str(fault).removeprefix(f"{name}: ").removeprefix(f"{name} ")) from fault


def new_examples(run: Run, cycle: int) -> int:
    """Return the number of examples that the self-play of a cycle made."""
    return sum(shard.examples for shard in run.state.shards if shard.cycle == cycle)


def report_stage(
    report: Reporter, cycle: int, run: Run, examples: Examples, in_window: int, result: TrainResult
) -> None:
    """Report the window: how many examples, how old, how clear their targets."""
    if result.skipped:
        report.message(f"train: {result.skipped} of {result.steps} steps were not finite and were skipped.")
    ages = [(cycle - shard.cycle, shard.examples) for shard in run.state.shards]
    new = new_examples(run, cycle)
    scalars = {
        "replay/window_examples": float(in_window),
        "replay/trained_examples": float(len(examples.states)),
        "replay/window_age_cycles": mean_age(ages, in_window),
        "replay/new_share": min(1.0, new / in_window),
        "replay/uses": result.steps * run.config.train.batch_size / max(1, new),
        STEPS: float(run.state.train_steps + result.steps),
        SPEED: result.steps / max(result.seconds, 1e-9),
    }
    report.cycle_scalars(cycle, scalars)
    report.histogram("replay/value_target", examples.value_target, cycle)
    report.histogram("replay/largest_policy_target", examples.target_weights.max(axis=1), cycle)


def mean_age(ages: list[tuple[int, int]], window: int) -> float:
    """Return the mean age in cycles of the newest `window` examples; ages: (age, examples), oldest first."""
    total, left = 0.0, window
    for age, count in reversed(ages):
        total += age * min(count, left)
        left -= min(count, left)
    return total / window
