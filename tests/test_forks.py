"""Forks: each follows an earlier game to a ply and leaves it there by another legal move that does not end
the game.
"""

from __future__ import annotations

import numpy as np
import pytest
from searching import FakeInference, after

from azero.config.schema import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.search.repetition import History
from azero.workers.forks import fork, forks
from azero.workers.threads import GameQueue, play_games

SOURCE = np.random.SeedSequence([1, 2, 3])


def earlier(game: Game) -> list[GameRecord]:
    """Return some games of self-play."""
    config, seeds = Config(search=SearchConfig(num_simulations=4)), game_seeds(1, 1, SELFPLAY, 12)
    return play_games(
        game, [FakeInference(game)], config, GameQueue(iter(range(12))), seeds, Progress(), StopSignal()
    )[0]


@pytest.mark.parametrize("name, options", [("tictactoe", {}), ("go", {"size": 3})])
def test_a_fork_leaves_an_earlier_game_by_another_legal_move(name: str, options: dict[str, int]) -> None:
    game = make_game(name, **options)
    records = earlier(game)
    played = {tuple(record.actions.tolist()) for record in records}
    found = forks(game, records, 1.0, 60, np.random.SeedSequence(5))
    assert len(found) > 40
    for actions in found.values():
        assert actions.dtype == np.int32
        left = tuple(actions[:-1].tolist())
        assert any(
            game_played[: len(left)] == left and game_played[len(left)] != actions[-1]
            for game_played in played
        )
        state, past = game.initial_state(), History(game, 1)
        for action in actions.tolist():
            assert past.legal_mask(0, state)[action]
            past.add(np.zeros(1, np.int64), state[None])
            state = game.step(state, action)
            assert not game.is_terminal(state)


def test_no_fork_ends_the_game_or_repeats_the_move() -> None:
    """X X 2 / O O 5 / 6 7 8, and X won by 2: a fork there takes one of the four other cells."""
    game = make_game("tictactoe")
    actions = [0, 3, 1, 4, 2]
    states = np.stack([after(game, *actions[:ply]) for ply in range(5)])
    record = GameRecord(
        0, states, np.zeros(5, np.int8), np.array(actions, np.int32), *(np.zeros(5),) * 3, 1.0
    )
    found = [fork(game, record, np.random.default_rng(seed)).tolist() for seed in range(200)]
    assert {len(actions) for actions in found} == {1, 2, 3, 4, 5}
    assert {actions[4] for actions in found if len(actions) == 5} == {5, 6, 7, 8}


def test_a_share_of_the_games_are_forks_and_each_by_its_number_alone() -> None:
    game = make_game("tictactoe")
    records = earlier(game)
    few, many = (forks(game, records, 0.3, games, np.random.SeedSequence(7)) for games in (100, 400))
    assert len(many) / 400 == pytest.approx(0.3, abs=5 * (0.3 * 0.7 / 400) ** 0.5)
    assert few.keys() == {number for number in many if number < 100}
    assert all((few[number] == many[number]).all() for number in few)
    assert forks(game, [], 0.3, 100, SOURCE) == forks(game, records, 0.0, 100, SOURCE) == {}
