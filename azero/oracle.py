"""`azero oracle game=connect_four out=FILE`: write positions of random play with exact scores of all moves.

The scores come from azero's own search, for Connect Four on 6 x 7 from the solver BitBully (extra `oracle`).
The file is for measuring how well a champion plays. Never train on it, and never choose settings by the file
that judges them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from azero.cli.arguments import (
    GAME_HELP,
    GameSettings,
    read_range,
    refuse_rest,
    run_program,
    split_words,
    take_game,
    take_settings,
)  # fmt: skip
from azero.config.schema import UserError, setting
from azero.truth.positions import Origin, read_positions, refuse_place, write_positions
from azero.truth.sampling import draw_set, key_of, kinds_of
from azero.truth.solvers import make_oracle

EXAMPLES = """
out=positions.gz game=connect_four
out=hex5.gz game=hex5 plies=5-18 positions=200 seed=701
out=final.gz game=connect_four seed=2 without=positions.gz
"""


@dataclass(frozen=True)
class OracleSettings(GameSettings):
    """Settings of the program."""

    game: str = setting("connect_four", GAME_HELP)
    out: str = setting("", "File to write, text compressed by gzip. It must not exist.")
    positions: int = setting(
        1000, "Positions of each set: six sets in Connect Four on 6 x 7, else one.", between=(1, math.inf)
    )
    plies: str = setting("", "Plies of the positions of one set instead, such as 20-31.")
    without: str = setting("", "Another such file. Its positions and their mirror images are not drawn.")
    seconds: float = setting(60.0, "Time limit for each move of azero's own search.", between=(1e-9, 1e9))


def make_file(words: Sequence[str]) -> int:
    """Draw the sets, write the file and print what is in it; return the exit status."""
    texts = split_words(words)
    asked = take_settings(texts, OracleSettings)
    game = take_game(texts, asked)
    refuse_rest(texts, OracleSettings)
    if not asked.out:
        raise UserError("out= is missing; name a file, such as out=positions.gz.")
    last = game.max_plies - 1
    plies = read_range(asked.plies, "plies", 0, last, f"a range within 0-{last}, such as 4-8")
    out, kinds = Path(asked.out), kinds_of(game, plies)
    others = read_positions(Path(asked.without), game)[1] if asked.without else []
    taken = {key_of(game, moves) for each in others for moves in each.moves}
    oracle = make_oracle(game, asked.seconds)
    refuse_place(out)
    sets = []
    for number, kind in enumerate(kinds):
        begin = time.perf_counter()
        source = np.random.SeedSequence([asked.seed, number])
        sets.append(draw_set(game, oracle, kind, asked.positions, source, taken))
        seconds = time.perf_counter() - begin
        print(f"{kind.name}: {asked.positions:,} positions in {seconds:.0f} s", flush=True)
    origin = Origin(game.name, game.options, asked.seed, oracle.name)
    sha256 = write_positions(out, game, origin, sets)
    print(f"{out}: {out.stat().st_size:,} bytes, scores by {oracle.name}")
    print(f"positions={asked.positions * len(kinds)}\nsha256={sha256}")
    return 0


main = partial(run_program, "oracle", make_file, OracleSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
