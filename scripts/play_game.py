"""Play one game of a run's self-play again, in this process, to see what fails in it.

    python scripts/play_game.py checkpoints/NAME --cycle 3 --game 37

`azero doctor` names games that a cluster left out because its workers died of them. The game has the network
and the random numbers that it had there. If the process dies, Python prints where.
"""

from __future__ import annotations

import argparse
import faulthandler
from pathlib import Path
from typing import cast

from omegaconf import OmegaConf

from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.network.backends import make_inferences
from azero.network.choosing import safe_choice
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.run.run import Run
from azero.stages.selfplay import settings_in
from azero.workers.threads import GameQueue, play_games


def play_again(run: Run, cycle: int, number: int) -> GameRecord:
    """Return the record of a game.

    Raises:
        UserError: the network of that cycle is no longer kept.
    """
    config = run.config
    late = config.cluster.overlap and cycle > 1  # the champion before the match of the cycle before
    before = [entry for entry in run.state.champions if entry.cycle < cycle - late]
    if not before or run.state.inference is None:
        raise UserError(f"Run {run.name} has no network of cycle {cycle} any more; set keep in a new run.")
    game = make_game(config.game.name, **config.game.options)
    network = unpack_network(run.read_file(before[-1]), before[-1].file, game).network
    choice = safe_choice(InferenceChoice(**run.state.inference), network, game)
    inferences = make_inferences(network, game, choice, 1)
    seeds = game_seeds(config.seed, cycle, SELFPLAY, config.selfplay.games)
    queue = GameQueue(iter([number]))
    (record,), _ = play_games(
        game,
        inferences,
        settings_in(config, cycle, run.state.final_openings),
        queue,
        seeds,
        Progress(),
        StopSignal(),
    )
    return record


def main() -> int:
    """Parse the arguments and play."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the run, with its config.yaml")
    parser.add_argument("--cycle", type=int, required=True)
    parser.add_argument("--game", type=int, required=True)
    given = parser.parse_args()
    faulthandler.enable()
    had = OmegaConf.load(given.folder / "config.yaml")
    had.selfplay.pop("opening_plies_cycles", None)  # of an old run; its state has the cycle
    settings = OmegaConf.merge(OmegaConf.structured(Config), had)
    config = cast(Config, OmegaConf.to_object(settings))
    record = play_again(Run.read(config, given.folder.name), given.cycle, given.game)
    print(f"{len(record.actions)} plies, for the first player {record.first_outcome:+.0f}")
    print(" ".join(map(str, record.actions)))
    return 0


if __name__ == "__main__":
    with one_sentence():
        raise SystemExit(main())
