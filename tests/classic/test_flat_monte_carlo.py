"""Flat Monte Carlo against a plain twin, and how its budgets are shared."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from searching import after

from azero.classic.flat_monte_carlo import best_mean, share_rollouts
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.heuristics import make_heuristic
from azero.kernels.random_stream import new_stream, next_below
from azero.players import make_player
from azero.players.flat_monte_carlo import FlatMonteCarloPlayer


def choose(
    game: Game, state: np.ndarray, seed: int = 0, banned: np.ndarray | None = None, **options: Any
) -> int:
    """Return the move of a new player in one state."""
    player = make_player("flat_monte_carlo", game, **options)
    player.new_games(np.array([seed], np.uint64))
    return int(player.choose(state[None], np.zeros(1, np.int64), np.zeros(1, np.int64), banned)[0])


def plain_choice(
    game: Game, state: np.ndarray, seed: int, shares: list[int], depth: int, heuristic: str
) -> int:
    """The plain twin: return the move of the best mean reward. The moves take turns."""
    stream, side = new_stream(seed), game.to_play(state)
    judge = make_heuristic(heuristic, game).function.__wrapped__ if heuristic else lambda _state: 0.0
    moves = game.legal_actions(state)
    totals = [0.0] * len(moves)
    for turn in range(max(shares)):
        for place in [place for place, share in enumerate(shares) if turn < share]:
            here = game.step(state, moves[place])
            for _ in range(depth):
                if game.is_terminal(here):
                    break
                legal = game.legal_actions(here)
                here = game.step(here, legal[next_below(stream, len(legal))])
            value = game.outcome(here) if game.is_terminal(here) else judge(here)
            first = 0.5 + 0.5 * value if game.to_play(here) == 0 else 0.5 - 0.5 * value
            totals[place] += first if side == 0 else 1.0 - first
    means = [total / share if share else -1.0 for total, share in zip(totals, shares, strict=True)]
    return moves[means.index(max(means))]


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("opening", [(), (0,), (4, 0), (0, 4, 8)])
def test_it_agrees_with_the_plain_twin(name: str, opening: tuple[int, ...]) -> None:
    game = make_game(name)
    state = after(game, *opening)
    count = len(game.legal_actions(state))
    for seed in range(5):
        assert choose(game, state, seed, rollouts=7) == plain_choice(
            game, state, seed, [7] * count, game.max_plies, ""
        )


@pytest.mark.parametrize("heuristic", ["", "discs"])
def test_a_rollout_that_is_cut_is_judged_by_the_heuristic(heuristic: str) -> None:
    game = make_game("othello", size=4)
    state = after(game, game.legal_actions(game.initial_state())[0])
    count = len(game.legal_actions(state))
    for seed in range(5):
        move = choose(game, state, seed, rollouts=9, rollout_depth=2, heuristic=heuristic)
        assert move == plain_choice(game, state, seed, [9] * count, 2, heuristic)


def test_a_total_budget_is_shared_equally_and_the_rest_goes_to_the_first_moves() -> None:
    game = make_game("tictactoe")
    state = after(game, 0, 4)  # seven moves
    for seed in range(5):
        assert choose(game, state, seed, num_simulations=23) == plain_choice(
            game, state, seed, [4, 4, 3, 3, 3, 3, 3], 9, ""
        )
    assert choose(game, state, num_simulations=3) in (1, 2, 3)  # the others were not looked at


def test_shares_grow_with_the_total_and_banned_moves_get_none() -> None:
    game = make_game("tictactoe")
    player = make_player("flat_monte_carlo", game)
    assert isinstance(player, FlatMonteCarloPlayer)
    sums, counts, banned = np.zeros(9), np.zeros(9, np.int64), np.zeros(9, np.bool_)
    banned[[0, 8]] = True
    for begin, most, shares in (
        (0, 1, [1, 0, 0, 0, 0, 0, 0]),
        (1, 8, [2, 2, 1, 1, 1, 1, 1]),
        (9, 1, [2, 2, 2, 1, 1, 1, 1]),
        (10, 60, [10] * 7),
    ):
        state, where = game.initial_state(), (game.rule_addresses, player.room, player.judge)
        share_rollouts(*where, state, banned, player.actions, begin, most, new_stream(0), sums, counts)
        assert counts.tolist() == [0, *shares, 0]
    assert (
        np.all(sums <= counts)
        and choose(game, after(game, 0, 3, 1, 4), banned=np.eye(9, dtype=np.bool_)[[2]]) != 2
    )


def test_a_search_that_is_stopped_has_tried_all_moves_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    game, shares = make_game("tictactoe"), list[np.ndarray]()
    player = make_player("flat_monte_carlo", game, rollouts=1_000_000)
    monkeypatch.setattr(
        "azero.players.flat_monte_carlo.best_mean",
        lambda sums, counts: shares.append(counts) or best_mean(sums, counts),  # type: ignore[func-returns-value]
    )
    monkeypatch.setattr("azero.players.base.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("azero.players.clock.SLICE_SECONDS", 1e9)  # slices grow by their count, not by time
    player.new_games(np.zeros(1, np.uint64))
    looks = iter([False, False])  # then it is stopped
    player.think(GameInProgress(game), stopping=lambda: next(looks, True))
    assert shares[0].sum() == 1 + 8 + 64 and np.ptp(shares[0]) <= 1


def test_pauses_change_nothing() -> None:
    game = make_game("connect_four")
    for seed in range(5):
        player = make_player("flat_monte_carlo", game, rollouts=300)
        player.new_games(np.array([seed], np.uint64))
        move = choose(game, game.initial_state(), seed, rollouts=300)
        assert player.think(GameInProgress(game)).best == move


def test_of_equal_means_the_first_is_taken_and_what_has_no_rollouts_is_not() -> None:
    assert best_mean(np.array([0.0, 1.0, 2.0, 1.0]), np.array([0, 2, 4, 2])) == 1
    assert best_mean(np.array([0.0, 0.0]), np.array([0, 3])) == 1


@pytest.mark.parametrize("moves", [(0, 3, 1, 4), (8, 0, 3, 1, 7)], ids=["first player", "second player"])
def test_a_win_in_one_is_played(moves: tuple[int, ...]) -> None:
    game = make_game("tictactoe")
    assert all(choose(game, after(game, *moves), seed, rollouts=20) == 2 for seed in range(20))


def test_a_time_limit_is_kept_and_used() -> None:
    game = make_game("connect_four")
    player = make_player("flat_monte_carlo", game, seconds=0.05)
    player.new_games(np.zeros(2, np.uint64))
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        player.choose(np.stack([game.initial_state()] * 2), np.arange(2), np.zeros(2, np.int64))
        taken.append(time.perf_counter() - begin)
    # Each position has its own time; bench_players.py measures how closely it is kept
    assert max(taken) > 0.099 and min(taken) < 10
    begin = time.perf_counter()
    player = make_player("flat_monte_carlo", game, seconds=60.0, num_simulations=70)
    player.new_games(np.zeros(1, np.uint64))
    assert player.choose(game.initial_state()[None], np.zeros(1, np.int64), np.zeros(1, np.int64)) in range(7)
    assert time.perf_counter() - begin < 30.0  # the first limit that is reached ends the search
