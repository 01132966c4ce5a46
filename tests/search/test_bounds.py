"""Proven values: by hand, against exact solutions, and what they do to a search, its target and its move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from places import DOUBLE_MOVE
from puct_cases import LOSS_AT_DEPTH_2, WIN_AT_DEPTH_1, WIN_AT_DEPTH_3, mistaken
from searching import FakeInference, after, random_states, searched
from trees import action_at, give_edges, root_with

from azero.classic.solve import Solution, solve
from azero.config.schema import Config, SearchConfig, SelfplayConfig
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players.pv_mcts import PvMcts
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import outcome_or_proof, plies_of
from azero.report.console import Progress
from azero.search.bounds import bounded_sum, can_be_best, cannot_improve, rule_out, sure_value, tighten
from azero.search.gumbel import improved_value, make_gumbel
from azero.search.mcts import backup, prove
from azero.search.puct import make_puct, mean_value, move_weights
from azero.search.repetition import ban
from azero.search.tree import (
    NO_PARENT,
    ROOT,
    UNVISITED,
    Tree,
    edge_to,
    edges_of,
    make_tree,
    reroot,
)
from azero.workers.threads import GameQueue, play_games

GAMES = ("tictactoe", DOUBLE_MOVE)
SOLVER = SearchConfig(solver=True, num_simulations=400)
KINDS = {
    "puct": SOLVER,
    "gumbel": SearchConfig(solver=True, num_simulations=400, kind="gumbel", tree_reuse=False),
}
EITHER_KIND = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)


def with_proven(root: Tree, values: dict[int, float]) -> Tree:
    """Return the tree with nodes behind those root actions, proven at these values for the root's player."""
    tree = with_bounds(root, {action: (value, value) for action, value in values.items()})
    tree.nodes["proven"][0, 1:] = True
    return tree


def with_bounds(root: Tree, bounds: dict[int, tuple[float, float]]) -> Tree:
    """Return the tree with nodes behind those root actions, with these lower and upper values for the root's
    player.
    """
    tree = make_tree(1, 1 + len(bounds), root.edges.shape[1], 1)
    tree.nodes[0, ROOT], tree.edges[0, : root.edges.shape[1]] = root.nodes[0, ROOT], root.edges[0]
    for place, (action, (lower, upper)) in enumerate(bounds.items(), 1):
        edge = edge_to(tree, 0, ROOT, action)
        assert edge is not None
        edge["child"] = place
        tree.nodes["lower"][0, place], tree.nodes["upper"][0, place] = -upper, -lower
        tree.nodes["to_play"][0, place] = 1
    return tree


@pytest.mark.parametrize(
    ("visits", "values", "expected"),
    [
        ([6, 3, 1], {}, [6, 3, 1]),
        ([6, 3, 1], {0: -1.0}, [0, 3, 1]),  # a loss is not played while anything else may be better
        ([6, 3, 1], {0: 0.0}, [6, 3, 1]),  # a draw may be
        ([6, 3, 1], {0: 0.0, 1: -1.0}, [6, 0, 1]),
        ([6, 3, 1], {0: -1.0, 2: 1.0}, [0, 0, 1]),  # a win is all there is
        ([6, 3, 1], {0: -1.0, 1: 0.0, 2: 0.0}, [0, 3, 1]),
        (
            [6, 3, 1],
            {0: -1.0, 1: -1.0, 2: -1.0},
            [6, 3, 1],
        ),  # where all is lost the longest defence had most visits
        (
            [6, 3, 0],
            {0: -1.0, 1: -1.0},
            [0, 0, 0.2],
        ),  # nobody looked at the one that is left: its prior counts
    ],
)
def test_moves_that_are_proven_worse_count_nothing(
    visits: list[int], values: dict[int, float], expected: list[float]
) -> None:
    tree = with_proven(root_with([0.5, 0.3, 0.2], visits), values)
    tree.nodes["proven"][0, ROOT] = len(values) == 3
    weights = np.array(visits, float)
    rule_out(tree, 0, weights)
    assert weights == pytest.approx(expected)


