"""What is measured of the champion after each cycle where the truth is known. It only tells; nothing is decided by it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

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
from azero.machine import cores
from azero.metrics import Reporter
from azero.monitoring.drawing import policy_picture
from azero.network.torch_inference import one_thread_a_lane
from azero.players.policy import PolicyPlayer
from azero.trained import TrainedLanes, load_for_lanes
from azero.truth.judging import Answers, ask_network, ask_search, judge_all, judge_openings, mean_of
from azero.truth.known import known_truths
from azero.truth.positions import PositionSet, read_positions
from azero.truth.shipped import file_of


@lru_cache(maxsize=1)
def questions_of(name: str) -> Questions:
    """The game solved once for all cycles."""
    return Questions(make_game(name))


def report_cycle(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
    """Tell how right the champion is: by positions whose scores are known, the table of tic-tac-toe, the openings of Hex."""
    truths = known_truths(config)
    if "positions" in truths or "openings" in truths:
        with one_thread_a_lane():
            trained = load_for_lanes(config, run_name, min(2, config.lanes or cores()))
            if "positions" in truths:
                report_positions(config, trained, cycle, report)
            if "openings" in truths:
                report_openings(trained, cycle, report)
    if "table" in truths:
        report_table(config, run_name, cycle, report)


def report_table(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
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
    return policy_picture(boards, policy.ask(states)[0], right, captions)


def report_openings(trained: TrainedLanes, cycle: int, report: Reporter) -> None:
    """Scalars of the value after each first move of Hex: the share of right signs, and the mean distance to the exact value."""
    judged = judge_openings(trained.game, trained.inferences[0])
    figures = {"oracle/openings_right": float(judged.right.mean()), "oracle/openings_value_error": judged.value_error}
    report.cycle_scalars(cycle, figures)


@lru_cache(maxsize=1)
def positions_of(file: Path | None, most: int, name: str, options: tuple[tuple[str, Any], ...]) -> list[PositionSet]:
    """The sets of a game that are for every cycle's report, read once for all cycles."""
    assert file is not None
    return read_positions(file, make_game(name, **dict(options)), most)[1]


def report_positions(config: Config, trained: TrainedLanes, cycle: int, report: Reporter) -> None:
    """Scalars of the champion's answers to positions whose scores are known: means over the sets, and the mistakes in each."""
    game, inferences, search, _ = trained
    sets = positions_of(file_of(config), config.oracle.positions, config.game.name, tuple(config.game.options.items()))
    states, plies = np.concatenate([each.states for each in sets]), np.concatenate([each.plies for each in sets])
    scalars = scalars_of("policy", sets, ask_network(game, inferences[0], states))
    if config.oracle.num_simulations:
        search = replace(search, num_simulations=config.oracle.num_simulations)
        scalars |= scalars_of("search", sets, ask_search(game, inferences, search, states, plies))
    report.cycle_scalars(cycle, scalars)


def scalars_of(player: str, sets: list[PositionSet], answers: Answers) -> dict[str, float]:
    """By tag, what a player's answers to the sets are worth."""
    figures = judge_all(sets, answers)
    names = [each.name.replace(" ", "_") for each in sets]
    mean = mean_of(figures)
    return {
        f"oracle/keeps_value_{player}": mean.keeps_value,
        f"oracle/best_move_{player}": mean.best_move,
        f"oracle/value_error_{player}": mean.value_error,
        **{f"oracle/mistakes_{player}_{name}": 1 - its.keeps_value for name, its in zip(names, figures, strict=True)},
    }


def report_run(config: Config, run_name: str) -> None:
    """Print the correctness table."""
    game = make_game(config.game.name, **config.game.options)
    print_table(full_table(*load_players(config, run_name, game), game))
