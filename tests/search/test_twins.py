"""The compiled search against its plain twin in every shipped game, on small boards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_mcts import Node, PlainGumbel, PlainSearch, assert_same_tree
from searching import FakeInference, planes_network, random_states

from azero.config.schema import SearchConfig
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players.pv_mcts import PvMcts
from azero.search.algorithm import sound_for
from azero.search.tree import ROOT

POSITIONS, SIMULATIONS = 40, 20
FEW = 8  # positions of chess, whose plain rules take a hundred times as long
SMALL: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {"rows": 4, "columns": 5, "connect": 3},
    "othello": {"size": 4},
    "go": {"size": 3, "komi": 0.5},
    "gomoku": {"rows": 4, "columns": 4, "connect": 3},
    "hex": {"size": 3, "swap": True},
    "breakthrough": {"rows": 5, "columns": 4},
    "chess": {"variant": "gardner", "start": "k4/5/1K3/5/3Q1 w - - 0 1", "max_plies": 20},
}
PROOFS: dict[str, dict[str, Any]] = {
    "no proofs": {},
    "solver": {"solver": True},
    "exact play": {"solver": True, "exact_plies": 3, "exact_nodes": 1_000_000},
}


def twin_of(game: Game, config: SearchConfig, state: np.ndarray) -> Node:
    """Return the root of the plain search of a state."""
    if config.kind == "gumbel":
        return PlainGumbel(game, planes_network(game), config, [0.0] * game.num_actions).run(
            state, config.num_simulations
        )
    return PlainSearch(game, planes_network(game), config).run(state, config.num_simulations)


def test_every_shipped_game_is_here() -> None:
    assert set(SMALL) == set(SHIPPED)


@pytest.mark.parametrize("proofs", PROOFS)
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("name", SMALL)
def test_with_and_without_cache_and_prefetch_the_search_is_its_plain_twin_s(
    name: str, kind: str, proofs: str
) -> None:
    game, positions = make_game(name, **SMALL[name]), FEW if name == "chess" else POSITIONS
    if name in ("go", "chess") and proofs == "exact play":
        pytest.skip("this game has no bound on the plies left")
    config = SearchConfig(
        kind=kind, num_simulations=SIMULATIONS, tree_reuse=False, dirichlet_fraction=0.0, **PROOFS[proofs]
    )
    states = random_states(game, positions, seed=1)
    roots = [twin_of(game, sound_for(config, game), state) for state in states]
    for cache in (0, 4096):
        together = PvMcts(game, FakeInference(game), config, cache=cache)
        together.new_games(np.zeros(positions, np.uint64))
        together.search_states(np.stack(states), np.arange(positions))
        for b, root in enumerate(roots):
            assert_same_tree(together.tree, b, ROOT, root)
    alone = PvMcts(game, FakeInference(game), config, cache=4096, leaves=8)  # with prefetch
    for state, root in zip(states, roots, strict=True):
        alone.new_games(np.zeros(1, np.uint64))
        alone.search_states(state[None], ONLY_GAME)
        assert_same_tree(alone.tree, 0, ROOT, root)
    assert sum(root.proven for root in roots) > positions // 10 or not sound_for(config, game).solver
