"""The residual policy/value network, its first weights, and its form on disk.

Letters: B positions, A actions, C H W planes.
"""

from __future__ import annotations

import copy
import io
import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from azero.config.checks import check_values
from azero.config.schema import NetworkConfig, UserError, settings
from azero.games import make_game
from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.games.titles import describe_game
from azero.network.blocks import (
    PyramidBlock,
    ResidualBlock,
    batch_norm,
    convolution,
    last_layers,
    make_head,
    spatial_moves,
)
from azero.network.own import answers, check_layers, digest_of, find_file, make_layers
from azero.network.stored import check_tensors, read_stored

FORMAT = 1  # of packed networks
ADAM = {"step": False, "exp_avg": True, "exp_avg_sq": True}
# by optimizer: its moments of a parameter, and whether they have its shape
MOMENTS = {"adam": ADAM, "adamw": ADAM, "sgd": {"momentum_buffer": True}}
NOT_NEGATIVE = ("step", "exp_avg_sq")
OWN = ("file", "options")  # settings of a network of one's own, which others do not write
OUTPUT_GAIN = 0.01  # of first weights: with outputs near 0 hardly any move or outcome is preferred yet

# {"optimizer": its name, "state": {parameter: {moment: Tensor}}}; see `azero.training.trainer`
OptimizerState = dict[str, Any]


class Outputs(NamedTuple):
    """The raw outputs of the heads.

    Attributes:
        policy: [B, A] logits or, with `policy_output=linear`, move weights.
        value: [B, 1], the value before its tanh, or with `value_output=wdl` logits [B, 3] of win, draw and
            loss.
        occupation: [B, H * W], for each cell the logit of the mover's piece against the other player's at the
            end of the game; None without `config.occupation`.
    """

    policy: Tensor
    value: Tensor
    occupation: Tensor | None


class Network(nn.Module):
    """Planes to a policy output and a value.

    The tower is a stem and `config.blocks` blocks. Before residual blocks the stem is conv - BN - ReLU;
    before pyramid blocks it is a bare convolution, since each of them begins with a batch norm.
    """

    title = "network"  # what messages call it

    def __init__(self, config: NetworkConfig, planes_shape: tuple[int, int, int], num_actions: int) -> None:
        super().__init__()
        self.config = config
        self.planes_shape = planes_shape
        self.num_actions = num_actions
        self.stem = convolution(planes_shape[0], config.channels)
        self.stem_norm = batch_norm(config.channels) if config.block == "residual" else None
        block = ResidualBlock if config.block == "residual" else PyramidBlock
        self.blocks = nn.ModuleList([block(config.channels) for _ in range(config.blocks)])
        self.policy_head = make_head(config, planes_shape, num_actions)
        outcomes = 3 if config.value_output == "wdl" else 1
        self.value_head = make_head(config, planes_shape, outcomes, config.value_hidden)
        self.occupation_head = nn.Conv2d(config.channels, 1, 1) if config.occupation else None

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate B positions.

        Args:
            planes: [B, C, H, W], from the view of the player to move.

        Returns:
            The policy output [B, A], logits or, with `policy_output=linear`, move weights; and the value [B]
            in [-1, 1], for the player to move.
        """
        outputs = self.outputs(planes)
        return outputs.policy, value_of(outputs.value)

    def outputs(self, planes: Tensor) -> Outputs:
        """Return the raw outputs of all heads for planes [B, C, H, W]."""
        x = self.stem(planes)
        if self.stem_norm is not None:
            x = functional.relu(self.stem_norm(x), inplace=True)
        for block in self.blocks:
            x = block(x)
        occupation = None if self.occupation_head is None else self.occupation_head(x).flatten(1)
        return Outputs(self.policy_head(x), self.value_head(x), occupation)


class OwnNetwork(Network):
    """A network whose layers a person's file makes; see `azero.network.own`."""

    def __init__(self, config: NetworkConfig, planes_shape: tuple[int, int, int], num_actions: int) -> None:
        nn.Module.__init__(self)
        self.config, self.planes_shape, self.num_actions = config, planes_shape, num_actions
        self.file_digest = digest_of(config.file)  # the file may change while this network is trained
        self.layers = make_layers(config, planes_shape, num_actions)

    def outputs(self, planes: Tensor) -> Outputs:
        """Return the raw outputs for planes [B, C, H, W]; UserError: they have other shapes."""
        values = 3 if self.config.value_output == "wdl" else 1
        policy, value = answers(self.layers, planes, self.num_actions, values, self.config.file)
        return Outputs(policy, value, None)


