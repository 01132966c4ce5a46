"""Levels of a champion in words, for a person who chooses an opponent.

A level is options of `pv_mcts`: how many simulations a move gets, and how often a move other than the best is
drawn. `scripts/bench_levels.py` measures that each beats the one below; `docs/lab/levels.md` has the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVELS: dict[str, dict[str, Any]] = {
    "beginner": {"num_simulations": 25, "temperature": 3.0},
    "easy": {"num_simulations": 25, "temperature": 1.0},
    "medium": {"num_simulations": 50, "temperature": 0.5},
    "strong": {"num_simulations": 200, "temperature": 0.25},
    "strongest": {"num_simulations": 800},
}
KIND = {"kind": "puct"}  # whose visits a temperature reads at any number of simulations


def options_of_level(name: str) -> dict[str, Any]:
    """Return the options of a level, one of LEVELS."""
    return {**KIND, **LEVELS[name]}


def level_of(options: Mapping[str, Any]) -> str:
    """Return the level whose options a champion has; "" if it has others."""
    plain = {"kind": None, "num_simulations": None, "temperature": 0.0}
    own = {key: value for key, value in options.items() if key not in ("run", "cycle")}
    return next((name for name in LEVELS if plain | options_of_level(name) == plain | own), "")
