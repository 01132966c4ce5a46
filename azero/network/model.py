"""The residual policy/value network, its first weights, and its form on disk.

Letters: B positions, A actions, C H W planes.
"""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from azero.config import NetworkConfig, UserError
from azero.games.game import Game
from azero.network.blocks import (
    ConvolutionalHead,
    GlobalPooling,
    PooledHead,
    PyramidBlock,
    ResidualBlock,
    SqueezeExcitation,
    batch_norm,
    convolution,
)

FORMAT = 1  # of packed networks
# Most planes of a convolutional head. AlphaGo Zero has 2 for the policy and 1 for the value; measured on all positions of
# tic-tac-toe with 4 blocks x 32 channels: one epoch, two seeds: 83 % of raw moves right with 32 planes, 75 % with 2 and 1.
HEAD_PLANES = 32

OptimizerState = dict[str, Any]  # {"optimizer": its name, "state": {parameter: {moment: Tensor}}}; see `azero.learning.fit`


class Outputs(NamedTuple):
    """The heads' own outputs.

    Attributes:
        policy: [B, A] logits or, with `policy_output=linear`, move weights as they are.
        value: [B, 1], the value before its tanh, or with `value_output=wdl` logits [B, 3] of win, draw and loss.
        soft: [B, A] logits of the softened policy, or None.
        reply: [B, A] logits of the opponent's next ply, or None.
    """

    policy: Tensor
    value: Tensor
    soft: Tensor | None
    reply: Tensor | None


class Network(nn.Module):
    """Planes to a policy output and a value.

    The tower is a stem and `config.blocks` blocks. With residual blocks the stem is conv - BN - ReLU; with pyramid blocks it is a
    bare convolution, since each of them begins with a batch norm. Every `config.pooling_every`-th block pools globally.
    """

    def __init__(self, config: NetworkConfig, planes_shape: tuple[int, int, int], num_actions: int) -> None:
        super().__init__()
        planes, height, width = planes_shape
        channels, cells = config.channels, height * width
        self.config = config
        self.planes_shape = planes_shape
        self.num_actions = num_actions
        self.stem = convolution(planes, channels)
        self.stem_norm = batch_norm(channels) if config.block == "residual" else None
        block = ResidualBlock if config.block == "residual" else PyramidBlock
        pooling = [config.pooling_every > 0 and number % config.pooling_every == 0 for number in range(1, config.blocks + 1)]
        self.blocks = nn.ModuleList([block(channels, pools, config.squeeze_ratio) for pools in pooling])

        def head(outputs: int, hidden: int = 0) -> ConvolutionalHead | PooledHead:
            if config.head == "pooled":
                return PooledHead(channels, outputs)
            return ConvolutionalHead(channels, min(channels, HEAD_PLANES), cells, hidden, outputs)

        self.policy_head = head(num_actions)
        self.value_head = head(3 if config.value_output == "wdl" else 1, config.value_hidden)
        self.soft_head = head(num_actions) if config.soft_policy else None
        self.reply_head = head(num_actions) if config.opponent_reply else None

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate B positions.

        Args:
            planes: [B, C, H, W], from the view of the player to move.

        Returns:
            policy_output [B, A], logits or, with `policy_output=linear`, move weights as they are; and value [B] in [-1, 1],
            for the player to move.
        """
        outputs = self.outputs(planes)
        return outputs.policy, value_of(outputs.value)

    def outputs(self, planes: Tensor) -> Outputs:
        """What all heads say of B positions; training wants more of it than `forward` gives."""
        x = self.stem(planes)
        if self.stem_norm is not None:
            x = functional.relu(self.stem_norm(x), inplace=True)
        for block in self.blocks:
            x = block(x)
        heads = (self.policy_head, self.value_head, self.soft_head, self.reply_head)
        return Outputs(*(None if head is None else head(x) for head in heads))  # type: ignore[arg-type]


def value_of(value_output: Tensor) -> Tensor:
    """A value head's output as a value [B] in [-1, 1]: the tanh of [B, 1], or of logits [B, 3] P(win) - P(loss)."""
    if value_output.shape[1] == 1:
        return torch.tanh(value_output).squeeze(1)
    win, _, loss = value_output.softmax(1).unbind(1)
    return win - loss


