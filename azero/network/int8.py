"""int8: the range of each convolution's inputs, measured on games that the network plays with itself.

A range becomes 256 levels, one of which is 0. No number that was met is clipped. The values of a Connect Four
champion were off by 0.01 on average with every layer in int8, and by 0.09 with NNCF 3.4, whose levels clip.
With the blocks' layers only, which are nearly all of the work, they were off by 0.004. The same network
always plays the same games, so it always gets the same levels.

Letters: P plies, B games side by side, A actions, C H W planes, S state words.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.inputs import encode
from azero.network.folded import FoldedNetwork, PlainNetwork
from azero.network.openvino_graph import Ranges, traced_ranges
from azero.network.torch_inference import torch_threads

PLIES = 128  # of a game; fewer if the longest is shorter
GAMES = 32  # side by side; fewer if they would have more than POSITIONS
POSITIONS = 2048
SEED = 1
REMEMBERED = 2  # a match has two networks


class OwnPlay(NamedTuple):
    """What a network met in games with itself, and what it answered in fp32.

    Attributes:
        planes: [P, B, C, H, W] float32, all positions, P plies of B games.
        logits, values: [P, B, A] and [P, B] float32, its answers.
        ranges: of the inputs of the convolutions that compute in int8: those in its blocks, or all of a
            network of one's own.
    """

    planes: np.ndarray
    logits: np.ndarray
    values: np.ndarray
    ranges: Ranges


LOCK = threading.Lock()
KNOWN: OrderedDict[tuple[str, ...], OwnPlay] = OrderedDict()  # the latest networks' own play


def own_play(folded: FoldedNetwork | PlainNetwork, game: Game) -> OwnPlay:
    """Return the games of a network on the CPU with itself.

    In half of them moves are drawn from its policy. In the others all moves are equally likely, because games
    have random openings, and people play moves that a network would not. The games of the last networks are
    remembered, because each stage checks a network first and then uses it.
    """
    digest = hashlib.sha256(str(folded).encode())
    for tensor in folded.state_dict().values():
        digest.update(tensor.contiguous().numpy().tobytes())
    form = folded.stem_relu if isinstance(folded, FoldedNetwork) else folded.network.config.file
    layout = (folded.linear_policy, form, game.name, sorted(game.options.items()))
    key = (digest.hexdigest(), str(layout))
    with LOCK:
        if key not in KNOWN:
            KNOWN[key] = play_alone(folded, game)
        KNOWN.move_to_end(key)
        while len(KNOWN) > REMEMBERED:
            KNOWN.popitem(last=False)
        return KNOWN[key]


def input_ranges(folded: FoldedNetwork | PlainNetwork, game: Game) -> Ranges:
    """Return the input ranges of the convolutions that compute in int8, of a network on the CPU in fp32.

    Raises:
        UserError: a network of one's own has no convolutions.
    """
    ranges = own_play(folded, game).ranges
    if isinstance(folded, PlainNetwork) and not ranges:
        raise UserError(
            f"The network of {folded.network.config.file} has no convolutions for int8; "
            "set inference.precision=auto."
        )
    return ranges


def play_alone(folded: FoldedNetwork | PlainNetwork, game: Game) -> OwnPlay:
    """Play the games of `own_play`."""
    layers = folded.convolutions() if isinstance(folded, FoldedNetwork) else []
    ranges: dict[nn.Module, tuple[float, float]] = dict.fromkeys(layers, (0.0, 0.0))
    met = list[tuple[Tensor, Tensor, Tensor]]()

    def look(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        low, high = ranges[layer]
        ranges[layer] = min(low, float(inputs[0].min())), max(high, float(inputs[0].max()))

    def keep(_: nn.Module, inputs: tuple[Tensor, ...], answers: tuple[Tensor, Tensor]) -> None:
        met.append((inputs[0].clone(), answers[0].clone(), answers[1].clone()))

    hooks = [layer.register_forward_pre_hook(look) for layer in ranges]
    hooks.append(folded.register_forward_hook(keep))
    games = min(GAMES, POSITIONS // min(PLIES, game.max_plies))
    for _ in own_states(folded, game, games, random=games // 2):
        pass
    for hook in hooks:
        hook.remove()
    planes, logits, values = (torch.stack(column).numpy() for column in zip(*met, strict=True))
    if isinstance(folded, PlainNetwork):  # whose convolutions only its graph knows
        return OwnPlay(planes, logits, values, traced_ranges(folded, planes))
    return OwnPlay(planes, logits, values, list(ranges.values()))


def own_states(
    folded: FoldedNetwork | PlainNetwork, game: Game, games: int, random: int = 0
) -> Iterator[np.ndarray]:
    """Yield the states [games, S], ply by ply, of games whose moves are drawn from the network's policy.

    In the first `random` of them all moves are equally likely. Where a game ends, the next begins.
    """
    rng = np.random.default_rng(SEED)
    states = np.stack([game.initial_state()] * games)
    for _ in range(min(PLIES, game.max_plies)):
        yield states
        planes, legal_mask = encode(game, states)
        with torch_threads(1), torch.inference_mode():
            logits = folded(torch.from_numpy(planes))[0].numpy()
        logits[:random] = 0.0
        # The highest of logit + Gumbel noise is a draw from the policy.
        scores = logits + rng.gumbel(size=logits.shape)
        actions = np.where(legal_mask, scores, -np.inf).argmax(1)
        followers = [game.step(state, int(action)) for state, action in zip(states, actions, strict=True)]
        states = np.stack([game.initial_state() if game.is_terminal(state) else state for state in followers])
