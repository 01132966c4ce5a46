"""The optimizers, without the seconds that torch takes to import its compiler at an optimizer's first use."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from azero.config.schema import TrainConfig, UserError
from azero.games.own_files import FAILS, explaining, own_part
from azero.network.model import Network

REMEMBERED = "__dynamo_disable"  # torch's name for where a function keeps its form that is not compiled


def make_optimizer(network: Network, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimizer, in fused kernels.

    Weight decay acts on the kernels of convolutions and dense layers, not on biases and batch norms. For sgd
    and adam it is L2 in the gradient (weight_decay * weight, as if the loss had weight_decay / 2 * weight
    squared); for adamw it is decoupled. A person's own is `make_optimizer(groups, config)` of their file.
    """
    kernels = [parameter for parameter in network.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in network.parameters() if parameter.ndim <= 1]
    groups: list[dict[str, Any]] = [
        {"params": kernels, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if config.optimizer.endswith(".py"):
        return own_optimizer(config, groups)
    with without_compiler():
        if config.optimizer == "adam":
            return torch.optim.Adam(groups, lr=config.lr, fused=True)
        if config.optimizer == "adamw":
            return torch.optim.AdamW(groups, lr=config.lr, fused=True)
        optimizer = torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=True)
    if config.momentum:
        # Without this a skipped first step would leave buffers without content.
        for parameter in network.parameters():
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer


def own_optimizer(config: TrainConfig, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    """Return the optimizer that a person's file makes for groups of parameters.

    Raises:
        UserError: the file fails, or returns something else.
    """
    file = config.optimizer
    make = own_part("optimizer", file, "make_optimizer", "train.optimizer=")
    with explaining(file, FAILS):
        optimizer = make(groups, config)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UserError(f"make_optimizer of {file} must return a torch.optim.Optimizer.")
    taken = {id(each) for group in optimizer.param_groups for each in group["params"]}
    if left := sum(id(each) not in taken for group in groups for each in group["params"]):
        raise UserError(f"The optimizer of {file} leaves out {left} parameters; give it all groups.")
    return optimizer


@contextlib.contextmanager
def without_compiler() -> Iterator[None]:
    """Within the block keep torch from importing its compiler when it makes an optimizer.

    `add_param_group` asks the compiler, which nothing here uses, for a form of itself that is not compiled,
    and remembers it. It is itself. That import takes 1 to 3 s of a CPU.
    """
    method = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    is_free = "torch._dynamo" not in sys.modules and REMEMBERED not in method.__dict__
    if is_free:
        method.__dict__[REMEMBERED] = method
    try:
        yield
    finally:
        if is_free:
            method.__dict__.pop(REMEMBERED, None)


def bare_step(optimizer: torch.optim.Optimizer) -> Callable[[], object]:
    """Return the step of one of torch's optimizers, without what profiler and compiler wrap around it."""
    step = inspect.unwrap(type(optimizer).step)
    return torch.no_grad()(functools.partial(step, optimizer))
