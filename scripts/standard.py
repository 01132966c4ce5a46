"""The settings that speed is measured with: the recipes of two games at the first measurements.

Recipes change with what is learned about strength; a figure of speed is to be compared with older ones.
"""

from __future__ import annotations

STANDARD = {
    "connect_four": (
        *("search=puct", "search.dirichlet_alpha=1.4"),
        *("search.solver=false", "search.exact_plies=0", "search.forced_nodes=0"),
        *("network.value_output=scalar", "selfplay.games=400", "selfplay.opening_fraction=0.3"),
        *("selfplay.opening_plies=8", "selfplay.temperature_plies=14", "selfplay.temperature_decay_plies=14"),
        "train.ema_decay=0",
    ),
    "tictactoe": ("search=puct", "search.solver=false"),
}


def standard(game: str) -> tuple[str, ...]:
    """The words that follow ``game=GAME`` on a command line; none where the recipe has not changed."""
    return STANDARD.get(game, ())
