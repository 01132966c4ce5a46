"""How often is the studio's review wrong?

    python scripts/bench_review.py champion gomoku9  # a run with a champion
    python scripts/bench_review.py solver            # Connect Four, needs azero[oracle]

`champion`: games that the champion plays with random moves among them, 40 plies at most, are reviewed by its
searches of a few sizes, and by itself with 10,000 simulations. A move that the review calls a slip, a mistake
or a blunder, but not the long searches, is called wrongly. No solver takes part.

`solver`: games of random moves are reviewed without a champion. Every loss is compared with one computed
from the scores of all moves.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.studio.game_tree import GameTree
from azero.studio.losses import SIZES, size_of
from azero.studio.pool import Pool
from azero.studio.review import Review, Reviewer, make_judge
from azero.truth.positions import ILLEGAL
from azero.truth.solvers import make_oracle

RANDOM = 0.15  # share of random moves in the champion's games
PLIES = 40  # of a game at most


class Unsolved:
    """Knows no exact value."""

    def value(self, *_: object) -> None:
        """Return None."""


def champion_judge(game: Game, pool: Pool, run: str, simulations: int, longer: int = 0) -> Reviewer:
    """Return a judge that only searches, and searches longer where a move seems to be a mistake; 0: not."""
    asked = {"player": "pv_mcts", "run": run}
    search, title = pool.search(game, {**asked, "simulations": simulations})
    again = pool.search(game, {**asked, "simulations": longer})[0] if longer else None
    return Reviewer(Unsolved(), search, f"{title}, {simulations}", again)  # type: ignore[arg-type]


def losses_of(tree: GameTree, judge: Reviewer) -> list[float]:
    """Return the losses of all moves of a game by a judge."""
    reviewed = Review(tree, tree.line(), {})
    reviewed.begin(judge)
    while job := reviewed.next_job(lambda: False):
        opinion = job()
        assert opinion is not None
        reviewed.note(opinion)
    return [node.loss or 0.0 for node in tree.line()[1:]]


def play_game(game: Game, judge: Reviewer, plies: int, random: float, rng: np.random.Generator) -> list[int]:
    """Return the moves of a game: those of a judge's search, and random ones."""
    tree = GameTree(game)
    while not tree.is_over() and len(tree.path()) <= plies:
        moves, thought = np.flatnonzero(tree.legal()), None
        if rng.random() >= random:
            thought = judge.think(judge.search, tree.at(), lambda: False)
        tree.play(int(rng.choice(moves)) if thought is None else thought.best)
    return [node.action for node in tree.path()[1:]]


def replayed(game: Game, moves: list[int]) -> GameTree:
    """Return the tree of some moves."""
    tree = GameTree(game)
    for move in moves:
        tree.play(move)
    return tree


def champion(run: str, games: int, least: int, sizes: list[int], long: int, checkpoints: str) -> None:
    """Print how often reviews by searches of some sizes call a move a mistake that is none."""
    from azero.champion.load import load_for_one_game

    config = Config(checkpoints=checkpoints)
    game, pool, rng = load_for_one_game(config, run).game, Pool(config), np.random.default_rng(1)
    fast, slow = champion_judge(game, pool, run, 100), champion_judge(game, pool, run, long)
    played = list[list[int]]()
    while len(played) < games:
        moves = play_game(game, fast, PLIES, RANDOM, rng)
        played += [moves] if len(moves) >= least else []
    began = time.perf_counter()
    truth = [loss for moves in played for loss in losses_of(replayed(game, moves), slow)]
    print(f"{games} games, {len(truth)} moves; {long:,} simulations: {time.perf_counter() - began:.0f} s")
    print(
        "true sizes:",
        {size: [size_of(loss) for loss in truth].count(size) for size in ("good", *SIZES)},
    )
    for size, longer in itertools.product(sizes, (0, 4)):
        judge, began = champion_judge(game, pool, run, size, longer * size), time.perf_counter()
        found = [loss for moves in played for loss in losses_of(replayed(game, moves), judge)]
        again = f", {longer * size} for mistakes" if longer else ""
        print(f"{size} simulations{again}, {time.perf_counter() - began:.0f} s")
        for name in SIZES:
            print(f"{name:>9} or worse:", compare(found, truth, SIZES[name]))


def compare(found: list[float], truth: list[float], least: float) -> str:
    """Return in words how many losses of at least that size are smaller than a slip, and what is missed."""
    called = [true for loss, true in zip(found, truth, strict=True) if loss >= least]
    missed = [loss for loss, true in zip(found, truth, strict=True) if true >= least]
    wrong = sum(size_of(true) == "good" for true in called)
    share = 100 * wrong / max(1, len(called))
    unseen = sum(size_of(loss) == "good" for loss in missed)
    return f"{len(called)} called, {wrong} of them good ({share:.1f} %); {unseen} of {len(missed)} not seen"


def solver(games: int) -> None:
    """Print how many moves of random games of Connect Four the review judges wrong."""
    game, rng, wrong, moves = make_game("connect_four"), np.random.default_rng(1), 0, 0
    oracle, judge = make_oracle(game), make_judge(game, Pool(Config(checkpoints="nowhere")), {})
    began = time.perf_counter()
    for _ in range(games):
        tree = replayed(game, play_game(game, judge, 42, 1.0, rng))
        for node, loss in zip(tree.line()[1:], losses_of(tree, judge), strict=True):
            assert node.parent is not None
            scores = oracle.score_moves(node.parent.state)
            best, own = scores[scores != ILLEGAL], scores[node.action]
            true = float(np.sign(best).max() - np.sign(own))
            moves, wrong = moves + 1, wrong + (loss != true)
    print(f"{games} games, {moves} moves, {wrong} judged wrong, {time.perf_counter() - began:.0f} s")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["champion", "solver"])
    parser.add_argument("run", nargs="?", default="gomoku9")
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--least", type=int, default=0, help="plies of a game; shorter ones are left out")
    parser.add_argument("--simulations", type=int, nargs="*", default=[400, 800, 1600])
    parser.add_argument(
        "--long", type=int, default=10_000, help="simulations of the searches to compare with"
    )
    parser.add_argument("--checkpoints", default="checkpoints")
    asked = parser.parse_args()
    if asked.what == "solver":
        solver(asked.games)
    else:
        champion(asked.run, asked.games, asked.least, asked.simulations, asked.long, asked.checkpoints)


if __name__ == "__main__":
    main()
