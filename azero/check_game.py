"""`azero check_game othello6 games=200`: check that a game keeps the laws of `azero/games/game.py`.

Random games are played with the rules as plain Python, which stops at a wrong index or a wrong type, then
once more with the compiled rules. A finding names the law, says what happened and shows the board. Exit
status 1 with findings, 0 without.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from azero.cli.arguments import (
    GAME_HELP,
    GameSettings,
    load_game,
    parse_value,
    run_program,
    split_words,
    take_group,
    take_settings,
)
from azero.config.schema import UserError, setting
from azero.games.kit.options import PREFIX
from azero.games.laws.check import GameCheck, check_game
from azero.report.console import Console, format_shares

EXAMPLES = """
othello6
squava.py games=1000
openspiel:breakthrough rows=5 columns=5
"""
OF_ONE_LAW = 3  # findings that are shown; they often have one cause


@dataclass(frozen=True)
class CheckSettings(GameSettings):
    """Settings of the program."""

    game: str = setting("", GAME_HELP + " The word game= may be left out.")
    games: int = setting(200, "Random games to play.", between=(1, math.inf))


def summary(check: GameCheck) -> str:
    """Return how the random games ended.

    Who wins with the last move, or loses by it, is something to read: rules with the opposite sign are those
    of another game, so no check can find them.
    """
    if not check.terminals:
        return "No game came to an end." if check.steps else "No game was played, because of what was found."
    if not check.steps:
        return "The game is over before the first move."
    firsts = np.array([look.outcome if look.to_play == 0 else -look.outcome for look in check.terminals])
    first, draws, second = shares_of(firsts)
    last = np.array(
        [
            look.outcome if look.to_play == before.to_play else -look.outcome
            for before, look in check.steps
            if look.terminal
        ]
    )
    lengths = [length for length in check.lengths if length]
    return (
        f"{len(firsts):,} random games, {len(check.by_content):,} positions.\n"
        f"First player wins {first}, draws {draws}, second player wins {second}.\n"
        f"The last move wins {shares_of(last)[0]} and loses {shares_of(last)[2]}.\n"
        f"{min(lengths, default=0)} to {max(lengths, default=0)} plies (max_plies {check.game.max_plies:,})."
    )


def shares_of(outcomes: np.ndarray) -> list[str]:
    """Return the shares of wins, draws and losses as text."""
    return format_shares([float((np.sign(outcomes) == sign).mean()) for sign in (1, 0, -1)])


def report(check: GameCheck) -> str:
    """Return the summary and the findings as text."""
    lines = [f"{check.game.name}: {summary(check)}"]
    for warning in sorted(check.warnings):
        lines += ["", f"Warning: {warning}."]
    seen = Counter[str]()
    for number, finding in enumerate(check.findings.first.values(), 1):
        seen[finding.law] += 1
        if seen[finding.law] > OF_ONE_LAW:
            continue
        times = check.findings.times[finding.text]
        repeated = f" ({times} times)" if times > 1 else ""
        lines += ["", f"{number}. {finding.text}{repeated}", f"   {finding.law}"]
        lines += [f"     {line}".rstrip() for line in finding.board.splitlines()]
    for law, count in seen.items():
        if count > OF_ONE_LAW:
            lines += ["", f"{count - OF_ONE_LAW} more findings of one law are not shown.", f"   {law}"]
    found = len(check.findings.first)
    lines += ["", "Nothing wrong found." if not found else f"{found} finding{'s' if found > 1 else ''}."]
    return "\n".join(lines)


def check_asked(words: Sequence[str]) -> int:
    """Check the game that the command line names and print what was found; return the exit status.

    Raises:
        UserError: no such game, or a value that is not allowed.
    """
    texts = split_words(words)
    asked = take_settings(texts, CheckSettings)
    if not asked.game:
        raise UserError("the game is missing; name one, such as azero check_game othello.")
    options, short = take_group(texts, "game.options"), {key: parse_value(texts[key]) for key in texts}
    game = load_game(asked.game, options | short, "" if short else PREFIX)
    check = check_game(game, asked.games, asked.seed)
    Console().message(report(check))
    return 1 if check.findings else 0


main = partial(run_program, "check_game", check_asked, CheckSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