def test_moves_that_are_proven_worse_are_no_part_of_what_the_search_is_worth() -> None:
    """The network says 0.3. Six visits of a lost move, -1 each since that is proven, and three of the other,
    0.5 each.

    (0.3 + 3 * 0.5) / 4 = 0.45; with the lost move (0.3 - 6 + 1.5) / 10 = -0.42.
    """
    tree = with_proven(root_with([0.5, 0.5], [6, 3], [-6.0, 1.5], root_value=0.3), {0: -1.0})
    assert mean_value(tree, 0, make_puct(SOLVER, 1, 9)) == pytest.approx(0.45)
    assert mean_value(tree, 0, make_puct(SearchConfig(), 1, 9)) == pytest.approx(-0.42)
    tree.nodes["proven"][0, ROOT] = True
    tree.nodes["value_sum"][0, ROOT] = 10.0
    assert mean_value(tree, 0, make_puct(SOLVER, 1, 9)) == 1.0


def test_the_search_is_worth_what_is_sure_at_least() -> None:
    """The network says 0.1; one visit of a draw, 0, and eight of a move that brought -0.5 each: (0.1 + 0 - 4)
    / 10 = -0.39.
    """
    tree = with_proven(root_with([0.5, 0.5], [1, 8], [0.0, -4.0], root_value=0.1), {0: 0.0})
    assert mean_value(tree, 0, make_puct(SearchConfig(), 1, 9)) == pytest.approx(-0.39)
    assert mean_value(tree, 0, make_puct(SOLVER, 1, 9)) == 0.0


@pytest.mark.parametrize(("upper", "expected"), [(1.0, 0.3), (0.25, 0.25)])
def test_the_search_is_worth_what_is_possible_at_most(upper: float, expected: float) -> None:
    """The network says 0.3, and two visits brought 0.3 each; with Gumbel's search the one open move is worth
    its mean, 0.3.
    """
    tree = root_with([1.0], [2], [0.6], root_value=0.3)
    tree.nodes["upper"][0, ROOT] = upper
    assert mean_value(tree, 0, make_puct(SOLVER, 1, 9)) == pytest.approx(expected)
    assert improved_value(tree, 0, make_gumbel(KINDS["gumbel"], 1, 1)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("visits", "sums", "bounds", "expected"),
    [
        (
            [2, 9, 5],
            [0.0, -3.0, -1.0],
            {0: (0.0, 0.0)},
            [16, 0, 0],
        ),  # nothing has turned out better than the draw
        ([2, 9, 5], [0.0, -3.0, 1.0], {0: (0.0, 0.0)}, [11, 0, 5]),  # one has, on the average
        ([2, 9, 5], [0.0, 3.0, -1.0], {0: (0.0, 0.0)}, [7, 9, 0]),
        (
            [2, 9, 5],
            [0.4, -3.0, 0.0],
            {0: (0.0, 1.0), 2: (0.0, 0.0)},
            [11, 0, 5],
        ),  # two are sure: the better one takes
        (
            [2, 9, 5],
            [0.0, -3.0, -1.0],
            {0: (0.0, 0.0), 1: (-1.0, 0.0)},
            [7, 0, 0],
        ),  # 1 is no more than a draw: ruled out
        ([2, 9, 5], [0.0, -3.0, -1.0], {0: (-1.0, 0.0)}, [2, 9, 5]),  # nothing is sure
        ([2, 9, 5], [0.0, -3.0, -1.0], {0: (-1.0, -1.0)}, [0, 9, 5]),  # a loss is sure everywhere
        (
            [2, 9, 0],
            [1.0, -3.0, 0.0],
            {0: (0.5, 0.5)},
            [11, 0, 0],
        ),  # some games end with halves; nobody looked at 2
    ],
)
def test_what_is_sure_takes_the_visits_of_what_turned_out_worse(
    visits: list[int], sums: list[float], bounds: dict[int, tuple[float, float]], expected: list[float]
) -> None:
    tree = with_bounds(root_with([0.5, 0.3, 0.2], visits, sums), bounds)
    assert move_weights(tree, 0, make_puct(SOLVER, 1, 3)).tolist() == expected


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ({1: (1, 1)}, 1, 1),  # one win proves it
        ({0: (0, 0), 1: (-1, -1)}, 0, 1),  # a sure draw; the third may be anything
        ({0: (0, 0), 1: (-1, -1), 2: (-1, -1)}, 0, 0),
        (
            {0: (0, 0), 1: (-1, 0), 2: (-1, 0)},
            0,
            0,
        ),  # no more than draws: whether they lose need not be known
        ({0: (-1, 0), 1: (-1, 0), 2: (-1, -1)}, -1, 0),
        ({0: (-1, -1), 1: (-1, -1), 2: (-1, -1)}, -1, -1),
        ({0: (0, 1), 1: (0.5, 0.5)}, 0.5, 1),  # some games end with halves
    ],
)
def test_a_node_is_worth_what_its_best_action_is_at_least_and_at_most(
    bounds: dict[int, tuple[float, float]], lower: float, upper: float
) -> None:
    tree = with_bounds(root_with([0.5, 0.3, 0.2, None]), bounds)  # the last is illegal
    assert tighten(tree, 0, ROOT)
    assert (
        (tree.nodes["lower"][0, ROOT], tree.nodes["upper"][0, ROOT])
        == (lower, upper)
        == (sure_value(tree, 0, ROOT), upper)
    )
    assert not tighten(tree, 0, ROOT)  # nothing new


