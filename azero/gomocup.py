"""`azero gomocup run=gomoku`: a brain for Gomocup, Piskvork and other managers of Gomoku.

It speaks their protocol on the standard input and output, see `docs/protocols.md`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

from azero.cli.player_spec import PlayerSpec, needs_network
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.protocols.engine import EngineSettings, run_engine
from azero.protocols.lines import Lines, Write

EXAMPLES = """
run=gomoku
player=uct player.num_simulations=5000
"""


@dataclass(frozen=True)
class GomocupSettings(EngineSettings):
    """Settings of the program."""

    game: str = setting("", "The game. Default: that of the run; Gomoku on 15 x 15 without one.")


def serve(game: Game, spec: PlayerSpec, asked: GomocupSettings, lines: Lines, write: Write) -> None:
    """Play for the manager at the standard input."""
    from azero.games import make_game
    from azero.protocols.gomocup import Gomocup, check_gomoku
    from azero.protocols.thinking import Thinker

    check_gomoku(game)
    own_size = game.options["columns"], game.options["rows"]
    thinkers = {own_size: Thinker(spec, game, asked.config, asked.seed)}

    def make_thinker(columns: int, rows: int) -> Thinker:
        """Return the player for a size of board: the champion knows one, other players know all."""
        size = columns, rows
        if size not in thinkers:
            if needs_network(spec):
                known = " x ".join(map(str, own_size))
                raise UserError(f"this champion plays on {known}, not on {columns} x {rows}.")
            other = make_game("gomoku", rows=rows, columns=columns)
            thinkers[size] = Thinker(spec, other, asked.config, asked.seed)
        return thinkers[size]

    Gomocup(make_thinker, lines, write).serve()


main = partial(run_engine, "gomocup", serve, GomocupSettings, EXAMPLES, default="gomoku")

if __name__ == "__main__":
    sys.exit(main())
