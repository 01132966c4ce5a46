"""Does a champion hold its ground as second player? It plays games against alpha-beta, which gets a multiple of its time.

    python scripts/against_alpha_beta.py --run othello6                     200 games, 400 simulations a move, ten times the time
    python scripts/against_alpha_beta.py --run othello6 --simulations 100 --times 20

The first player's first moves are random, the champion answering; then alpha-beta by iterative deepening moves for it, with a
transposition table and the game's own evaluation. Its time for a move is so many times what the champion has taken for one on
average, in a game before the first and in all games until then. The champion plays the move of its search, without noise, one
game after another; games that are equal move by move are counted once among the distinct ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from champions import add_champion, load_champion, title

from azero.command_line import one_sentence
from azero.config import UserError
from azero.games.game import Game
from azero.monitoring.console import Console
from azero.network.torch_inference import one_thread_a_lane
from azero.players import Player
from azero.players.iterative_deepening import IterativeDeepening, make
from azero.players.pv_mcts import PvMcts
from azero.rating import score_interval


@dataclass
class Spent:
    """What the moves of a player took."""

    seconds: float = 0.0
    moves: int = 0

    @property
    def mean(self) -> float:
        """Seconds a move."""
        return self.seconds / max(1, self.moves)


class Played(NamedTuple):
    """One game."""

    moves: tuple[int, ...]
    outcome: float  # for the champion


@dataclass
class Match:
    """Two players and what their moves took."""

    game: Game
    champion: PvMcts
    opponent: IterativeDeepening
    times: float
    champion_spent: Spent
    opponent_spent: Spent

    def play(self, random_moves: int, source: np.random.SeedSequence) -> Played:
        """A game, in which the first `random_moves` of the first player are drawn from `source`, each legal one as likely."""
        game, rng, moves = self.game, np.random.default_rng(source), list[int]()
        state, drawn = game.initial_state(), 0
        for player in (self.champion, self.opponent):
            player.new_games(rng.integers(2**63, size=1, dtype=np.uint64))
        while not game.is_terminal(state):
            if game.to_play(state) == 1:
                action = self.ask(self.champion, self.champion_spent, state, len(moves))
            elif drawn < random_moves:
                action, drawn = int(rng.choice(game.legal_actions(state))), drawn + 1
            else:
                self.opponent.seconds = max(0.001, self.times * self.champion_spent.mean)
                action = self.ask(self.opponent, self.opponent_spent, state, len(moves))
            moves.append(action)
            state = game.step(state, action)
        return Played(tuple(moves), game.outcome(state) * (1 if game.to_play(state) == 1 else -1))

    def ask(self, player: Player, spent: Spent, state: np.ndarray, ply: int) -> int:
        """A player's move, its time being noted."""
        begin = time.perf_counter()
        action = int(player.choose(state[None], np.zeros(1, np.int64), np.array([ply]))[0])
        spent.seconds, spent.moves = spent.seconds + time.perf_counter() - begin, spent.moves + 1
        return action


def report(match: Match, games: Sequence[Played]) -> list[str]:
    """Print what happened; returns the lines that a program reads."""
    wins, draws, losses = (sum(each.outcome == outcome for each in games) for outcome in (1.0, 0.0, -1.0))
    low, high = score_interval(losses, 0, len(games) - losses)
    print(f"{wins} wins, {draws} draws, {losses} losses of {len(games)} games, {len(set(games))} of them distinct")
    print(f"losses {100 * losses / len(games):.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")
    own, other = match.champion_spent.mean, match.opponent_spent.mean
    print(f"{1000 * own:.1f} ms a move, alpha-beta {1000 * other:.1f} ms, {other / own:.1f} times as long")
    for each in dict.fromkeys(each for each in games if each.outcome < 0):
        print("lost:", " ".join(map(match.game.action_name, each.moves)))
    figures = {"wins": wins, "draws": draws, "losses": losses, "games": len(games), "distinct": len(set(games))}
    lost = f"losses_percent={100 * losses / len(games):.2f}"
    return [*(f"{name}={value}" for name, value in figures.items()), lost, f"time_ratio={other / own:.2f}"]


def main() -> None:
    """Play, tell, then a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_champion(parser, "othello6")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=400, help="of the champion, for each move")
    parser.add_argument("--random-moves", type=int, default=4, help="of the first player, at the beginning of each game")
    parser.add_argument("--times", type=float, default=10.0, help="the champion's time that alpha-beta gets for a move")
    parser.add_argument("--seed", type=int, default=1, help="of the random moves")
    arguments = parser.parse_args()
    if arguments.games < 1 or arguments.simulations < 1 or arguments.random_moves < 0 or arguments.times <= 0:
        raise UserError("--games and --simulations must be at least 1, --random-moves at least 0 and --times above 0.")
    with one_thread_a_lane():
        trained = load_champion(arguments, 1)
        search = replace(trained.search, num_simulations=arguments.simulations)
        champion = PvMcts(trained.game, trained.inferences[0], search)
        match = Match(trained.game, champion, make(trained.game), arguments.times, Spent(), Spent())
        sources = np.random.SeedSequence(arguments.seed).spawn(arguments.games + 1)
        match.play(arguments.random_moves, sources.pop())  # compiles, and tells what a move takes
        match = replace(match, champion_spent=Spent(match.champion_spent.mean, 1), opponent_spent=Spent())
        games = list[Played]()
        with Console().stage("match", 0, 0, arguments.games, "games") as progress:
            for source in sources:
                games.append(match.play(arguments.random_moves, source))
                progress.update(len(games), lost=sum(each.outcome < 0 for each in games))
        print(f"{title(arguments, trained)}, {arguments.simulations} simulations a move")
        lines = report(match, games)
    print(*lines, sep="\n")


if __name__ == "__main__":
    with one_sentence():
        main()
