"""One training step: the network, its optimizer, and the guard against numbers that are not finite.

Letters: B a batch, A actions.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from azero.config.schema import TrainConfig, UserError
from azero.games.own_files import FAILS, explaining
from azero.network.gpu_memory import within_memory
from azero.network.model import Network, OptimizerState, value_of
from azero.process.machine import cores
from azero.training.batches import Batch
from azero.training.losses import occupation_loss_of, policy_loss_of, stats_of, value_loss_of
from azero.training.optimizers import bare_step, make_optimizer
from azero.training.shards import shard_count

BAD_STEPS = 8  # steps in a row that are not finite, after which training stops
REPORTS = 20  # how often a stage reports its losses
CUDA_CHECK = 32  # steps between two looks at a GPU's results, each of which waits for the GPU
# Channels from which bf16 saves more than its casts cost, by torch's check of the CPU's instructions.
BF16_CHANNELS = {"_is_amx_tile_supported": 32, "_is_avx512_bf16_supported": 64}


def resolve_precision(precision: str, device: str, channels: int) -> str:
    """Return "fp32" or "bf16" for the setting `train.precision`.

    "auto" follows a rule and no timing, so that a resumed run computes the same: bf16 on a GPU that has it;
    on a CPU only with bf16 instructions and wide layers. Measured with AVX-512's: a step of 6 blocks x 64
    channels is 1.6 times as fast, one of 4 blocks x 32 channels takes the same time. With AMX the latter is
    1.5 times as fast in one piece and 1.1 times in two shards.
    """
    if precision != "auto":
        return precision
    if device == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device == "mps":
        return "fp32"
    return "bf16" if channels >= bf16_channels() else "fp32"


def bf16_channels() -> float:
    """Return the channels from which bf16 pays on this CPU; infinity if it, or the system, has no bf16."""
    checks = {name: getattr(torch.cpu, name, None) for name in BF16_CHANNELS}
    return min((BF16_CHANNELS[name] for name, check in checks.items() if check and check()), default=math.inf)


class Ledger:
    """Stats and failures of the steps, summed on the device, so that a step never waits for a GPU.

    Attributes:
        latest: the stats reported last, means over the steps since the report before.
        skipped: how many steps were not finite.
    """

    def __init__(self, steps: int, device: str) -> None:
        self.steps = steps
        self.interval = max(1, steps // REPORTS)
        self.check_interval = 1 if device == "cpu" else CUDA_CHECK
        self.tags: tuple[str, ...] = ()
        self.sums = torch.zeros(0, device=device)  # by tag, then the number of steps
        self.one = torch.ones((), device=device)
        self.streak = torch.zeros((), device=device)  # bad steps in a row
        self.longest = torch.zeros((), device=device)
        self.skipped = torch.zeros((), device=device)
        self.latest: dict[str, float] = {}

    @torch.no_grad()
    def add(self, stats: dict[str, Tensor], bad: Tensor) -> None:
        """Count a step: its stats, scalars by tag (always the same tags), and whether it was bad."""
        counted = torch.stack([*stats.values(), self.one]).masked_fill_(bad, 0)
        if not self.tags:
            self.tags, self.sums = tuple(stats), torch.zeros_like(counted)
        self.sums += counted
        self.skipped += bad
        self.streak.add_(1).mul_(bad)
        torch.maximum(self.longest, self.streak, out=self.longest)

    def look(self, done: int) -> dict[str, float]:
        """Return the means by tag when it is time to report them, else {}.

        Raises:
            UserError: BAD_STEPS steps in a row were bad.
        """
        checks = done % self.check_interval == 0 or done == self.steps
        if checks and float(self.longest) >= BAD_STEPS:
            raise UserError(
                f"Training met numbers that are not finite in {BAD_STEPS} steps in a row, so it stopped and "
                "kept the last good network; lower train.lr or set train.clip_norm, and run the same command "
                "again."
            )
        if done % self.interval and done != self.steps:
            return {}
        *sums, count = self.sums.tolist()
        self.sums.zero_()
        self.latest = (
            {tag: total / count for tag, total in zip(self.tags, sums, strict=True)} if count else {}
        )
        return dict(self.latest)


class Trainer:
    """A network in training with its optimizer. A step that is not finite is undone.

    Attributes:
        network: the network in training, on the device.
        precision: "fp32" or "bf16".
        replicas: for each shard the network, with batch-norm statistics of its own and the same parameters.
        went_on: whether it goes on with an earlier optimizer's moments.
    """

    def __init__(
        self,
        network: Network,
        config: TrainConfig,
        device: str,
        optimizer_state: OptimizerState | None,
        threads: int = 0,
    ) -> None:
        """Make a trainer of a copy of the network. threads: that compute shards; 0: one for each core."""
        self.config = config
        self.device = device
        channels = 0 if network.config.file else network.config.channels
        self.precision = resolve_precision(config.precision, device, channels)
        self.linear = network.config.policy_output == "linear"
        copied = copy.deepcopy(network).to(device)
        self.network: Network = copied.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.names = {parameter: name for name, parameter in self.network.named_parameters()}
        self.parameters = list(self.names)
        shared: dict[int, Any] = {id(parameter): parameter for parameter in self.parameters}
        others = range(1, shard_count(network, config.batch_size, device))
        self.replicas = [self.network, *(copy.deepcopy(self.network, dict(shared)) for _ in others)]
        self.all_statistics = [join_statistics(replica) for replica in self.replicas]
        self.statistics = self.all_statistics[0]
        self.statistics_before = self.statistics.clone()
        self.pool = None
        if others:  # each thread computes alone: more would wait for each other
            threads = min(threads or cores(), len(self.replicas))
            self.pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        self.optimizer = make_optimizer(self.network, config)
        self.is_own = config.optimizer.endswith(".py")
        self.update = self.optimizer.step if self.is_own else bare_step(self.optimizer)
        self.went_on = self.take_moments(optimizer_state)

    def __enter__(self) -> Trainer:
        """Return the trainer, whose threads end with the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads that compute shards."""
        if self.pool is not None:
            self.pool.shutdown()

    def step(self, batch: Batch, lr: float | Tensor, ledger: Ledger) -> None:
        """Make one step of the optimizer.

        If loss or gradient is not finite, weights, moments and statistics stay as they were. This is found
        and undone on the device, so a step never waits for it, and can be recorded; lr is a tensor then.
        """
        total, stats = self.gradients(batch)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        bad = ~(torch.isfinite(norm) & torch.isfinite(total))
        if self.config.clip_norm:
            torch._foreach_mul_(gradients, (self.config.clip_norm / (norm + 1e-6)).clamp(max=1.0))
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        # Fused optimizers do nothing where `found_inf` is 1; gradient scaling uses it too.
        self.optimizer.found_inf = bad.float()  # type: ignore[attr-defined]
        if not self.is_own:
            self.update()
        elif not bad:
            with explaining(self.config.optimizer, FAILS):
                self.update()
        torch.where(bad, self.statistics_before, self.statistics, out=self.statistics)
        stats |= {"loss/total": total, "train/gradient_norm": norm}
        ledger.add(stats, bad)

    def gradients(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Write the gradient into the parameters; return the total loss, and the stats, scalars by tag."""
        self.statistics_before.copy_(self.statistics)
        most = -(-len(batch.planes) // len(self.replicas))  # of a shard
        return within_memory(
            "training", most, lambda fitting: self.gradients_of(batch, None if fitting == most else fitting)
        )

    def gradients_of(self, batch: Batch, most: int | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Do as `gradients`: all shards at once, or if memory is short shards of `most` rows in turn."""
        for parameter in self.parameters:  # faster than `zero_grad`
            parameter.grad = None
        if self.pool is None and most is None:
            total, stats = self.losses(self.network, batch)
            total.backward()
            return total.detach(), stats
        rows, count = len(batch.planes), -(-len(batch.planes) // most) if most else len(self.replicas)
        bounds = [rows * shard // count for shard in range(count + 1)]
        shards = [batch.each(lambda column, a=a, b=b: column[a:b]) for a, b in itertools.pairwise(bounds)]  # type: ignore[misc]
        shares = [len(shard.planes) / rows for shard in shards]
        found: Iterable[dict[Any, Tensor]]
        if self.pool is None or most:
            found = (self.shard_gradients(shard, self.network, self.statistics) for shard in shards)
        else:
            places = zip(shards, self.replicas, self.all_statistics, strict=True)
            futures = [self.pool.submit(self.shard_gradients, *place) for place in places]
            wait(futures)  # also if one fails: until the others are done, they hold memory
            found = (future.result() for future in futures)
        sums = weighted_sums(found, shares)
        for parameter in self.parameters:
            parameter.grad = sums.pop(parameter, None)
        self.statistics.copy_(sums.pop("statistics"))
        return sums.pop("loss/total"), sums

    def shard_gradients(self, shard: Batch, replica: Network, statistics: Tensor) -> dict[Any, Tensor]:
        """Return the gradient by parameter, if it has one, and by name the new statistics, loss and stats."""
        statistics.copy_(self.statistics_before)
        total, stats = self.losses(replica, shard)
        gradients = torch.autograd.grad(total, self.parameters, allow_unused=True)
        found: dict[Any, Tensor] = {"statistics": statistics, "loss/total": total.detach()}
        found |= {tag: value.detach() for tag, value in stats.items()}
        pairs = zip(self.parameters, gradients, strict=True)
        return found | {parameter: gradient for parameter, gradient in pairs if gradient is not None}

    def autocast(self) -> torch.autocast:
        """Return a context in which a network computes in the trainer's precision."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16")

    def losses(self, network: Network, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the total loss, and the stats, scalars by tag."""
        with self.autocast():
            outputs = network.outputs(batch.planes)
        # The value is computed in fp32. In bf16 tanh is 1 from 3.5 on, so a sure and wrong value would learn
        # nothing.
        value_output = outputs.value.float()
        value = value_of(value_output)
        policy_loss, log_policy = policy_loss_of(outputs.policy.float(), batch, self.config, self.linear)
        value_loss = value_loss_of(value_output, value, batch)
        total = policy_loss + value_loss
        stats = {"loss/policy": policy_loss, "loss/value": value_loss}
        if outputs.occupation is not None:
            stats["loss/occupation"] = occupation_loss_of(outputs.occupation.float(), batch.occupation)
            total = total + stats["loss/occupation"]
        return total, stats | stats_of(batch, log_policy, value.detach())

    def take_moments(self, optimizer_state: OptimizerState | None) -> bool:
        """Go on with earlier moments. Returns False if there are none or they belong to another optimizer."""
        if optimizer_state is None or optimizer_state["optimizer"] != self.config.optimizer:
            return False
        if self.config.optimizer == "sgd" and not self.config.momentum:
            return True  # it has none
        moments = optimizer_state["state"]
        if moments.keys() != set(self.names.values()):
            return False
        for parameter, name in self.names.items():
            for key, tensor in moments[name].items():
                # Moments have the memory layout of their parameter.
                like = parameter if tensor.shape == parameter.shape else tensor
                own = torch.empty_like(like, device=self.device).detach()
                self.optimizer.state[parameter][key] = own.copy_(tensor)
        return True

    def moments(self) -> OptimizerState:
        """Return the optimizer's moments by parameter, copies on the CPU."""
        state = {
            name: {
                key: torch.as_tensor(tensor).detach().to("cpu", copy=True)
                for key, tensor in self.optimizer.state[parameter].items()
                if isinstance(tensor, Tensor | int | float)
            }
            for parameter, name in self.names.items()
        }
        return {"optimizer": self.config.optimizer, "state": state}


def weighted_sums(parts: Iterable[Mapping[Any, Tensor]], weights: Sequence[float]) -> dict[Any, Tensor]:
    """Return, by key, the sums of equal tensors by their weights, always added in the same order."""
    sums: dict[Any, Tensor] = {}
    for part, weight in zip(parts, weights, strict=True):
        for key, tensor in part.items():
            if key in sums:
                sums[key].add_(tensor, alpha=weight)
            else:
                sums[key] = tensor * weight
    return sums


def join_statistics(network: Network) -> Tensor:
    """Make all batch-norm statistics views of one tensor and return it: one copy restores them all."""
    norms = [each for each in network.modules() if isinstance(each, _BatchNorm) and each.track_running_stats]
    places = [(norm, name) for norm in norms for name in ("running_mean", "running_var")]
    buffers = [getattr(norm, name) for norm, name in places]
    joined = torch.cat(buffers) if buffers else torch.zeros(0)
    views = joined.split([len(buffer) for buffer in buffers])
    for (norm, name), view in zip(places, views, strict=True):
        setattr(norm, name, view)
    return joined