def test_bounds_never_widen_though_a_kept_tree_has_forgotten_what_they_stood_on() -> None:
    tree = with_bounds(root_with([0.5, 0.5]), {0: (-1, 0)})
    tree.nodes["lower"][0, ROOT], tree.nodes["upper"][0, ROOT] = 0, 0.5
    assert not tighten(tree, 0, ROOT)
    assert (tree.nodes["lower"][0, ROOT], tree.nodes["upper"][0, ROOT]) == (0, 0.5)


def test_only_what_may_be_better_is_searched_and_only_what_may_be_best_is_played() -> None:
    """Five moves: a draw, at most a draw, nothing known, a loss, illegal."""
    tree = with_bounds(
        root_with([0.2, 0.2, 0.2, 0.4, None]), {0: (0, 0), 1: (-1, 0), 2: (-1, 1), 3: (-1, -1)}
    )
    assert edges_of(tree, 0, ROOT)["action"].tolist() == [0, 1, 2, 3]

    def idle() -> list[int]:
        return [action_at(tree, edge) for edge in range(4) if cannot_improve(tree, 0, ROOT, edge)]

    assert idle() == [3]  # not carried up yet
    tighten(tree, 0, ROOT)
    assert idle() == [0, 1, 3]
    assert [action_at(tree, edge) for edge in range(4) if can_be_best(tree, 0, ROOT, edge, 0.0)] == [0, 2]


def line_of_three(values: tuple[float, float, float], leaf_value: float) -> Tree:
    """Root, 4 visits, player 0 to move; behind its move 0 a node, 3 visits, player 1; behind that one's move
    1 the game's end.

    values: what root, node and end have brought, each for its player to move.
    """
    tree = make_tree(1, 3, 2, 1)
    tree.nodes["parent"][0, ROOT] = NO_PARENT
    give_edges(
        *(tree, ROOT, [0, 1]),
        prior=0.5,
        child=[1, UNVISITED],
        child_visits=[3, 0],
        child_value_sum=[-values[1], 0],
    )
    give_edges(tree, 1, [0, 1], prior=0.5, child=[UNVISITED, 2], child_visits=[0, 1])
    tree.nodes["to_play"][0], tree.nodes["node_visits"][0] = [0, 1, 0], [4, 3, 1]
    tree.nodes["value_sum"][0], tree.nodes["raw_value"][0] = values, [0.1, -0.2, leaf_value]
    tree.nodes["proven"][0], tree.nodes["lower"][0, 2], tree.nodes["upper"][0, 2] = (
        [False, False, True],
        leaf_value,
        leaf_value,
    )
    return tree


def test_a_proof_puts_right_what_was_backed_up_before() -> None:
    """Root, player 0: 4 visits. One move was visited 3 times with the sum 0.9; the reply now found wins for
    player 1.

    For player 1 the node is worth 3 * 1 instead of -0.9: 3.9 are missing. For player 0 the move has 0.9 - 3.9
    = -3, a loss in each of three visits, and the root 0.8 - 3.9 = -3.1. The root's other move is not known,
    so the proof ends there.
    """
    tree = line_of_three((0.8, -0.9, -1.0), -1.0)
    prove(tree, 0, 2)
    assert tree.nodes["proven"][0].tolist() == [False, True, True]
    assert tree.nodes["raw_value"][0, 1] == 1.0
    assert tree.nodes["value_sum"][0] == pytest.approx([-3.1, 3.0, -1.0])
    assert edges_of(tree, 0, ROOT)["child_value_sum"][0] == pytest.approx(-3.0)
    assert tree.nodes["node_visits"][0].tolist() == [4, 3, 1]
    assert (tree.nodes["lower"][0].tolist(), tree.nodes["upper"][0].tolist()) == ([-1, 1, -1], [1, 1, -1])


