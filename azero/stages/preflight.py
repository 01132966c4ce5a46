"""Checks of a run before its folder is touched, so that a refused command leaves nothing behind.

What only the run's folder can say is checked by `Run.open`: its lock, settings that must not change, the
stage that comes next.
"""

from __future__ import annotations

from azero.config.schema import Config
from azero.run.folder import paths_of
from azero.run.run import Run


def check_run(config: Config, name: str) -> None:
    """Check that the run of this name can begin or go on here with these settings.

    Raises:
        UserError: the rules cannot be made, or a file's rules break a law; the device, the backend or enough
            memory is missing; the cluster or `oracle.file` cannot be used; the champion of `init_from` does
            not fit.
    """
    # These import Numba. A game that is not there is refused before the imports below load torch.
    from azero.games import make_game
    from azero.games.laws.check import check_own_game

    game = make_game(config.game.name, **config.game.options)
    check_own_game(game, config.game.name, config.game.options)

    from azero.cluster.stage import crew_of
    from azero.network.backends import candidates
    from azero.network.inference import InferenceChoice
    from azero.search.algorithm import check as check_algorithm
    from azero.stages.backend import batch_rows, device_for
    from azero.stages.initialize import source_network
    from azero.stages.selfplay import worker_count
    from azero.truth.known import positions_of
    from azero.workers.matches import check_match_memory
    from azero.workers.memory import check_worker_memory

    check_algorithm(config.search)
    device, inference = device_for(config), config.inference
    if (inference.backend, inference.precision) != ("auto", "auto"):
        candidates(inference.backend, inference.precision, device)  # raises if there are none
    if config.oracle.file:
        positions_of(config)  # reads and checks it
    likely = InferenceChoice("torch", "fp32", batch_rows(config), device, evaluations_per_second=0.0)
    if config.cluster.address:
        crew_of(config, device)  # connects
    else:
        workers = worker_count(config, config.selfplay.games, likely)
        check_worker_memory(game, [likely.batch_size] * workers, config)
    check_match_memory(config, game)
    begun = paths_of(config, name).state.is_file()
    if not begun or Run.read(config, name).state.champion is None:
        source_network(config, game)
