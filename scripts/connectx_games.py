"""Play games of Kaggle's ConnectX between a file of `azero export` and an agent of Kaggle's.

    build/kaggle/bin/python scripts/connectx_games.py submission.py              # 100 games against negamax
    build/kaggle/bin/python scripts/connectx_games.py submission.py --games 10 --act-timeout 0.5

It needs the package kaggle-environments, which .ci/programs installs into build/kaggle, and nothing of azero.
The file plays first and second in turn. A move's time is the one that Kaggle measures; the first move of a
game loads the file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple


class KaggleGame(NamedTuple):
    """A game: what the file got (1 a win, None an error), its longest move in seconds, and the plies."""

    reward: int | None
    longest: float
    plies: int


def play(file: str, opponent: str, act_timeout: float, number: int) -> KaggleGame:
    """Play one game; the file moves first in games of even number."""
    with contextlib.redirect_stdout(io.StringIO()):  # it names the other games that are not installed
        from kaggle_environments import make
    game, seat = make("connectx", configuration={"actTimeout": act_timeout}), number % 2
    game.run([file, opponent] if seat == 0 else [opponent, file])
    times = [step[seat]["duration"] for step in game.logs if step and "duration" in step[seat]]
    return KaggleGame(game.steps[-1][seat]["reward"], max(times), len(game.steps) - 1)


def main() -> None:
    """Read the arguments, play, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--opponent", default="negamax", help="an agent of Kaggle's, or another file")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--act-timeout", type=float, default=2.0, help="seconds for a move")
    parser.add_argument("--jobs", type=int, default=1, help="games at once, each on a core")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        games = list(
            pool.map(partial(play, asked.file, asked.opponent, asked.act_timeout), range(asked.games))
        )
    won, drawn, lost = (sum(game.reward == reward for game in games) for reward in (1, 0, -1))
    print(f"{won} wins, {drawn} draws, {lost} losses, {len(games) - won - drawn - lost} errors")
    print(f"longest move {max(game.longest for game in games):.2f} s of {asked.act_timeout} s")


if __name__ == "__main__":
    main()