def build_network(config: NetworkConfig, game: Game, seed: int) -> Network:
    """A network with first weights that depend on `seed` alone, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):  # torch draws weights while layers are made; the caller's stream must not notice
        network = Network(config, game.planes_shape, game.num_actions)
    initialize(network, torch.Generator().manual_seed(seed))
    return network.eval()


@torch.no_grad()
def initialize(network: Network, generator: torch.Generator) -> None:
    """He initialisation (He et al. 2015): variance 2 / fan-in before a ReLU, 1 / fan-in where none follows.

    Biases are 0; a batch norm begins as the identity. What the cells of a pooling block are told begins with half a standard
    deviation of their own numbers: the pooled means and maxima of numbers after a batch norm are 2.5 in the mean square.
    """
    gains: dict[nn.Module, float] = {
        module.output: 1.0 for module in network.modules() if isinstance(module, ConvolutionalHead | PooledHead)
    }
    gains |= {module.dense: 0.1 for module in network.modules() if isinstance(module, GlobalPooling)}
    gains |= {module.scale: 1.0 for module in network.modules() if isinstance(module, SqueezeExcitation)}
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            gain = gains.get(module, 2.0)
            module.weight.normal_(0.0, math.sqrt(gain / module.weight[0].numel()), generator=generator)
            if module.bias is not None:
                module.bias.zero_()
        elif isinstance(module, nn.BatchNorm2d):
            module.weight.fill_(1.0)
            module.bias.zero_()
            assert module.running_mean is not None and module.running_var is not None
            module.running_mean.zero_()
            module.running_var.fill_(1.0)


@dataclass(frozen=True)
class LoadedNetwork:
    """A network read from a file, on the CPU and in evaluation mode.

    Attributes:
        network: with its weights.
        game_name: the game that it was made for, as in `game.name`.
        game_options: that game's options.
        config: its size and kind.
        cycle: the cycle that made it; 0 is the random network.
        train_steps: steps of the optimizer behind it, over all cycles.
        optimizer_state: the optimizer's moments, or None.
        training: where `network` is an average of weights, those that training goes on with; else None.
    """

    network: Network
    game_name: str
    game_options: dict[str, Any]
    config: NetworkConfig
    cycle: int
    train_steps: int
    optimizer_state: OptimizerState | None
    training: Network | None


def pack_network(
    network: Network,
    *,
    game: Game,
    config: NetworkConfig,
    cycle: int,
    train_steps: int,
    optimizer_state: OptimizerState | None,
    training: Network | None = None,
) -> bytes:
    """A network as the bytes of a file: `torch.save` of tensors by name and one header in JSON. Equal networks give equal bytes.

    For the arguments see `LoadedNetwork`.

    Raises:
        UserError: a weight or a moment is not finite.
    """
    tensors = {f"weights/{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"training/{name}": tensor for name, tensor in (training.state_dict() if training else {}).items()}
    for parameter, moments in (optimizer_state or {"state": {}})["state"].items():
        tensors |= {f"optimizer/{parameter}/{moment}": tensor for moment, tensor in moments.items()}
    tensors = {name: packed_tensor(name, tensor) for name, tensor in tensors.items()}
    header = {
        "format": FORMAT,
        "game": game.name,
        "game_options": game.options,
        "planes_shape": list(game.planes_shape),
        "num_actions": game.num_actions,
        "config": asdict(config),
        "cycle": cycle,
        "train_steps": train_steps,
        "optimizer": optimizer_state["optimizer"] if optimizer_state else None,
    }
    buffer = io.BytesIO()
    torch.save({"header": json.dumps(header, sort_keys=True), "tensors": tensors}, buffer)
    return buffer.getvalue()


def packed_tensor(name: str, tensor: Tensor) -> Tensor:
    """A plain copy on the CPU: one layout and its own storage, so that equal values give equal bytes."""
    plain = tensor.detach().to("cpu", copy=True).clone(memory_format=torch.contiguous_format)
    if not bool(torch.isfinite(plain).all()):
        raise UserError(f"The network holds a number that is not finite ({name}), so it is not saved; lower train.lr.")
    return plain


def unpack_network(data: bytes, name: str) -> LoadedNetwork:
    """Read what `pack_network` wrote. Runs no code from the file.

    Args:
        data: the file's content.
        name: the file's name, for the message.

    Raises:
        UserError: the content is no network.
    """
    try:
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        return loaded_from(json.loads(content["header"]), content["tensors"])
    except Exception as fault:  # a damaged file can raise nearly anything
        reason = (str(fault).splitlines() or [""])[0][:120]
        raise UserError(f"{name} is not a network of azero ({type(fault).__name__}: {reason}); give another file.") from fault


def loaded_from(header: dict[str, Any], tensors: dict[str, Tensor]) -> LoadedNetwork:
    """Build the network that a header describes and fill it. Raises ValueError, KeyError or TypeError for what does not fit."""
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
    config = NetworkConfig(**header["config"])
    planes, height, width = (int(size) for size in header["planes_shape"])

    def network_of(kind: str) -> Network:
        with torch.random.fork_rng(devices=[]):
            network = Network(config, (planes, height, width), int(header["num_actions"]))
        fill_weights(network, {key.removeprefix(kind): tensor for key, tensor in tensors.items() if key.startswith(kind)})
        return network.eval()

    return LoadedNetwork(
        network=network_of("weights/"),
        game_name=str(header["game"]),
        game_options=dict(header["game_options"]),
        config=config,
        cycle=int(header["cycle"]),
        train_steps=int(header["train_steps"]),
        optimizer_state=moments_from(header["optimizer"], tensors),
        training=network_of("training/") if any(key.startswith("training/") for key in tensors) else None,
    )


def moments_from(optimizer: str | None, tensors: dict[str, Tensor]) -> OptimizerState | None:
    """The optimizer's state from its tensors, whose names are `optimizer/<parameter>/<moment>`."""
    if optimizer is None:
        return None
    state: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer/"):
            _, parameter, moment = key.split("/")
            state.setdefault(parameter, {})[moment] = tensor
    return {"optimizer": optimizer, "state": state}


