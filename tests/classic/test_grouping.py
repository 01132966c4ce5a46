"""UCT on trees given by a formula: against a plain twin, by hand on tiny trees, and the count of rollouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from grouping_game import (
    BACKWARD,
    FORWARD,
    LINEAR,
    NOT_EXPANDED,
    SHUFFLED,
    SINES,
    TABLE,
    X_SIN_X,
    Levels,
    Payoff,
    Reading,
    Tree,
    decide,
    make_levels,
    new_tree,
    play_games,
    search,
    shuffle,
    worth,
)
from hypothesis import given
from hypothesis import strategies as st

from azero.kernels.random_stream import new_stream, next_below, next_uint64

USUAL = Reading(SHUFFLED, False, 0)
# Four moves in two plies. The first player's best move is 2, where the worst reply leaves 0.6.
#          move 0              move 1              move 2              move 3
SMALL = [0.1, 0.9, 0.8, 0.7, 0.5, 0.4, 0.9, 0.9, 0.6, 0.7, 0.7, 0.6, 0.0, 1.0, 1.0, 1.0]


def table(values: list[float]) -> Payoff:
    return Payoff(TABLE, np.array(values), len(values))


def run_search(
    levels: Levels,
    payoff: Payoff,
    rollouts: int,
    level: int = 0,
    number: int = 0,
    exploration: float = 1.0,
    seed: int = 0,
    reading: Reading = USUAL,
) -> tuple[int, Tree]:
    """The choice of one search, and its tree."""
    tree = new_tree(levels, rollouts)
    stream = new_stream(seed)
    return search(levels, payoff, tree, reading, level, number, rollouts, exploration, stream), tree


class PlainSearch:
    """The twin: a dictionary for each node, drawing from the same stream in the same order."""

    def __init__(
        self, levels: Levels, payoff: Payoff, exploration: float, stream: np.ndarray, reading: Reading
    ) -> None:
        self.choices, self.to_play = levels.choices.tolist(), levels.to_play.tolist()
        self.payoff, self.exploration, self.stream, self.reading = payoff, exploration, stream, reading

    def choose(self, level: int, number: int, rollouts: int) -> int:
        root = self.node(level, number)
        while root["visits"] < rollouts:
            path = [root]
            while path[-1]["children"]:
                path.append(self.best(path[-1]))
            if path[-1]["level"] == len(self.choices):
                self.count(path, worth(self.payoff, path[-1]["number"]))
            elif path[-1] is not root and path[-1]["visits"] < self.reading.threshold:
                self.count(path, self.rollout(path[-1]))
            else:
                self.expand(path, rollouts - root["visits"])
        sign = 1 if self.to_play[level] == 0 else -1
        visited = [child for child in root["children"] if child["visits"]]

        def score(child: dict[str, Any]) -> tuple[float, ...]:
            keys = (child["visits"], sign * child["sum"] / child["visits"])
            return keys[::-1] if self.reading.by_mean else keys

        best = max(visited, key=score)  # the first of equals
        return root["children"].index(best)

    def node(self, level: int, number: int) -> dict[str, Any]:
        return {"level": level, "number": number, "visits": 0, "sum": 0.0, "children": []}

    def best(self, node: dict[str, Any]) -> dict[str, Any]:
        def score(child: dict[str, Any]) -> float:
            mean = child["sum"] / child["visits"]
            bonus = self.exploration * math.sqrt(2.0 * math.log(node["visits"]))
            return (1.0 - mean if self.to_play[node["level"]] else mean) + bonus / math.sqrt(child["visits"])

        return max(node["children"], key=score)

    def expand(self, path: list[dict[str, Any]], left: int) -> None:
        node, choices = path[-1], self.choices[path[-1]["level"]]
        node["children"] = [
            self.node(node["level"] + 1, node["number"] * choices + choice) for choice in range(choices)
        ]
        order = list(range(choices))
        if self.reading.order == BACKWARD:
            order.reverse()
        if self.reading.order == SHUFFLED and left < choices:
            for place in range(choices):
                other = next_below(self.stream, place + 1)
                order[place], order[other] = order[other], place
        for choice in order[:left]:
            child = node["children"][choice]
            self.count([*path, child], self.rollout(child))

    def rollout(self, node: dict[str, Any]) -> float:
        below = math.prod(self.choices[node["level"] :])
        return worth(self.payoff, node["number"] * below + int(next_uint64(self.stream)) % below)

    def count(self, path: list[dict[str, Any]], value: float) -> None:
        for node in path:
            node["visits"] += 1
            node["sum"] += value


def plain_games(
    players: tuple[Levels, Levels],
    payoff: Payoff,
    reading: Reading,
    plies: int,
    rollouts: int,
    exploration: float,
    seed: int,
) -> float:
    """The payoff at the end of a game between two twins."""
    stream, number = new_stream(seed), 0
    for ply in range(plies):
        levels = players[ply % 2]
        steps = len(levels.choices) // plies
        twin = PlainSearch(levels, payoff, exploration, stream, reading)
        for step in range(steps):
            share = rollouts // steps + (step < rollouts % steps)
            number = number * int(levels.choices[ply * steps + step]) + twin.choose(
                ply * steps + step, number, share
            )
    return worth(payoff, number)


def test_levels_say_what_is_decided_by_whom_and_what_is_left() -> None:
    levels = make_levels((2, 3), 2)
    assert levels.choices.tolist() == [2, 3, 2, 3]
    assert levels.to_play.tolist() == [0, 0, 1, 1]
    assert levels.leaves.tolist() == [36, 18, 6, 3, 1]


@pytest.mark.parametrize("splits, plies", [((), 2), ((1, 4), 2), ((4,), 0), ((256,), 8)])
def test_a_game_that_is_none_is_refused(splits: tuple[int, ...], plies: int) -> None:
    with pytest.raises(ValueError):
        make_levels(splits, plies)


def test_payoffs_are_what_their_formulas_say() -> None:
    assert worth(Payoff(LINEAR, np.zeros(1), 16), 15) == 1.0
    assert worth(Payoff(LINEAR, np.zeros(1), 16), 3) == pytest.approx(0.2)
    # leaf 8 of 0 .. 15 with k = 10: x = 10 * 8 / 15, and |x sin x| / 10
    assert worth(Payoff(X_SIN_X, np.array([10.0]), 16), 8) == pytest.approx(
        abs(80 / 15 * math.sin(80 / 15)) / 10
    )
    weights = np.array([0.5, 0.25, 0.25])
    expected = abs(0.5 * math.sin(7) + 0.25 * math.sin(7 / 3) + 0.25 * math.sin(7 / 5))
    assert worth(Payoff(SINES, weights, 16), 7) == pytest.approx(expected)
    assert worth(table([0.25, 0.75]), 1) == 0.75


@given(
    st.sampled_from([LINEAR, X_SIN_X, SINES]), st.floats(5, 100_005), st.integers(0, 2**32 - 1), st.randoms()
)
def test_payoffs_stay_between_0_and_1(kind: int, k: float, leaf: int, random: Any) -> None:
    weights = np.array([random.random() + 1e-9 for _ in range(10)])
    parameters = weights / weights.sum() if kind == SINES else np.array([k])
    assert 0.0 <= worth(Payoff(kind, parameters, 2**32), leaf) <= 1.0 + 1e-12


def test_four_rollouts_try_every_move_once_and_the_best_payoff_decides() -> None:
    # every reply to a move is worth the same, so one rollout tells all
    payoff = table([0.2] * 4 + [0.9] * 4 + [0.5] * 4 + [0.1] * 4)
    choice, tree = run_search(make_levels((4,), 2), payoff, 4)
    assert choice == 1
    assert tree.visits[:5].tolist() == [4, 1, 1, 1, 1]
    assert tree.payoff_sum[:5].tolist() == pytest.approx([1.7, 0.2, 0.9, 0.5, 0.1])
    assert tree.first_child[:5].tolist() == [1, *[NOT_EXPANDED] * 4]
    assert tree.number[1:5].tolist() == [0, 1, 2, 3]


def test_the_next_four_rollouts_are_the_replies_to_the_best_move() -> None:
    payoff = table([0.2] * 4 + [0.9] * 4 + [0.5] * 4 + [0.1] * 4)
    # with one visit each all bounds have the same bonus, so move 1 is expanded; its mean stays 0.9: 5 visits
    # worth 4.5
    choice, tree = run_search(make_levels((4,), 2), payoff, 8)
    assert choice == 1
    assert tree.visits[:9].tolist() == [8, 1, 5, 1, 1, 1, 1, 1, 1]
    assert tree.payoff_sum[2] == pytest.approx(4.5)
    assert tree.number[5:9].tolist() == [4, 5, 6, 7]  # the leaves below move 1


def test_the_bound_is_the_mean_and_c_times_the_root_of_two_logs_over_visits() -> None:
    # After 8 rollouts move 1 was visited 5 times: 0.9 + C sqrt(2 ln 8 / 5) = 0.9 + 0.912 C. Move 2 once: 0.5
    # + sqrt(2 ln 8) C = 0.5 + 2.039 C. They are equal at C = 0.4 / 1.127 = 0.355; a little below move 1 goes
    # on, a little above move 2 is next.
    payoff = table([0.2] * 4 + [0.9] * 4 + [0.5] * 4 + [0.1] * 4)
    for exploration, visits in ((0.35, [1, 6, 1, 1]), (0.36, [1, 5, 2, 1])):
        tree = run_search(make_levels((4,), 2), payoff, 9, exploration=exploration)[1]
        assert tree.visits[1:5].tolist() == visits


def test_the_second_player_wants_the_payoff_low() -> None:
    levels = make_levels((4,), 2)
    # replies to move 1 in SMALL: 0.5 0.4 0.9 0.9
    assert run_search(levels, table(SMALL), 40, level=1, number=1)[0] == 1


@pytest.mark.parametrize("splits", [(4,), (2, 2)])
def test_with_many_rollouts_the_best_move_of_a_small_tree_is_found(splits: tuple[int, ...]) -> None:
    levels = make_levels(splits, 2)
    for seed in range(5):
        tree = new_tree(levels, 4000)
        first = decide(levels, len(splits), table(SMALL), tree, USUAL, 0, 0, 4000, 0.3, new_stream(seed))
        assert first == 2
        last = decide(levels, len(splits), table(SMALL), tree, USUAL, 1, first, 4000, 0.3, new_stream(seed))
        assert last in (8, 11)


@pytest.mark.parametrize("splits", [(16,), (4, 4), (2, 8), (8, 2), (2, 2, 4)])
def test_all_splits_name_the_same_leaves(splits: tuple[int, ...]) -> None:
    levels = make_levels(splits, 1)
    for wanted in range(16):
        payoff = table([1.0 if leaf == wanted else 0.0 for leaf in range(16)])
        tree = new_tree(levels, 600)
        assert decide(levels, len(splits), payoff, tree, USUAL, 0, 0, 600, 1.0, new_stream(wanted)) == wanted


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 300),
    st.integers(0, 2**32),
)
def test_exactly_the_budget_is_spent_and_every_node_s_visits_add_up(
    splits: list[int], plies: int, rollouts: int, seed: int
) -> None:
    levels = make_levels(splits, plies)
    _, tree = run_search(levels, Payoff(X_SIN_X, np.array([9.0]), int(levels.leaves[0])), rollouts, seed=seed)
    assert tree.visits[0] == rollouts
    for node in np.flatnonzero(
        (tree.visits > 0) & (tree.first_child != NOT_EXPANDED) & (tree.first_child != 0)
    ):
        children = tree.first_child[node] + np.arange(levels.choices[tree.level[node]])
        own = 0 if node == 0 else 1  # the rollout when its parent was expanded
        assert tree.visits[node] == tree.visits[children].sum() + own


@pytest.mark.parametrize("rollouts, last_share", [(9, 3), (10, 3), (11, 3), (12, 4)])
def test_the_searches_of_a_move_share_its_rollouts(rollouts: int, last_share: int) -> None:
    levels = make_levels((2, 2, 2), 2)
    tree = new_tree(levels, rollouts)
    decide(levels, 3, Payoff(LINEAR, np.zeros(1), 64), tree, USUAL, 0, 0, rollouts, 1.0, new_stream(0))
    assert tree.visits[0] == last_share  # the tree of the last search; 10 = 4 + 3 + 3, 11 = 4 + 4 + 3


@pytest.mark.parametrize("one, other", [((16,), (4, 4)), ((2, 8), (16,)), ((2, 2, 4), (8, 2))])
@pytest.mark.parametrize("kind, parameters", [(X_SIN_X, [40.0]), (SINES, [0.5, 0.3, 0.2]), (LINEAR, [0.0])])
@pytest.mark.parametrize(
    "reading",
    [USUAL, Reading(FORWARD, True, 0), Reading(FORWARD, False, 10), Reading(BACKWARD, True, 3)],
    ids=["random", "in order, best mean", "in order, threshold", "backward, best mean, threshold"],
)
def test_games_agree_with_the_plain_twin(
    one: tuple[int, ...], other: tuple[int, ...], kind: int, parameters: list[float], reading: Reading
) -> None:
    players = (make_levels(one, 3), make_levels(other, 3))
    for rollouts in (3, 10, 16, 50, 173):
        payoffs = np.zeros(4)
        streams = np.stack([new_stream(seed) for seed in range(4)])
        parameter_rows = np.array([parameters] * 4)
        play_games(kind, parameter_rows, *players, reading, 3, rollouts, 0.7, streams, payoffs)
        payoff = Payoff(kind, np.array(parameters), 16**3)
        assert payoffs.tolist() == [
            plain_games(players, payoff, reading, 3, rollouts, 0.7, seed) for seed in range(4)
        ]


def test_a_last_expansion_without_enough_rollouts_tries_random_children() -> None:
    order, counts = np.zeros(5, np.int64), np.zeros((5, 5))
    stream = new_stream(3)
    for _ in range(2000):
        shuffle(order, 5, stream)
        assert sorted(order.tolist()) == list(range(5))
        counts[np.arange(5), order] += 1
    assert (
        (counts - 400) ** 2 / 400
    ).sum() < 45  # chi square with 16 degrees of freedom; beyond 45 once in 10,000


def test_few_rollouts_try_the_first_moves_of_the_order() -> None:
    # every reply to a move is worth the same; two of four moves are tried
    payoff = table([0.2] * 4 + [0.9] * 4 + [0.5] * 4 + [0.1] * 4)
    for order, visits, choice in ((FORWARD, [1, 1, 0, 0], 1), (BACKWARD, [0, 0, 1, 1], 2)):
        chosen, tree = run_search(make_levels((4,), 2), payoff, 2, reading=Reading(order, False, 0))
        assert (chosen, tree.visits[1:5].tolist()) == (choice, visits)


def test_a_leaf_below_the_threshold_plays_rollouts_and_has_no_children() -> None:
    # 4 rollouts try every move. Move 1 is best by far, 0.9 against 0.2, and C is small: it is next.
    # With threshold 3 it plays two rollouts more, and at three visits the next four are its replies.
    payoff = table([0.2] * 4 + [0.9] * 4 + [0.2] * 4 + [0.1] * 4)
    for rollouts, visits in ((6, 3), (10, 7)):
        _, tree = run_search(
            make_levels((4,), 2), payoff, rollouts, exploration=0.01, reading=Reading(FORWARD, False, 3)
        )
        assert tree.visits[2] == visits
        assert (tree.first_child[2] == NOT_EXPANDED) == (rollouts == 6)


def test_the_best_mean_and_the_most_visits_may_choose_differently() -> None:
    # Two moves, two replies, no exploration: move 0 is worth 0.6 or 0.4, move 1 always 0.55. Some seed sees
    # 0.6 first, visits move 0 more often, and ends with a mean of about 0.5, below 0.55.
    payoff, levels = table([0.6, 0.4, 0.55, 0.55]), make_levels((2,), 2)
    differ = 0
    for seed in range(20):
        chosen = []
        for by_mean in (False, True):
            choice, tree = run_search(
                levels, payoff, 5, exploration=0.2, seed=seed, reading=Reading(FORWARD, by_mean, 0)
            )
            chosen.append(choice)
            visits, means = tree.visits[1:3], tree.payoff_sum[1:3] / tree.visits[1:3]
            assert choice == (means if by_mean else visits).argmax()
        differ += chosen[0] != chosen[1]
    assert differ > 0
