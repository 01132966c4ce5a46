"""UCT over groups of moves: against a plain twin, the groups, forced wins, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from searching import after

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.random_stream import new_stream, next_below
from azero.match.lockstep import play_match
from azero.players import ban_table, make_player
from azero.players.grouped_uct import (
    GroupedUctPlayer,
    Options,
    groups_of_actions,
    groups_of_cells,
    make,
)


def player(game: Game, grouping: str, num_simulations: int, threshold: int = 1) -> GroupedUctPlayer:
    options = Options(grouping=grouping, num_simulations=num_simulations, expansion_threshold=threshold)
    return make(game, options)


def search(
    asked: GroupedUctPlayer, state: np.ndarray, seed: int = 0, banned: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """Return the move and the visit counts [A] of one search."""
    asked.new_games(np.array([seed], np.uint64))
    table = ban_table(asked.game, state[None], None if banned is None else banned[None])
    with asked.streams(np.zeros(1, np.int64)) as streams:
        actions, counts = asked.search(state[None], table, streams)
    return int(actions[0]), counts[0]


class PlainGroupedUct:
    """The twin: a dictionary for each node, drawing from the same stream in the same order."""

    def __init__(
        self, game: Game, groups: list[int], state: np.ndarray, banned: list[int], seed: int, threshold: int
    ) -> None:
        self.game, self.groups, self.banned, self.threshold = game, groups, banned, threshold
        self.stream = new_stream(seed)
        self.root = self.node(state, None, near_root=True)

    def node(self, state: np.ndarray, group: int | None, near_root: bool) -> dict[str, Any]:
        counts = {"visits": 0, "own": 0, "sum": 0.0}
        return {"state": state, "group": group, "near": near_root, "untried": None, "children": {}, **counts}

    def moves(self, node: dict[str, Any]) -> list[int]:
        legal = self.game.legal_actions(node["state"])
        legal = [move for move in legal if not (node["near"] and move in self.banned)]
        return [move for move in legal if node["group"] in (None, self.groups[move])]

    def simulate(self) -> None:
        node, path = self.root, [self.root]
        while not self.game.is_terminal(node["state"]) and (
            node is self.root or node["visits"] >= self.threshold
        ):
            if node["untried"] is None:
                moves = self.moves(node)
                node["untried"] = (
                    sorted({self.groups[move] for move in moves}) if node["group"] is None else moves
                )
                node["own"] = node["visits"]
            node = self.try_choice(node) if node["untried"] else self.best(node)
            path.append(node)
        reward = self.rollout(node)
        for each in path:
            each["visits"] += 1
            each["sum"] += reward

    def try_choice(self, node: dict[str, Any]) -> dict[str, Any]:
        untried = node["untried"]
        drawn = next_below(self.stream, len(untried))
        choice, untried[drawn] = untried[drawn], untried[0]
        untried.pop(0)
        if node["group"] is None:
            child = self.node(node["state"], choice, node["near"])
        else:
            child = self.node(self.game.step(node["state"], choice), None, near_root=False)
        node["children"][choice] = child
        return child

    def best(self, node: dict[str, Any]) -> dict[str, Any]:
        first = self.game.to_play(node["state"]) == 0
        scale = math.sqrt(2.0) * math.sqrt(math.log(node["visits"] - node["own"]))

        def score(child: dict[str, Any]) -> float:
            q = child["sum"] / child["visits"]
            return (q if first else 1.0 - q) + scale / math.sqrt(child["visits"])

        return max(node["children"].values(), key=score)

    def rollout(self, node: dict[str, Any]) -> float:
        state, moves = node["state"], self.moves(node)
        while not self.game.is_terminal(state):
            state = self.game.step(state, moves[next_below(self.stream, len(moves))])
            moves = self.game.legal_actions(state)
        value = self.game.outcome(state)
        return 0.5 + 0.5 * value if self.game.to_play(state) == 0 else 0.5 - 0.5 * value

    def visit_counts(self) -> list[int]:
        counts = [0] * self.game.num_actions
        for group in self.root["children"].values():
            for move, child in group["children"].items():
                counts[move] = child["visits"]
        return counts


def test_rows_columns_and_regions_of_a_board() -> None:
    assert groups_of_cells(2, 3, "rows").tolist() == [[0, 0, 0], [1, 1, 1]]
    assert groups_of_cells(2, 3, "columns").tolist() == [[0, 1, 2], [0, 1, 2]]
    assert groups_of_cells(3, 3, "regions").tolist() == [[0, 0, 1], [0, 0, 1], [2, 2, 3]]
    nine = groups_of_cells(9, 9, "regions")
    assert np.array_equal(nine, np.arange(9).reshape(3, 3).repeat(3, 0).repeat(3, 1))
    assert np.bincount(groups_of_cells(8, 8, "regions").ravel()).tolist() == [9, 9, 6, 9, 9, 6, 6, 6, 4]


def test_a_pass_and_a_swap_are_groups_of_their_own() -> None:
    go = groups_of_actions(make_game("go", size=5), "rows")
    assert go.tolist() == [*np.repeat(range(5), 5).tolist(), 5]
    swap = groups_of_actions(make_game("hex", size=3, swap=True), "columns")
    assert swap.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("grouping", ["rows", "columns", "regions"])
@pytest.mark.parametrize("threshold", [1, 3])
@pytest.mark.parametrize("moves, banned", [((), []), ((0,), []), ((0, 4, 8), [1, 2, 3])])
def test_the_kernel_agrees_with_the_plain_twin_visit_for_visit(
    grouping: str, threshold: int, moves: tuple[int, ...], banned: list[int]
) -> None:
    game = make_game("tictactoe")
    state, ban = after(game, *moves), np.isin(np.arange(9), banned)
    for seed, simulations in ((0, 60), (1, 7), (2, 200)):
        twin = PlainGroupedUct(
            game, groups_of_actions(game, grouping).tolist(), state, banned, seed, threshold
        )
        for _ in range(simulations):
            twin.simulate()
        assert (
            search(player(game, grouping, simulations, threshold), state, seed, ban)[1].tolist()
            == twin.visit_counts()
        )


@pytest.mark.parametrize("grouping", ["rows", "columns", "regions"])
@pytest.mark.parametrize(
    "moves, win", [((0, 3, 1, 4), 2), ((8, 0, 3, 1, 7), 2)], ids=["first player", "second player"]
)
def test_a_win_in_one_is_found(grouping: str, moves: tuple[int, ...], win: int) -> None:
    game = make_game("tictactoe")
    asked = player(game, grouping, 300)
    assert all(search(asked, after(game, *moves), seed)[0] == win for seed in range(20))


@pytest.mark.parametrize("grouping", ["rows", "columns", "regions"])
def test_with_many_simulations_the_only_reply_to_a_corner_is_found(grouping: str) -> None:
    game = make_game("tictactoe")
    assert all(search(player(game, grouping, 20_000), after(game, 0), seed)[0] == 4 for seed in range(3))


@pytest.mark.parametrize("num_simulations", [1, 2, 50])
def test_a_banned_move_is_never_chosen_however_small_the_search(num_simulations: int) -> None:
    game = make_game("tictactoe")
    state = after(game, 0, 3, 1, 4)  # 2 wins at once, but it is banned
    banned = np.isin(np.arange(9), [2, 5, 6, 7])
    for seed in range(30):
        move, counts = search(player(game, "rows", num_simulations, threshold=3), state, seed, banned)
        assert move == 8
        assert counts[banned].sum() == 0


@pytest.mark.parametrize(
    "name, options",
    [
        ("othello", {"size": 6}),
        ("go", {"size": 5}),
        ("gomoku", {"rows": 5, "columns": 7, "connect": 4}),
        ("hex", {"size": 4}),
    ],
)
def test_it_beats_random_by_legal_moves(name: str, options: dict[str, Any]) -> None:
    game = make_game(name, **options)
    seeds = np.arange(20, dtype=np.uint64)
    result = play_match(
        game, (make_player("grouped_uct", game, num_simulations=150), make_player("random", game)), seeds
    )
    assert result.wins >= 17
    for played in result.games:
        state = game.initial_state()
        for action in played.actions:
            assert game.legal_mask(state)[action]
            state = game.step(state, action)


@pytest.mark.parametrize(
    "name, options, sentence",
    [
        (
            "connect_four",
            {},
            "the cell of a move of connect_four depends on the position; choose another game.",
        ),
        ("connect_four", {"grouping": "rows"}, "depends on the position"),
        ("tictactoe", {"grouping": "corners"}, "grouping=corners must be one of: rows, columns, regions."),
        ("tictactoe", {"num_simulations": 0}, "num_simulations=0 must be a whole number"),
        ("tictactoe", {"exploration": "high"}, "exploration=high must be a number"),
        ("tictactoe", {"expansion_threshold": 0}, "expansion_threshold=0 must be"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_sentence(
    name: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError) as refused:
        make_player("grouped_uct", make_game(name), **options)
    assert sentence in str(refused.value)
