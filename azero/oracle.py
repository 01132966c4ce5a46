"""`python -m azero.oracle game=connect_four seed=1 out=FILE`: positions of random play with the exact score of every move.

The scores come from azero's own search, for Connect Four on 6 x 7 from the solver BitBully (extra `oracle`). The file is for
measuring how well a champion plays; training on it, or choosing settings by it that it then judges, would be a fault.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from azero.config import UserError
from azero.games.game import Game
from azero.truth.drawing import draw_set, key_of, kinds_of
from azero.truth.oracles import make_oracle
from azero.truth.positions import Origin, digest, read_positions, refuse_place, text_of, write_positions
from azero.words import parse_words, refuse_rest, run_program, take_game, whole_number

HELP = """
settings:
  out=FILE             where the positions go, gzip'd text; a new file
  game=connect_four    a shipped game, a file of conf/game, the path of a Python file, or such as openspiel:breakthrough
  game.options.*       options of the game
  positions=1000       of each set: for Connect Four on 6 x 7 the six sets by stage and difficulty, else one
  plies=A-B            one set of positions after A to B plies instead, such as 20-31
  without=FILE         another such file, none of whose positions is to be drawn, nor a mirror image of one
  seconds=60           the most that azero's own search may take for a move
  seed=1
"""


def make_file(words: Sequence[str]) -> int:
    """Draw the sets, write the file, tell what is in it."""
    settings = parse_words(words, "out=positions.gz")
    game = take_game(settings, "connect_four")
    out, kinds = take_path(settings, "out"), kinds_of(game, take_plies(settings, game))
    taken = keys_in(take_path(settings, "without"), game) if "without" in settings else set[bytes]()
    count, seed = whole_number(settings, "positions", 1000, 1), whole_number(settings, "seed", 1, 0)
    oracle = make_oracle(game, take_seconds(settings))
    refuse_rest(settings)
    refuse_place(out)
    sets = []
    for number, kind in enumerate(kinds):
        begin = time.perf_counter()
        sets.append(draw_set(game, oracle, kind, count, np.random.SeedSequence([seed, number]), taken))
        print(f"{kind.name}: {count:,} positions in {time.perf_counter() - begin:.0f} s", flush=True)
    text = text_of(game, Origin(game.name, game.options, seed, oracle.name), sets)
    write_positions(out, text)
    print(f"{out}: {out.stat().st_size:,} bytes, scores by {oracle.name}")
    print(f"positions={count * len(kinds)}\nsha256={digest(text)}")
    return 0


def take_path(settings: dict[str, Any], key: str) -> Path:
    """Take a file's path out of the settings.

    Raises:
        UserError: none is given.
    """
    if settings.get(key) in (None, ""):
        raise UserError(f"{key}= is missing; name a file, such as {key}=positions.gz.")
    return Path(str(settings.pop(key)))


def take_plies(settings: dict[str, Any], game: Game) -> range | None:
    """Take `plies` out of the settings, None if they are not there.

    Raises:
        UserError: they are no range within a game.
    """
    if "plies" not in settings:
        return None
    text = str(settings.pop("plies"))
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < game.max_plies):
        raise UserError(f"plies={text} must be a range within 0-{game.max_plies - 1}, such as 4-8.")
    return range(int(first), int(last) + 1)


def take_seconds(settings: dict[str, Any]) -> float:
    """Take `seconds` out of the settings.

    Raises:
        UserError: they are no positive number.
    """
    seconds = settings.pop("seconds", 60)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < math.inf:
        raise UserError(f"seconds={seconds} must be a positive number.")
    return float(seconds)


def keys_in(path: Path, game: Game) -> set[bytes]:
    """The keys of all positions of a file."""
    return {key_of(game, moves) for each in read_positions(path, game)[1] for moves in each.moves}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    does = "Draw positions from random play and write them with the exact score of every move."
    return run_program(make_file, "oracle", does, HELP, arguments)


if __name__ == "__main__":
    sys.exit(main())
