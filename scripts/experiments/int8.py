#!/usr/bin/env python3
"""Does int8 cost strength? A champion in int8 plays itself in another precision until a test decides.

usage: python scripts/experiments/int8.py RUN [--against bf16] [--simulations N] [--games N] [--seed N]

First how far each precision strays from torch fp32 on the champion's own play. Then pairs of games from
random openings, colours swapped, every move the most visited; the sequential test takes 0 Elo ("accepted") or
-10 Elo ("rejected"), each wrong once in twenty. The evaluation cache is on. The last line is
decision=accepted, rejected or "go on", where the games did not suffice.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.match.lockstep import MatchGame, play_match
from azero.match.openings import random_openings
from azero.match.rating import measured, pair_counts, sequential_test
from azero.network.backends import candidates, make_inference
from azero.network.choosing import answers_of, apart
from azero.network.folded import FoldedNetwork
from azero.network.inference import InferenceChoice
from azero.network.int8 import own_play
from azero.network.model import Network, unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.players.pv_mcts import Options, make
from azero.process import seeds
from azero.process.machine import cores
from azero.run.run import Run, search_of

MATCH = 256  # games at once


def report_deviation(network: Network, game: Game) -> None:
    """Print how far each precision of OpenVINO strays from torch fp32."""
    planes = own_play(FoldedNetwork(network).eval(), game).planes.reshape(-1, *game.planes_shape)
    print(
        f"on {len(planes):,} positions of its own play  largest  mean of moves' probabilities  mean of values"
    )
    for backend, precision in [*candidates("openvino", "auto", "cpu"), ("openvino", "int8")]:
        inference = make_inference(
            network, game, InferenceChoice(backend, precision, len(planes), "cpu", 0.0)
        )
        moves, values = apart(answers_of(network, planes), inference.infer(planes))
        print(
            f"{precision:43s} {max(moves.max(), values.max()):8.4f} {moves.mean():30.5f} "
            f"{values.mean():15.5f}",
            flush=True,
        )


def play(
    network: Network, game: Game, search: SearchConfig, against: str, seed: int, number: int
) -> list[MatchGame]:
    """One match of int8 against another precision, in the thread that calls."""
    ways = [InferenceChoice("openvino", precision, MATCH // 2, "cpu", 0.0) for precision in ("int8", against)]
    one, other = (make(game, Options(), make_inference(network, game, way), search) for way in ways)
    openings = random_openings(game, 6, MATCH // 2, seeds.sequence(seed, number, seeds.OPENINGS))
    return play_match(game, (one, other), seeds.game_seeds(seed, number, seeds.ARENA, MATCH), openings).games


def decision_of(outcomes: list[float], distinct: int) -> str:
    """Print the score so far and return the decision."""
    won, drawn, lost = (outcomes.count(outcome) for outcome in (1.0, 0.0, -1.0))
    found = measured(won, drawn, lost)
    pairs = pair_counts(outcomes)
    test = sequential_test(pairs, elo0=-10.0, elo1=0.0)
    print(
        f"{len(outcomes):6,} games, {distinct:6,} distinct: {won} won, {drawn} drawn, {lost} lost,", end=" "
    )
    print(f"Elo {found['elo_low']:+.1f} to {found['elo_high']:+.1f}; pairs {pairs},", end=" ")
    print(f"log likelihood ratio {test.llr:+.2f} of {test.lower:.2f} to {test.upper:.2f}", flush=True)
    return test.decision


def main() -> None:
    """Print the score after every match, and the decision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a run whose champion plays")
    parser.add_argument("--against", default="bf16", choices=["fp32", "bf16"])
    parser.add_argument("--simulations", type=int, default=32, help="simulations of a move")
    parser.add_argument("--games", type=int, default=20_000, help="most games")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="matches at once")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the runs")
    arguments = parser.parse_args()
    run = Run.read(Config(checkpoints=arguments.checkpoints), arguments.run)
    loaded = unpack_network(run.read_champion(), "champion")
    game = make_game(loaded.game_name, **loaded.game_options)
    report_deviation(loaded.network, game)
    search = SearchConfig(**vars(search_of(run)) | {"num_simulations": arguments.simulations})
    outcomes: list[float] = []
    distinct: set[tuple[int, ...]] = set()
    decision, number = "go on", 0
    one_match = partial(play, loaded.network, game, search, arguments.against, arguments.seed)
    with one_thread_per_worker(), ThreadPoolExecutor(arguments.workers) as workers:
        while decision == "go on" and len(outcomes) < arguments.games:
            for games in workers.map(one_match, range(number, number + arguments.workers)):
                outcomes += [each.outcome for each in games]
                distinct |= {(each.first, *each.actions) for each in games}
            number += arguments.workers
            decision = decision_of(outcomes, len(distinct))
    print(f"decision={decision}")


if __name__ == "__main__":
    with one_sentence():
        torch.set_num_threads(1)
        main()
