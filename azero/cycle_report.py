"""What is measured of the champion after each cycle where the truth is known. It only tells; nothing is decided by it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from azero.config import Config
from azero.correctness import (
    FIXED_POSITIONS,
    CorrectnessFigures,
    Questions,
    check_champion,
    fixed_states,
    full_table,
    load_players,
    print_table,
)
from azero.games import make_game
from azero.games.game import Game
from azero.metrics import Reporter
from azero.monitoring.drawing import policy_picture
from azero.players.policy import PolicyPlayer


@lru_cache(maxsize=1)
def questions_of(name: str) -> Questions:
    """The game solved once for all cycles."""
    return Questions(make_game(name))


def report_cycle(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
    """Scalars of the champion's right answers, and a picture of its policy on the fixed positions.

    The scalars come last: where they stand, the report is whole.
    """
    game = make_game(config.game.name, **config.game.options)
    search, policy = load_players(config, run_name, game)
    figures = check_champion(search, policy, game, questions_of(game.name))
    report.image("correctness/policy", draw_fixed_positions(game, policy), cycle)
    report.cycle_scalars(cycle, figures.scalars() | losses_of(figures))


def losses_of(figures: CorrectnessFigures) -> dict[str, float]:
    """Games lost, of every game that an opponent can make of the champion, by tag."""
    return {
        f"correctness/losses_{side}_{name}": getattr(player, f"losses_{side}")
        for name, player in (("search", figures.search), ("policy", figures.policy))
        for side in ("first", "second")
    }


def draw_fixed_positions(game: Game, policy: PolicyPlayer) -> np.ndarray:
    """[height, width, 3] uint8: the raw policy on the fixed positions, right replies marked."""
    states = fixed_states(game)
    planes = np.stack([game.planes(state) for state in states])
    mover_is_first = np.array([1 - 2 * game.to_play(state) for state in states])[:, None, None]
    right = np.array([[cell in replies for cell in range(game.num_actions)] for replies in FIXED_POSITIONS.values()])
    captions = [",".join(map(str, moves)) for moves in FIXED_POSITIONS]
    boards = (planes[:, 0] - planes[:, 1]) * mover_is_first
    return policy_picture(boards, policy.policies(states), right, captions)


def report_run(config: Config, run_name: str) -> None:
    """Print the correctness table."""
    game = make_game(config.game.name, **config.game.options)
    print_table(full_table(*load_players(config, run_name, game), game))
