"""UCT against a plain twin, simulation for simulation, and against what any search must find."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from azero.games import make_game
from azero.games.game import Game
from azero.search.random_stream import new_stream, next_below, next_float, next_uint64
from azero.search.uct import search_positions

DOUBLE_MOVE = str(Path(__file__).parent / "games" / "double_move.py")
SQRT_2 = math.sqrt(2.0)
NONE_BANNED = np.zeros((3, 9), np.bool_)


def search(game: Game, state: np.ndarray, num_simulations: int, seed: int = 0, threshold: int = 1) -> np.ndarray:
    """Visit counts [A] of one search."""
    counts = np.zeros((1, game.num_actions), np.int64)
    streams = new_stream(seed)[None]
    search_positions(
        game.rule_addresses, state[None], streams, num_simulations, SQRT_2, threshold, game.max_plies, NONE_BANNED[:1], counts
    )
    return counts[0]


class PlainUct:
    """The twin: objects and dictionaries, drawing from the same stream in the same order."""

    def __init__(self, game: Game, state: np.ndarray, seed: int, threshold: int) -> None:
        self.game, self.stream, self.threshold = game, new_stream(seed), threshold
        self.root = self.node(state)

    def node(self, state: np.ndarray) -> dict[str, object]:
        return {"state": state, "visits": 0, "reward": 0.0, "untried": None, "children": []}

    def reward(self, state: np.ndarray) -> float:
        """For player 0."""
        value = self.game.outcome(state)
        return 0.5 + 0.5 * value if self.game.to_play(state) == 0 else 0.5 - 0.5 * value

    def rollout(self, state: np.ndarray) -> float:
        while not self.game.is_terminal(state):
            legal = self.game.legal_actions(state)
            state = self.game.step(state, legal[next_below(self.stream, len(legal))])
        return self.reward(state)

    def simulate(self) -> None:
        node: dict = self.root
        path = [node]
        while not self.game.is_terminal(node["state"]) and (node is self.root or node["visits"] >= self.threshold):
            if node["untried"] is None:
                node["untried"] = self.game.legal_actions(node["state"])
            untried = node["untried"]
            if untried:
                chosen = next_below(self.stream, len(untried))
                action, untried[chosen] = untried[chosen], untried[0]  # the first takes the place of the one drawn
                untried.pop(0)
                child: dict = self.node(self.game.step(node["state"], action))
                child["action"] = action
                node["children"].append(child)
            else:
                child = self.select(node)
            node = child
            path.append(node)
        state = node["state"]
        reward = self.reward(state) if self.game.is_terminal(state) else self.rollout(state)
        for each in path:
            each["visits"] += 1
            each["reward"] += reward

    def select(self, node: dict) -> dict:
        total = sum(child["visits"] for child in node["children"])
        side = self.game.to_play(node["state"])

        def score(child: dict) -> float:
            q = child["reward"] / child["visits"]
            return (q if side == 0 else 1.0 - q) + SQRT_2 * math.sqrt(math.log(total) / child["visits"])

        # equal scores may differ in the last bit between the two ways to compute them: the first of near equals
        best = max(map(score, node["children"]))
        return next(child for child in node["children"] if score(child) > best - 1e-12)

    def visit_counts(self) -> np.ndarray:
        counts = np.zeros(self.game.num_actions, np.int64)
        for child in self.root["children"]:  # type: ignore[attr-defined]
            counts[child["action"]] = child["visits"]
        return counts


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("threshold", [1, 3])
@pytest.mark.parametrize("opening", [(), (0,), (4, 0), (0, 4, 8)])
def test_the_kernel_agrees_with_the_plain_twin_visit_for_visit(name: str, threshold: int, opening: tuple[int, ...]) -> None:
    game = make_game(name)
    state = game.initial_state()
    for action in opening:
        state = game.step(state, action)
    for seed in range(3):
        twin = PlainUct(game, state, seed, threshold)
        for _ in range(60):
            twin.simulate()
        np.testing.assert_array_equal(search(game, state, 60, seed, threshold), twin.visit_counts())


def test_every_simulation_visits_one_child_of_the_root_and_each_child_comes_first_once() -> None:
    game = make_game("tictactoe")
    for num_simulations in (1, 5, 9, 100):
        counts = search(game, game.initial_state(), num_simulations)
        assert counts.sum() == num_simulations
        assert (counts > 0).sum() == min(num_simulations, 9)


@pytest.mark.parametrize("moves, wins", [((0, 3, 1, 4), 2), ((8, 0, 3, 1, 7), 2)], ids=["first player", "second player"])
def test_a_win_in_one_is_visited_most(moves: tuple[int, ...], wins: int) -> None:
    game = make_game("tictactoe")
    state = game.initial_state()
    for move in moves:
        state = game.step(state, move)
    assert all(search(game, state, 200, seed).argmax() == wins for seed in range(20))


def test_with_many_simulations_the_only_reply_to_a_corner_is_found() -> None:
    game = make_game("tictactoe")
    state = game.step(game.initial_state(), 0)
    assert all(search(game, state, 20_000, seed).argmax() == 4 for seed in range(3))


def test_the_first_move_of_two_is_played_for_the_second() -> None:
    game = make_game(DOUBLE_MOVE)
    state = game.initial_state()
    for move in (3, 0, 8, 4, 7):  # O owns 0 and 8 and places two: it can win with 1 2, with 2 5, with 2 and another to come
        state = game.step(state, move)
    assert game.to_play(state) == 1
    first = int(search(game, state, 5000).argmax())
    state = game.step(state, first)
    assert game.to_play(state) == 1
    second = int(search(game, state, 5000).argmax())
    state = game.step(state, second)
    assert game.is_terminal(state)
    assert game.outcome(state) == (1.0 if game.to_play(state) == 1 else -1.0)


def test_searches_of_a_batch_do_not_touch_each_other() -> None:
    game = make_game("tictactoe")
    states = np.stack([game.initial_state(), game.step(game.initial_state(), 0), game.initial_state()])
    streams = np.array([[5, 0], [6, 0], [7, 0]], np.uint64)
    counts = np.zeros((3, 9), np.int64)
    search_positions(game.rule_addresses, states, streams, 50, SQRT_2, 1, 9, NONE_BANNED[: len(states)], counts)
    for row, seed in enumerate((5, 6, 7)):
        np.testing.assert_array_equal(counts[row], search(game, states[row], 50, seed))
    assert streams[:, 1].min() > 0


def test_the_random_stream_is_splitmix64() -> None:
    stream = new_stream(1234567)
    numbers = [int(next_uint64(stream)) for _ in range(5)]
    # the published first outputs for seed 1234567
    assert numbers == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert stream.tolist() == [1234567, 5]


def test_floats_and_small_numbers_of_the_stream_are_uniform() -> None:
    stream = new_stream(1)
    floats = np.array([next_float(stream) for _ in range(4000)])
    assert 0.0 <= floats.min() and floats.max() < 1.0
    assert abs(floats.mean() - 0.5) < 0.02
    counts = np.bincount([next_below(stream, 7) for _ in range(7000)], minlength=7)
    assert len(counts) == 7
    assert ((counts - 1000) ** 2 / 1000).sum() < 30  # chi square with 6 degrees of freedom; beyond 30 once in 25,000
