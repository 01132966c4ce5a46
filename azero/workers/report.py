"""The report of self-play games: scalars, histograms, one game as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.games.game import Game
from azero.match.text import game_text
from azero.replay.examples import GameRecord, outcome_for_mover
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.search.counters import StageStats


def report_games(
    report: Reporter,
    game: Game,
    cycle: int,
    records: Sequence[GameRecord],
    stats: StageStats,
    seconds: float,
    threshold: float = -1.0,
) -> None:
    """Report scalars, histograms and one game as text. threshold: `selfplay.resign_threshold`."""
    outcomes = np.array([record.first_outcome for record in records])
    searched = np.concatenate([record.searched for record in records])
    targets = np.concatenate([record.policy_target for record in records])[searched]
    entropy = -(targets * np.log(np.maximum(targets, 1e-12))).sum(axis=1)
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
            **(resignations(game, records, threshold) if threshold > -1 else {}),
            **stats.shares("selfplay"),
        },
    )
    report.histogram("selfplay/policy_target_entropy", entropy, cycle)
    root_value = np.concatenate([record.root_value for record in records])[searched]
    outcomes_for_movers = np.concatenate([outcome_for_mover(record) for record in records])
    report.histogram("selfplay/root_value", root_value, cycle)
    report.histogram("selfplay/value_error", root_value - outcomes_for_movers[searched], cycle)
    shown = records[0]
    text = game_text(game, shown.actions.tolist(), shown.first_outcome, shown.opening_plies)
    report.text("selfplay/game", text, cycle)


def resignations(game: Game, records: Sequence[GameRecord], threshold: float) -> dict[str, float]:
    """Return the share of resigned games, and how often resigning would have been wrong, by tag.

    Games that were played on show that: the first player whose search was worth less than the threshold,
    before the last move, would have resigned, and wrongly if it did not lose. Silver et al. 2017 ("AlphaGo
    Zero") want less than 5 % of these false positives.
    """
    finished = [record for record in records if is_over(game, record) or is_cut(game, record)]
    low = [(record, record.root_value[:-1] < threshold) for record in finished]
    wrong = [float(outcome_for_mover(record)[below.argmax()] > -1.0) for record, below in low if below.any()]
    shares = {
        "selfplay/resigned": (len(records) - len(finished)) / len(records),
        "selfplay/resign_measured": float(len(wrong)),
    }
    return shares | ({"selfplay/resign_false_positives": float(np.mean(wrong))} if wrong else {})


def is_over(game: Game, record: GameRecord) -> bool:
    """Return whether a game was played to its end."""
    return game.is_terminal(game.step(record.states[-1], int(record.actions[-1])))


def is_cut(game: Game, record: GameRecord) -> bool:
    """Return whether a game was ended as a draw at `max_plies`, where its rules go on."""
    return len(record.actions) == game.max_plies and record.first_outcome == 0.0 and not is_over(game, record)