def make_network(config: NetworkConfig, planes_shape: tuple[int, int, int], num_actions: int) -> Network:
    """Return a network of azero's own layers or of a person's, which come from torch's random stream."""
    kind = OwnNetwork if config.file else Network
    return kind(config, planes_shape, num_actions)


def value_of(value_output: Tensor) -> Tensor:
    """Return the value [B] of a value head: the tanh of [B, 1], or P(win) - P(loss) of logits [B, 3]."""
    if value_output.shape[1] == 1:
        return torch.tanh(value_output).squeeze(1)
    win, _, loss = value_output.softmax(1).unbind(1)
    return win - loss


def build_network(config: NetworkConfig, game: Game, seed: int) -> Network:
    """Return a network in evaluation mode. Its first weights depend on `seed` alone.

    Raises:
        UserError: it does not fit the game; see `check_network`.
    """
    check_network(config, game)
    return first_network(config, game, seed)


def first_network(config: NetworkConfig, game: Game, seed: int) -> Network:
    """Return `build_network` without its checks."""
    # torch draws weights while it makes layers; the caller's random stream must stay as it is.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make_network(config, game.planes_shape, game.num_actions)
    if not config.file:
        initialize(network, torch.Generator().manual_seed(seed))
    return network.eval()


def check_network(config: NetworkConfig, game: Game) -> None:
    """Check that a person's own network works, or that the heads of azero's fit the game.

    Raises:
        UserError: they do not.
    """
    if config.file:
        first = torch.from_numpy(game.planes(game.initial_state()))
        positions = torch.stack([first, first.flip(-1), torch.zeros_like(first), torch.ones_like(first)])
        check_layers(lambda: first_network(config, game, seed=1), positions, config.file)
        return
    if config.head == "spatial":
        check_has_cells(game)
    if config.occupation:
        check_has_board(game)


def check_has_cells(game: Game) -> None:
    """Refuse a game whose moves are not those of its cells in order, as a spatial head has them.

    The first H * W moves are the cells, or each cell has K moves, those of a piece that stands on it.

    Raises:
        UserError: it is such a game.
    """
    cells, start = game.planes_shape[1] * game.planes_shape[2], game.initial_state()
    per_cell, others = spatial_moves(game.planes_shape, game.num_actions)
    moves = [*range(cells), *[NO_CELL] * others]
    if game.board is None or not per_cell:
        fits = False
    elif per_cell == 1:
        fits = [game.board.cell_of(start, action) for action in range(game.num_actions)] == moves
    else:
        fits = not others and has_moves_of_cells(game, per_cell)
    if not fits:
        raise UserError(
            "network.head=spatial needs a game whose moves are the cells of its board, or as many for each "
            f"cell; {game.name} is none. Set network.head=convolutional."
        )


