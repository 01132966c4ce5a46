"""Training itself, a pure function: network, examples, settings and seed in, trained network out.

Letters: N examples, B a batch, A actions.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from azero.config import TrainConfig, UserError
from azero.examples import Examples
from azero.games.game import Game
from azero.learning.average import WeightAverage
from azero.learning.batches import Batch, draw_batch, load_data, to_device
from azero.learning.losses import auxiliary_loss_of, figures_of, policy_loss_of, value_loss_of
from azero.network.model import Network, OptimizerState, value_of
from azero.replay import Sampler
from azero.window import train_steps

BAD_STEPS = 8  # steps in a row that are not finite, after which training stops
REPORTS = 20  # how often a stage tells its losses
STATISTICS_BATCHES = 16  # from which the batch norms of averaged weights get their statistics; a pass forward through each
CUDA_CHECK = 32  # steps between two looks at a GPU's results, each of which waits for it
WIDE = 64  # channels from which bf16 on the CPU saves more than its casts cost

Progress = Callable[[int, int, dict[str, float]], None]  # (steps done, steps in all, figures or {}); may raise to stop


@dataclass(frozen=True)
class TrainResult:
    """What training made.

    Attributes:
        network: trained, on the CPU, in evaluation mode; the one that went in is unchanged.
        training: with `ema_decay`, where `network` is the average, the weights that training goes on with; else None.
        optimizer_state: the optimizer's moments by parameter, for the next cycle.
        steps: steps made in this stage, skipped ones included.
        skipped: steps that were not finite and changed nothing.
        scalars: the figures told last, by tag.
        precision: what was computed with, "fp32" or "bf16".
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
    optimizer_state: OptimizerState | None = None,
    steps_before: int = 0,
    average: Network | None = None,
    steps: int | None = None,
) -> TrainResult:
    """Train a copy of a network on some examples.

    Bit-equal for equal arguments at the same number of torch threads.

    Args:
        network: the first weights; left as it is.
        examples: the replay window.
        game: its rules, for planes, masks and symmetries.
        config: the settings of `train.*`.
        seed: the order of the examples and their symmetries depend on it alone.
        device: "cpu" or "cuda".
        progress: told after every step, with figures about twenty times; an exception of it ends the training.
        optimizer_state: moments to go on with; taken if the optimizer is the same, else it starts afresh.
        steps_before: steps behind the network; the warm-up counts them where the moments are taken, and the average does.
        average: with `ema_decay`, the average to go on with; by default it begins as `network`.
        steps: how many to make; by default those of `train_steps` where all examples are new.

    Raises:
        UserError: BAD_STEPS steps in a row were not finite, or the settings do not go together.
    """
    check_losses(network, config)
    begin = time.perf_counter()
    rng = np.random.default_rng(seed)
    count = len(examples.states)
    sampler = Sampler(count, config.batch_size, steps or train_steps(config, count, count), rng)
    with deterministic(device):
        data = load_data(examples, game, device)
        trainer = Trainer(network, config, device, optimizer_state)
        averaged = None
        if config.ema_decay:
            averaged = WeightAverage(average or network, trainer.network, config.ema_decay, steps_before)
        ledger = Ledger(sampler.steps, device)

        def drawn(rows: np.ndarray) -> Batch:
            which = rng.integers(len(game.action_symmetries), size=len(rows)) if config.symmetries else None
            return draw_batch(data, game, to_device(rows, device), to_device(which, device))

        for step, rows in enumerate(sampler):
            lr = learning_rate(config, step, sampler.steps, steps_before if trainer.went_on else 0)
            trainer.step(drawn(rows), lr, ledger)
            if averaged:
                averaged.follow()
            figures = ledger.look(step + 1)
            if figures:
                figures["train/lr"] = ledger.latest["train/lr"] = lr
            if progress:
                progress(step + 1, sampler.steps, figures)
        if averaged:
            numbers = (rng.integers(count, size=config.batch_size) for _ in range(STATISTICS_BATCHES))
            with trainer.autocast():
                averaged.measure_statistics(drawn(rows).planes for rows in numbers)
    trained = plain_copy(trainer.network, network)
    return TrainResult(
        network=plain_copy(averaged.network, network) if averaged else trained,
        training=trained if averaged else None,
        optimizer_state=trainer.moments(),
        steps=sampler.steps,
        skipped=ledger.skipped_steps(),
        scalars=ledger.latest,
        precision=trainer.precision,
        seconds=time.perf_counter() - begin,
    )


def check_losses(network: Network, config: TrainConfig) -> None:
    """Refuse settings that cannot learn: cross-entropy has no gradient where a linear policy output is negative."""
    if network.config.policy_output == "linear" and config.policy_loss == "cross_entropy":
        raise UserError("network.policy_output=linear learns by squared error only; set train.policy_loss=mse.")


