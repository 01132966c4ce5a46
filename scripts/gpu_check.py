"""Check self-play on this NVIDIA GPU: are its games right, and how fast is it? One line for each result.

    bash scripts/gpu_check.sh  # about ten minutes; needs the extra gpu13, or gpu12 for CUDA 12
    python scripts/gpu_check.py --parts network stage --blocks 6 --channels 64

games: the same games by the search on the GPU and on the CPU, with the same network on the GPU; each kind of
game and algorithm. 63 of 64 equal ones are no fault: a GPU may round the last bit differently.
network: evaluations a second of the network alone, by batch.
stage: a cycle of self-play with its search on the GPU, and on the CPU.
training: a stage of training whose steps are one CUDA graph, and one launch after the other.
run: a run is killed and goes on; its champion equals that of a run that was not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
from bench_train import examples_for

from azero.cli.hydra_program import compose, one_sentence
from azero.config.schema import Config, NetworkConfig, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import UNBOUNDED, Game
from azero.gpu.selfplay import SelfPlayOnGpu, equal_cards, hindrance, places_wanted
from azero.network.inference import InferenceChoice
from azero.network.model import Network, build_network
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord, ended_and_waiting
from azero.report.console import Progress
from azero.run.run import Run
from azero.training import steps
from azero.training.fit import fit
from azero.workers.selfplay import Plan, PlayedGames, SelfPlay, SelfPlayHere, Watch

GAMES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {},
    "othello": {"size": 6},
    "gomoku": {"rows": 9, "columns": 9},
    "hex": {"size": 5},
    "go": {"size": 5},
    "breakthrough": {"rows": 6, "columns": 6},
    "chess": {"variant": "gardner"},
}
SAME_GAMES = 64  # of each game and algorithm
TRAINED = 300  # steps
BATCHES = (512, 1024, 2048, 4096, 8192)


def plan_of(config: Config, game: Game, network: Network, rows: int) -> Plan:
    """Return a plan of a cycle's games."""
    choice = InferenceChoice("torch", "bf16", rows, "cuda", 0.0)
    return Plan(config, 1, game, network, choice, range(config.selfplay.games))


def played(selfplay: SelfPlay) -> PlayedGames:
    """Return the games of a plan."""
    return selfplay.play(Watch(Progress(), StopSignal()))


def same(one: GameRecord, other: GameRecord) -> bool:
    """Return whether two records have the same moves and targets."""
    return all(
        np.array_equal(cast(Any, mine), cast(Any, yours)) for mine, yours in zip(one, other, strict=True)
    )


def check_games(arguments: argparse.Namespace) -> None:
    """Compare the games of both searches. Rows of a batch are equal wherever they lie, in bits."""
    if not arguments.games:  # all, each in a process of its own, because compiling takes most of the time
        command = [sys.executable, __file__, "--parts", "games", "--games"]
        for process in [subprocess.Popen([*command, name]) for name in GAMES]:
            process.wait()
        return
    for name in arguments.games:
        game = make_game(name, **GAMES[name])
        network = build_network(NetworkConfig(blocks=2, channels=32), game, seed=1)
        ends = game.rules.plies_left(game.initial_state()) < UNBOUNDED
        for kind in ("puct", "gumbel"):
            search = SearchConfig(
                kind=kind, num_simulations=32, solver=True, exact_plies=6 * ends, tree_reuse=kind == "puct"
            )
            selfplay = SelfplayConfig(games=SAME_GAMES, opening_fraction=0.5, opening_plies=4)
            config = Config(search=search, selfplay=selfplay)
            rows = places_wanted(config, len(equal_cards()))  # another batch has other bits
            plan = plan_of(config, game, network, rows)
            here, there = played(SelfPlayHere(plan)).games, played(SelfPlayOnGpu(plan, print)).games
            equal = sum(map(same, here, there))
            print(f"games {name} {kind}: {equal} of {SAME_GAMES} equal", flush=True)


def check_network(arguments: argparse.Namespace) -> None:
    """Time the network alone."""
    from azero.network.torch_inference import GpuNetwork

    game = make_game("connect_four")
    network = build_network(config_of(arguments).network, game, seed=1)
    for rows in BATCHES:
        alone = GpuNetwork(network, game, InferenceChoice("torch", "bf16", rows, "cuda", 0.0))
        print(f"network batch {rows:,}: {rate(alone):,.0f} evaluations/s", flush=True)


def rate(network: Any, seconds: float = 2.0) -> float:
    """Return evaluations a second of a `GpuNetwork` that does nothing else."""
    network.replay()
    network.stream.synchronize()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(20):
            network.replay()
        network.stream.synchronize()
        count += 20
    return count * len(network.planes) / (time.perf_counter() - began)