@torch.no_grad()
def fill_weights(network: Network, weights: dict[str, Tensor]) -> None:
    """Copy weights and batch-norm statistics by name. Raises ValueError unless names, shapes and types are the network's own."""
    own = network.state_dict()
    if own.keys() != weights.keys():
        raise ValueError(f"other layers: {', '.join(sorted(own.keys() ^ weights.keys())[:3])}")
    for key, tensor in own.items():
        if tensor.shape != weights[key].shape or tensor.dtype != weights[key].dtype:
            raise ValueError(f"{key} is {list(weights[key].shape)}, not {list(tensor.shape)}")
        tensor.copy_(weights[key])


def check_fits(loaded: LoadedNetwork, game: Game) -> None:
    """Refuse a network of another game.

    Raises:
        UserError: names both games.
    """
    theirs, ours = describe_game(loaded.game_name, loaded.game_options), describe_game(game.name, game.options)
    network = loaded.network
    if theirs != ours or (network.planes_shape, network.num_actions) != (game.planes_shape, game.num_actions):
        raise UserError(f"The network plays {theirs}, but the game is {ours}; choose another network, or set game= to its game.")


def describe_game(name: str, options: dict[str, Any]) -> str:
    """A game's name with its options behind it, such as ``go(komi=7.5, size=9)``."""
    listed = ", ".join(f"{key}={options[key]}" for key in sorted(options))
    return f"{name}({listed})" if listed else name
