"""Stage: recent examples make the next candidate.

`python -m azero.train` runs this stage on the run's folder.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from azero.command_line import program
from azero.config import Config
from azero.examples import Examples, merge_equal, mix_in
from azero.games import make_game
from azero.learning.fit import Progress, TrainResult, fit
from azero.machine import cores
from azero.metrics import Reporter
from azero.network.inference import resolve_device
from azero.network.model import Network, check_fits, pack_network, unpack_network
from azero.network.torch_inference import torch_threads
from azero.replay import load_window
from azero.run import Run, Stopped, StopSignal
from azero.seeds import TRAIN, sequence
from azero.stage import run_alone
from azero.window import train_steps, window_size

MOST_THREADS = 16
PRODUCTS_A_THREAD = 250_000_000
SHOWN = {"loss/policy": "policy_loss", "loss/value": "value_loss"}  # figures beside the progress


def training_threads(products: int, recorded: int, report: Reporter) -> int:
    """Threads to train with: as OMP_NUM_THREADS says, else as the run began, else as many as a step's work pays for.

    Weights depend on the count in their last bits, so a run keeps its own, also on a machine with fewer cores.

    Args:
        products: multiplications of one step's forward pass. Threads share each layer and wait for each other after it. Measured
            with 4 blocks x 32 channels, batch 256 (0.2 G): 14 ms a step on one thread, 10 on two; with another process busy, 14
            and 50.
        recorded: what the run trained with so far; 0 for a run that has not trained.
        report: told where the count changes, or is more than there are cores.
    """
    wish = os.environ.get("OMP_NUM_THREADS", "")
    if wish.isdigit() and int(wish):
        if recorded not in (0, int(wish)):
            report.message(f"train: {wish} threads from now on, as OMP_NUM_THREADS says, instead of the run's {recorded}.")
        return int(wish)
    if recorded > cores():
        report.message(
            f"train: {recorded} threads on {cores()} cores, so that the weights are those that the run began to make; "
            f"OMP_NUM_THREADS={cores()} may be faster, with other last bits."
        )
    return recorded or max(1, min(MOST_THREADS, cores(), products // PRODUCTS_A_THREAD))


def forward_products(network: Network, batch_size: int) -> int:
    """About how many multiplications a step's forward pass takes: every weight once a cell."""
    _, height, width = network.planes_shape
    return sum(weight.numel() for weight in network.parameters()) * height * width * batch_size


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Train on the newest examples, write the candidate, commit.

    Interrupted, the stage is repeated from its start with the same seeds, so nothing is kept of it.

    Raises:
        Stopped: a stop was requested.
        UserError: training met numbers that are not finite.
    """
    cycle, steps_before = run.state.cycle + 1, run.state.train_steps
    game = make_game(config.game.name, **config.game.options)
    window = window_size(config.train, run.state.examples)
    mix, replies = mix_in(config.train, cycle), config.network.opponent_reply
    examples = load_window(run, window, report.message, mix, replies=replies)
    in_window, new = len(examples.states), new_examples(run, cycle)
    if config.train.merge_equal:
        examples = merge_equal(examples)
    from_champion = config.train.start_from == "champion"
    loaded = unpack_network(run.read_champion() if from_champion else run.read_candidate(report.message), config.train.start_from)
    check_fits(loaded, game)
    steps = train_steps(config.train, len(examples.states), new)
    threads = training_threads(forward_products(loaded.network, config.train.batch_size), run.state.train_threads, report)
    with report.stage("train", cycle, config.cycles, steps, "steps") as progress, torch_threads(threads):
        result = fit(
            loaded.training or loaded.network,
            examples,
            game,
            config.train,
            sequence(config.seed, cycle, TRAIN),
            resolve_device(config.device),
            tell(report, progress, stop, steps_before),
            optimizer_state=loaded.optimizer_state if config.train.keep_optimizer else None,
            steps_before=loaded.train_steps,
            average=loaded.network,
            steps=steps,
        )
    report_stage(report, cycle, run, examples, in_window, result)
    steps_made = steps_before + result.steps
    kept = result.optimizer_state if config.train.keep_optimizer else None
    data = pack_network(
        result.network,
        game=game,
        config=loaded.config,
        cycle=cycle,
        train_steps=steps_made,
        optimizer_state=kept,
        training=result.training,
    )
    candidate = run.write_network("candidate", cycle, data)
    state = replace(run.state, train_threads=threads, train_steps=steps_made)
    run.commit(replace(state, stage="evaluate", candidate=candidate))


def new_examples(run: Run, cycle: int) -> int:
    """How many examples the self-play of a cycle made."""
    return sum(shard.examples for shard in run.state.shards if shard.cycle == cycle)


def tell(report: Reporter, progress: Any, stop: StopSignal, steps_before: int) -> Progress:
    """What `fit` calls after every step: it stops on request and passes figures on."""

    def told(done: int, steps: int, figures: dict[str, float]) -> None:
        if stop.requested:
            raise Stopped
        if figures:
            report.train_scalars(steps_before + done, figures)
            progress.update(done, **{name: figures[tag] for tag, name in SHOWN.items() if tag in figures})
        else:
            progress.update(done)

    return told


def report_stage(report: Reporter, cycle: int, run: Run, examples: Examples, in_window: int, result: TrainResult) -> None:
    """The window and what came of it: how many examples, how old, how clear their targets."""
    if result.skipped:
        report.message(f"train: {result.skipped} of {result.steps} steps were not finite and were skipped.")
    ages, new = [(cycle - shard.cycle, shard.examples) for shard in run.state.shards], new_examples(run, cycle)
    scalars = {
        "replay/window_examples": float(in_window),
        "replay/trained_examples": float(len(examples.states)),
        "replay/window_age_cycles": mean_age(ages, in_window),
        "replay/new_share": min(1.0, new / in_window),
        "replay/uses": result.steps * run.config.train.batch_size / max(1, new),
        "train/steps_per_second": result.steps / max(result.seconds, 1e-9),
    }
    report.cycle_scalars(cycle, scalars)
    report.histogram("replay/value_target", examples.value_target, cycle)
    report.histogram("replay/largest_policy_target", examples.policy_target.max(axis=1), cycle)


def mean_age(ages: list[tuple[int, int]], window: int) -> float:
    """Mean age in cycles of the newest `window` examples, from (age, examples) of each shard, oldest first."""
    total, left = 0.0, window
    for age, count in reversed(ages):
        total += age * min(count, left)
        left -= min(count, left)
    return total / window


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("train", run_stage, config, name)


if __name__ == "__main__":
    program(main)