def config_of(arguments: argparse.Namespace) -> Config:
    """Return the recipe with the network that was asked for."""
    config = compose("connect_four_gpu")
    network = replace(config.network, blocks=arguments.blocks, channels=arguments.channels)
    return replace(config, network=network)


def check_stage(arguments: argparse.Namespace) -> None:
    """Play two cycles with either search; the first one compiles, and on a GPU begins games of the second."""
    config, game = config_of(arguments), make_game("connect_four")
    network = build_network(config.network, game, seed=1)
    for games in (config.selfplay.games, 4 * config.selfplay.games):
        wanted = replace(config, selfplay=replace(config.selfplay, games=games))
        ways: dict[str, Callable[[Plan], SelfPlay]] = {
            "on the GPU": lambda plan: SelfPlayOnGpu(plan, print),
            "on the CPU": SelfPlayHere,
        }
        for name, way in ways.items():
            plan = plan_of(wanted, game, network, config.selfplay.concurrent_games)
            for turn in ("first", "second"):
                found = played(way(plan))
                plan = following(plan, found)
                stats, seconds = found.stats, found.seconds
                print(
                    f"stage of {games:,} games, search {name}, {turn}: {seconds:.1f} s, "
                    f"{stats.evaluations / seconds:,.0f} evaluations/s, "
                    f"{stats.simulations / seconds:,.0f} simulations/s, batches {stats.batch_fill:.0%} full",
                    flush=True,
                )


def following(plan: Plan, found: PlayedGames) -> Plan:
    """Return the plan of the next cycle, in which games that have begun go on."""
    done, waiting = ended_and_waiting(found.ahead)
    numbers = set(range(plan.config.selfplay.games)) - {record.number for record in done}
    return replace(plan, cycle=plan.cycle + 1, numbers=sorted(numbers), done=done, waiting=waiting)


def check_training(arguments: argparse.Namespace) -> None:
    """Train on positions of random play both ways; the weights must be equal."""
    config, game = config_of(arguments), make_game("connect_four")
    network, examples = build_network(config.network, game, seed=1), examples_for(game, 200_000)
    trained: list[bytes] = []
    for name, records in (
        ("one graph a step", steps.can_record),
        ("launch by launch", lambda trainer: False),
    ):
        with mock.patch.object(steps, "can_record", records):
            result = fit(network, examples, game, config.train, 1, "cuda", steps=TRAINED)
        rows = TRAINED * config.train.batch_size
        print(f"training, {name}: {rows / result.seconds:,.0f} examples/s in {result.precision}", flush=True)
        trained.append(b"".join(each.numpy().tobytes() for each in result.network.state_dict().values()))
    print(f"training: the weights are {'the same' if trained[0] == trained[1] else 'different'}")


def check_run(_arguments: argparse.Namespace) -> None:
    """Compare the champions of two runs, of which one is killed and goes on."""
    words = ("tictactoe", "cycles=6", "seed=1", "device=cuda", "selfplay.trees=gpu")
    with tempfile.TemporaryDirectory() as folder:
        places = [f"checkpoints={folder}/checkpoints", f"data={folder}/data"]
        command = [sys.executable, "-m", "azero.loop", *words, *places]
        subprocess.run([*command, "run=whole"], check=True, stdout=subprocess.DEVNULL)
        killed = subprocess.Popen([*command, "run=killed"], stdout=subprocess.DEVNULL)
        while killed.poll() is None and not list(Path(folder).glob("data/killed/000003*")):
            time.sleep(0.05)
        killed.kill()
        killed.wait()
        subprocess.run([*command, "run=killed"], check=True, stdout=subprocess.DEVNULL)
        config = replace(Config(), checkpoints=f"{folder}/checkpoints", data=f"{folder}/data")
        one, other = (Run.read(config, name).state.champion for name in ("whole", "killed"))
    assert one is not None and other is not None
    found = "the same" if one.sha256 == other.sha256 else "another"
    print(f"run: killed and gone on, its champion is {found}")


PARTS = {
    "games": check_games,
    "network": check_network,
    "stage": check_stage,
    "training": check_training,
    "run": check_run,
}


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="all by default")
    parser.add_argument(
        "--blocks", type=int, default=10, help="of the network of network, stage and training"
    )
    parser.add_argument("--channels", type=int, default=128, help="of it")
    parser.add_argument(
        "--games", nargs="+", choices=GAMES, default=[], help="of the part games; default: all"
    )
    arguments = parser.parse_args()
    reason = hindrance(replace(Config(), device="auto"))
    if reason:
        raise UserError(f"this needs self-play on a GPU, and here {reason}")
    for part in arguments.parts:
        PARTS[part](arguments)


if __name__ == "__main__":
    with one_sentence():
        main()
