#!/usr/bin/env python3
"""Tic-tac-toe by AlphaZero: the published fixed positions and matches beside those of a run of this machine.

usage: python scripts/experiments/alphazero_tictactoe.py [--run NAME] [--share S] [--seed N] [--write]

The run is `python -m azero.loop experiment=published_tictactoe`, ten cycles of the published recipe; its champion searches
with the run's own settings. Which temperature the published matches had is not known: both are played. UCT makes 100
simulations and, in the matches, expands at 10 visits; at the fixed positions at every visit.
"""

from __future__ import annotations

from published import Experiment, measure, parser, player, share_of, tell

from azero.command_line import one_sentence
from azero.config import Config
from azero.correctness import full_table, load_players
from azero.games import make_game

GAMES = 500


def fixed_positions(run: str) -> list[list[str]]:
    """How many of the eleven fixed positions each player answers rightly, published beside measured."""
    game = make_game("tictactoe")
    said = {"alpha-beta": "11", "PV-MCTS": "10 after 10 cycles, 11 after 100", "UCT 100": "5.9 to 6.2"}
    table = full_table(*load_players(Config(), run, game), game)
    rows = [[figures.name, said.get(figures.name, ""), f"{sum(figures.right):.2f}"] for figures in table]
    return [["right of 11 fixed positions", "published", "measured"], *rows]


def experiments(run: str, games: int) -> list[Experiment]:
    """The matches; the first-named player moves first in all games."""
    uct = player("uct", num_simulations=100, expansion_threshold=10)
    found = []
    for temperature in (0.0, 1.0):
        champion = player("pv_mcts", run=run, temperature=temperature)
        name = f"PV-MCTS (temperature {temperature:g})"
        said = ("0.91 (10 cycles), 0.94 (100)", "0.575 (10 cycles), 0.515 (100)")
        found.append(Experiment(f"{name} moving first, v. UCT", said[0], champion, uct, games, first_only=True))
        found.append(Experiment(f"UCT moving first, v. {name}", said[1], uct, champion, games, first_only=True))
    return found


def main() -> None:
    """Ask and play everything."""
    words = parser("Tic-tac-toe by AlphaZero, published beside measured.")
    words.add_argument("--run", default="published_tictactoe", help="the run whose champion plays")
    asked = words.parse_args()
    tell("alphazero_positions", fixed_positions(asked.run), asked.write)
    table = measure(make_game("tictactoe"), experiments(asked.run, share_of(GAMES, asked.share)), asked.seed)
    tell("alphazero_matches", table, asked.write)


if __name__ == "__main__":
    with one_sentence():
        main()
