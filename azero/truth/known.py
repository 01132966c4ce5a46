"""Know what is exact about a game, and so measured of the champion after each cycle.

Tic-tac-toe has a table, small Hex its first moves, and other games scored positions: those of `oracle.file`,
else shipped ones.

Connect Four has two collections of six sets of 1,000 positions. `development` is for each cycle's report and
for choosing settings, `final` only for the final table. Some other boards have one set for development. All
were drawn before any network was trained, no two of them mirror images of each other:

    azero oracle game=connect_four seed=601 out=connect_four-development.gz
    azero oracle game=connect_four seed=602 without=connect_four-development.gz out=connect_four-final.gz
    azero oracle game=tictactoe plies=0-8 positions=300 seed=701 out=tictactoe-development.gz
    azero oracle game=othello6 plies=18-31 positions=200 seed=701 out=othello6-development.gz
    azero oracle game=othello plies=46-59 positions=200 seed=701 out=othello-development.gz
    azero oracle game=hex5 plies=5-18 positions=200 seed=701 out=hex5-development.gz
    azero oracle game=hex6 plies=16-30 positions=200 seed=701 out=hex6-development.gz
    azero oracle game=hex7 plies=26-40 positions=200 seed=701 out=hex7-development.gz
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azero.config.schema import Config
from azero.truth.hex_openings import has_openings

if TYPE_CHECKING:
    from azero.truth.positions import PositionSet

FOLDER = Path(__file__).parent / "positions"
DEVELOPMENT, FINAL = "development", "final"
USUAL: dict[str, dict[str, Any]] = {  # the default options of a game
    "connect_four": {"rows": 6, "columns": 7, "connect": 4},
    "hex": {"size": 7, "swap": False},
    "othello": {"size": 8},
    "tictactoe": {},
}
BOARDS: dict[str, tuple[str, dict[str, Any]]] = {  # by file name: a game and its other options
    "connect_four": ("connect_four", {}),
    "hex5": ("hex", {"size": 5}),
    "hex6": ("hex", {"size": 6}),
    "hex7": ("hex", {}),
    "othello": ("othello", {}),
    "othello6": ("othello", {"size": 6}),
    "tictactoe": ("tictactoe", {}),
}


def is_connect_four(game_name: str, options: dict[str, Any]) -> bool:
    """Check for Connect Four on its usual board; options that are not named have their defaults."""
    return board_of(game_name, options) == "connect_four"


def board_of(game_name: str, options: dict[str, Any]) -> str | None:
    """Return the name of a board in BOARDS, or None."""
    usual = USUAL.get(game_name, {})
    for name, (game, its) in BOARDS.items():
        if game == game_name and usual | its == usual | options:
            return name
    return None


def path_of(board: str, collection: str = DEVELOPMENT) -> Path:
    """Return the file of a collection."""
    return FOLDER / f"{board}-{collection}.gz"


def shipped_file(game_name: str, options: dict[str, Any], collection: str = DEVELOPMENT) -> Path | None:
    """Return the shipped positions of a game with these options, or None."""
    board = board_of(game_name, options)
    return path_of(board, collection) if board and path_of(board, collection).exists() else None


def file_of(config: Config) -> Path | None:
    """Return the positions that a run measures its champions by, or None."""
    if not config.oracle.positions:
        return None
    if config.oracle.file:
        return Path(config.oracle.file)
    return shipped_file(config.game.name, config.game.options)


MEASURING = "correctness"  # what follows a cycle: measuring the champion
LAST_STAT = {  # by what is known, in the order of measuring: the stat that is reported last
    "positions": "oracle/keeps_value_policy",
    "openings": "oracle/openings_right",
    "table": "correctness/fixed_search",
}


def has_table(game_name: str) -> bool:
    """Check whether the right replies of a game are tabled: those of tic-tac-toe are."""
    return game_name == "tictactoe"


def known_truths(config: Config) -> list[str]:
    """Return what a run measures its champions by: keys of LAST_STAT, in its order."""
    name, options = config.game.name, config.game.options
    known = {
        "positions": file_of(config) is not None,
        "openings": has_openings(name, options),
        "table": has_table(name),
    }
    return [truth for truth in LAST_STAT if known[truth]]


def last_metric(config: Config) -> str:
    """Return the tag of the stat that is reported last of a champion; "" if nothing is measured."""
    if config.metrics:
        return f"time/{MEASURING}"
    known = known_truths(config)
    return LAST_STAT[known[-1]] if known else ""


def positions_of(config: Config) -> list[PositionSet]:
    """Return the sets of positions that a run measures its champions by, read once in a process.

    Raises:
        UserError: see `read_positions`.
    """
    file = file_of(config)
    if file is None:
        return []
    return _positions(file, config.oracle.positions, config.game.name, tuple(config.game.options.items()))


@lru_cache(maxsize=1)
def _positions(file: Path, most: int, name: str, options: tuple[tuple[str, Any], ...]) -> list[PositionSet]:
    from azero.games import make_game
    from azero.truth.positions import read_positions

    return read_positions(file, make_game(name, **dict(options)), most)[1]
