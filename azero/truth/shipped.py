"""The files of positions that come with azero: two collections of six sets of Connect Four, 1,000 positions each, without a twin.

`development` is for each cycle's report and for choosing settings; `final` is looked at only for the final table. Both were drawn
before any network was trained:

    python -m azero.oracle game=connect_four seed=601 out=connect_four-development.gz
    python -m azero.oracle game=connect_four seed=602 without=connect_four-development.gz out=connect_four-final.gz
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "positions"
USUAL_BOARD = {"rows": 6, "columns": 7, "connect": 4}
DEVELOPMENT, FINAL = "development", "final"


def is_connect_four(game_name: str, options: dict[str, Any]) -> bool:
    """Tell whether it is Connect Four on its usual board; options that are not named are the game's defaults."""
    return game_name == "connect_four" and {**USUAL_BOARD, **options} == USUAL_BOARD


def has_positions(game_name: str, options: dict[str, Any]) -> bool:
    """Tell whether there are files for a game with these options."""
    return is_connect_four(game_name, options)


def path_of(game_name: str, collection: str) -> Path:
    """The file of a collection."""
    return FOLDER / f"{game_name}-{collection}.gz"
