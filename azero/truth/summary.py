"""Say in one sentence how strong a champion is, and which commands play against it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import numpy as np

from azero.config.schema import Config, option_words
from azero.games.titles import game_title
from azero.process.typed import azero_command
from azero.report.console import format_share
from azero.truth.hex_openings import has_openings
from azero.truth.judging import random_mistakes
from azero.truth.known import board_of, positions_of


def strength_text(config: Config, stats: Mapping[str, float]) -> str:
    """Return what a cycle measured of its champion, or "" if it measured nothing.

    Exact values and games against UCT come first, then the Elo against fixed opponents, then the match
    against the champion before.
    """
    known = []
    if "oracle/keeps_value_policy" in stats:
        sets = positions_of(config)
        chance = format_share(float(np.mean([random_mistakes(each) for each in sets])))
        count = sum(len(each.scores) for each in sets)
        known.append(f"{mistakes_text(stats, 'oracle')}, in {count:,} positions (random moves {chance})")
    elif "correctness/keeps_value_policy" in stats:
        known.append(mistakes_text(stats, "correctness"))
    if "oracle/openings_right" in stats and has_openings(config.game.name, config.game.options):
        known.append(f"judges {format_share(stats['oracle/openings_right'])} of the first moves correctly")
    if "uct/wins" in stats:  # of a champion that comes with azero; see scripts/train_champions.py
        won, drawn, lost = (round(stats[f"uct/{end}"]) for end in ("wins", "draws", "losses"))
        match = "with 400 simulations against UCT with 10,000, after two random plies"
        known.append(f"{won} wins, {drawn} draws and {lost} losses {match}")
    if known:
        return "; ".join(known)
    if "rating/elo" in stats:
        low, high = stats["rating/elo_low"], stats["rating/elo_high"]
        return (
            f"Elo {stats['rating/elo']:.0f} against fixed opponents (95 % interval {low:.0f} to {high:.0f})"
        )
    if "evaluate/score" in stats:
        score = f"{100 * stats['evaluate/score']:.3g} %"
        if stats.get("evaluate/promoted"):
            return f"the new champion scored {score} against the one before"
        return f"the champion stays; the candidate scored {score} against it"
    return ""


def mistakes_text(stats: Mapping[str, float], group: str) -> str:
    """Return mistakes such as "4 % mistakes with search, 9 % without"; without is the raw policy."""
    without = format_share(1 - stats[f"{group}/keeps_value_policy"])
    searched = stats.get(f"{group}/keeps_value_search")
    if searched is None:
        return f"{without} mistakes without search"
    return f"{format_share(1 - searched)} mistakes with search, {without} without"


def closing_text(config: Config, run: str, stats: Mapping[str, float]) -> str:
    """Return the last lines of a run: how strong its champion is, and the command that plays against it."""
    name, options = config.game.name, config.game.options
    board = board_of(name, options)
    game = [f"game={board or name}", *option_words({} if board else options)]
    places = [] if config.checkpoints == Config().checkpoints else [f"checkpoints={config.checkpoints}"]
    strength = strength_text(config, stats)
    lines = [f"{game_title(name, options)}: {strength or 'this run did not measure its strength'}."]
    if not strength:
        match = [*game, "first=pv_mcts", f"first.run={run}", "second=uct", *places]
        lines.append(f"  Measure it: {azero_command()} arena {shlex.join(match)}")
    lines.append(f"  Play it: {azero_command()} play {shlex.join([f'run={run}', *places])}")
    return "\n".join(lines)
