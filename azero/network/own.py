"""A network of one's own: a person's Python file makes the layers, azero trains and plays them.

`network.file` names the file. It is run when such a network is made or read, and only with the text that it
had when the network was made. Comments may change.

Letters: B positions, A actions, C H W planes.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import tokenize
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from azero.config.schema import NetworkConfig, UserError, explaining_failure
from azero.games.own_files import explaining, fault_of, load_file

MAKER = "make_network"
SHAPES = "make_network(planes_shape, num_actions, options) must return a torch.nn.Module"
ANSWER = "it must map planes [B, C, H, W] to a pair: policy [B, actions], and value [B], [B, 1] or [B, 3]"
GUIDE = "docs/your_own_network.md"
TRACING = threading.Lock()  # torch notes for the whole process what it traces
CLOSE = 1e-3  # between the answers to a position alone and in a batch


def digest_of(file: str) -> str:
    """Return the SHA-256 of a file's text without comments and blank lines.

    Raises:
        UserError: it cannot be read, or is no Python.
    """
    if not file.endswith(".py"):
        raise UserError(f"network.file={file} must be a Python file, which ends in .py.")
    left_out = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
    with explaining_failure(f"network.file={file} cannot be read"):
        data = Path(file).read_bytes()
    try:
        tokens = tokenize.tokenize(io.BytesIO(data).readline)
        parts = [f"{token.type}\0{token.string}" for token in tokens if token.type not in left_out]
    except (SyntaxError, tokenize.TokenError) as error:
        raise fault_of(file, error) from error
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def find_file(file: str, digest: object) -> str:
    """Return where the file that made a network lies: in its old place, or else by its name right here.

    Raises:
        UserError: it has changed, or cannot be read.
    """
    if not Path(file).exists() and Path(file).name in os.listdir():
        file = os.path.abspath(Path(file).name)
    if digest_of(file) != digest:
        raise UserError(
            f"{file} has changed since it made this network; put the old text back, or begin a new run with "
            "run=NAME."
        )
    return file


def make_layers(config: NetworkConfig, planes_shape: tuple[int, int, int], num_actions: int) -> nn.Module:
    """Return the module that a person's file makes.

    Raises:
        UserError: the file may not be run here, it or its `make_network` fails, or returns no module.
    """
    file = config.file
    maker = maker_of(file)
    with explaining(file):
        layers = maker(planes_shape, num_actions, dict(config.options))
    if not isinstance(layers, nn.Module):
        raise UserError(f"{SHAPES}; in {file} it returns {type(layers).__name__} ({GUIDE}).")
    return layers


def maker_of(file: str) -> Callable[..., Any]:
    """Return the function `make_network` of a file.

    Raises:
        UserError: the file fails, or has none.
    """
    module = load_file("network", file, "network.file=").module
    maker: Callable[..., Any] | None = getattr(module, MAKER, None)
    if maker is None:
        raise UserError(f"{file} must define {MAKER}(planes_shape, num_actions, options) ({GUIDE}).")
    return maker


def answers(layers: nn.Module, planes: Tensor, num_actions: int, values: int, file: str) -> list[Tensor]:
    """Return policy [B, A] and value [B, values] of a person's module, after a look at their shapes.

    Raises:
        UserError: it fails, or its answers have other shapes.
    """
    with explaining(file):
        pair = layers(planes)
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if not (is_pair and all(map(torch.is_tensor, pair))):
        parts = f" of {', '.join(type(part).__name__ for part in pair)}" if isinstance(pair, tuple) else ""
        raise UserError(f"The network of {file} returns {type(pair).__name__}{parts}; {ANSWER}.")
    rows, (policy, value) = planes.shape[0], pair
    if policy.shape != (rows, num_actions) or value.shape not in ((rows,), (rows, 1), (rows, 3)):
        shapes = f"{list(policy.shape)} and {list(value.shape)}"
        raise UserError(f"The network of {file} answers {rows} positions with {shapes}; {ANSWER}.")
    value = value.flatten(1) if value.ndim > 1 else value.unsqueeze(1)
    if value.shape[1] != values:
        right = "wdl" if values == 1 else "scalar"
        count = f"{value.shape[1]} value" + "s" * (value.shape[1] > 1)
        raise UserError(f"The network of {file} has {count}; set network.value_output={right}.")
    return [policy, value]


@contextmanager
def traceable() -> Iterator[None]:
    """Trace in one thread at a time, attention in plain operations: no tracer knows torch's fused layer."""
    with TRACING, torch.no_grad():
        fused = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fused)


def check_trace(network: nn.Module, planes_shape: tuple[int, int, int], file: str) -> None:
    """Check that what two positions leave of a person's network when traced answers any number of them.

    Raises:
        UserError: it does not.
    """
    planes = torch.rand(3, *planes_shape)
    try:
        with traceable(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what becomes constant, which is found here
            traced = torch.jit.trace(network, planes[:2], check_trace=False)
            pairs = [
                pair
                for some in (planes[:1], planes)
                for pair in zip(network(some), traced(some), strict=True)
            ]
        fits = all(torch.allclose(one, other, atol=CLOSE) for one, other in pairs)
    except Exception:  # whatever a person's layers raise
        fits = False
    if not fits:
        raise UserError(
            f"The network of {file} cannot be exported, because its steps depend on how many positions there "
            "are; compute all positions of a batch together."
        )


def check_layers(make: Callable[[], nn.Module], planes: Tensor, file: str) -> None:
    """Check what training and search rely on, with a few positions.

    Args:
        make: returns a network with `outputs`, each time the same.
        planes: [B, C, H, W] of different positions.
        file: its file, for messages.

    Raises:
        UserError: it answers differently the second time or with what is no number, mixes the positions of a
            batch, or has weights that do not learn or are no 32-bit numbers.
    """
    network, other = make(), make()
    for (name, one), two in zip(network.state_dict().items(), other.state_dict().values(), strict=True):
        if one.is_floating_point() and one.dtype != torch.float32:
            raise UserError(f"{name} of {file} is {one.dtype}; azero trains float32.")
        if not torch.equal(one, two):
            raise UserError(f"{name} of {file} differs each time; first weights must come from torch alone.")
    with torch.no_grad():
        whole = network.eval()(planes)
        if not all(answer.isfinite().all() for answer in whole):
            raise UserError(f"The network of {file} answers NaN or infinity; all answers must be numbers.")
        alone = [torch.cat(column) for column in zip(*map(network, planes.split(1)), strict=True)]
        if not all(map(lambda one, two: torch.allclose(one, two, atol=CLOSE), whole, alone)):
            raise UserError(f"The network of {file} answers a position otherwise alone than in a batch.")
        network.train()
        if not all(map(torch.equal, network(planes), network(planes))):
            raise UserError(
                f"The network of {file} answers by chance in training, such as by dropout, which a run that "
                "goes on could not repeat; take that out."
            )
    learning = sum(answer.square().sum() for answer in network(planes) if answer.requires_grad)
    if not torch.is_tensor(learning):
        raise UserError(f"The network of {file} answers without its weights, so it cannot learn.")
    learning.backward()
    if idle := [name for name, weights in network.named_parameters() if weights.grad is None]:
        raise UserError(f"{idle[0].partition('.')[2]} of {file} has no part in the answers; take it out.")
