"""A fake network, positions, and one way to search with the compiled kernels."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.players import Player, Thought
from azero.players.growing import growing_search, whole_search
from azero.players.pv_mcts import PvMcts
from azero.replay.examples import GameRecord
from azero.search.algorithm import make_algorithm

FACTORS: dict[int, Any] = {}  # odd numbers by which a checksum is multiplied, A + 1 for A actions


def hashed(state: np.ndarray, num_actions: int, sharpness: float = 3.0) -> tuple[np.ndarray, np.float32]:
    """Return logits [A] and a value in [-0.5, 0.5), hashed from the state: a generator would take longer."""
    if num_actions not in FACTORS:
        drawn = np.random.default_rng(num_actions).integers(2**63, size=num_actions + 1, dtype=np.uint64)
        FACTORS[num_actions] = drawn * np.uint64(2) + np.uint64(1)
    found = (FACTORS[num_actions] * np.uint64(1 + zlib.crc32(state.tobytes())) >> np.uint64(40)) * 2.0**-24
    return (found[1:] * sharpness).astype(np.float32), np.float32(found[0] - 0.5)


Answer = Callable[[np.ndarray], tuple[np.ndarray, np.float32]]  # planes -> logits [A], value


class FakeInference:
    """Answers by a function of the planes' bytes and counts its calls."""

    def __init__(self, game: Game, answer: Answer | None = None, batch_size: int = 8) -> None:
        self.game, self.batch_size, self.calls = game, batch_size, 0
        self.answer = answer or (
            lambda planes: hashed(np.frombuffer(planes.tobytes(), np.uint8), game.num_actions)
        )

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        self.calls += 1
        answers = [self.answer(row) for row in planes]
        return np.stack([logits for logits, _ in answers]), np.array(
            [value for _, value in answers], np.float32
        )


def searched(
    game: Game,
    states: list[np.ndarray],
    config: SearchConfig,
    inference: FakeInference | None = None,
    cache: int = 0,
) -> PvMcts:
    """Return a player that has searched these states, one in each game, with self-play's settings."""
    player = PvMcts(game, inference or FakeInference(game), config, cache=cache)
    player.new_games(np.arange(len(states), dtype=np.uint64))
    player.searches.algorithm = make_algorithm(config, len(states), game.num_actions)
    player.search_states(np.stack(states), np.arange(len(states)))
    return player


def thought_of(player: Player, state: np.ndarray, banned: np.ndarray | None = None) -> Thought:
    """Return what pv_mcts or uct finds in a whole search of a state, from an empty tree and with seed 0."""
    return whole_search(growing_search(player), state, banned)


def columns_of(thought: Thought, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (visits [A], values [A]) of all actions; an action without visits has the value nan."""
    visits, values = np.zeros(num_actions, np.int64), np.full(num_actions, np.nan)
    for move in thought.moves:
        visits[move.action], values[move.action] = move.visits, move.value
    return visits, values


def after(game: Game, *actions: int) -> np.ndarray:
    """Return the state after these actions."""
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    return state


def random_game(game: Game, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the unfinished positions of a random game."""
    state, states = game.initial_state(), list[np.ndarray]()
    while not game.is_terminal(state):
        states.append(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
    return states


def random_states(game: Game, count: int, seed: int) -> list[np.ndarray]:
    """Return the first unfinished positions of random games, one game after another."""
    rng, states = np.random.default_rng(seed), list[np.ndarray]()
    while len(states) < count:
        states += random_game(game, rng)
    return states[:count]


def planes_network(game: Game) -> Answer:
    """Return the plain twin's network, the same as FakeInference's."""
    return lambda state: hashed(np.frombuffer(game.planes(state).tobytes(), np.uint8), game.num_actions)


def assert_same_records(left: Sequence[GameRecord], right: Sequence[GameRecord]) -> None:
    """Assert that records are equal bit for bit."""
    assert [record.number for record in left] == [record.number for record in right]
    for one, other in zip(left, right, strict=True):
        for name, a, b in zip(GameRecord._fields, one, other, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"game {one.number}: {name}", strict=True)