@contextlib.contextmanager
def deterministic(device: str) -> Iterator[None]:
    """On a GPU, only algorithms that give the same bits each time, chosen without timing, and true fp32. A CPU has no others."""
    if device == "cpu":
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        yield


def resolve_precision(precision: str, device: str, channels: int) -> str:
    """What "auto" means: a rule and no timing, so that an interrupted run goes on with the same numbers.

    bf16 on a GPU that has it. On a CPU it pays only with instructions that multiply bf16 and with wide layers: measured with
    AVX-512's, a step of 6 blocks x 64 channels is 1.6 times as fast, one of 4 blocks x 32 channels takes as long in either.
    """
    if precision != "auto":
        return precision
    if device == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if multiplies_bf16() and channels >= WIDE else "fp32"


def multiplies_bf16() -> bool:
    """Whether the CPU has instructions that multiply bf16, in AMX or in AVX-512, and the system lets torch use them."""
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(check() for check in checks if check)


def learning_rate(config: TrainConfig, step: int, steps: int, steps_before: int = 0) -> float:
    """The learning rate of a step.

    Args:
        config: the schedule's settings.
        step: steps made in this stage before it.
        steps: steps of the whole stage, over which the schedule runs.
        steps_before: steps that the optimizer made in earlier stages; the warm-up rises once, from the optimizer's first step on.
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


class Ledger:
    """Losses and failures of the steps, summed on the device, so that a step never waits for a GPU to answer.

    Attributes:
        latest: the figures told last, means over the steps since the time before.
    """

    TAGS = (
        *("loss/policy", "loss/value", "loss/total", "train/gradient_norm"),
        *("train/policy_entropy", "train/target_entropy", "train/policy_agreement", "train/value_error"),
    )

    def __init__(self, steps: int, device: str) -> None:
        self.steps = steps
        self.interval = max(1, steps // REPORTS)
        self.check_interval = 1 if device == "cpu" else CUDA_CHECK
        self.sums = torch.zeros(len(self.TAGS) + 1, device=device)  # the last one counts steps
        self.streak = torch.zeros((), device=device)  # bad steps in a row
        self.longest = torch.zeros((), device=device)
        self.skipped = torch.zeros((), device=device)
        self.latest: dict[str, float] = {}

    def add(self, figures: Tensor, bad: Tensor) -> None:
        """Count a step: figures [8] in the order of TAGS, and whether it was bad, a scalar bool."""
        counted = torch.cat([figures, torch.ones_like(figures[:1])])
        self.sums += torch.where(bad, torch.zeros_like(counted), counted)
        self.skipped += bad
        self.streak = (self.streak + 1) * bad
        self.longest = torch.maximum(self.longest, self.streak)

    def look(self, done: int) -> dict[str, float]:
        """The means by tag where it is time to tell them, else {}.

        Raises:
            UserError: too many bad steps in a row.
        """
        if done % self.check_interval == 0 or done == self.steps:
            self.refuse_long_streak()
        if done % self.interval and done != self.steps:
            return {}
        *sums, count = self.sums.tolist()
        self.sums.zero_()
        self.latest = {tag: total / count for tag, total in zip(self.TAGS, sums, strict=True)} if count else {}
        return dict(self.latest)

    def refuse_long_streak(self) -> None:
        """Raises UserError after BAD_STEPS bad steps in a row."""
        if float(self.longest) >= BAD_STEPS:
            raise UserError(
                f"Training met numbers that are not finite in {BAD_STEPS} steps in a row, so it stopped and kept the last good "
                "network; lower train.lr or set train.clip_norm, and run the same command again."
            )

    def skipped_steps(self) -> int:
        """Bad steps so far."""
        return int(self.skipped)


class Trainer:
    """A network in training, its optimizer, and the guard that undoes a step which is not finite.

    Attributes:
        precision: "fp32" or "bf16".
        went_on: whether it goes on with an earlier optimizer's moments.
    """

    def __init__(self, network: Network, config: TrainConfig, device: str, optimizer_state: OptimizerState | None) -> None:
        self.config = config
        self.device = device
        self.precision = resolve_precision(config.precision, device, network.config.channels)
        self.linear = network.config.policy_output == "linear"
        self.network: Network = copy.deepcopy(network).to(device).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.names = {parameter: name for name, parameter in self.network.named_parameters()}
        self.parameters = list(self.names)
        self.statistics = join_statistics(self.network)
        self.statistics_before = self.statistics.clone()
        self.optimizer = make_optimizer(self.network, config)
        self.went_on = self.take_moments(optimizer_state)

    def step(self, batch: Batch, lr: float, ledger: Ledger) -> None:
        """One step of the optimizer. If loss or gradient is not finite, weights, moments and statistics stay as they were.

        What is not finite is found and undone on the device, so a step never waits for it.
        """
        self.statistics_before.copy_(self.statistics)
        policy_loss, value_loss, auxiliary_loss, figures = self.losses(batch)
        total = policy_loss + self.config.value_weight * value_loss + auxiliary_loss
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        bad = ~(torch.isfinite(norm) & torch.isfinite(total.detach()))
        if self.config.clip_norm:
            torch._foreach_mul_(gradients, (self.config.clip_norm / (norm + 1e-6)).clamp(max=1.0))
        self.apply(lr, bad)
        torch.where(bad, self.statistics_before, self.statistics, out=self.statistics)
        losses = torch.stack([policy_loss.detach(), value_loss.detach(), total.detach(), norm])
        ledger.add(torch.cat([losses, figures]), bad)

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor | float, Tensor]:
        """Policy loss, value loss, the weighted loss of other heads, and the figures [4] of `figures_of`."""
        with self.autocast():
            outputs = self.network.outputs(batch.planes)
        value_output = outputs.value.float()
        value = value_of(value_output)  # not in bf16, whose tanh is 1 from 3.5 on: what is sure and wrong would learn nothing
        policy_loss, log_policy = policy_loss_of(outputs.policy.float(), batch, self.config, self.linear)
        value_loss = value_loss_of(value_output, value, batch)
        figures = figures_of(batch, log_policy, value.detach())
        return policy_loss, value_loss, auxiliary_loss_of(outputs, batch, self.config), figures

    def autocast(self) -> torch.autocast:
        """Where the network is applied: it computes in bf16 there if that is the precision."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16")

    def apply(self, lr: float, bad: Tensor) -> None:
        """Let the optimizer step, unless `bad`. Fused optimizers read `found_inf` on the device, as gradient scaling uses it."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.found_inf = bad.float()  # type: ignore[attr-defined]
        self.optimizer.step()

    def take_moments(self, optimizer_state: OptimizerState | None) -> bool:
        """Go on with earlier moments. Returns False, and starts afresh, where there are none or they are another optimizer's."""
        if optimizer_state is None or optimizer_state["optimizer"] != self.config.optimizer:
            return False
        if self.config.optimizer == "sgd" and not self.config.momentum:
            return True  # it keeps none
        moments = optimizer_state["state"]
        if moments.keys() != set(self.names.values()):
            return False
        for parameter, name in self.names.items():
            for key, tensor in moments[name].items():
                like = parameter if tensor.shape == parameter.shape else tensor  # moments share the parameter's layout
                self.optimizer.state[parameter][key] = torch.empty_like(like, device=self.device).detach().copy_(tensor)
        return True

    def moments(self) -> OptimizerState:
        """The optimizer's moments by parameter, copies on the CPU."""
        state: dict[str, dict[str, Tensor]] = {}
        for parameter, name in self.names.items():
            kept = self.optimizer.state[parameter].items()
            state[name] = {key: tensor.detach().to("cpu", copy=True) for key, tensor in kept if isinstance(tensor, Tensor)}
        return {"optimizer": self.config.optimizer, "state": state}


