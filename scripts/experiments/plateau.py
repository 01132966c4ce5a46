"""Why does the curve flatten? What limits a champion of Connect Four late in its run.

    python scripts/experiments/plateau.py targets RUN        # how true the window's targets are
    python scripts/experiments/plateau.py equal RUN          # how many of its positions are equal
    python scripts/experiments/plateau.py line RUN --moves "4 4 4 4 4 1"   # what is known along a line
    python scripts/experiments/plateau.py refit RUN 5x64 8x64 5x96   # other networks on the same window
    python scripts/experiments/plateau.py refit RUN 5x64 --value-lambda 0.9 --mix 0

`targets` draws positions from the newest games of a run and solves them (BitBully, `pip install
"azero[oracle]"`). It prints how far each kind of value target is from the exact value, how often the most
probable move of each kind of policy target is a mistake, and the same for new searches of the champion with
more simulations. `equal` counts the different positions of the window; metrics.csv has the games. `line`
prints for each position along a line the exact scores of the moves, the champion's value and policy, and how
many examples of the window are that position or an image of it. `refit` trains networks from nothing on the
run's replay window, for equally many passes, and asks development positions.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from itertools import accumulate

import numpy as np

from azero.champion.load import load_for_workers, read_trained
from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config, NetworkConfig, SearchConfig, TrainConfig
from azero.games.game import Game
from azero.match.openings import read_opening
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import Network, build_network
from azero.network.torch_inference import one_thread_per_worker
from azero.players.policy import PolicyPlayer
from azero.replay.examples import GameRecord, examples_of, merge_equal, plies_of
from azero.replay.shards import load_window
from azero.run.run import search_of
from azero.stages.diagnosis import newest_games
from azero.training.fit import fit
from azero.truth import judging
from azero.truth.known import shipped_file
from azero.truth.positions import PositionSet, read_positions
from azero.truth.solvers import make_oracle

PLIES = ((0, 7), (8, 13), (14, 20), (21, 28), (29, 42))
ROWS = 256  # of a network call
WINDOW = 200_000  # positions, as in the recipes


# Kinds of value target: their `mix` and `decay`, see `azero.replay.examples.value_targets`.
TARGETS = {
    "outcome of the game (or proof)": (0.0, 1.0),
    "root value": (1.0, 1.0),
    **{f"{1 - mix:g} outcome + {mix:g} root": (mix, 1.0) for mix in (0.3, 0.5, 0.7)},
    **{f"return with lambda {decay:g}": (0.0, decay) for decay in (0.8, 0.9, 0.95)},
}


def sample_of(
    game: Game, records: list[GameRecord], count: int
) -> tuple[PositionSet, dict[str, np.ndarray], np.ndarray]:
    """Return positions that were searched in self-play, with exact scores, and their targets.

    Returns:
        The positions, the value targets [P] by name, for the player to move, and the favourite move of the
        policy target [P].
    """
    games = plies_of(records)
    examples = {name: examples_of(games, mix, decay=decay) for name, (mix, decay) in TARGETS.items()}
    some = next(iter(examples.values()))
    plies = np.concatenate([np.flatnonzero(each.searched) for each in records])
    chosen = np.random.default_rng(1).choice(len(plies), min(count, len(plies)), replace=False)
    oracle, states = make_oracle(game), some.states[chosen]
    scores = np.stack([oracle.score_moves(state) for state in states])
    lines = [[0] * ply for ply in plies[chosen].tolist()]  # only their number is read
    values = {name: each.value_target[chosen] for name, each in examples.items()}
    best = some.target_weights[chosen].argmax(axis=1)
    return PositionSet("self-play", lines, states, scores), values, some.target_actions[chosen, best]


def report_values(name: str, asked: PositionSet, values: np.ndarray) -> None:
    """Print the mean squared error of values [P] and their correlation with the exact ones, by ply."""
    square = (values - asked.values) ** 2
    by_ply = [square[(asked.plies >= low) & (asked.plies <= high)].mean() for low, high in PLIES]
    alike = np.corrcoef(values, asked.values)[0, 1]
    numbers = " ".join(f"{mean:6.3f}" for mean in by_ply)
    print(f"{name:32s} {square.mean():6.3f} {alike:6.3f}   {numbers}", flush=True)


def report_moves(name: str, asked: PositionSet, moves: np.ndarray) -> None:
    """Print the share of moves [P] that are mistakes, by ply."""
    chosen = np.take_along_axis(asked.scores, moves[:, None], axis=1)[:, 0]
    wrong = 100.0 * (np.sign(chosen) != np.sign(asked.best))
    by_ply = [wrong[(asked.plies >= low) & (asked.plies <= high)].mean() for low, high in PLIES]
    print(
        f"{name:32s} {wrong.mean():5.1f}%          " + " ".join(f"{mean:5.1f}%" for mean in by_ply),
        flush=True,
    )


def report_targets(config: Config, name: str, count: int) -> None:
    """Compare the newest games' targets, and searches of the champion, with exact values."""
    run, game, _ = read_trained(config, name)
    asked, targets, favourite = sample_of(game, newest_games(run, game), count)
    _, inferences, _, _ = load_for_workers(config, name, 1)
    search = replace(search_of(run), kind="gumbel", solver=True)
    head = "  ".join(f"{low:2d}-{high:2d}" for low, high in PLIES)
    print(f"{len(asked.states)} positions of self-play   squared  correlation   plies {head}")
    for title, values in targets.items():
        report_values(title, asked, values)
    answers = {"the champion's network": judging.ask_network(game, inferences[0], asked.states)}
    for simulations in (48, 200, 800):
        here = replace(search, num_simulations=simulations)
        answers[f"new search of {simulations}"] = judging.ask_search(
            game, inferences, here, asked.states, asked.plies
        )
    for title, answer in answers.items():
        report_values(title, asked, answer.values)
    print("mistakes of the most probable move")
    report_moves("policy target", asked, favourite)
    for title, answer in answers.items():
        report_moves(title, asked, answer.moves)


