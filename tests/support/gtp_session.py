"""A client of GTP in the same process: it sends lines to an engine and returns the answers."""

from __future__ import annotations

import io
from collections.abc import Sequence

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config
from azero.games import make_game
from azero.protocols.gtp import Session
from azero.protocols.gtp_engine import Engine
from azero.protocols.lines import Lines, line_writer

RANDOM = PlayerSpec("player", "random", {})
UCT = PlayerSpec("player", "uct", {"num_simulations": 200})


def engine(name: str, spec: PlayerSpec = RANDOM, config: Config | None = None, **options: object) -> Engine:
    """Return an engine with a player of a game."""
    return Engine(make_game(name, **options), spec, config or Config())


def raw(engine: Engine, data: bytes) -> bytes:
    """Send bytes, then the end of the input; return all bytes that come back."""
    client, lines = io.BytesIO(), Lines(io.BytesIO(data))
    Session(engine, lines, line_writer(client)).serve()
    lines.finish()
    return client.getvalue()


def ask(engine: Engine, *lines: str) -> list[str]:
    """Send lines; return the answers without the empty lines behind them."""
    answers = raw(engine, "".join(f"{line}\n" for line in lines).encode()).decode()
    assert not answers or answers.endswith("\n\n")
    return answers.split("\n\n")[:-1]


def moves_of(engine: Engine) -> list[str]:
    """Return the moves of the game on the board as azero names them."""
    return engine.at.moves


def play_all(engine: Engine, moves: Sequence[str]) -> None:
    """Play moves of both sides in turn; all must be accepted."""
    for number, move in enumerate(moves):
        assert ask(engine, f"play {'bw'[number % 2]} {move}") == ["="], move