@torch.no_grad()
def plain_copy(network: Network, like: Network) -> Network:
    """A network of the kind of `like` on the CPU, in evaluation mode, with the weights and statistics of `network`."""
    result = copy.deepcopy(like).cpu()
    new = network.state_dict()
    for name, tensor in result.state_dict().items():
        tensor.copy_(new[name])
    return result.eval()


def join_statistics(network: Network) -> Tensor:
    """Make all batch-norm statistics views of one tensor and return it: one copy saves or restores them all."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    buffers = [(norm, name, getattr(norm, name)) for norm in norms for name in ("running_mean", "running_var")]
    joined = torch.cat([buffer for _, _, buffer in buffers]) if buffers else torch.zeros(0)
    start = 0
    for norm, name, buffer in buffers:
        setattr(norm, name, joined[start : start + len(buffer)])
        start += len(buffer)
    return joined


def make_optimizer(network: Network, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimizer, all of it in fused kernels.

    Weight decay acts on the kernels of convolutions and dense layers, and on biases and batch norm only with `decay_biases`. For
    sgd and adam it is L2 in the gradient (weight_decay * weight, as if the loss had weight_decay / 2 * weight squared); for adamw
    it is decoupled.
    """
    groups: list[dict[str, Any]] = [
        {"params": [p for p in network.parameters() if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in network.parameters() if p.ndim <= 1], "weight_decay": config.weight_decay * config.decay_biases},
    ]
    if config.optimizer == "adam":
        return torch.optim.Adam(groups, lr=config.lr, fused=True)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=config.lr, fused=True)
    optimizer = torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=True)
    if config.momentum:
        for parameter in network.parameters():  # a first step that is skipped would leave a buffer without content
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer
