"""Stage: a random network, 000000, becomes champion and candidate; with `init_from` another run's champion does.

`python -m azero.initialize` runs this stage on the run's folder.
"""

from __future__ import annotations

from dataclasses import replace

from azero.command_line import program
from azero.config import Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.metrics import Reporter
from azero.network.inference import resolve_device
from azero.network.model import build_network, check_fits, pack_network, unpack_network
from azero.run import Run, StopSignal
from azero.seeds import INITIALIZE, torch_seed
from azero.stage import run_alone


def first_network(config: Config, game: Game) -> bytes:
    """The file of network 000000.

    Raises:
        UserError: the run named by `init_from` does not exist, or its champion plays another game or has another shape.
    """
    if config.init_from is None:
        network = build_network(config.network, game, torch_seed(config.seed, 0, INITIALIZE))
    else:
        source = Run.read(config, config.init_from)
        loaded = unpack_network(source.read_champion(), f"champion of {config.init_from}")
        check_fits(loaded, game)
        if loaded.config != config.network:
            raise UserError(f"init_from={config.init_from} has the network {loaded.config}; ask for the same with network.*.")
        network = loaded.network
    return pack_network(network, game=game, config=config.network, cycle=0, train_steps=0, optimizer_state=None)


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Write the first network as champion and candidate, commit.

    Raises:
        UserError: the device that the run is to use is not there, or `first_network` refused.
    """
    resolve_device(config.device)  # no network is made here, but a run that cannot go on shall not begin
    game = make_game(config.game.name, **config.game.options)
    data = first_network(config, game)
    champion = run.write_network("champion", 0, data)
    candidate = run.write_network("candidate", 0, data)
    run.commit(replace(run.state, stage="selfplay", champion=champion, candidate=candidate))


def main(config: Config, name: str) -> int:
    """Run this stage alone on the run's folder."""
    return run_alone("initialize", run_stage, config, name)


if __name__ == "__main__":
    program(main)
