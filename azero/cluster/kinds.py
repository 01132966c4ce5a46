"""The kinds of work that a chunk can hold, and how finished games of each are sent to the head."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from azero.match.lockstep import MatchGame
from azero.replay.examples import plies_of
from azero.replay.shards import dump_games, load_games
from azero.run.disk import DamagedFile


class Kind(NamedTuple):
    """A kind of work.

    Attributes:
        dump: finished games and the name of the game to bytes; equal games give equal bytes.
        load: bytes and their name in messages to games. Raises DamagedFile. Reading runs no code.
    """

    dump: Callable[[Sequence[Any], str], bytes]
    load: Callable[[bytes, str], list[Any]]


def dump_match(games: Sequence[MatchGame], game_name: str) -> bytes:
    """Return games of a match as JSON."""
    return json.dumps([game_name, *games]).encode()


def load_match(data: bytes, name: str) -> list[MatchGame]:
    """Return the games of a match; `name` names the data in messages.

    Raises:
        DamagedFile: `dump_match` did not write it.
    """
    try:
        games = [MatchGame(*game) for game in json.loads(data)[1:]]
        for game in games:
            whole = (game.number, game.first, game.opening_plies, *game.actions)
            if not all(type(each) is int for each in whole) or not -1.0 <= game.outcome <= 1.0:
                raise ValueError("a game has a field that cannot be")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise DamagedFile(name, f"it is not a list of games ({reason})") from error
    return games


SELFPLAY = Kind(
    lambda games, game_name: dump_games(plies_of(games), game_name),
    lambda data, name: load_games(data, name).games(),
)
MATCH = Kind(dump_match, load_match)
