"""Training as a pure function: network, examples, settings and seed in, trained network out."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from azero.config.schema import TrainConfig, UserError
from azero.config.window import train_steps
from azero.games.game import Game
from azero.network.gpu_memory import MOST_ROWS
from azero.network.model import Network, OptimizerState
from azero.network.torch_inference import torch_threads
from azero.replay.examples import Examples
from azero.training.average import WeightAverage
from azero.training.batches import batch_of, load_data
from azero.training.steps import Steps, recordable
from azero.training.trainer import Ledger, Trainer

# Batches that the batch norms of averaged weights get their statistics from, one forward pass each.
STATISTICS_BATCHES = 16

# Called with (steps done, steps in all, stats or {}); may raise to stop.
Progress = Callable[[int, int, dict[str, float]], None]


@dataclass(frozen=True)
class Earlier:
    """What earlier stages left to go on with.

    Attributes:
        optimizer_state: the optimizer's moments; used if the optimizer is the same, else it starts afresh.
        steps: steps behind the network. The average counts them; the warm-up does where the moments are used.
        average: with `ema_decay`, the average so far; None: it begins as the network.
    """

    optimizer_state: OptimizerState | None = None
    steps: int = 0
    average: Network | None = None


@dataclass(frozen=True)
class TrainResult:
    """What training made.

    Attributes:
        network: trained, on the CPU, in evaluation mode; the network that went in is unchanged.
        training: with `ema_decay`, where `network` is the average, the weights that training goes on with;
            else None.
        optimizer_state: the optimizer's moments by parameter, for the next cycle.
        steps: steps made in this stage, skipped ones included.
        skipped: steps that were not finite and changed nothing.
        scalars: the stats reported last, by tag.
        precision: "fp32" or "bf16", in which it trained.
        seconds: wall time.
    """

    network: Network
    training: Network | None
    optimizer_state: OptimizerState
    steps: int
    skipped: int
    scalars: dict[str, float]
    precision: str
    seconds: float


def fit(
    network: Network,
    examples: Examples,
    game: Game,
    config: TrainConfig,
    seed: int | np.random.SeedSequence,
    device: str,
    progress: Progress | None = None,
    *,
    earlier: Earlier = Earlier(),
    steps: int | None = None,
) -> TrainResult:
    """Train a copy of a network on some examples.

    The result is bit-equal for equal arguments, on any number of cores.

    Args:
        network: the first weights; unchanged.
        examples: the replay window.
        game: its rules, for planes, masks and symmetries.
        config: the settings of `train.*`.
        seed: decides the order of the examples and their symmetries.
        device: "cpu", "cuda" or "mps".
        progress: called after every step, about twenty times with stats; an exception from it ends the
            training.
        earlier: what to go on with.
        steps: the number of steps; None: those of `train_steps` if all examples are new.

    Raises:
        UserError: several steps in a row were not finite, or the settings do not fit together.
    """
    if network.config.policy_output == "linear" and config.policy_loss == "cross_entropy":
        # Cross-entropy has no gradient where a linear output is negative.
        raise UserError(
            "network.policy_output=linear learns by squared error only; set train.policy_loss=mse."
        )
    begin = time.perf_counter()
    rng = np.random.default_rng(seed)
    count = len(examples.states)
    steps = steps or train_steps(config, count, count)
    ledger = Ledger(steps, device)
    with (
        deterministic(device),
        recordable(device),
        torch_threads(1),
        Trainer(network, config, device, earlier.optimizer_state) as trainer,
    ):
        data = load_data(examples, game, device)
        averaged = None
        if config.ema_decay:
            first = earlier.average or network
            averaged = WeightAverage(first, trainer.network, config.ema_decay, earlier.steps)
        turn = rng if config.symmetries else None
        warmed = earlier.steps if trainer.went_on else 0
        drawn = turned(shuffled(count, config.batch_size, steps, rng), turn, game)
        make_steps(Steps(trainer, data, game, ledger), averaged, drawn, warmed, progress)
        if averaged:
            samples = (rng.integers(count, size=config.batch_size) for _ in range(STATISTICS_BATCHES))
            with trainer.autocast():
                batches = (batch_of(data, game, *some) for some in turned(samples, turn, game))
                most = MOST_ROWS.get("training", config.batch_size)
                averaged.measure_statistics(part for batch in batches for part in batch.planes.split(most))
    trained = plain_copy(trainer.network, network)
    return TrainResult(
        network=plain_copy(averaged.network, network) if averaged else trained,
        training=trained if averaged else None,
        optimizer_state=trainer.moments(),
        steps=steps,
        skipped=int(ledger.skipped),
        scalars=ledger.latest,
        precision=trainer.precision,
        seconds=time.perf_counter() - begin,
    )


def shuffled(
    examples: int, batch_size: int, steps: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield batches of example numbers, [batch_size] int64: all in random order, then in another order.

    All batches are full: one that the end of an order leaves short is filled from the next order.
    """
    left = np.empty(0, np.int64)
    for _ in range(steps):
        while len(left) < batch_size:
            left = np.concatenate([left, generator.permutation(examples)])
        yield left[:batch_size]
        left = left[batch_size:]


def turned(
    batches: Iterable[np.ndarray], turn: np.random.Generator | None, game: Game
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield each batch of numbers [B] with a random symmetry [B] for each; None turns none."""
    for numbers in batches:
        symmetries = None if turn is None else turn.integers(len(game.action_symmetries), size=len(numbers))
        yield numbers, symmetries


def make_steps(
    steps: Steps,
    averaged: WeightAverage | None,
    drawn: Iterable[tuple[np.ndarray, np.ndarray | None]],
    warmed: int,
    progress: Progress | None,
) -> None:
    """Make a step with each batch. warmed: steps of the warm-up that earlier stages made."""
    ledger = steps.ledger
    for done, (numbers, symmetries) in enumerate(drawn, 1):
        lr = learning_rate(steps.trainer.config, done - 1, ledger.steps, warmed)
        steps.make(numbers, symmetries, lr)
        if averaged:
            averaged.follow()
        stats = ledger.look(done)
        if stats:
            stats["train/lr"] = ledger.latest["train/lr"] = lr
        if progress:
            progress(done, ledger.steps, stats)


@contextlib.contextmanager
def deterministic(device: str) -> Iterator[None]:
    """With CUDA, allow only true fp32 and algorithms that repeat bit for bit, chosen without timing.

    A CPU has no others, and of an Apple GPU nobody has tried it.
    """
    if device != "cuda":
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        yield


def learning_rate(config: TrainConfig, step: int, steps: int, steps_before: int = 0) -> float:
    """Return the learning rate of a step.

    Args:
        config: the schedule's settings.
        step: steps made in this stage before it.
        steps: steps of the whole stage; the schedule spans them.
        steps_before: steps that the optimizer made in earlier stages. The warm-up spans stages.
    """
    share = step / steps
    factor = 1.0
    if config.schedule == "cosine":
        factor = 0.5 * (1.0 + math.cos(math.pi * share))
    elif config.schedule == "step":
        factor = config.decay_factor ** sum(share >= milestone for milestone in config.milestones)
    if config.warmup_steps:
        factor *= min(1.0, (steps_before + step + 1) / config.warmup_steps)
    return config.lr * factor


@torch.no_grad()
def plain_copy(network: Network, like: Network) -> Network:
    """Return a copy with the memory layout of `like`, on the CPU, in evaluation mode."""
    result = copy.deepcopy(like).cpu()
    new = network.state_dict()
    for name, tensor in result.state_dict().items():
        tensor.copy_(new[name])
    return result.eval()
