"""`azero uci run=gardner`: an engine for chess programs (UCI), such as cutechess, Arena, Lichess and xboard.

It speaks UCI on the standard input and output, see `docs/protocols.md`.
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
game=gardner player=uct player.num_simulations=5000
game=chess player=alpha_beta player.depth=4
"""


@dataclass(frozen=True)
class UciSettings(EngineSettings):
    """Settings of the program."""

    game: str = setting("", "A game whose moves go from cell to cell. Default: that of the run; else chess.")


def serve(game: Game, spec: PlayerSpec, asked: UciSettings, lines: Lines, write: Write) -> None:
    """Serve the client at the standard input."""
    from azero.protocols.uci import Uci

    Uci(game, spec, asked.config, lines, write, asked.seed).serve()


main = partial(run_engine, "uci", serve, UciSettings, EXAMPLES, default="chess")

if __name__ == "__main__":
    sys.exit(main())