def test_a_bound_puts_right_what_was_backed_up_before() -> None:
    """The reply draws: player 1 is sure of 0 where three visits brought -0.9. They count 0 from now on, 0.9
    more than before.

    For player 0 the move is worth at most 0: three visits, 0.9 - 0.9 = 0, and the root has 0.8 - 0.9 = -0.1.
    """
    tree = line_of_three((0.8, -0.9, 0.0), 0.0)
    prove(tree, 0, 2)
    assert tree.nodes["proven"][0].tolist() == [False, False, True]
    assert tree.nodes["raw_value"][0, 1] == np.float32(-0.2)  # its own evaluation stays
    assert tree.nodes["value_sum"][0] == pytest.approx([-0.1, -0.9, 0.0])
    assert bounded_sum(tree, 0, 1) == 0.0
    assert edges_of(tree, 0, ROOT)["child_value_sum"][0] == pytest.approx(0.0)
    assert (tree.nodes["lower"][0].tolist(), tree.nodes["upper"][0].tolist()) == ([-1, 0, 0], [1, 1, 0])


def test_what_did_not_count_above_is_not_taken_back_there() -> None:
    """The same node, and later its player wins at once. Its three visits brought -0.9, counted 0, and count 3
    now.

    The root loses 3 for them: -0.1 - 3 = -3.1, its move is worth -3 in three visits.
    """
    tree = line_of_three((0.8, -0.9, 0.0), 0.0)
    prove(tree, 0, 2)
    tree.nodes["lower"][0, 2] = tree.nodes["upper"][0, 2] = -1.0
    prove(tree, 0, 2)
    assert tree.nodes["proven"][0].tolist() == [False, True, True] and tree.nodes["raw_value"][0, 1] == 1.0
    assert tree.nodes["value_sum"][0, :2] == pytest.approx([-3.1, 3.0])
    assert edges_of(tree, 0, ROOT)["child_value_sum"][0] == pytest.approx(-3.0)


def test_a_value_counts_above_as_far_as_bounds_allow() -> None:
    """Player 0 moves at node 1 and is sure of a draw; player 1 moves above and below.

    What the leaf is worth for player 1, in turn: 0.7, so that node 1 has -0.7 and counts 0; -0.3, so that it
    has -0.4 and counts 0; -1, so that it has 0.6 and counts 0.6.
    """
    tree = make_tree(1, 3, 1, 1)
    tree.nodes["parent"][0, ROOT], tree.nodes["to_play"][0] = NO_PARENT, [1, 0, 1]
    (edge,), (below,) = give_edges(tree, ROOT, [0], child=[1]), give_edges(tree, 1, [0], child=[2])
    tree.nodes["lower"][0, 1] = 0.0
    for value, root, node in ((0.7, 0.0, -0.7), (-0.3, 0.0, -0.4), (-1.0, -0.6, 0.6)):
        backup(tree, 0, 2, np.float32(value))
        assert tree.nodes["value_sum"][0, :2] == pytest.approx([root, node])
        assert edge["child_value_sum"] == pytest.approx(root)
    assert tree.nodes["node_visits"][0].tolist() == [3, 3, 3]
    assert below["child_value_sum"] == pytest.approx(0.6)  # the leaf itself is not held by what is above


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_sums_agree_and_lie_within_bounds(solved: tuple[Game, Solution], config: SearchConfig) -> None:
    """In every tree, of 7 to 25 simulations: a node has its own value and what its edges have; an edge, what
    its node counts.
    """
    game, _ = solved
    for simulations in range(7, 26, 3):
        tree = searched(
            game, random_states(game, 20, seed=simulations), replace(config, num_simulations=simulations)
        ).tree
        for b in range(20):
            for index in range(tree.searches["num_nodes"][b]):
                node, edges = tree.nodes[b, index], edges_of(tree, b, index)
                if not node["proven"]:
                    assert node["value_sum"] == pytest.approx(
                        node["raw_value"] + edges["child_value_sum"].sum(), abs=1e-5
                    )
                for edge in edges[edges["child"] >= 0]:
                    child = tree.nodes[b, edge["child"]]
                    sign = 1 if child["to_play"] == node["to_play"] else -1
                    assert edge["child_value_sum"] == pytest.approx(
                        sign * bounded_sum(tree, b, edge["child"]), abs=1e-5
                    )


