"""How fast are the rules? Plies a second of random play on one core, compared with OpenSpiel.

    python scripts/bench_games.py  # every shipped game
    python scripts/bench_games.py go9 othello  # some of them, by the names of conf/game

A ply is: legal moves, a uniformly random choice, step, test for the end. Where a game forbids repetition, the
chosen move is compared with every earlier position of the game and drawn again if it repeats one, which is
the uniform choice among what is allowed. OpenSpiel is asked through its Python interface, the only one a user
of pip has.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import numpy as np

from azero.cli.hydra_program import compose, one_sentence
from azero.games import make_game
from azero.games.game import Game, rules_at
from azero.games.legal import draw_legal, make_legal
from azero.kernels.compiled import borrowed, kernel
from azero.kernels.words import same_words
from azero.search.tree import EDGE, NODE

# names of conf/game: OpenSpiel's game
GAMES = {
    "tictactoe": "tic_tac_toe",
    "connect_four": "connect_four",
    "othello": "othello",
    "othello6": None,
    "chess": "chess",
    "gardner": None,
    "losalamos": None,
    "go9": "go(board_size=9,komi=7.5)",
    "gomoku": "mnk(m=15,n=15,k=5)",
    "gomoku9": "mnk(m=9,n=9,k=5)",
    "hex7": "hex(board_size=7)",
    "hex11": "hex(board_size=11)",
    "breakthrough": "breakthrough",
    "breakthrough6": "breakthrough(rows=6,columns=6)",
}


@kernel
def random_play(addresses, plies, legal, buffers, keys, stream):
    """Play whole games until at least `plies` plies are played; returns (plies, games).

    Scratch: legal, buffers [2, S], keys [max_plies + 2, R].
    """
    rules = rules_at(addresses)
    legal, buffers, keys, stream = borrowed(legal), borrowed(buffers), borrowed(keys), borrowed(stream)
    here, there = buffers[0], buffers[1]
    played, games = 0, 0
    while played < plies:
        rules.initial(here)
        games += 1
        ply = 0
        while not rules.is_terminal(here):
            rules.step(here, draw_legal(rules, here, legal, stream), there)
            if keys.shape[1] > 0:
                rules.repetition_key(here, keys[ply])
                while repeats(rules, there, keys, ply):
                    rules.step(here, draw_legal(rules, here, legal, stream), there)
            here, there = there, here
            ply += 1
        played += ply
    return played, games


@kernel
def repeats(rules, state, keys, ply):
    """Return whether a state repeats one before the present one, whose key is keys[ply]."""
    key = keys[ply + 1]
    rules.repetition_key(state, key)
    found = False
    if not same_words(key, keys[ply]):
        for earlier in range(ply):
            found |= same_words(key, keys[earlier])
    return found


def measure(game: Game, seconds: float, rounds: int) -> tuple[float, float]:
    """Return the median plies a second over some rounds, and plies a game."""
    legal, buffers = make_legal(game.num_actions), np.zeros((2, game.state_words), np.uint64)
    keys = np.zeros((game.max_plies + 2, game.repetition_words), np.uint64)
    stream = np.array([1, 0], np.uint64)
    plies, rates, length = 1000, [], 0.0
    random_play(game.rule_addresses, plies, legal, buffers, keys, stream)  # compiles
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        played, games = random_play(game.rule_addresses, plies, legal, buffers, keys, stream)
        took = time.perf_counter() - begin
        rates.append(played / took)
        length = played / games
        plies = max(1000, int(rates[-1] * seconds))
    return statistics.median(rates[1:]), length


def measure_openspiel(name: str, seconds: float) -> float:
    """Return plies a second of random play through OpenSpiel's Python interface."""
    import pyspiel

    game = pyspiel.load_game(name)
    choose = random.Random(1).choice
    plies, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(choose(state.legal_actions()))
            plies += 1
    return plies / (time.perf_counter() - begin)


def main() -> None:
    """Print a table, one game a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", metavar="game", choices=[*GAMES, []], help=", ".join(GAMES))
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds of a round")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        print("OpenSpiel is not installed (extra openspiel), so its column is empty.")
        beside = False
    else:
        beside = True
    print("game           M plies/s  ns/ply  plies/game  OpenSpiel M plies/s  state words  tree bytes/node")
    for name in arguments.games or GAMES:
        config = compose(f"game={name}")
        game = make_game(config.game.name, **config.game.options)
        rate, length = measure(game, arguments.seconds, arguments.rounds)
        theirs = GAMES.get(name)
        other = (
            f"{measure_openspiel(theirs, arguments.seconds) / 1e6:19.3f}" if beside and theirs else " " * 19
        )
        node = NODE.itemsize + 8 * game.state_words + EDGE.itemsize * game.num_actions
        print(
            f"{name:13s} {rate / 1e6:10.2f} {1e9 / rate:7.1f} {length:11.1f} {other} "
            f"{game.state_words:12d} {node:16d}",
            flush=True,
        )


if __name__ == "__main__":
    with one_sentence():
        main()
