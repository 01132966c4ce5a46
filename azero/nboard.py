"""`azero nboard run=othello8`: an engine for NBoard, the window for Othello.

It speaks NBoard's protocol on the standard input and output, see `docs/protocols.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import setting
from azero.games.game import Game
from azero.protocols.engine import EngineSettings, run_engine

EXAMPLES = """
run=othello8 player.seconds=2
player=uct player.num_simulations=5000
"""


@dataclass(frozen=True)
class NBoardSettings(EngineSettings):
    """Settings of the program."""

    game: str = setting("", "The game. Default: that of the run; Othello on 8 x 8 without one.")


def serve(game: Game, spec: PlayerSpec, asked: NBoardSettings) -> None:
    """Serve the window at the standard input."""
    from azero.protocols.lines import Lines, line_writer, take_over_output
    from azero.protocols.nboard import NBoard, check_othello
    from azero.protocols.thinking import Thinker

    check_othello(game)
    thinker = Thinker(spec, game, asked.config, asked.seed)
    write = line_writer(take_over_output())
    thinker.warm_up()
    NBoard(thinker, Lines(sys.stdin.buffer), write).serve()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    return run_engine("nboard", serve, NBoardSettings, EXAMPLES, arguments, default="othello")


if __name__ == "__main__":
    sys.exit(main())
