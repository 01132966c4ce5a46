"""How long does one position take, and is its move the one of the plain search?

    python scripts/bench_position.py  # Connect Four, 6 blocks of 64 channels, random weights
    python scripts/bench_position.py --run connect_four  # the champion of a run
    python scripts/bench_position.py --inference torch:fp32 --leaves 8,16 --threads 2

Positions are from random play, each searched from nothing: no tree, no remembered evaluation. Every setting
searches the same positions, in turn, so that each compares times of the same minutes. "ms" is the median.
"plain" evaluates one leaf after another, in batches of one. The leaves of a wave are split over the threads.
"same moves" and "same visits" compare with the first line, the plain search of the first backend and
precision. "evaluated" counts what went through the network for a position, leaves that were prefetched and
never wanted among them. "decided" ends a search when no simulation left could change its move.
--proofs 0:0,14:0,18:200 turns search.solver on, and runs every search once with each of these pairs of
search.exact_plies and search.forced_nodes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field, replace

import numpy as np
from bench_search import random_positions

from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config, NetworkConfig, SearchConfig
from azero.games import game_of_settings, make_game
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import Network, build_network, unpack_network
from azero.network.side_by_side import SideBySideInference
from azero.network.torch_inference import one_thread_per_worker
from azero.players.pv_mcts import PvMcts
from azero.run.run import Run, search_of


@dataclass
class Setting:
    """One way to search, and what it did."""

    name: str
    player: PvMcts
    seconds: list[float] = field(default_factory=list)
    visits: list[np.ndarray] = field(default_factory=list)
    evaluations: int = 0

    def search(self, state: np.ndarray) -> None:
        """Search one position from nothing."""
        self.player.new_games(np.zeros(1, np.uint64))
        self.player.cache.used[:] = False
        begin = time.perf_counter()
        self.player.choose(state[None], ONLY_GAME, ONLY_GAME)
        self.seconds.append(time.perf_counter() - begin)
        self.evaluations += self.player.stats.evaluations
        self.visits.append(self.player.visit_counts(ONLY_GAME)[0].copy())

    def line(self, first: Setting) -> str:
        """What it did, as a row of the table, beside the first one."""
        count, median = len(self.seconds), statistics.median(self.seconds)
        mean = statistics.mean(self.seconds)
        rate = statistics.mean(visits.sum() for visits in self.visits) / mean
        evaluated = f"{self.evaluations / count:7.0f} evaluated"
        text = f"{self.name:<51}{1000 * median:8.1f} ms, mean {1000 * mean:6.1f}{rate:10,.0f} simulations/s"
        pairs = list(zip(self.visits, first.visits, strict=True))
        moves = float(np.mean([mine.argmax() == other.argmax() for mine, other in pairs]))
        equal = float(np.mean([np.array_equal(mine, other) for mine, other in pairs]))
        faster = statistics.median(first.seconds) / median
        same = f"same moves {100 * moves:.1f} %, same visits {100 * equal:.1f} %"
        return f"{text}{evaluated}  {faster:5.1f} times as fast, {same}"


def load(arguments: argparse.Namespace) -> tuple[Game, Network, SearchConfig]:
    """The game, the network, and the search with its number of simulations."""
    search = SearchConfig(num_simulations=arguments.simulations, solver=bool(arguments.proofs))
    if not arguments.run:
        game = make_game(arguments.game)
        config = NetworkConfig(blocks=arguments.blocks, channels=arguments.channels)
        return game, build_network(config, game, arguments.seed), search
    run = Run.read(Config(checkpoints=arguments.checkpoints), arguments.run)
    game = game_of_settings(run.state.config)
    network = unpack_network(run.read_champion(), f"{arguments.run}'s champion").network
    names = ["c_puct", "c_puct_base", "puct_visits", "fpu_mode", "fpu", "exact_nodes"]
    return game, network, replace(search, **{name: getattr(search_of(run), name) for name in names})


def proof_pairs(text: str) -> list[tuple[int, int]]:
    """The pairs of numbers that --proofs gives."""
    try:
        return [(int(plies), int(nodes)) for plies, nodes in (pair.split(":") for pair in text.split(","))]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a list such as 14:0,14:200") from None


def proving_searches(search: SearchConfig, proofs: list[tuple[int, int]]) -> dict[str, SearchConfig]:
    """The search with each pair of --proofs, by the words that follow its name; the search itself without."""
    return {
        f", exact {plies}, forced {nodes}": replace(search, exact_plies=plies, forced_nodes=nodes)
        for plies, nodes in proofs
    } or {"": search}


def make_settings(
    game: Game, network: Network, search: SearchConfig, arguments: argparse.Namespace
) -> list[Setting]:
    """The plain search and searches with prefetch, for every backend, precision and proof asked for."""
    waves = [
        (leaves, threads)
        for leaves in map(int, arguments.leaves.split(","))
        for threads in map(int, arguments.threads.split(","))
    ]
    settings = []
    for words in arguments.inference.split(","):
        backend, precision = words.split(":")
        for proofs, proving in proving_searches(search, arguments.proofs).items():

            def player(leaves: int, threads: int, until_decided: bool = False) -> PvMcts:
                choice = InferenceChoice(backend, precision, -(-leaves // threads), "cpu", 0.0)  # noqa: B023
                parts = make_inferences(network, game, choice, threads)
                inference = SideBySideInference(parts) if threads > 1 else parts[0]
                return PvMcts(game, inference, proving, leaves=leaves, until_decided=until_decided)  # noqa: B023

            settings.append(Setting(f"{backend} {precision}, plain{proofs}", player(1, 1)))
            for leaves, threads in waves:
                name = f"{backend} {precision}, {leaves} leaves on {threads}{proofs}"
                settings.append(Setting(name, player(leaves, threads)))
                if arguments.decided:
                    settings.append(Setting(f"{name}, decided", player(leaves, threads, True)))
    return settings


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", default="", help="use the champion of this run instead of random weights")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the runs")
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=800)
    parser.add_argument("--inference", default="torch:bf16", help="backend:precision, comma-separated")
    parser.add_argument("--leaves", default="8,16", help="leaves of a wave, comma-separated")
    parser.add_argument("--threads", default="2", help="threads of a wave, comma-separated")
    parser.add_argument(
        "--decided", action="store_true", help="add searches that end when their move is decided"
    )
    parser.add_argument("--proofs", type=proof_pairs, default=[], help="such as 0:0,14:200; see above")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    game, network, search = load(arguments)
    with one_thread_per_worker():
        settings = make_settings(game, network, search, arguments)
        for setting in settings:  # compiles, and lets threads and networks prepare
            setting.player.choose(game.initial_state()[None], ONLY_GAME, ONLY_GAME)
        for state in random_positions(game, arguments.positions, arguments.seed):
            for setting in settings:
                setting.search(state)
    for setting in settings:
        print(setting.line(settings[0]))
    best = min(settings, key=lambda setting: statistics.median(setting.seconds))
    print(f"milliseconds_to_a_move={1000 * statistics.median(best.seconds):.1f}")


if __name__ == "__main__":
    with one_sentence():
        main()