def report_equal(config: Config, name: str) -> None:
    """Print how many positions of the window are different."""
    run, game, _ = read_trained(config, name)
    window = load_window(run, game, WINDOW)
    different = len(merge_equal(window).states)
    print(f"{len(window.states):,} positions in the window, {different:,} different")


def report_line(config: Config, name: str, text: str) -> None:
    """Print what solver, champion and window know of each position along a line of moves."""
    run, game, _ = read_trained(config, name)
    oracle, inference = make_oracle(game), load_for_workers(config, name, 1).inferences[0]
    line = read_opening(game, text.split(), "--moves").actions
    seen = Counter(state.tobytes() for state in load_window(run, game, WINDOW).states)
    lines = [
        list(accumulate((int(symmetry[action]) for action in line), game.step, initial=game.initial_state()))
        for symmetry in game.action_symmetries
    ]
    policies, values = PolicyPlayer(game, inference).ask(np.array(lines[0]))
    plays = [*(f"  plays {name}" for name in game.move_names(line)), ""]
    for ply, images in enumerate(zip(*lines, strict=True)):
        scores, legal = oracle.score_moves(images[0]), game.legal_mask(images[0])
        known = " ".join(f"{score:4d}" if can else "   ." for score, can in zip(scores, legal, strict=True))
        policy = " ".join(f"{100 * share:3.0f}" for share in policies[ply])
        visits = sum(seen[key] for key in {image.tobytes() for image in images})
        print(f"ply {ply:2d}  scores {known}  value {values[ply]:+.2f}  policy, % {policy}", end="  ")
        print(f"{visits:6,} examples{plays[ply]}", flush=True)


def measure(game: Game, network: Network, search: SearchConfig, sets: list[PositionSet]) -> str:
    """Return mistakes of the raw policy and of a search, and the error of the value."""
    inference = make_inference(network, game, InferenceChoice("torch", "fp32", ROWS, "cpu", 0.0))
    raw = [judging.judge(each, judging.ask_network(game, inference, each.states)) for each in sets]
    found = [
        judging.judge(each, judging.ask_search(game, [inference], search, each.states, each.plies))
        for each in sets
    ]
    hard = 100 * (1 - found[-1].keeps_value)
    policy, searched = judging.mean_of(raw), judging.mean_of(found)
    return (
        f"raw policy {100 * (1 - policy.keeps_value):5.2f} %  error of the value {policy.value_error:.3f}  "
        f"search {100 * (1 - searched.keeps_value):5.2f} %  {sets[-1].name} {hard:5.2f} %"
    )


def refit(config: Config, name: str, sizes: list[str], train: TrainConfig, passes: float, most: int) -> None:
    """Train networks from nothing on the same window and print what they know."""
    run, game, champion = read_trained(config, name)
    window = load_window(run, game, train.window, mix=train.value_mix, decay=train.value_lambda)
    examples = merge_equal(window)
    steps = round(len(examples.states) * passes / train.batch_size)
    file = shipped_file(game.name, game.options, "development")
    assert file is not None
    sets = read_positions(file, game, most)[1]
    search = replace(SearchConfig(), num_simulations=600, solver=True, kind="puct", dirichlet_fraction=0.0)
    print(f"{len(examples.states):,} positions, {steps:,} steps, {len(sets)} sets of {most} positions")
    print(f"{'the champion':12s} {'':14s}{measure(game, champion, search, sets)}", flush=True)
    for size in sizes:
        blocks, channels = map(int, size.split("x"))
        shape = replace(NetworkConfig(), blocks=blocks, channels=channels, value_output="wdl")
        begin = time.perf_counter()
        found = fit(build_network(shape, game, 1), examples, game, train, 1, "cpu", steps=steps)
        losses = f"{found.scalars['loss/policy']:.3f} {found.scalars['loss/value']:.3f}"
        text = measure(game, found.network, search, sets)
        print(f"{size:6s} {losses} {time.perf_counter() - begin:5.0f} s  {text}", flush=True)


@one_sentence()
def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("question", choices=("targets", "equal", "line", "refit"))
    parser.add_argument("run")
    parser.add_argument("sizes", nargs="*", default=["5x64"], help="networks, such as 5x64")
    parser.add_argument("--positions", type=int, default=2000, help="of self-play to solve")
    parser.add_argument("--moves", default="4 4 4 4 4", help="of the line")
    parser.add_argument("--passes", type=float, default=6, help="over the window")
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--mix", type=float, default=0.3, help="train.value_mix")
    parser.add_argument("--value-lambda", type=float, default=1.0, help="train.value_lambda")
    parser.add_argument("--set", type=int, default=500, help="positions of each development set")
    parser.add_argument("--checkpoints", default="checkpoints")
    parser.add_argument("--data", default="data")
    asked = parser.parse_intermixed_args()
    config = replace(Config(), checkpoints=asked.checkpoints, data=asked.data)
    with one_thread_per_worker():
        if asked.question == "targets":
            report_targets(config, asked.run, asked.positions)
        elif asked.question == "equal":
            report_equal(config, asked.run)
        elif asked.question == "line":
            report_line(config, asked.run, asked.moves)
        else:
            train = replace(
                TrainConfig(),
                window=WINDOW,
                schedule="cosine",
                warmup_steps=200,
                clip_norm=1.0,
                ema_decay=0.99,
                lr=asked.lr,
                value_mix=asked.mix,
                value_lambda=asked.value_lambda,
            )
            refit(config, asked.run, asked.sizes, train, asked.passes, asked.set)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