def has_moves_of_cells(game: Game, per_cell: int) -> bool:
    """Return whether action a belongs to the cell a // per_cell, as far as the first moves show it.

    A legal move changes what stands on its cell, and a symmetry maps a move's cell as it maps the move.
    """
    assert game.board is not None
    start = game.initial_state()
    before = game.board.marks(start)
    if before.shape != game.planes_shape[1:]:
        return False
    for action in game.legal_actions(start):
        after = game.board.marks(game.step(start, action))
        if before.ravel()[action // per_cell] == after.ravel()[action // per_cell]:
            return False
    cells = np.arange(game.num_actions) // per_cell
    return bool((game.cell_symmetries[:, cells] == game.action_symmetries // per_cell).all())


def check_has_board(game: Game) -> None:
    """Refuse a game without a board of the planes' size, which an occupation head needs.

    Raises:
        UserError: it is such a game.
    """
    shape = game.board.marks(game.initial_state()).shape if game.board else None
    if shape != game.planes_shape[1:]:
        raise UserError(
            "network.occupation=true needs a game with a board of the planes' size; "
            f"{game.name} has none. Set it to false."
        )


@torch.no_grad()
def initialize(network: Network, generator: torch.Generator) -> None:
    """Set first weights after He et al. 2015: variance 2 / fan-in before a ReLU, less in last layers.

    Biases become 0; a new batch norm is the identity already. Last layers have variance `OUTPUT_GAIN` /
    fan-in. With 1 / fan-in an untrained network can be certain: three of ten of Go 7 x 7 gave more than 90 %
    to a pass somewhere. A linear policy keeps 1 / fan-in, because it has no scale.
    """
    policy_gain = 1.0 if network.config.policy_output == "linear" else OUTPUT_GAIN
    gains = dict.fromkeys(last_layers(network.policy_head), policy_gain)
    gains |= dict.fromkeys(last_layers(network.value_head), OUTPUT_GAIN)
    if network.occupation_head:
        gains[network.occupation_head] = OUTPUT_GAIN
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            gain = gains.get(module, 2.0)
            module.weight.normal_(0.0, math.sqrt(gain / module.weight[0].numel()), generator=generator)
            if module.bias is not None:
                module.bias.zero_()


@dataclass(frozen=True)
class LoadedNetwork:
    """A network read from a file, on the CPU and in evaluation mode.

    Attributes:
        network: the network.
        game_name: the game that it was made for, as in `game.name`.
        game_options: that game's options.
        cycle: the cycle that made it; 0 is the random network.
        train_steps: steps of the optimizer behind it, over all cycles.
        optimizer_state: the optimizer's moments, or None.
        training: where `network` is an average of weights, the weights that training goes on with; else None.
    """

    network: Network
    game_name: str
    game_options: dict[str, Any]
    cycle: int
    train_steps: int
    optimizer_state: OptimizerState | None
    training: Network | None


def pack_network(
    network: Network,
    *,
    game: Game,
    cycle: int = 0,
    train_steps: int = 0,
    optimizer_state: OptimizerState | None = None,
    training: Network | None = None,
    half: bool = False,
) -> bytes:
    """Return a network as the content of a file. Equal networks give equal bytes.

    The file is a `torch.save` of tensors by name and one header in JSON. For the other arguments see
    `LoadedNetwork`; half: store weights in 16 bits.

    Raises:
        UserError: a weight or a moment is not finite.
    """
    tensors = {f"weights/{name}": tensor for name, tensor in network.state_dict().items()}
    if training:
        tensors |= {f"training/{name}": tensor for name, tensor in training.state_dict().items()}
    if optimizer_state:
        for parameter, moments in optimizer_state["state"].items():
            tensors |= {f"optimizer/{parameter}/{moment}": tensor for moment, tensor in moments.items()}
    header = {
        "format": FORMAT,
        "game": game.name,
        "game_options": game.options,
        "planes_shape": list(game.planes_shape),
        "num_actions": game.num_actions,
        "config": {key: value for key, value in asdict(network.config).items() if value or key not in OWN},
        "cycle": cycle,
        "train_steps": train_steps,
        "optimizer": optimizer_state["optimizer"] if optimizer_state else None,
    }
    if isinstance(network, OwnNetwork):
        header["file_digest"] = network.file_digest
    if half:
        tensors = {name: each.half() if each.is_floating_point() else each for name, each in tensors.items()}
    packed = {name: packed_tensor(name, tensor) for name, tensor in tensors.items()}
    buffer = io.BytesIO()
    torch.save({"header": json.dumps(header, sort_keys=True), "tensors": packed}, buffer)
    return buffer.getvalue()


def packed_tensor(name: str, tensor: Tensor) -> Tensor:
    """Return a copy on the CPU in one memory layout, so that equal values give equal bytes."""
    plain = tensor.detach().to("cpu", copy=True).clone(memory_format=torch.contiguous_format)
    if not bool(torch.isfinite(plain).all()):
        raise UserError(
            f"The network holds a number that is not finite ({name}), so it is not saved; lower train.lr."
        )
    return plain


def unpack_network(data: bytes, name: str, game: Game | None = None) -> LoadedNetwork:
    """Read what `pack_network` wrote. Runs no code from the file.

    Args:
        data: the file's content.
        name: the file's name, for the message.
        game: the game that the network has to play, if any.

    Raises:
        UserError: the content is not a network, or it is one of another game.
    """
    try:
        content = read_stored(data)
        loaded = loaded_from(json.loads(content["header"]), content["tensors"])
    except UserError as mistake:
        raise UserError(f"{name}: {mistake}") from mistake
    except Exception as fault:  # a damaged file can raise nearly anything
        reason = (str(fault).splitlines() or [""])[0][:120]
        raise UserError(
            f"{name} is not a network of azero ({type(fault).__name__}: {reason}); give another file."
        ) from fault
    if game is not None:
        check_fits(loaded, game)
    loaded.network.title = name
    return loaded


def loaded_from(header: dict[str, Any], tensors: dict[str, Tensor]) -> LoadedNetwork:
    """Build the network that a header describes and fill it.

    The tensors are compared with a network without content first, so that the header alone takes no memory.

    Raises:
        ValueError, KeyError or TypeError: header and tensors do not fit.
        UserError: a setting in the header is not allowed.
    """
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
    config = config_from(header["config"])
    planes, height, width, num_actions = sizes = [*header["planes_shape"], header["num_actions"]]
    if not all(type(size) is int and size > 0 for size in sizes):
        raise ValueError(f"planes_shape and num_actions are {sizes}")
    if config.file:
        config = replace(config, file=find_file(config.file, header["file_digest"]))
    # a person's module may compute with what it makes, so its plan has real numbers
    with torch.random.fork_rng(devices=[]), torch.device("cpu" if config.file else "meta"):
        plan = make_network(config, (planes, height, width), num_actions)

    def tensors_of(kind: str) -> dict[str, Tensor]:
        return {key.removeprefix(kind): tensors[key] for key in tensors if key.startswith(kind)}

    def network_of(stored: dict[str, Tensor]) -> Network:
        weights = {key: each.float() if each.dtype == torch.half else each for key, each in stored.items()}
        check_tensors(plan.state_dict(), weights)  # before memory is taken
        network = copy.deepcopy(plan)
        if not config.file:  # `to_empty` would import sympy, half a second
            network._apply(lambda each: torch.empty(each.shape, dtype=each.dtype))  # type: ignore[no-untyped-call]
        fill_weights(network, weights)
        return network.eval()

    training = tensors_of("training/")
    return LoadedNetwork(
        network=network_of(tensors_of("weights/")),
        game_name=str(header["game"]),
        game_options=dict(header["game_options"]),
        cycle=int(header["cycle"]),
        train_steps=int(header["train_steps"]),
        optimizer_state=moments_from(header["optimizer"], tensors_of("optimizer/"), plan),
        training=network_of(training) if training else None,
    )


def config_from(written: dict[str, Any]) -> NetworkConfig:
    """Return the settings of a network from its header.

    Raises:
        UserError: one is unknown or not allowed.
    """
    known = settings(NetworkConfig)
    for key, value in written.items():
        if key not in known or type(value) is not type(known[key].default):
            raise UserError(f"network.{key}={value} is unknown, or of another type.")
    check_values({f"network.{key}": value for key, value in written.items()})
    return NetworkConfig(**written)


def moments_from(
    optimizer: str | None, tensors: dict[str, Tensor], network: Network
) -> OptimizerState | None:
    """Return the optimizer's state from its tensors, whose names are `<parameter>/<moment>`.

    Raises:
        ValueError: they are not those of the network's parameters.
        KeyError: the optimizer is unknown.
    """
    if optimizer is None:
        return None
    is_own = optimizer.endswith(".py")  # a person's, which may keep anything
    shapes, parameters = {} if is_own else MOMENTS[optimizer], dict(network.named_parameters())
    wanted = {
        f"{name}/{moment}": parameter if full else torch.zeros((), device="meta")
        for name, parameter in parameters.items()
        for moment, full in shapes.items()
    }
    if tensors and not is_own:  # else no step was made, or the optimizer has no moments
        check_tensors(wanted, tensors)
    state: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter_name, moment = key.split("/")
        if parameter_name not in parameters:
            raise ValueError(f"{key} is of no parameter")
        if moment in NOT_NEGATIVE and bool((tensor < 0).any()):
            raise ValueError(f"{key} is negative")
        state.setdefault(parameter_name, {})[moment] = tensor
    return {"optimizer": optimizer, "state": state}


@torch.no_grad()
def fill_weights(network: Network, weights: dict[str, Tensor]) -> None:
    """Copy weights and batch-norm statistics by name.

    Raises:
        ValueError: names, shapes or types differ from the network's.
    """
    own = network.state_dict()
    check_tensors(own, weights)
    for key, tensor in own.items():
        tensor.copy_(weights[key])


def resized(loaded: LoadedNetwork, game: Game, seed: int) -> Network:
    """Return a network with a spatial head for another size of its game's board, with the same weights.

    Moves that only one of the boards has, such as the swap of Hex or a queen's long ways, are left out, or
    begin with the first weights of `seed`; see also `give_fair_chance`.

    Raises:
        UserError: the network is of another game, or its weights fit one size of board only.
    """
    config, shape = loaded.network.config, loaded.network.planes_shape
    per_cell, others = spatial_moves(shape, loaded.network.num_actions)
    own_per_cell, own_others = spatial_moves(game.planes_shape, game.num_actions)
    same_game = (loaded.game_name, shape[0]) == (game.name, game.planes_shape[0])
    same_game &= per_cell == own_per_cell or bool(game.steps)
    if config.file or config.head != "spatial" or not same_game or len({others, own_others, 0}) > 2:
        check_fits(loaded, game)
        return loaded.network
    network, theirs = build_network(config, game, seed), loaded.network.state_dict()
    weights = {key: theirs.get(key, first) for key, first in network.state_dict().items()}
    if game.steps:
        same = loaded.game_options == game.options
        steps = (game if same else make_game(loaded.game_name, **loaded.game_options)).steps
        own = [place for place, step in enumerate(game.steps) if step in steps]
        their = [steps.index(game.steps[place]) for place in own]
        for key in ("policy_head.cells.weight", "policy_head.cells.bias"):
            weights[key] = network.state_dict()[key].clone()
            weights[key][own] = theirs[key][their]
    fill_weights(network, weights)
    if own_others and not others and config.policy_output == "logits":
        give_fair_chance(network, game, game.num_actions - own_others)
    return network


@torch.no_grad()
def give_fair_chance(network: Network, game: Game, first: int) -> None:
    """Give the moves from action `first` on, those of no cell, the chance of an average legal move.

    Their first logits are near 0, and those of learned moves are not. The swap of Hex 11 x 11, after 7 x 7
    without it, had a chance of 0.0006 of being played; a search with 16 first moves hardly ever tried it, and
    after eight cycles the champion still never swapped. Positions before and after the first move count.
    """
    start = game.initial_state()
    states = [start, *(game.step(start, action) for action in game.legal_actions(start))]
    legal = torch.from_numpy(np.stack([game.legal_mask(state) for state in states]))
    logits = network(torch.from_numpy(np.stack([game.planes(state) for state in states])))[0]
    known = logits[:, :first].masked_fill(~legal[:, :first], -math.inf)
    average = known.logsumexp(1) - legal[:, :first].sum(1).log()
    bias = network.get_parameter("policy_head.output.bias")
    for action in range(first, game.num_actions):
        if (rows := legal[:, action] & legal[:, :first].any(1)).any():
            bias[action - first] += (average - logits[:, action])[rows].mean()


def check_fits(loaded: LoadedNetwork, game: Game) -> None:
    """Refuse a network of another game.

    Raises:
        UserError: the network is of another game; the message names both.
    """
    theirs = describe_game(loaded.game_name, loaded.game_options)
    ours = describe_game(game.name, game.options)
    shapes = (loaded.network.planes_shape, loaded.network.num_actions)
    if theirs == ours and shapes != (game.planes_shape, game.num_actions):  # a file of rules was edited
        theirs = f"{theirs} with {describe_shapes(*shapes)}"
        ours = f"{ours} with {describe_shapes(game.planes_shape, game.num_actions)}"
    if theirs != ours:
        raise UserError(
            f"The network plays {theirs}, but the game is {ours}; "
            "choose another network, or set game= to its game."
        )


def describe_shapes(planes_shape: tuple[int, int, int], num_actions: int) -> str:
    """Return a game's sizes, such as ``planes of 2 x 5 x 5 and 25 actions``."""
    return f"planes of {' x '.join(map(str, planes_shape))} and {num_actions:,} actions"
