"""AlphaGo's search against a plain twin, and its rules worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from plain_mcts import Node, PlainSearch
from searching import FakeInference, after
from trees import by_action

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.random_stream import new_stream, next_below, next_float
from azero.players import make_player
from azero.players.alphago import AlphaGoPlayer
from azero.search.tree import ROOT, edges_of, make_tree, trees_of


def searched(
    game: Game,
    states: list[np.ndarray],
    inference: FakeInference,
    banned: np.ndarray | None = None,
    **options: Any,
) -> tuple[AlphaGoPlayer, np.ndarray]:
    """Search these states with seeds 0, 1, 2 …; return the player and the visit counts [B, A]."""
    player = make_player("alphago", game, inference=inference, **options)
    assert isinstance(player, AlphaGoPlayer)
    player.new_games(np.arange(len(states), dtype=np.uint64))
    return player, player.visit_counts(np.stack(states), np.arange(len(states)), banned)


class PlainAlphaGo(PlainSearch):
    """The plain twin: what the module's text says, as loops over objects."""

    def __init__(self, game: Game, inference: FakeInference, seed: int, options: dict[str, Any]) -> None:
        super().__init__(game, lambda state: inference.answer(game.planes(state)), SearchConfig())
        self.stream = new_stream(seed)
        self.eta, self.mixing = options.get("eta", 20.0), options.get("rollout_share", 0.5)
        self.policy_rollouts = options.get("rollout_policy", "policy") == "policy"
        self.sampled = options.get("tree", "sampled") == "sampled"

    def run(self, state: np.ndarray, num_simulations: int) -> Node:
        root = Node(self.game, state)
        self.evaluate(root)
        for _ in range(num_simulations):
            path, actions = [root], list[int]()
            while path[-1].priors and not path[-1].terminal:
                self.go_down(path, actions, root)
                leaf = path[-1]
                if not leaf.priors and not leaf.terminal:
                    self.evaluate(leaf)
                    if not (self.sampled and leaf.to_play != root.to_play):
                        break
            value = (
                leaf.value
                if leaf.terminal
                else (1 - self.mixing) * leaf.value + self.mixing * self.rollout(leaf)
            )
            self.back_up(path, actions, value)
        return root

    def go_down(self, path: list[Node], actions: list[int], root: Node) -> None:
        node = path[-1]
        if self.sampled and node.to_play != root.to_play:
            action = self.draw(node.priors)
        else:
            action = max(node.priors, key=lambda a: (self.score(node, a), -a))
        if action not in node.children:
            node.children[action] = Node(self.game, self.step(node.state, action))
        path.append(node.children[action])
        actions.append(action)

    def score(self, node: Node, action: int) -> float:
        n = node.edge_visits.get(action, 0)
        return (float(node.edge_value_sum[action]) / n if n else 0.0) + self.eta * node.priors[action] / (
            1 + n
        )

    def draw(self, priors: dict[int, float]) -> int:
        left = next_float(self.stream)
        for action in priors:
            left -= priors[action]
            if left < 0:
                break
        return action

    def rollout(self, leaf: Node) -> float:
        """The outcome for the player to move at the leaf."""
        node = leaf
        while self.mixing and not node.terminal:
            if not node.priors:
                self.evaluate(node)
            legal = list(node.priors)
            action = (
                self.draw(node.priors) if self.policy_rollouts else legal[next_below(self.stream, len(legal))]
            )
            node = Node(self.game, self.step(node.state, action))
        return node.value if node.to_play == leaf.to_play else -node.value


OPTIONS: list[dict[str, Any]] = [
    {},
    {"tree": "two_sided"},
    {"rollout_share": 0.0},
    {"rollout_share": 1.0, "rollout_policy": "random"},
    {"rollout_share": 0.25, "rollout_policy": "random", "tree": "two_sided", "eta": 1.5},
]


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()) or "default"
)
def test_it_agrees_with_the_plain_twin_visit_for_visit(name: str, options: dict[str, Any]) -> None:
    game = make_game(name)
    states = [after(game, *opening) for opening in [(), (4,), (0, 8, 4), (0, 1, 2, 4, 3), (8,)]]
    inference = FakeInference(game, batch_size=3)  # five positions: a full batch and a part of one
    player, counts = searched(game, states, inference, num_simulations=60, **options)
    assert (counts.sum(axis=1) == 60).all()
    for seed, state in enumerate(states):
        root = PlainAlphaGo(game, inference, seed, options).run(state, 60)
        assert counts[seed].tolist() == [
            root.edge_visits.get(action, 0) for action in range(game.num_actions)
        ]
    expected = [float(root.edge_value_sum.get(action, 0.0)) for action in range(game.num_actions)]
    np.testing.assert_allclose(
        by_action(player.tree, 1, ROOT, "child_value_sum", game.num_actions), expected, atol=1e-6
    )  # row 1 had the last state


def test_a_tree_without_room_for_replies_judges_them_and_goes_on() -> None:
    game = make_game(DOUBLE_MOVE)
    player, _ = searched(game, [game.initial_state()], FakeInference(game), num_simulations=60)
    player.tree = trees_of(game, 8, 61)
    counts = player.visit_counts(np.stack([game.initial_state()] * 8), np.zeros(8, np.int64))
    assert (counts.sum(axis=1) == 60).all() and player.tree.searches["num_nodes"].max() <= 61


