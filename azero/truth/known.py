"""What is known of a game, by which each cycle's champion is measured."""

from __future__ import annotations

from azero.config import Config
from azero.truth.hex_openings import has_openings
from azero.truth.shipped import file_of

TOLD = {  # by what a champion is measured by, in the order in which it is: the figure that is told last
    "positions": "oracle/keeps_value_policy",
    "openings": "oracle/openings_right",
    "table": "correctness/fixed_search",
}


def has_table(game_name: str) -> bool:
    """Tell whether there is a table of right replies for a game of that name; there is one for tic-tac-toe."""
    return game_name == "tictactoe"


def known_truths(config: Config) -> list[str]:
    """What a run's champions are measured by, keys of TOLD in its order; nothing where no truth is known, or asked for."""
    name, options = config.game.name, config.game.options
    known = {"positions": file_of(config) is not None, "openings": has_openings(name, options), "table": has_table(name)}
    return [truth for truth in TOLD if known[truth]]


def told_last(config: Config) -> str:
    """The figure that is told when a cycle's champion has been measured; "" where nothing is."""
    known = known_truths(config)
    return TOLD[known[-1]] if known else ""