def test_a_kept_root_forgets_its_proof_before_the_winning_move_is_banned() -> None:
    """A win, seen once with 1, and another move seen twice with -1 together; the proof made 4 of the root's 4
    visits.

    Without the proof the children's mean, 0 / 3, stands for the root itself as well: 4 * 0. Without the win,
    3 visits and -1.
    """
    tree = root_with([0.5, 0.5], [1, 2], [1.0, -1.0])
    tree.nodes["value_sum"], tree.nodes["raw_value"], tree.nodes["proven"] = 4.0, 1.0, True
    reroot(tree, 0, ROOT, 0, np.zeros(1, np.int32))
    assert (tree.nodes["value_sum"][0, ROOT], tree.nodes["raw_value"][0, ROOT]) == (0.0, 0.0)
    assert not tree.nodes["proven"][0, ROOT] and tree.nodes["node_visits"][0, ROOT] == 4
    ban(tree, 0, np.array([True, False]))
    assert edges_of(tree, 0, ROOT)["action"].tolist() == [1]
    assert (tree.nodes["value_sum"][0, ROOT], tree.nodes["node_visits"][0, ROOT]) == (-1.0, 3)


@pytest.fixture(scope="module", params=GAMES, ids=["tictactoe", "double_move"])
def solved(request: pytest.FixtureRequest) -> tuple[Game, Solution]:
    game = make_game(request.param)
    return game, solve(game)


def exact_values(solution: Solution) -> dict[tuple[int, ...], int]:
    """The row of each position."""
    return {tuple(state): row for row, state in enumerate(solution.states.tolist())}


@EITHER_KIND
def test_whatever_is_proven_is_true_and_decides_target_value_and_move(
    solved: tuple[Game, Solution], config: SearchConfig
) -> None:
    game, solution = solved
    rows, states = exact_values(solution), random_states(game, 60, seed=3)
    player = searched(game, states, config)
    tree, proven_roots = player.tree, 0
    for b in range(len(states)):
        for node in range(tree.searches["num_nodes"][b]):
            value = solution.value[rows[tuple(tree.states[b, node].tolist())]]
            assert tree.nodes["lower"][b, node] <= value <= tree.nodes["upper"][b, node]
            assert tree.nodes["proven"][b, node] == (
                tree.nodes["lower"][b, node] == tree.nodes["upper"][b, node]
            )
            if tree.nodes["proven"][b, node]:
                assert tree.nodes["raw_value"][b, node] == value
        root = tree.nodes[b, ROOT]
        if root["proven"]:
            proven_roots += 1
            assert root["value_sum"] / root["node_visits"] == pytest.approx(root["raw_value"], abs=1e-5)
            assert root["node_visits"] <= 401
    assert proven_roots > 20
    everyone = np.arange(len(states))
    moves = PvMcts(game, FakeInference(game), config)
    moves.new_games(everyone.astype(np.uint64))
    chosen = moves.choose(np.stack(states), everyone, everyone)
    for b in np.flatnonzero(tree.nodes["proven"][:, ROOT]).tolist():
        assert solution.keeps_value(np.array([rows[tuple(states[b].tolist())]]), chosen[b : b + 1])[0]


@EITHER_KIND
def test_targets_of_proven_positions_hold_nothing_but_best_moves(
    solved: tuple[Game, Solution], config: SearchConfig
) -> None:
    game, solution = solved
    rows = exact_values(solution)
    settings = Config(search=config, selfplay=SelfplayConfig(opening_fraction=1.0, opening_plies=6))
    seeds = game_seeds(4, 1, SELFPLAY, 40)
    records, stats = play_games(
        game,
        [FakeInference(game)],
        settings,
        GameQueue(iter(range(40))),
        seeds,
        Progress(),
        StopSignal(),
    )
    proven = 0
    for record in records:
        assert record.proven is not None and not record.proven[: record.opening_plies].any()
        for ply in np.flatnonzero(record.proven).tolist():
            row = rows[tuple(record.states[ply].tolist())]
            support = record.targets()[ply][0]
            assert solution.keeps_value(np.full(len(support), row), support).all()
            assert record.root_value[ply] == outcome_or_proof(plies_of([record]))[ply] == solution.value[row]
            proven += 1
    assert proven > stats.searches / 2
    assert stats.simulations < 400 * stats.searches / 2  # searches of proven positions end early


