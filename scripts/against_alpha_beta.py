"""Measure a champion as second player against alpha-beta, which gets a multiple of its time.

    python scripts/against_alpha_beta.py --run othello6  # 200 games, ten times the time
    python scripts/against_alpha_beta.py --run othello6 --simulations 100 --times 20

The first player's first moves are random, and the champion answers them. Then alpha-beta by iterative
deepening moves for it, with a transposition table and the game's own heuristic. Its time for a move is a
multiple of the champion's mean time so far, which begins with a game that does not count. The champion
searches on one core and plays the move of its search, without noise, one game after another. Games that are
equal move by move count once among the distinct ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from champions import add_champion, add_search, load_champion, title

from azero.champion.load import FEW_ROWS
from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.games.game import Game
from azero.network.torch_inference import one_thread_per_worker
from azero.players import Player
from azero.players.iterative_deepening import IterativeDeepening, Options, make
from azero.players.pv_mcts import PvMcts
from azero.report.console import Console
from azero.truth.perfect_play import Played, count, results_text

SHORTEST = 0.001  # seconds that alpha-beta gets at least


@dataclass
class Pace:
    """The time of a player's moves."""

    seconds: float = 0.0
    moves: int = 0

    @property
    def mean(self) -> float:
        """Return the seconds of a move."""
        return self.seconds / max(1, self.moves)


@dataclass
class Duel:
    """A champion, who moves second, and alpha-beta.

    Attributes:
        times: the champion's mean time for a move that alpha-beta gets for one.
        first_mean: what the champion's moves took before the games that count, in seconds.
    """

    game: Game
    champion: PvMcts
    opponent: IterativeDeepening
    times: float
    first_mean: float = 0.0
    own: Pace = field(default_factory=Pace)
    other: Pace = field(default_factory=Pace)

    def play(self, random_moves: int, source: np.random.SeedSequence) -> Played:
        """Play a game; the first player's first `random_moves` moves are random, drawn from `source`."""
        game, rng, moves = self.game, np.random.default_rng(source), list[int]()
        state, drawn = game.initial_state(), 0
        for player in (self.champion, self.opponent):
            player.new_games(rng.integers(2**63, size=1, dtype=np.uint64))
        while not game.is_terminal(state):
            if game.to_play(state) == 1:
                action = ask(self.champion, self.own, state, len(moves))
            elif drawn < random_moves:
                action, drawn = int(rng.choice(game.legal_actions(state))), drawn + 1
            else:
                self.opponent.seconds = max(SHORTEST, self.times * (self.own.mean or self.first_mean))
                action = ask(self.opponent, self.other, state, len(moves))
            moves.append(action)
            state = game.step(state, action)
        return Played(tuple(moves), -game.first_outcome(state))

    def warm_up(self, random_moves: int) -> None:
        """Play two games that do not count: the first compiles, the second times the champion's moves."""
        for seed in range(2):
            self.own, self.other = Pace(), Pace()
            self.play(random_moves, np.random.SeedSequence(seed))
        self.first_mean, self.own, self.other = self.own.mean, Pace(), Pace()


def ask(player: Player, pace: Pace, state: np.ndarray, ply: int) -> int:
    """Return a player's move and note its time."""
    begin = time.perf_counter()
    action = int(player.choose(state[None], np.zeros(1, np.int64), np.array([ply]))[0])
    pace.seconds, pace.moves = pace.seconds + time.perf_counter() - begin, pace.moves + 1
    return action


def report(duel: Duel, games: Sequence[Played]) -> list[str]:
    """Print the results; return the lines that a program reads."""
    stats = count(games)
    print(results_text(stats, "losses"))
    own, other = duel.own.mean, duel.other.mean
    print(f"{1000 * own:.1f} ms a move, alpha-beta {1000 * other:.1f} ms")
    for each in dict.fromkeys(each for each in games if each.outcome < 0):
        print("lost:", " ".join(duel.game.move_names(each.moves)))
    lost = f"losses_percent={100 * stats['losses'] / len(games):.2f}"
    return [
        *(f"{name}={value}" for name, value in stats.items()),
        lost,
        f"time_ratio={other / max(own, 1e-9):.2f}",
    ]


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_champion(parser, "othello6")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument(
        "--simulations", type=int, default=400, help="simulations of the champion before each move"
    )
    parser.add_argument(
        "--random-moves",
        type=int,
        default=4,
        help="random moves of the first player at the start of each game",
    )
    parser.add_argument(
        "--times",
        type=float,
        default=10.0,
        help="time of alpha-beta as a multiple of the champion's mean time for a move",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moves")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.games < 1 or arguments.simulations < 1 or arguments.random_moves < 0 or arguments.times <= 0:
        raise UserError(
            "--games and --simulations must be at least 1, --random-moves at least 0 and --times above 0."
        )
    return arguments


def main() -> None:
    """Play and print the results, one line for each number."""
    arguments, games = parse(), list[Played]()
    with one_thread_per_worker():
        trained = load_champion(arguments, 1, num_simulations=arguments.simulations)
        if trained.game.repetition_words:
            raise UserError(
                f"{arguments.run} plays {trained.game.name}, whose history forbids moves; alpha-beta knows "
                "no history."
            )
        champion = PvMcts(trained.game, trained.inferences[0], trained.search, leaves=FEW_ROWS)
        duel = Duel(trained.game, champion, make(trained.game, Options()), arguments.times)
        duel.warm_up(arguments.random_moves)
        with Console().stage("match", 0, 0, arguments.games, "games") as progress:
            for source in np.random.SeedSequence(arguments.seed).spawn(arguments.games):
                games.append(duel.play(arguments.random_moves, source))
                progress.update(len(games), lost=sum(each.outcome < 0 for each in games))
        print(f"{title(arguments, trained)}, {arguments.simulations} simulations a move")
        lines = report(duel, games)
    print(*lines, sep="\n")


if __name__ == "__main__":
    with one_sentence():
        main()
