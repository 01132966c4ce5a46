"""Exact endings of chess: longest mates as published, values by the rules, and strength's positions."""

from __future__ import annotations

import numpy as np
import pytest

from azero.config.schema import UserError
from azero.games import make_game
from azero.truth import judging
from azero.truth.endgames import Ending, endings_of, solve_ending, table_scores
from azero.truth.positions import ILLEGAL
from azero.truth.solvers import make_oracle

# Plies of the longest mate. 8 x 8: 10, 16, 28 and 33 moves (KQK, KRK, KPK, KBNK), as endgame tables have them
LONGEST = {"KQK": 19, "KRK": 31, "KPK": 55, "KBK": -1, "KNK": -1}


@pytest.mark.parametrize("material", LONGEST)
def test_the_longest_mates_of_chess_are_the_published_ones(material: str) -> None:
    assert solve_ending(make_game("chess"), material).longest == LONGEST[material]


@pytest.mark.long
def test_the_longest_mate_with_bishop_and_knight_is_the_published_one() -> None:
    assert solve_ending(make_game("chess"), "KBNK").longest == 65


def plies_by_the_rules(ending: Ending, state: np.ndarray) -> int | None:
    """Plies until mate by one look ahead: the fastest for the strong side, the slowest for the bare king."""
    game = ending.game
    after = [ending.plies(game.step(state, action)) for action in game.legal_actions(state)]
    mates = [plies for plies in after if plies is not None]
    if is_strong(ending, state, game.to_play(state)):
        return min(mates) + 1 if mates else None
    return max(mates) + 1 if len(mates) == len(after) else None


@pytest.mark.parametrize("variant", ["gardner", "losalamos", "standard"])
def test_every_value_follows_from_those_after_each_move(variant: str) -> None:
    game = make_game("chess", variant=variant)
    for material in endings_of(game):
        ending = solve_ending(game, material)
        for state in ending.sample(120, seed=2).states:
            assert ending.plies(state) == plies_by_the_rules(ending, state)


def is_strong(ending: Ending, state: np.ndarray, player: int) -> bool:
    """Whether a player has more than a king."""
    assert ending.game.board
    marks = ending.game.board.marks(state)
    return int(((marks > 0) & ((marks - 1) % 2 == player)).sum()) == 2


@pytest.mark.parametrize(
    ("position", "material", "plies"),
    [
        ("8/8/8/8/8/1K6/7R/k7 w - - 0 1", "KRK", 1),  # Rh1 mates
        ("k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "KQK", None),  # stalemate
        ("8/8/8/8/8/k1K5/8/1Q6 b - - 0 1", "KQK", 2),  # Ka4, then Qb4 mates
        ("8/8/8/8/8/4k3/4P3/4K3 w - - 0 1", "KPK", None),  # the king stands in front of the pawn
        ("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "KPK", None),  # stalemate
        ("8/8/8/8/8/2k5/1q6/K7 w - - 0 1", "KQK", 0),  # Black has mated
        ("Q7/8/8/8/8/8/8/k1K5 b - - 0 1", "KPK", 0),  # a promotion has mated
    ],
)
def test_known_positions(position: str, material: str, plies: int | None) -> None:
    game = make_game("chess")
    ending, state = solve_ending(game, material), game.position(position)
    assert ending.plies(state) == plies


def test_the_scores_of_a_sample_count_plies_for_the_mover_of_either_colour() -> None:
    game = make_game("chess", variant="gardner")
    ending = solve_ending(game, "KRK")
    asked = ending.sample(400, seed=1)
    assert {bool(is_strong(ending, state, 0)) for state in asked.states} == {True, False}
    assert {game.to_play(state) for state in asked.states} == {0, 1}
    for state, scores in zip(asked.states[:50], asked.scores, strict=False):
        assert np.flatnonzero(scores != ILLEGAL).tolist() == game.legal_actions(state)
        assert (ending.scores(state) == scores).all()  # asked with the colours exchanged
        for action in game.legal_actions(state):
            after = game.step(state, action)
            if game.is_terminal(after):
                assert scores[action] == -game.outcome(after)  # mate with the first ply, or a draw
    best = judging.Answers(np.array([worth(each).argmax() for each in asked.scores]), asked.values)
    perfect = judging.judge(asked, best)
    assert (perfect.keeps_value, perfect.best_move, perfect.value_error) == (1.0, 1.0, 0.0)
    assert 0.05 < judging.random_mistakes(asked) < 0.6


def worth(scores: np.ndarray) -> np.ndarray:
    """How good moves are: fast wins, draws, slow losses, illegal ones last."""
    wins, losses = (scores > 0), (scores < 0) & (scores != ILLEGAL)
    return np.where(wins, 1000 - scores, np.where(losses, -1000 - scores, np.where(scores == 0, 0, -9999)))


def test_no_table_answers_where_the_fifty_moves_may_end_the_game_first() -> None:
    game = make_game("chess", variant="gardner")
    state = game.position("k4/5/2K2/5/1R3 w - - 97 80")
    assert table_scores(game, state) is None
    scores = make_oracle(game, 60.0).score_moves(state)
    assert [game.action_name(state, int(action)) for action in np.flatnonzero(scores > 0)] == ["c3c4"]
    early = game.position("k4/5/2K2/5/1R3 w - - 0 1")
    known = table_scores(game, early)
    assert known is not None and (known[known != ILLEGAL] > 0).sum() > 1


def test_a_position_of_other_pieces_is_refused() -> None:
    game = make_game("chess")
    for position in ("8/8/8/8/8/2k5/8/KR6 w - - 0 1", "7k/8/8/8/8/7q/8/KQ6 b - - 0 1"):
        with pytest.raises(ValueError, match="this position is not of the ending KQK"):
            solve_ending(game, "KQK").plies(game.position(position))
    assert solve_ending(game, "KQK").plies(game.position("8/8/8/8/8/2k5/8/K7 w - - 0 1")) is None


def test_other_games_and_endings_are_refused_with_a_sentence() -> None:
    with pytest.raises(UserError, match="KQK of othello is not an ending that azero solves"):
        solve_ending(make_game("othello"), "KQK")
    with pytest.raises(UserError, match="KRRK of chess is not an ending"):
        solve_ending(make_game("chess"), "KRRK")
    with pytest.raises(UserError, match="every position of KNK is over at once"):
        solve_ending(make_game("chess"), "KNK").sample(1, seed=1)
    with pytest.raises(UserError, match="KBK of chess is not an ending"):
        solve_ending(make_game("chess", variant="losalamos"), "KBK")
