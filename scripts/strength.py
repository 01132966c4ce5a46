"""How many mistakes does a champion make? It answers positions whose exact scores are known.

    python scripts/strength.py kind=puct                          the run connect_four, raw policy and search at 600 simulations
    python scripts/strength.py --run othello6                     another game of which positions come with azero
    python scripts/strength.py --run mine --file positions.gz     or of any game, positions that python -m azero.oracle made
    python scripts/strength.py --run mine --network champion.pt   another network, searched with and computed as in that run
    python scripts/strength.py --simulations 0,64,600             the raw policy, and two searches
    python scripts/strength.py kind=puct c_puct=1.5               any setting of search.* may stand behind
    python scripts/strength.py --collection final                 the sets kept apart; only for the final table

A mistake is a move that does not keep win, draw or loss. Connect Four has six sets of 1,000 positions, from random play:
easy, medium and hard by the plies until the end under perfect play (< 14, 14 to 28, > 28), late, middle and early by the plies
played (> 28, 14 to 28, < 14). Mistakes have 95 % intervals (Wilson's; the mean's has Agresti and Coull's variance). "best" is
the share of moves with the fastest win or the longest loss, "value error" the mean distance of the value to the exact one, of the
network or of the search's root. Each position is searched with an empty tree, without noise, many at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from champions import add_champion, add_search, load_champion, title

from azero.command_line import one_sentence
from azero.config import UserError
from azero.machine import cores
from azero.network.torch_inference import one_thread_a_lane
from azero.rating import score_interval
from azero.trained import TrainedLanes
from azero.truth.judging import Answers, Figures, ask_network, ask_search, judge, mean_of
from azero.truth.positions import PositionSet, read_positions
from azero.truth.shipped import DEVELOPMENT, FINAL, shipped_file
from azero.words import whole_numbers


def percent(share: float) -> str:
    """Such as "2.3"."""
    return f"{100 * share:.1f}"


def row(name: str, figures: Figures, low: float, high: float) -> str:
    """A line of the table."""
    mistakes = f"{percent(1 - figures.keeps_value):>5} %   {percent(low):>4} to {percent(high):>4} %"
    return f"{name:14} {mistakes}   {percent(figures.best_move):>5} %   {figures.value_error:11.3f}"


def mistakes_interval(figures: Figures) -> tuple[float, float]:
    """95 % interval of the share of mistakes."""
    return score_interval(figures.mistakes, 0, figures.positions - figures.mistakes)


def mean_interval(figures: Sequence[Figures]) -> tuple[float, float]:
    """95 % interval of the mean share of mistakes; the sets are independent, so their variances add up.

    A set's share has the variance p (1 - p) / n with two mistakes and two right answers more than were counted (Agresti and
    Coull 1998): none of 1,000 does not prove that there are none.
    """
    mistakes, counts = np.array([each.mistakes for each in figures]) + 2, np.array([each.positions for each in figures]) + 4
    half = 1.96 * float(np.sqrt((mistakes / counts * (1 - mistakes / counts) / counts).sum())) / len(figures)
    mean = float(np.mean([1 - each.keeps_value for each in figures]))
    return max(0.0, mean - half), min(1.0, mean + half)


def ask(trained: TrainedLanes, num_simulations: int, asked: PositionSet) -> Answers:
    """The answers of the raw policy for 0 simulations, else of the search."""
    if not num_simulations:
        return ask_network(trained.game, trained.inferences[0], asked.states)
    search = replace(trained.search, num_simulations=num_simulations)
    return ask_search(trained.game, trained.inferences, search, asked.states, asked.plies)


def measure(trained: TrainedLanes, num_simulations: int, sets: Sequence[PositionSet]) -> list[str]:
    """Print the table of one player; returns the lines that a program reads."""
    title = f"search of {num_simulations} simulations" if num_simulations else "raw policy"
    print(f"\n{title}\n{'':14} mistakes   95 % interval      best   value error")
    tag = f"search{num_simulations}" if num_simulations else "policy"
    begin, all_figures, lines = time.perf_counter(), [], []
    for each in sets:
        figures = judge(each, ask(trained, num_simulations, each))
        print(row(each.name, figures, *mistakes_interval(figures)), flush=True)
        lines.append(f"{tag}_{each.name.replace(' ', '_')}_percent={100 * (1 - figures.keeps_value):.2f}")
        all_figures.append(figures)
    mean = mean_of(all_figures)
    print(row("mean", mean, *mean_interval(all_figures)))
    print(f"{mean.positions:,} positions in {time.perf_counter() - begin:.1f} s")
    lines += [f"{tag}_mean_percent={100 * (1 - mean.keeps_value):.2f}", f"{tag}_best_move_percent={100 * mean.best_move:.2f}"]
    return [*lines, f"{tag}_value_error={mean.value_error:.4f}"]


def main() -> None:
    """Print the tables, then a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_champion(parser, "connect_four")
    parser.add_argument("--simulations", default="0,600", help="several with commas; 0 is the raw policy")
    parser.add_argument("--collection", default=DEVELOPMENT, choices=(DEVELOPMENT, FINAL))
    parser.add_argument("--file", type=Path, help="positions that python -m azero.oracle made, instead of a collection")
    parser.add_argument("--positions", type=int, default=1000, help="of each set")
    parser.add_argument("--lanes", type=int, default=0, help="threads; by default two, where there are two cores")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.positions < 1 or arguments.lanes < 0:
        raise UserError("--positions must be at least 1, and --lanes at least 0.")
    amounts, lines = whole_numbers(arguments.simulations, "--simulations", "0,600"), list[str]()
    with one_thread_a_lane():
        trained = load_champion(arguments, arguments.lanes or min(2, cores()))
        game = trained.game
        file = arguments.file or shipped_file(game.name, game.options, arguments.collection)
        if not file:
            raise UserError(
                f"No {arguments.collection} positions of {game.name} {game.options} come with azero; make some with "
                "python -m azero.oracle and name them with --file."
            )
        sets = read_positions(file, game, arguments.positions)[1]
        print(title(arguments, trained))
        for amount in amounts:
            lines += measure(trained, amount, sets)
    print(*lines, sep="\n")


if __name__ == "__main__":
    with one_sentence():
        main()
