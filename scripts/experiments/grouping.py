"""Does it help a tree search to split a move into several smaller choices? Grouped against plain UCT.

    python scripts/experiments/grouping.py  # all: four figures and the tables, into docs/lab/experiments
    python scripts/experiments/grouping.py --quick  # the same with few games and small budgets, in seconds

Letters: G pairs of games, P parameters of a payoff.

A game has four plies of 256 moves. The moves, read as the digits of an integer, name a leaf, and a formula
says what the first player gets there; the second gets one minus that (`grouping_game.py`). A pair of games
has the same payoff; the grouped player moves first in one and second in the other. Its score in a pair is the
mean of what it got, and one half is equality. Bands are 95 % intervals by the normal approximation over
pairs.

The source leaves three choices open: which moves are tried if rollouts are too few for all, whether the most
visited or the best move is played, and after how many visits a leaf is expanded. A *reading* makes them, for
both players. Everything is played with each of eight.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
from grouping_game import (
    BACKWARD,
    FORWARD,
    LINEAR,
    SHUFFLED,
    SINES,
    X_SIN_X,
    Reading,
    make_levels,
    play_games,
)

from azero.report.console import Console

MOVES, PLIES = 256, 4
PLAIN = (256,)
GROUPINGS: tuple[tuple[int, ...], ...] = (
    (16, 16),
    (4, 8, 8),
    (4, 4, 4, 4),
)  # split once, twice (unequally), three times
BUDGETS = tuple(16 * 2**k for k in range(10))  # rollouts for a move
QUICK_BUDGETS = BUDGETS[2:6]
WHOLE = MOVES  # from here on plain UCT tries every move; below, the first of its order, once each
GAMES = 200  # each way in every cell
ORDERS = {SHUFFLED: "random", FORWARD: "in order", BACKWARD: "backward"}
READINGS = tuple(
    Reading(order, by_mean, threshold)
    for order in (SHUFFLED, FORWARD)
    for by_mean in (False, True)
    for threshold in (0, 10)
)
MIRRORED = Reading(BACKWARD, False, 0)  # only at budgets below WHOLE: what the order of the numbers does
DOCUMENTS = Path(__file__).resolve().parents[2] / "docs" / "lab" / "experiments"
EXPLORATION = 1.0  # makes the bound UCB1, whose proof wants payoffs in [0, 1]
SINE_TERMS = 10
NO_DIFFERENCE = 0.01  # of a payoff between 0 and 1: what counts as none
GAIN_SHOWN = (-0.15, 0.5)  # the y-axis of every figure
Z_95 = 1.96
THREADS = 2


class Family(NamedTuple):
    """Payoffs of one kind, drawn anew for each pair of games."""

    name: str
    title: str
    kind: int
    draw: Callable[[np.random.Generator, int], np.ndarray]  # (rng, G) to parameters [G, P]


def draw_weights(rng: np.random.Generator, games: int) -> np.ndarray:
    """Weights of the sines that add up to one, so that no payoff is above it."""
    weights = rng.uniform(0.0, 1.0, (games, SINE_TERMS))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


FAMILIES = (
    Family(
        "x_sin_x_15",
        "|x sin x| / k, k in [5, 15]",
        X_SIN_X,
        lambda rng, games: rng.uniform(5, 15, (games, 1)),
    ),
    Family(
        "x_sin_x_100005",
        "|x sin x| / k, k in [5, 100005]",
        X_SIN_X,
        lambda rng, games: rng.uniform(5, 100_005, (games, 1)),
    ),
    Family("sines", "|sum of ten sines|", SINES, draw_weights),
    Family("linear", "linear", LINEAR, lambda rng, games: np.zeros((games, 1))),
)
X_SIN_X_FAMILIES = ("x_sin_x_15", "x_sin_x_100005")


class Cell(NamedTuple):
    """One place of the experiment: how it is read, which payoffs, which grouping, rollouts for a move."""

    reading: Reading
    family: str
    splits: tuple[int, ...]
    rollouts: int


class Outcome(NamedTuple):
    """What the grouped player got there, [G] each."""

    first: np.ndarray  # moving first
    second: np.ndarray  # moving second

    @property
    def score(self) -> np.ndarray:
        """[G]: of each pair."""
        return (self.first + self.second) / 2


Outcomes = dict[Cell, Outcome]


class Mean(NamedTuple):
    """A mean with the half width of its band."""

    value: float
    band: float

    def above(self, limit: float = 0.0) -> bool:
        """Whether the whole band lies above."""
        return self.value - self.band > limit

    def __str__(self) -> str:
        return f"{self.value:+.4f} ± {self.band:.4f}"


def mean_of(values: np.ndarray) -> Mean:
    """The mean over pairs [G]."""
    return Mean(float(values.mean()), Z_95 * float(values.std(ddof=1)) / math.sqrt(len(values)))


def play_cell(cell: Cell, games: int, seed: int, exploration: float) -> Outcome:
    """Play a pair of games with each payoff; payoffs depend only on the family and the seed."""
    number = [family.name for family in FAMILIES].index(cell.family)
    family = FAMILIES[number]
    parameters = family.draw(np.random.default_rng([seed, number]), games)
    grouped, plain = make_levels(cell.splits, PLIES), make_levels(PLAIN, PLIES)
    got = []
    for order, players in enumerate(((grouped, plain), (plain, grouped))):
        seeds = np.random.SeedSequence([seed, number, GROUPINGS.index(cell.splits), cell.rollouts, order])
        streams = np.stack([seeds.generate_state(games, np.uint64), np.zeros(games, np.uint64)], axis=1)
        payoffs = np.zeros(games)
        play_games(
            family.kind,
            parameters,
            *players,
            cell.reading,
            PLIES,
            cell.rollouts,
            exploration,
            streams,
            payoffs,
        )
        got.append(payoffs)
    return Outcome(got[0], 1.0 - got[1])


def play_all(budgets: Sequence[int], games: int, seed: int, exploration: float) -> Outcomes:
    """Play every cell on two threads, the longest first."""
    cells = [
        Cell(reading, family.name, splits, rollouts)
        for rollouts in budgets
        for splits in GROUPINGS
        for family in FAMILIES
        for reading in (*READINGS, MIRRORED)
        if reading is not MIRRORED or rollouts < WHOLE
    ]
    cells.reverse()
    total, done = 2 * games * sum(cell.rollouts for cell in cells) * PLIES, 0
    outcomes: Outcomes = {}
    with (
        Console().stage("grouping", 0, 0, total, "rollouts") as progress,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        waiting = {threads.submit(play_cell, cell, games, seed, exploration): cell for cell in cells}
        for finished in as_completed(waiting):
            cell = waiting[finished]
            outcomes[cell] = finished.result()
            done += 2 * games * cell.rollouts * PLIES
            progress.update(done)
    return outcomes


# The findings, each by a rule


Key = tuple[str, tuple[int, ...]]  # a family's name and a grouping


class Curve:
    """How one grouping did on one family, over the budgets."""

    def __init__(self, outcomes: Outcomes, cells: Sequence[Cell]) -> None:
        self.budgets = [cell.rollouts for cell in cells]
        self.advantages = np.array([outcomes[cell].score for cell in cells]) - 0.5  # [budgets, G]
        half = len(cells) // 2
        self.overall = mean_of(self.advantages.mean(axis=0))
        self.small = mean_of(self.advantages[:half].mean(axis=0))
        self.fall = mean_of(self.advantages[:half].mean(axis=0) - self.advantages[half:].mean(axis=0))

    def last_help(self) -> int:
        """The largest budget at which the grouped player is ahead, 0 where it never is."""
        return max(
            (b for b, row in zip(self.budgets, self.advantages, strict=True) if mean_of(row).above()),
            default=0,
        )

    def helps_most_when_small(self) -> bool:
        """Whether it helps at the smaller half of the budgets, and more than at the larger half."""
        return self.small.above() and self.fall.above()


Curves = dict[Key, Curve]


class Finding(NamedTuple):
    """A published claim and where it holds."""

    claim: str
    holds: list[bool]  # for each payoff, or grouping, or both, that the claim is about

    @property
    def verdict(self) -> str:
        """In words."""
        return "yes" if all(self.holds) else "in part" if any(self.holds) else "no"


def helps_more(curves: Curves, family: str) -> bool:
    """Return whether three splits help more than one, on average over the budgets."""
    once, thrice = curves[family, GROUPINGS[0]], curves[family, GROUPINGS[-1]]
    return mean_of((thrice.advantages - once.advantages).mean(axis=0)).above()


def helps_longer(curves: Curves, family: str) -> bool:
    """Return whether three splits help up to a larger budget than one."""
    return curves[family, GROUPINGS[-1]].last_help() > curves[family, GROUPINGS[0]].last_help()


def shape(curves: Curves, family: str) -> list[bool]:
    """The answers on one family: helps most at small budgets, for each grouping; helps more; helps longer."""
    small = [curves[family, splits].helps_most_when_small() for splits in GROUPINGS]
    return [*small, helps_more(curves, family), helps_longer(curves, family)]


def find(outcomes: Outcomes, reading: Reading, budgets: Sequence[int]) -> list[Finding]:
    """All findings under one reading, over these budgets."""
    curves = {
        (family.name, splits): Curve(
            outcomes, [Cell(reading, family.name, splits, rollouts) for rollouts in budgets]
        )
        for family in FAMILIES
        for splits in GROUPINGS
    }
    small = [
        curves[name, splits].helps_most_when_small() for name in X_SIN_X_FAMILIES for splits in GROUPINGS
    ]
    sines = [curves["sines", splits].overall for splits in GROUPINGS]
    return [
        Finding("Grouping helps most at small budgets", small),
        Finding("More grouping helps more", [helps_more(curves, name) for name in X_SIN_X_FAMILIES]),
        Finding("More grouping helps for longer", [helps_longer(curves, name) for name in X_SIN_X_FAMILIES]),
        Finding(
            "Linear behaves like x sin x",
            [shape(curves, name) == shape(curves, "linear") for name in X_SIN_X_FAMILIES],
        ),
        Finding(
            "The sum of sines shows no difference",
            [abs(mean.value) + mean.band < NO_DIFFERENCE for mean in sines],
        ),
    ]


def read_as(reading: Reading) -> str:
    """A reading in words, such as "in order, best mean, 10"."""
    played = "best mean" if reading.by_mean else "most visits"
    return f"{ORDERS[reading.order]}, {played}, {reading.threshold}"


def times(splits: tuple[int, ...]) -> str:
    """Such as 16×16."""
    return "×".join(map(str, splits))


# What is written


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def verdicts(outcomes: Outcomes, budgets: Sequence[int]) -> str:
    """Each finding under each reading, as a table."""
    found = {reading: find(outcomes, reading, budgets) for reading in READINGS}
    head = ["order of moves, move played, threshold", *(finding.claim for finding in found[READINGS[0]])]
    rows = [[read_as(reading), *(finding.verdict for finding in each)] for reading, each in found.items()]
    return markdown(head, rows)


def table(outcomes: Outcomes, family: Family, reading: Reading) -> str:
    """One family under one reading, as Markdown."""
    budgets = sorted({cell.rollouts for cell in outcomes if cell.reading == reading})
    rows = [
        [
            str(rollouts),
            *(str(mean_of(outcomes[Cell(reading, family.name, s, rollouts)].score - 0.5)) for s in GROUPINGS),
        ]
        for rollouts in budgets
    ]
    return f"### {read_as(reading)}\n\n{markdown(['rollouts', *map(times, GROUPINGS)], rows)}\n"


def report(outcomes: Outcomes, games: int, seed: int, exploration: float) -> str:
    """Verdicts and tables, as Markdown."""
    budgets = sorted({cell.rollouts for cell in outcomes})
    command = f"scripts/experiments/grouping.py --games {games} --seed {seed} --exploration {exploration:g}"
    widest = max(mean_of(outcome.score).band for outcome in outcomes.values())
    parts = [
        "# Grouped UCT against plain UCT\n",
        f"`{command}` wrote this page.\nA game has {PLIES} plies of {MOVES} moves. "
        f"Every cell has {games} games each way. UCT uses mean + {exploration:g} · √(2 ln n / n_child).\n"
        "The tables show the grouped player's mean payoff over both orders of moving, minus one half.\n"
        f"The ± is half of a 95 % interval; the widest of all is ± {widest:.4f}.\n",
        f"## Findings, all budgets\n\n{verdicts(outcomes, budgets)}\n",
    ]
    above = [rollouts for rollouts in budgets if rollouts >= WHOLE]
    if above:
        parts.append(f"## Findings, {WHOLE} rollouts and more\n\n{verdicts(outcomes, above)}\n")
    for family in FAMILIES:
        parts.append(f"## {family.title}\n")
        parts += [table(outcomes, family, reading) for reading in (*READINGS, MIRRORED)]
    return "\n".join(parts)


def draw(outcomes: Outcomes, family: Family, path: Path) -> None:
    """One family's figure: the grouped player's gain over the budgets, a panel for each reading."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    budgets = sorted({cell.rollouts for cell in outcomes})
    figure, grid = pyplot.subplots(2, 4, figsize=(13, 8.4), layout="constrained", sharex=True, sharey=True)
    for reading, axes in zip(READINGS, grid.flat, strict=True):
        axes.axhspan(-NO_DIFFERENCE, NO_DIFFERENCE, color="0.88", linewidth=0)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.axvline(WHOLE, color="black", linewidth=0.8, linestyle=":")
        for splits in GROUPINGS:
            scores = [outcomes[Cell(reading, family.name, splits, rollouts)].score for rollouts in budgets]
            means = [mean_of(score - 0.5) for score in scores]
            values, bands = np.array([mean.value for mean in means]), np.array([mean.band for mean in means])
            (line,) = axes.plot(budgets, values, marker="o", markersize=3.5, label=times(splits))
            axes.fill_between(
                budgets, values - bands, values + bands, color=line.get_color(), alpha=0.25, linewidth=0
            )
        axes.set_title(read_as(reading), fontsize=10)
    axes.set_ylim(*GAIN_SHOWN)
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [str(rollouts) for rollouts in budgets])
    axes.minorticks_off()
    for axes in grid[-1]:
        axes.tick_params(axis="x", rotation=60)
    figure.supxlabel("rollouts for a move")
    figure.supylabel("gain of grouped UCT over plain UCT (payoff - 1/2)")
    figure.suptitle(f"{family.title}. Panels: order of moves, move played, expansion threshold")
    grid[0, 0].legend()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, write, print; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games", type=int, help=f"games each way in every cell; default {GAMES}, with --quick 40"
    )
    parser.add_argument("--quick", action="store_true", help="few games, small budgets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exploration", type=float, default=EXPLORATION, help="the constant of the bound")
    parser.add_argument(
        "--folder", type=Path, help="default: docs/lab/experiments for the whole experiment, else ./grouping"
    )
    asked = parser.parse_args(arguments)
    if asked.folder is None:
        whole_experiment = (
            not asked.quick and asked.games in (None, GAMES) and asked.exploration == EXPLORATION
        )
        asked.folder = DOCUMENTS if whole_experiment else Path("grouping")
    games = asked.games if asked.games is not None else 40 if asked.quick else GAMES
    if games < 2 or asked.seed < 0 or not 0.0 <= asked.exploration < math.inf:
        parser.error("--games must be at least 2, --seed and --exploration at least 0")
    if importlib.util.find_spec("matplotlib") is None:
        print(
            'azero: the figures are drawn by matplotlib; pip install "azero[plots]" installs it.',
            file=sys.stderr,
        )
        return 2
    budgets = QUICK_BUDGETS if asked.quick else BUDGETS
    outcomes = play_all(budgets, games, asked.seed, asked.exploration)
    asked.folder.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        draw(outcomes, family, asked.folder / f"grouping_{family.name}.png")
    (asked.folder / "grouping.md").write_text(report(outcomes, games, asked.seed, asked.exploration))
    print(verdicts(outcomes, budgets))
    print(f"{len(FAMILIES)} figures and grouping.md are in {asked.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
