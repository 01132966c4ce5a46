"""Measure that each level of a champion beats the one below (azero/players/levels.py).

    python scripts/bench_levels.py c4 connect_four games=100 checkpoints=/tmp/c4/checkpoints

Each pair of neighbours plays from its own openings, two games each with colours swapped. Draws count half.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

from azero.arena import Arena, hold_match, threads_for
from azero.cli.arguments import load_game
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config
from azero.match.rating import score
from azero.players.levels import LEVELS, options_of_level
from azero.process.machine import cores

GAMES = 100
OPENING_PLIES = 2  # so that games of players that hardly vary differ
TARGET = 0.65


def measure(run: str, game: str, games: int, config: Config) -> bool:
    """Print the score of each level against the one below; return whether all reach the target."""
    specs = tuple(PlayerSpec(name, "pv_mcts", {**options_of_level(name), "run": run}) for name in LEVELS)
    arena = Arena(load_game(game, {}), specs, games, 1, OPENING_PLIES, (), cores(), config)
    reached = True
    for worse, better in pairwise(range(len(specs))):
        with threads_for(arena):
            result = hold_match(arena, better, worse, lambda places, ended: None)
        share = score(result.wins, result.draws, result.losses)
        reached &= share >= TARGET
        names = f"{specs[better].label} against {specs[worse].label}"
        print(
            f"{names:<28} {result.wins:3} wins {result.draws:3} draws {result.losses:3} losses  {share:.0%}"
            f"  {result.distinct} distinct games",
            flush=True,
        )
    return reached


def main() -> int:
    """Read the command line and measure; return the exit status."""
    run, game, *rest = sys.argv[1:]
    given: dict[str, Any] = dict(word.split("=", 1) for word in rest)
    games = int(given.pop("games", GAMES))
    return 0 if measure(run, game, games, replace(Config(), **given)) else 1


if __name__ == "__main__":
    sys.exit(main())
