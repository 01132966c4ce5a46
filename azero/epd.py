"""`azero epd file=suite.epd player=alpha_beta`: how many positions of a suite does a player solve?

A position is solved if the player's move is one of `bm` and none of `am`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from azero.cli.arguments import refuse_rest, run_program, split_words, take_settings
from azero.config.schema import UserError, explaining_failure, setting
from azero.protocols.engine import LABELS, EngineSettings, take_engine

if TYPE_CHECKING:
    from azero.games.game import Game
    from azero.records.epd import Problem

EXAMPLES = """
file=suite.epd player=alpha_beta player.depth=3
file=suite.epd run=shipped/chess player.num_simulations=800
"""


@dataclass(frozen=True)
class EpdSettings(EngineSettings):
    """Settings of the program."""

    file: str = setting("", "The suite: a file of EPD with bm, am and id.")
    game: str = setting("", "A game. Default: that of the run; else chess.")


def names(game: Game, problem: Problem, actions: Sequence[int], sign: str = "") -> str:
    """Return moves as people write them."""
    return " ".join(sign + game.action_name(problem.state, action) for action in actions)


def solve_asked(words: Sequence[str]) -> int:
    """Solve the suite that the command line names; return the exit status."""
    from azero.games.playing import GameInProgress
    from azero.kernels.compiling import CompileNotice
    from azero.protocols.thinking import Thinker
    from azero.records.epd import read_epd
    from azero.report.console import Console, table_text

    texts = split_words(words)
    asked = take_settings(texts, EpdSettings)
    if not asked.file:
        raise UserError("Name a suite with file=, such as file=suite.epd.")
    game, spec = take_engine(texts, asked, "chess")
    refuse_rest(texts, EpdSettings, ["player", "player.num_simulations"])
    with explaining_failure(f"{asked.file} cannot be read"):
        data = Path(asked.file).read_bytes()
    try:
        problems = read_epd(data, game)
    except UserError as mistake:
        raise UserError(f"{asked.file}: {mistake}") from mistake
    console, rows = Console(), [["position", "played", "wanted"]]
    with CompileNotice(console.message):
        thinker = Thinker(spec, game, asked.config, asked.seed)
        thinker.warm_up()
        began = time.perf_counter()
        with console.stage("epd", 0, 0, len(problems), "positions") as progress:
            for done, problem in enumerate(problems, 1):
                thinker.begin_game(thinker.player)
                best = thinker.choose(GameInProgress(game, state=problem.state)).best
                if not problem.is_solved_by(best):
                    wanted = [
                        names(game, problem, problem.best),
                        names(game, problem, problem.avoided, "not "),
                    ]
                    played = names(game, problem, [best])
                    rows.append([problem.name, played, " ".join(filter(None, wanted))])
                progress.update(done)
        seconds = time.perf_counter() - began
    solved = len(problems) - len(rows) + 1
    if rows[1:]:
        print(table_text(rows))
    print(f"{spec}: solved {solved} of {len(problems)}, {seconds / len(problems):.2f} s a position")
    return 0


main = partial(run_program, "epd", solve_asked, EpdSettings, EXAMPLES, labels=LABELS)

if __name__ == "__main__":
    sys.exit(main())
