"""The report of self-play games: scalars, histograms, one game as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.games.game import Game
from azero.match.text import game_text
from azero.replay.examples import GameRecord, outcome_for_mover, plies_of
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.search.counters import StageStats


def report_games(
    report: Reporter,
    game: Game,
    cycle: int,
    records: Sequence[GameRecord],
    stats: StageStats,
    seconds: float,
) -> None:
    """Report scalars, histograms and one game as text."""
    outcomes = np.array([record.first_outcome for record in records])
    plies = plies_of(records)
    entropy = plies.target_entropy[plies.searched]
    report.cycle_scalars(
        cycle,
        {
            "selfplay/games": float(len(records)),
            "selfplay/evaluations": float(stats.evaluations),
            GAME_SECONDS: stats.game_seconds,
            "selfplay/games_per_second": stats.games / seconds,
            "selfplay/simulations_per_second": stats.simulations / seconds,
            "selfplay/cache_hits": stats.cache_found / max(stats.cache_asked, 1),
            "selfplay/game_length": float(np.mean([len(record.actions) for record in records])),
            "selfplay/first_wins": float((outcomes > 0).mean()),
            "selfplay/draws": float((outcomes == 0).mean()),
            "selfplay/second_wins": float((outcomes < 0).mean()),
            "selfplay/distinct_games": float(len({record.actions.tobytes() for record in records})),
            "selfplay/target_entropy": float(entropy.sum() / max(len(entropy), 1)),
            **stats.shares("selfplay"),
        },
    )
    report.histogram("selfplay/policy_target_entropy", entropy, cycle)
    root_value = plies.root_value[plies.searched]
    report.histogram("selfplay/root_value", root_value, cycle)
    report.histogram("selfplay/value_error", root_value - outcome_for_mover(plies)[plies.searched], cycle)
    shown = records[0]
    text = game_text(game, shown.actions.tolist(), shown.first_outcome, shown.opening_plies)
    report.text("selfplay/game", text, cycle)


def is_cut(game: Game, record: GameRecord) -> bool:
    """Return whether a game was ended as a draw at `max_plies`, where its rules go on."""
    if len(record.actions) < game.max_plies or record.first_outcome:
        return False
    return not game.is_terminal(game.step(record.states[-1], int(record.actions[-1])))
