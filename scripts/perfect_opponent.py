"""Does a champion win Connect Four as first player against a perfect opponent?

    python scripts/perfect_opponent.py  # the run connect_four, 100 games, 100 simulations a move
    python scripts/perfect_opponent.py --games 1000 --network champion.pt kind=puct

The opponent replies with a move of the best exact score, so that it loses as late as it can; where several
are equally good it draws one of them, each as likely, from the seed. It asks the solver BitBully (extra
`oracle`). The champion plays the move of its search, without noise; the games differ by the replies alone, so
not all of them are distinct. All games are searched at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import reduce

import numpy as np
from champions import Played, add_champion, add_search, count, load_champion, print_results, title

from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.games.game import Game
from azero.network.torch_inference import one_thread_per_worker
from azero.players.pv_mcts import PvMcts
from azero.truth.known import is_connect_four
from azero.truth.positions import worth
from azero.truth.solvers import Oracle, make_oracle


class Opponent:
    """A perfect player, the same scores being asked for once."""

    def __init__(self, oracle: Oracle, rng: np.random.Generator) -> None:
        self.oracle, self.rng = oracle, rng
        self.known: dict[bytes, np.ndarray] = {}

    def reply(self, state: np.ndarray) -> int:
        """One of the best moves of an unfinished state [S]."""
        key = state.tobytes()
        if key not in self.known:
            ranks = worth(self.oracle.score_moves(state))
            self.known[key] = np.flatnonzero(ranks == ranks.max())
        return int(self.rng.choice(self.known[key]))


def play(game: Game, champion: PvMcts, opponent: Opponent, count: int) -> list[Played]:
    """So many games side by side, ply by ply, the champion moving first."""
    champion.new_games(np.arange(count, dtype=np.uint64))
    states, moves = np.stack([game.initial_state()] * count), [list[int]() for _ in range(count)]
    playing, ply = np.arange(count), 0
    while len(playing):
        if ply % 2 == 0:
            actions = champion.choose(states[playing], playing, np.full(len(playing), ply))
        else:
            actions = np.array([opponent.reply(state) for state in states[playing]])
        for place, action in zip(playing.tolist(), actions.tolist(), strict=True):
            moves[place].append(action)
            states[place] = game.step(states[place], action)
        playing, ply = (
            np.array([place for place in playing if not game.is_terminal(states[place])], np.int64),
            ply + 1,
        )
    return [Played(tuple(line), game.first_outcome(state)) for line, state in zip(moves, states, strict=True)]


def first_mistake(game: Game, oracle: Oracle, moves: Sequence[int]) -> int:
    """The ply of the champion's first move that did not keep the win, counted from 1."""
    for ply in range(0, len(moves), 2):
        scores = oracle.score_moves(reduce(game.step, moves[:ply], game.initial_state()))
        if scores[moves[ply]] <= 0:
            return ply + 1
    raise AssertionError("a game that is not won has a mistake")


def report(game: Game, oracle: Oracle, games: Sequence[Played]) -> list[str]:
    """Print what happened; return the lines that a program reads."""
    stats = count(games)
    print_results(stats, "wins")
    for each in dict.fromkeys(each for each in games if each.outcome < 1):
        line = " ".join(map(game.action_name, each.moves))
        print(
            f"{'drawn' if each.outcome == 0 else 'lost'}, first mistake at ply "
            f"{first_mistake(game, oracle, each.moves)}: {line}"
        )
    return [f"{name}={value}" for name, value in stats.items()]


def main() -> None:
    """Play and print the results, one line for each number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_champion(parser, "connect_four")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--simulations", type=int, default=100, help="simulations of a move")
    parser.add_argument("--seed", type=int, default=1, help="seed of the replies")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.games < 1 or arguments.simulations < 1:
        raise UserError("--games and --simulations must be at least 1.")
    with one_thread_per_worker():
        trained = load_champion(arguments, 1, num_simulations=arguments.simulations)
        game = trained.game
        if not is_connect_four(game.name, game.options):
            raise UserError(
                f"The opponent knows Connect Four on 6 x 7 only; {arguments.run} plays {game.name}."
            )
        oracle = make_oracle(game)
        begin = time.perf_counter()
        opponent = Opponent(oracle, np.random.default_rng(arguments.seed))
        games = play(game, PvMcts(game, trained.inferences[0], trained.search), opponent, arguments.games)
        print(
            f"{title(arguments, trained)}, {arguments.simulations} simulations a move, "
            f"{time.perf_counter() - begin:.1f} s"
        )
        lines = report(game, oracle, games)
    print(*lines, sep="\n")


if __name__ == "__main__":
    with one_sentence():
        main()
