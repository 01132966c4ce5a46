"""`azero nboard run=othello8`: an engine for NBoard, the window for Othello.

It speaks NBoard's protocol on the standard input and output, see `docs/protocols.md`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import setting
from azero.games.game import Game
from azero.protocols.engine import EngineSettings, run_engine
from azero.protocols.lines import Lines, Write

EXAMPLES = """
run=othello8 player.seconds=2
player=uct player.num_simulations=5000
"""


@dataclass(frozen=True)
class NBoardSettings(EngineSettings):
    """Settings of the program."""

    game: str = setting("", "The game. Default: that of the run; Othello on 8 x 8 without one.")


def serve(game: Game, spec: PlayerSpec, asked: NBoardSettings, lines: Lines, write: Write) -> None:
    """Serve the window at the standard input."""
    from azero.protocols.nboard import NBoard, check_othello
    from azero.protocols.thinking import Thinker

    check_othello(game)
    thinker = Thinker(spec, game, asked.config, asked.seed)
    thinker.warm_up()
    NBoard(thinker, lines, write).serve()


main = partial(run_engine, "nboard", serve, NBoardSettings, EXAMPLES, default="othello")

if __name__ == "__main__":
    sys.exit(main())
