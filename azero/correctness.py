"""`azero correctness`: does a run's champion play perfect tic-tac-toe?

It answers eleven fixed positions whose right replies are known and all 4,520 unfinished positions, and it
meets every game that an opponent can play. A player is asked once for each position, in a fresh game; all
stats follow from these answers. The exit status is 0 if the champion's search is right in all eleven
positions, else 1. For other games this program runs `azero strength`.
"""

from __future__ import annotations

import sys
from functools import partial

from azero.champion.load import load_players
from azero.cli.hydra_program import program
from azero.cli.programs import start
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.kernels.compiling import CompileNotice
from azero.report.console import Console
from azero.truth.known import has_table
from azero.truth.tictactoe import full_table, print_table


def asked_search() -> dict[str, str]:
    """Return the settings of search.* on the command line, by name without "search."."""
    from hydra.core.hydra_config import HydraConfig

    words = [override.lstrip("+").partition("=") for override in HydraConfig.get().overrides.task]
    if any(key == "search" for key, _, _ in words):
        raise UserError(
            "correctness takes the run's own search; change single settings, such as search.kind=puct."
        )
    return {key.removeprefix("search."): value for key, _, value in words if key.startswith("search.")}


def run_asked(config: Config, name: str) -> int:
    """Print the table of a run's champion; return 0 if its search is right in all fixed positions, else 1."""
    if not has_table(config.game.name):
        search = [f"{key}={value}" for key, value in asked_search().items()]
        sentence = f"The fixed positions are those of tic-tac-toe; this is azero strength run={name}."
        print(sentence, end="\n\n", flush=True)
        places = [f"checkpoints={config.checkpoints}", f"data={config.data}", f"device={config.device}"]
        return start(["strength", f"run={name}", *places, *search])
    with CompileNotice(Console().message):
        game = make_game(config.game.name, **config.game.options)
        table = full_table(*load_players(config, name, game, list(asked_search())), game)
    print_table(table)
    return 0 if table[1].perfect else 1


main = partial(program, "correctness", run_asked)

if __name__ == "__main__":
    sys.exit(main())
