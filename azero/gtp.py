"""`azero gtp run=go9`: any player as an engine for programs that speak GTP, such as GoGui and Sabaki."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from azero.cli.player_spec import PlayerSpec
from azero.cli.programs import refuse
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.process.ending import end_now
from azero.protocols.engine import EngineSettings, run_engine
from azero.protocols.gtp import Session
from azero.protocols.gtp_engine import Engine
from azero.protocols.lines import Lines, Write
from azero.protocols.thinking import Thinker

EXAMPLES = """
run=go9
run=hex5 player.seconds=2 ponder=true
game=go game.options.size=9 player=uct player.num_simulations=10000
"""


@dataclass(frozen=True)
class GtpSettings(EngineSettings):
    """Settings of the program."""

    ponder: bool = setting(False, "Think in the opponent's time. Only a champion can.")


def serve(game: Game, spec: PlayerSpec, asked: GtpSettings, lines: Lines, write: Write) -> None:
    """Be the engine of the client at the standard input."""
    engine = Engine(game, spec, asked.config, asked.seed, asked.ponder)
    engine.making.add_done_callback(end_if_refused)
    Session(engine, lines, write).serve()


def end_if_refused(making: Future[Thinker]) -> None:
    """End the process if the player cannot play."""
    failure = making.exception()
    if isinstance(failure, UserError):
        end_now(refuse(failure))


main = partial(run_engine, "gtp", serve, GtpSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
