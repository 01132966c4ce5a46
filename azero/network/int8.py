"""int8: between which two numbers the input of each convolution lies, measured on the network's own play.

The numbers become 256 levels, of which 0 is one. No number that was met is clipped: a Connect Four champion's values strayed by
0.01 in the mean with every layer so, by 0.09 with NNCF 3.4, whose levels clip; 0.004 with the blocks' layers only, which are
nearly all of the work. The same network always plays the same games, so it always gets the same levels.

Letters: B positions at once, A actions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.torch_inference import torch_threads

GAMES = 32  # played side by side
PLIES = 128  # of each, or as many as the longest game has
SEED = 1

Ranges = dict[nn.Module, tuple[float, float]]  # lowest and highest number that went into a layer, 0 between them


def input_ranges(folded: FoldedNetwork, game: Game) -> Ranges:
    """The ranges of the convolutions of a folded network's blocks, in fp32 on the CPU."""
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
    """Planes [B, C, H, W], ply by ply, of games whose moves are drawn from the network's policy."""
    rng = np.random.default_rng(SEED)
    states = [game.initial_state()] * GAMES
    for _ in range(min(PLIES, game.max_plies)):
        planes = np.stack([game.planes(state) for state in states]).astype(np.float32)
        yield planes
        with torch_threads(1), torch.inference_mode():
            logits = folded(torch.from_numpy(planes))[0].numpy()
        # the highest of logit + Gumbel noise is a draw from the policy
        scores = logits + rng.gumbel(size=logits.shape)
        states = [next_state(game, state, row) for state, row in zip(states, scores, strict=True)]


def next_state(game: Game, state: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The state after the legal move with the highest score [A], or a new game where that ends this one."""
    legal = game.legal_actions(state)
    state = game.step(state, int(legal[np.argmax(scores[legal])]))
    return game.initial_state() if game.is_terminal(state) else state
