"""Games of a champion against alpha-beta: who moves, what is random, what is counted."""

from __future__ import annotations

from functools import reduce

import against_alpha_beta
import numpy as np
import pytest
from searching import FakeInference

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.players.iterative_deepening import Options, make
from azero.players.pv_mcts import PvMcts
from azero.truth.perfect_play import Played, count, results_text


@pytest.mark.long
def test_the_champion_moves_second_and_alpha_beta_gets_a_multiple_of_its_time() -> None:
    game = make_game("connect_four", rows=3, columns=4, connect=3)
    champion = PvMcts(game, FakeInference(game), SearchConfig(num_simulations=4, dirichlet_fraction=0.0))
    duel = against_alpha_beta.Duel(game, champion, make(game, Options()), times=3.0)
    duel.warm_up(random_moves=2)
    assert duel.first_mean > 0 and duel.own.moves == duel.other.moves == 0
    games = [duel.play(2, source) for source in np.random.SeedSequence(1).spawn(8)]
    for played in games:
        state = reduce(game.step, played.moves, game.initial_state())
        assert game.is_terminal(state) and played.outcome == -game.first_outcome(state)
    assert len({played.moves[:1] for played in games}) > 1  # drawn
    assert duel.own.moves == sum(len(played.moves) // 2 for played in games)
    assert duel.other.moves == sum(max(0, (len(played.moves) + 1) // 2 - 2) for played in games)
    assert duel.opponent.seconds >= against_alpha_beta.SHORTEST
    lines = against_alpha_beta.report(duel, games)
    assert lines[3] == "games=8" and lines[2] == f"losses={sum(played.outcome < 0 for played in games)}"
    assert lines[-1].startswith("time_ratio=")


def test_games_are_counted_and_equal_ones_once() -> None:
    """Four games, of which two are equal: 2 of 4 lost, 1 of 3 distinct.

    Wilson's interval of 1 in 3 is 6.1 to 79.2 %.
    """
    games = [
        Played((1, 2), -1.0),
        Played((1, 2), -1.0),
        Played((3,), 1.0),
        Played((4,), 0.0),
    ]
    stats = count(games)
    assert stats == {
        "wins": 1,
        "draws": 1,
        "losses": 2,
        "games": 4,
        "distinct": 3,
        "distinct_wins": 1,
        "distinct_losses": 1,
    }
    assert results_text(stats, "losses").splitlines() == [
        "1 wins, 1 draws, 2 losses of 4 games, 3 of them distinct",
        "losses 50.0 %; of the distinct games, 95 % interval 6.1 to 79.2 %",
    ]
