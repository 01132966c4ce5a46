"""int8: the range of each convolution's inputs, measured on the network's own play.

A range becomes 256 levels, one of which is 0. No number that was met is clipped. The values of a Connect Four
champion were off by 0.01 on average with every layer in int8, and by 0.09 with NNCF 3.4, whose levels clip.
With the blocks' layers only, which are nearly all of the work, they were off by 0.004. The same network
always plays the same games, so it always gets the same levels.

Letters: B positions at once, A actions, S state words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from azero.games.game import Game
from azero.games.inputs import encode
from azero.network.folded import FoldedNetwork
from azero.network.torch_inference import torch_threads

GAMES = 32  # played side by side
PLIES = 128  # of each; fewer if the longest game is shorter
SEED = 1

# The lowest and highest input of each layer; 0 lies between them.
Ranges = dict[nn.Module, tuple[float, float]]


def input_ranges(folded: FoldedNetwork, game: Game) -> Ranges:
    """Return the input ranges of the convolutions in the blocks of a network on the CPU in fp32."""
    ranges: Ranges = {layer: (0.0, 0.0) for layer in folded.blocks.modules() if isinstance(layer, nn.Conv2d)}

    def look(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        low, high = ranges[layer]
        ranges[layer] = min(low, float(inputs[0].min())), max(high, float(inputs[0].max()))

    hooks = [layer.register_forward_pre_hook(look) for layer in ranges]
    for _ in own_play(folded, game):
        pass
    for hook in hooks:
        hook.remove()
    return ranges


def own_play(folded: FoldedNetwork, game: Game) -> Iterator[np.ndarray]:
    """Yield planes [B, C, H, W], ply by ply, of games whose moves are drawn from the network's policy."""
    for states in own_states(folded, game, GAMES):
        yield encode(game, states)[0]


def own_states(folded: FoldedNetwork, game: Game, games: int, random: int = 0) -> Iterator[np.ndarray]:
    """Yield the states [games, S] of such games; in the first `random` of them all moves are equally likely.

    Where a game ends, the next begins.
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