def test_a_pool_without_room_for_replies_judges_them_and_goes_on() -> None:
    game = make_game("tictactoe")
    player, _ = searched(game, [game.initial_state()], FakeInference(game), num_simulations=60)
    player.tree = make_tree(1, len(player.tree.nodes[0]), 1, game.state_words)
    counts = player.visit_counts(game.initial_state()[None], np.zeros(1, np.int64))
    assert counts.sum() == 60
    assert player.tree.searches["num_edges"][0] <= player.tree.edges.shape[1]


def favours(game: Game, logits: list[float], value: float) -> FakeInference:
    """A network that always gives the same answer."""
    return FakeInference(game, lambda _planes: (np.array(logits, np.float32), np.float32(value)))


def test_the_first_simulations_by_hand() -> None:
    # Nine equal priors and eta = 0.9: an unvisited move scores 0 + 0.9 / 9 = 0.1, one visited once q + 0.05.
    game = make_game("tictactoe")
    start = [game.initial_state()]
    good, counts = searched(
        game, start, favours(game, [0.0] * 9, 0.2), num_simulations=12, eta=0.9, rollout_share=0.0
    )
    assert counts[0].tolist() == [12, 0, 0, 0, 0, 0, 0, 0, 0]  # 0.2 + 0.05 is more than 0.1
    assert by_action(good.tree, 0, ROOT, "child_value_sum", 9)[0] == pytest.approx(
        12 * 0.2
    )  # leaves lie behind a reply, so are X's own
    _, counts = searched(
        game, start, favours(game, [0.0] * 9, -0.2), num_simulations=12, eta=0.9, rollout_share=0.0
    )
    assert counts[0].tolist() == [
        2,
        2,
        2,
        1,
        1,
        1,
        1,
        1,
        1,
    ]  # -0.2 + 0.05 is less than 0.1; of equals the first


def test_a_leaf_is_worth_its_value_and_its_rollout_by_lambda() -> None:
    # X O X    X is made to play 5. Of 6 and 8 O's policy takes 8, and X is left with 6: a draw.
    # O O .
    # . X .
    game = make_game("tictactoe")
    state = after(game, 0, 1, 2, 4, 7, 3)
    only_five = np.ones((1, 9), np.bool_)
    only_five[0, 5] = False
    network = favours(game, [0, 0, 0, 0, 0, 0, -40, 0, 0], 0.4)
    player, _ = searched(game, [state], network, only_five, num_simulations=1, rollout_share=0.25)
    value = by_action(player.tree, 0, ROOT, "child_value_sum", 9)[5]  # the leaf is X's, after the reply
    assert value == pytest.approx(0.75 * 0.4 + 0.25 * 0.0)


def test_one_move_has_several_successors_whose_records_are_averaged() -> None:
    game = make_game("tictactoe")
    player, _ = searched(
        game, [game.initial_state()], FakeInference(game), num_simulations=300, rollout_share=0.0
    )
    tree = player.tree
    root = edges_of(tree, 0, ROOT)
    most = root[root["child_visits"].argmax()]
    replies = edges_of(tree, 0, int(most["child"]))
    assert (replies["child_visits"] > 0).sum() >= 4
    assert replies["child_visits"].sum() == most["child_visits"]
    assert most["child_value_sum"] == pytest.approx(-replies["child_value_sum"].sum(), abs=1e-4)
    shares = replies["child_visits"] / replies["child_visits"].sum()
    assert np.abs(shares - replies["prior"]).max() < 0.15  # drawn by the policy, not chosen


def test_a_reply_that_the_policy_hardly_plays_is_not_feared_unless_the_tree_has_two_sides() -> None:
    # X O . X to play. O threatens 5, which only 5 stops, but O's policy hardly sees it. X's own 8 would win.
    # O O . X X .
    game = make_game("tictactoe")
    state = after(game, 0, 1, 6, 4, 7, 3)

    def blind(planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
        logits = np.zeros(9, np.float32)
        logits[5] = -4.0 if planes[0].sum() < planes[1].sum() else 0.0  # O is to play
        return logits, np.float32(0.0)

    banned = np.eye(9, dtype=np.bool_)[[8]]
    sampled, counts = searched(
        game, [state], FakeInference(game, blind), banned, num_simulations=400, rollout_share=0.0
    )
    feared = by_action(sampled.tree, 0, ROOT, "child_value_sum", 9)[2]
    assert counts[0, 8] == 0 and -0.1 * counts[0, 2] < feared <= 0.0
    options = {"rollout_share": 0.0, "tree": "two_sided"}
    two_sided, counts = searched(
        game, [state], FakeInference(game, blind), banned, num_simulations=400, **options
    )
    feared = by_action(two_sided.tree, 0, ROOT, "child_value_sum", 9)[2]
    assert counts[0].argmax() == 5 and feared < -1.0


def test_rollouts_of_the_policy_cost_evaluations_and_random_ones_none() -> None:
    game = make_game("tictactoe")
    calls = {}
    for options in ({"rollout_share": 0.0}, {"rollout_policy": "random"}, {"rollout_policy": "policy"}):
        inference = FakeInference(game, batch_size=1)
        searched(game, [game.initial_state()], inference, num_simulations=20, **options)
        calls[options.get("rollout_policy", "none")] = inference.calls
    assert (
        calls["random"] <= 41 and calls["none"] <= 41
    )  # the root, and at most a reply and a leaf for each simulation
    assert calls["policy"] > 2 * calls["random"]


def test_it_finds_a_win_in_one_for_either_side() -> None:
    game = make_game("tictactoe")
    states = [after(game, 0, 3, 1, 4), after(game, 8, 0, 3, 1, 7)]
    _, counts = searched(game, states, favours(game, [0.0] * 9, 0.0), num_simulations=100)
    assert counts.argmax(axis=1).tolist() == [2, 2]