@pytest.mark.parametrize(
    ("moves", "winning", "advised"), [*WIN_AT_DEPTH_1.values(), *WIN_AT_DEPTH_3.values()]
)
def test_a_win_is_exactly_that_and_is_taken(moves: tuple[int, ...], winning: int, advised: int) -> None:
    game = make_game("tictactoe")
    player = searched(game, [after(game, *moves)], SOLVER, mistaken(game, advised))
    assert player.tree.nodes["proven"][0, ROOT] and player.root_values(ONLY_GAME)[0] == pytest.approx(1.0)
    assert player.visit_counts(ONLY_GAME).sum() < 400
    again = PvMcts(game, mistaken(game, advised), SOLVER)
    assert again.choose(after(game, *moves)[None], ONLY_GAME, ONLY_GAME)[0] == winning


@pytest.mark.parametrize("moves", LOSS_AT_DEPTH_2.values(), ids=LOSS_AT_DEPTH_2)
def test_a_loss_is_exactly_that(moves: tuple[int, ...]) -> None:
    game = make_game("tictactoe")
    player = searched(game, [after(game, *moves)], SOLVER)
    assert player.tree.nodes["proven"][0, ROOT] and player.root_values(ONLY_GAME)[0] == pytest.approx(-1.0)


# X . X X . O O     X moves. Column 4 draws; column 1 wins, though only with the last stone but one. The
# network is sure of 4,
# O . X O . O X     and once that is proven to draw it has nothing more to tell: the rest of the simulations
# go to 1.
# O . O X . O X
# X X X O O X O
# O O X X O X O
# X O O X O X X
LATE_WIN = (
    5,
    2,
    0,
    1,
    6,
    4,
    5,
    0,
    3,
    6,
    2,
    6,
    2,
    4,
    5,
    2,
    3,
    5,
    6,
    5,
    2,
    3,
    3,
    3,
    3,
    4,
    0,
    1,
    6,
    5,
    1,
    0,
    2,
    0,
    0,
    6,
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_proven_draw_is_not_searched_on_while_something_better_may_be(kind: str) -> None:
    game = make_game("connect_four")
    logits = np.zeros(7, np.float32)
    logits[4] = 9.0
    player = PvMcts(
        game,
        FakeInference(game, lambda planes: (logits, np.float32(0))),
        replace(KINDS[kind], num_simulations=100),
    )
    assert player.choose(after(game, *LATE_WIN)[None], ONLY_GAME, ONLY_GAME)[0] == 1
    assert player.tree.nodes["proven"][0, ROOT] and player.root_values(ONLY_GAME)[0] == 1.0


def test_a_search_of_one_position_ends_with_the_proof_however_many_simulations_are_left() -> None:
    game = make_game("tictactoe")
    player = PvMcts(
        game, FakeInference(game), SearchConfig(solver=True, num_simulations=1_000_000, tree_reuse=False)
    )
    player.choose(after(game, 0, 3, 1, 4)[None], ONLY_GAME, ONLY_GAME)
    assert player.tree.nodes["proven"][0, ROOT] and player.visit_counts(ONLY_GAME).sum() < 1000


def test_a_kept_tree_s_new_root_is_proven_anew() -> None:
    """O has made a losing move. Its tree knows that X wins, and X's search finds that proof again."""
    game = make_game("tictactoe")
    player = searched(game, [after(game, 0, 3, 1)], SOLVER)  # X X 2 / O 4 5 / 6 7 8: O must play 2
    player.searches.begin(after(game, 0, 3, 1, 4)[None], ONLY_GAME, None)
    root, edges = player.tree.nodes[0, ROOT], edges_of(player.tree, 0, ROOT)
    assert not root["proven"] and root["node_visits"] == edges["child_visits"].sum() + 1
    assert root["raw_value"] == pytest.approx(edges["child_value_sum"].sum() / edges["child_visits"].sum())
    assert player.choose(after(game, 0, 3, 1, 4)[None], ONLY_GAME, ONLY_GAME)[0] == 2
    assert player.tree.nodes["proven"][0, ROOT]
