"""Measure the champion after each cycle where exact values are known, and as a person's file measures.

No stage uses the result.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from azero.champion.champion import Champion
from azero.champion.load import TrainedWorkers, load_for_workers, load_players, load_trained
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.own_files import FAILS, explaining, own_part
from azero.network.torch_inference import one_thread_per_worker
from azero.players.policy import PolicyPlayer
from azero.process.machine import cores
from azero.report.pictures import policy_picture
from azero.report.reporter import Reporter
from azero.truth.judging import Answers, ask_network, ask_search, judge_all, judge_openings, mean_of
from azero.truth.known import known_truths, positions_of
from azero.truth.positions import PositionSet
from azero.truth.tictactoe import (
    FIXED_POSITIONS,
    TicTacToeQuestions,
    check_champion,
    full_table,
    print_table,
)


@lru_cache(maxsize=1)
def questions_of(name: str) -> TicTacToeQuestions:
    """Return the game's questions; solving it once serves all cycles."""
    return TicTacToeQuestions(make_game(name))


def report_cycle(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
    """Report how right the champion is: on scored positions, tic-tac-toe's table, Hex's openings.

    A person's own numbers come first; with them the time that the caller reports marks a whole report.
    """
    if config.metrics:
        report_own(config, run_name, cycle, report)
    truths = known_truths(config)
    if "positions" in truths or "openings" in truths:
        with one_thread_per_worker():
            trained = load_for_workers(config, run_name, min(2, config.workers or cores()))
            if "positions" in truths:
                report_positions(config, trained, cycle, report)
            if "openings" in truths:
                report_openings(trained, cycle, report)
    if "table" in truths:
        report_table(config, run_name, cycle, report)


def own_numbers(config: Config, run_name: str, cycle: int) -> dict[str, float]:
    """Return what the file `config.metrics` measures of the champion after a cycle, by name.

    Raises:
        UserError: it fails, or returns something else than numbers by name.
    """
    measure = own_part("metrics", config.metrics, "measure")
    champion = Champion(*load_trained(config, run_name, 1))
    with explaining(config.metrics, FAILS):
        found = measure(champion, cycle)
    try:
        numbers = {name: float(number) for name, number in found.items()}
    except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):  # the last of a torch tensor
        numbers = {}
    if not numbers or any(isinstance(number, str | bytes) for number in found.values()):
        raise UserError(f"measure of {config.metrics} must return a dict of numbers by name.")
    return numbers


def report_own(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
    """Report a person's own numbers, under own/NAME. Raises UserError as `own_numbers`."""
    numbers = own_numbers(config, run_name, cycle)
    for name, number in numbers.items():
        if not np.isfinite(number):
            report.message(f"own/{name} is {number}, so it is left out.")
    report.cycle_scalars(cycle, {f"own/{name}": number for name, number in numbers.items()})


def report_table(config: Config, run_name: str, cycle: int, report: Reporter) -> None:
    """Report a picture of the champion's policy, then its right answers: the scalars mark a whole report."""
    game = make_game(config.game.name, **config.game.options)
    search, policy = load_players(config, run_name, game)
    stats = check_champion(search, policy, game, questions_of(game.name))
    report.image("correctness/policy", draw_fixed_positions(game, policy), cycle)
    report.cycle_scalars(cycle, stats.scalars())


def draw_fixed_positions(game: Game, policy: PolicyPlayer) -> np.ndarray:
    """Draw the raw policy on the fixed positions, right replies marked: [height, width, 3] uint8."""
    questions = questions_of(game.name)
    states = questions.solution.states[questions.fixed]
    planes = np.stack([game.planes(state) for state in states])
    mover_is_first = np.array([1 - 2 * game.to_play(state) for state in states])[:, None, None]
    cells = np.arange(game.num_actions)
    right = np.array([np.isin(cells, list(replies)) for replies in FIXED_POSITIONS.values()])
    captions = [",".join(map(str, moves)) for moves in FIXED_POSITIONS]
    boards = (planes[:, 0] - planes[:, 1]) * mover_is_first
    return policy_picture(boards, policy.ask(states)[0], right, captions)


def report_openings(trained: TrainedWorkers, cycle: int, report: Reporter) -> None:
    """Report the value after each first move of Hex: right signs, and distance to the exact value."""
    judged = judge_openings(trained.game, trained.inferences[0])
    right = {"oracle/openings_right": float(judged.right.mean())}
    report.cycle_scalars(cycle, right | {"oracle/openings_value_error": judged.value_error})


def report_positions(config: Config, trained: TrainedWorkers, cycle: int, report: Reporter) -> None:
    """Report the champion's answers to scored positions: means over the sets, and mistakes in each."""
    game, inferences, search, _ = trained
    sets = positions_of(config)
    states = np.concatenate([each.states for each in sets])
    plies = np.concatenate([each.plies for each in sets])
    scalars = scalars_of("policy", sets, ask_network(game, inferences[0], states))
    if config.oracle.num_simulations:
        search = replace(search, num_simulations=config.oracle.num_simulations)
        scalars |= scalars_of("search", sets, ask_search(game, inferences, search, states, plies))
    report.cycle_scalars(cycle, scalars)


def scalars_of(player: str, sets: list[PositionSet], answers: Answers) -> dict[str, float]:
    """Return the stats of a player's answers to the sets, by tag."""
    stats = judge_all(sets, answers)
    mean = mean_of(stats)
    scalars = {
        f"oracle/keeps_value_{player}": mean.keeps_value,
        f"oracle/best_move_{player}": mean.best_move,
        f"oracle/value_error_{player}": mean.value_error,
    }
    for each, its in zip(sets, stats, strict=True):
        scalars[f"oracle/mistakes_{player}_{each.name.replace(' ', '_')}"] = 1 - its.keeps_value
    return scalars


def report_run(config: Config, run_name: str) -> None:
    """Print the correctness table."""
    game = make_game(config.game.name, **config.game.options)
    print_table(full_table(*load_players(config, run_name, game), game))
