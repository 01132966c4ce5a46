"""Checks of a run before its folder is touched, so that a refused command leaves nothing behind.

What only the run's folder can say is checked by `Run.open`: its lock, settings that must not change, the
stage that comes next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azero.config.schema import Config, UserError
from azero.run.disk import DamagedFile, is_there
from azero.run.folder import paths_of
from azero.run.run import Run, changes_between, leaves_of

if TYPE_CHECKING:
    from azero.games.game import Game


def check_run(config: Config, name: str) -> list[str]:
    """Check that the run of this name can begin or go on here with these settings; return the warnings.

    Raises:
        UserError: the rules cannot be made, or a person's own rules break a law or did not play the run's
            games; the network does not fit the game; the device, the backend or enough memory is missing; the
            cluster, `oracle.file`, the book or a file of one's own cannot be used; the champion of
            `init_from` does not fit.
    """
    # These import Numba. A game that is not there is refused before the imports below load torch.
    from azero.games import make_game, rules_digest
    from azero.games.laws.check import check_own_game
    from azero.games.own_files import own_part

    game = make_game(config.game.name, **config.game.options)
    warnings = check_own_game(game, config.game.name, config.game.options)
    run = Run.read(config, name) if is_there(paths_of(config, name).state) else None
    asked = {key: value for key, value in leaves_of(config).items() if key.startswith("game.")}
    if run and not changes_between(run.state.config, asked):
        check_rules(run, game, rules_digest(config.game.name))

    from azero.network.backends import candidates
    from azero.network.inference import InferenceChoice, device_for
    from azero.network.model import check_network, first_network
    from azero.search.algorithm import check as check_algorithm
    from azero.stages.backend import batch_rows
    from azero.stages.executor import executor_of
    from azero.stages.initialize import source_network
    from azero.training.optimizers import make_optimizer
    from azero.truth.known import positions_of
    from azero.workers.matches import check_match_memory
    from azero.workers.threads import lines_of

    check_algorithm(config.search)
    if config.metrics:
        own_part("metrics", config.metrics, "measure")
    device, inference = device_for(config), config.inference
    if (inference.backend, inference.precision) != ("auto", "auto"):
        candidates(inference.backend, inference.precision, device)  # raises if there are none
    if config.oracle.file:
        positions_of(config)  # reads and checks it
    lines_of(game, config.selfplay.book)
    likely = InferenceChoice("torch", "fp32", batch_rows(config), device, evaluations_per_second=0.0)
    executor_of(config).check(game, likely)
    check_match_memory(config, game)
    check_network(config.network, game)
    if config.train.optimizer.endswith(".py"):
        make_optimizer(first_network(config.network, game, 1), config.train)
    if not run or run.state.champion is None:
        source_network(config, game)
    return warnings


def check_rules(run: Run, game: Game, digest: str) -> None:
    """Check that a person's own rules play the newest games of a run as they were played.

    Rules whose text has stayed are not asked: games that they have not played are damaged then.

    Args:
        run: opened for reading.
        game: the rules.
        digest: of their text; "" for other games.

    Raises:
        UserError: they were changed.
    """
    from azero.replay.shards import OtherRules, load_games

    if run.state.rules == digest:
        return

    for shard in reversed([*run.state.shards, *run.state.partial]):
        try:
            load_games(run.read_file(shard), shard.file, game)
            return
        except OtherRules as fault:
            changed = f"The rules in {run.config.game.name} have changed since they played run {run.name}"
            back = "put the old rules back, or begin anew with run=NAME"
            raise UserError(f"{changed} ({shard.file}: {fault.reason}); {back}.") from fault
        except DamagedFile:  # found again where it is needed
            continue
