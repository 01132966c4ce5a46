"""Every player with a budget beats random, and itself at a tenth of the budget.

This is the short form of scripts/experiments/budgets.py.

Each match has sixty games from thirty openings of two random plies. The whole 95 % interval must lie above
one half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running import TrainedRun

from azero.champion.load import load_trained
from azero.cli.arguments import load_game
from azero.config.schema import Config
from azero.match.lockstep import play_match
from azero.match.openings import random_openings
from azero.match.rating import score_interval
from azero.players import make_player
from azero.stages.warm_up import Blank

GAMES = 60
ROLLOUTS = {"rollout_share": 1.0, "rollout_policy": "random"}  # the network knows nothing here
BUDGETS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [  # player, its budget, a tenth of it
    ("flat_monte_carlo", {"num_simulations": 700}, {"num_simulations": 70}),
    ("uct", {"num_simulations": 500}, {"num_simulations": 50}),
    ("pure_mcts", {"num_simulations": 500}, {"num_simulations": 50}),
    ("alphago", {"num_simulations": 400, **ROLLOUTS}, {"num_simulations": 40, **ROLLOUTS}),
    ("alpha_beta", {"depth": 5}, {"depth": 3}),
    (
        "iterative_deepening",
        {"seconds": 0.01},
        {"seconds": 0.001, "depth": 1},
    ),  # by the clock alone it would depend on the machine
]


@pytest.mark.long
@pytest.mark.parametrize("game_name", ["connect_four", "othello6"])
@pytest.mark.parametrize("name, budget, tenth", BUDGETS, ids=[name for name, _, _ in BUDGETS])
def test_a_bigger_budget_plays_better(
    name: str, budget: dict[str, Any], tenth: dict[str, Any], game_name: str
) -> None:
    game, seeds = (
        load_game(game_name, {}),
        np.random.default_rng(1).integers(2**63, size=GAMES, dtype=np.uint64),
    )
    openings, blank = random_openings(game, 2, GAMES // 2), Blank(game.num_actions)
    blank.batch_size = GAMES
    strong = make_player(name, game, inference=blank, **budget)
    for weak in (make_player("random", game), make_player(name, game, inference=blank, **tenth)):
        result = play_match(game, (strong, weak), seeds, openings)
        low, _ = score_interval(result.wins, result.draws, result.losses)
        assert low > 0.5, (
            f"{result.wins} wins, {result.draws} draws, {result.losses} losses against {weak.name}"
        )


@pytest.mark.parametrize(
    "name, options", [("policy", {}), ("value", {}), ("pv_mcts", {}), ("alphago", {"num_simulations": 30})]
)
def test_a_trained_champion_beats_random(name: str, options: dict[str, Any], trained_run: TrainedRun) -> None:
    """Tic-tac-toe, whose champion is trained in seconds.

    Connect Four and Othello stand in the table of the script.
    """
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data))
    game, inference, search = load_trained(config, trained_run.name, GAMES)
    player = make_player(name, game, inference=inference, search=search, **options)
    seeds = np.random.default_rng(2).integers(2**63, size=GAMES, dtype=np.uint64)
    result = play_match(
        game, (player, make_player("random", game)), seeds, random_openings(game, 1, GAMES // 2)
    )
    low, _ = score_interval(result.wins, result.draws, result.losses)
    assert low > 0.5, f"{result.wins} wins, {result.draws} draws, {result.losses} losses"
