"""The programs that are engines: their start, and which player of which game they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from azero.cli.arguments import (
    RunSettings,
    refuse_rest,
    run_program,
    split_words,
    take_game,
    take_settings,
)
from azero.cli.player_spec import PlayerSpec, check_options, choose_player, take_player_spec
from azero.config.schema import Config, setting
from azero.games import game_of_settings
from azero.games.game import Game
from azero.kernels.compiling import CompileNotice
from azero.process.ending import end_now
from azero.protocols.lines import Lines, Write, line_writer, take_over_output
from azero.run.run import Run

LABELS = {
    "player=auto": "A player by name; auto: the champion of the run. Without one it is uct, in chess and "
    "Breakthrough alpha-beta.",
    "player.OPTION=VALUE": "Such as player.num_simulations=1000 or player.seconds=2.",
}


@dataclass(frozen=True)
class EngineSettings(RunSettings):
    """Settings of every program that is an engine."""

    game: str = setting(
        "", "A game, as in the other programs. Default: the game of the run; tictactoe without one."
    )
    run: str = setting("", "The run whose champion plays. Default: a run of the game.")


EngineAsked = TypeVar("EngineAsked", bound=EngineSettings)


def run_engine(
    name: str,
    serve: Callable[[Game, PlayerSpec, EngineAsked, Lines, Write], object],
    schema: type[EngineAsked],
    examples: str,
    arguments: Sequence[str] | None = None,
    default: str = "",
    labels: dict[str, str] = LABELS,
    players: Sequence[str] = (),
) -> int:
    """Run an engine with the arguments of the command line; return the exit status of a mistake or of help.

    When the client has gone, the process ends at once: a thread may still wait for input or make a player,
    and a manager waits for a second only.

    Args:
        name, schema, examples, arguments, labels, players: as for `run_program`.
        serve: speaks with the client until it goes: reads its lines, and writes lines to it.
        default: the game where neither a game nor a run is named.
    """

    def serve_asked(words: Sequence[str]) -> int:
        texts = split_words(words)
        asked = take_settings(texts, schema)
        game, spec = take_engine(texts, asked, default)
        refuse_rest(texts, schema, ["player", "player.num_simulations"])
        check_options(spec)  # here, because the client may go before the player is made
        client = take_over_output()
        with CompileNotice(lambda text: print(f"azero: {text}", file=sys.stderr, flush=True)):
            serve(game, spec, asked, Lines(sys.stdin.buffer, client=client), line_writer(client))
        end_now(0)

    return run_program(name, serve_asked, schema, examples, arguments, labels, players)


def take_engine(texts: dict[str, str], asked: EngineSettings, default: str = "") -> tuple[Game, PlayerSpec]:
    """Take the game and the player out of the arguments.

    Args:
        texts: the arguments that are left.
        asked: the settings, taken from them before.
        default: the game where neither a game nor a run is named.

    Raises:
        UserError: no such game, player or run.
    """
    spec = take_player_spec(texts, "player", "auto")
    run = asked.run or str(spec.options.get("run") or "")
    if run and not asked.game:
        game = game_of_run(asked.config, run)
    else:
        game = take_game(texts, replace(asked, game=asked.game or default or "tictactoe"))
    return game, choose_player(spec, game, asked.config, run)


def game_of_run(config: Config, run: str) -> Game:
    """Return the game that a run learns; UserError: no such run."""
    return game_of_settings(Run.read(config, run).state.config)
