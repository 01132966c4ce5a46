"""Pure MCTS against the plain twin of PV-MCTS, and the effect of the published root."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from plain_mcts import Node, PlainSearch
from searching import after

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.random_stream import new_stream, next_below, next_float
from azero.players import make_player


def visit_counts(
    game: Game, state: np.ndarray, num_simulations: int, seed: int = 0, **options: Any
) -> np.ndarray:
    """Visit counts [A] of one search."""
    player = make_player("pure_mcts", game, num_simulations=num_simulations, **options)
    player.new_games(np.array([seed], np.uint64))
    return player.visit_counts(state[None], np.zeros(1, np.int64))[0]  # type: ignore[attr-defined]


class Guess:
    """The network of the twin: priors and a rollout, drawn from the stream in the kernel's order."""

    def __init__(self, game: Game, seed: int, priors: str) -> None:
        self.game, self.stream, self.priors = game, new_stream(seed), priors

    def __call__(self, state: np.ndarray) -> tuple[np.ndarray, np.float32]:
        logits = np.zeros(self.game.num_actions)
        if self.priors == "random":
            for action in self.game.legal_actions(state):
                logits[action] = math.log(next_float(self.stream))
        side = self.game.to_play(state)
        while not self.game.is_terminal(state):
            legal = self.game.legal_actions(state)
            state = self.game.step(state, legal[next_below(self.stream, len(legal))])
        value = self.game.outcome(state)
        return logits, np.float32(value if self.game.to_play(state) == side else -value)


class RootWithoutVisits(PlainSearch):
    """The twin of the published code: the root's visits stay 0."""

    def simulate(self, root: Node, num_simulations: int) -> None:
        self.root = root
        super().simulate(root, num_simulations)

    def puct(self, node: Node, action: int) -> float:
        if node is not self.root:
            return super().puct(node, action)
        n = node.edge_visits.get(action, 0)
        return float(node.edge_value_sum[action]) / n if n else 0.0


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("priors", ["random", "uniform"])
@pytest.mark.parametrize("update_root", [True, False])
def test_it_agrees_with_the_plain_twin_visit_for_visit(name: str, priors: str, update_root: bool) -> None:
    game = make_game(name)
    config = SearchConfig(c_puct=5.0, c_puct_base=0.0, puct_visits="node", fpu_mode="value", fpu=0.0)
    for seed, opening in enumerate([(), (4,), (0, 8, 4)]):
        state = after(game, *opening)
        twin = (PlainSearch if update_root else RootWithoutVisits)(game, Guess(game, seed, priors), config)
        root = twin.run(state, 150)
        counts = visit_counts(game, state, 150, seed, priors=priors, update_root=update_root)
        assert counts.tolist() == [root.edge_visits.get(action, 0) for action in range(game.num_actions)]


def test_a_root_whose_visits_stay_0_explores_nothing_and_finds_less() -> None:
    game = make_game("tictactoe")
    state = after(game, 0)  # only the middle keeps the draw
    with_visits = np.array([visit_counts(game, state, 3_000, seed) for seed in range(20)])
    without = np.array([visit_counts(game, state, 3_000, seed, update_root=False) for seed in range(20)])
    assert (
        (without[:, 1:] == 1).mean() > 0.3 > (with_visits[:, 1:] == 1).mean()
    )  # a move whose first rollout was lost stays so
    assert (with_visits.argmax(axis=1) == 4).mean() > 0.75 > 0.55 > (without.argmax(axis=1) == 4).mean()


def test_banned_moves_are_never_visited() -> None:
    game = make_game("tictactoe")
    player = make_player("pure_mcts", game, num_simulations=300)
    player.new_games(np.zeros(1, np.uint64))
    state, banned = after(game, 0, 3, 1, 4), np.eye(9, dtype=np.bool_)[[2]]  # the winning move
    counts = player.visit_counts(state[None], np.zeros(1, np.int64), banned)[0]  # type: ignore[attr-defined]
    assert counts[2] == 0 and counts.sum() == 300


@pytest.mark.parametrize("moves", [(0, 3, 1, 4), (8, 0, 3, 1, 7)], ids=["first player", "second player"])
def test_a_win_in_one_is_visited_most(moves: tuple[int, ...]) -> None:
    game = make_game("tictactoe")
    assert all(visit_counts(game, after(game, *moves), 500, seed).argmax() == 2 for seed in range(10))
