"""Does it help a tree search to split a move into several smaller choices? Grouped against plain UCT.

    python scripts/experiments/grouping.py  # everything: four figures and the tables, into docs/experiments
    python scripts/experiments/grouping.py --quick  # the same with few games and small budgets, in seconds

Letters: G pairs of games, P parameters of a payoff.

A game has four plies of 256 moves. The moves, read as the digits of an integer, name a leaf, and a formula
says what the first player gets there; the second gets one minus that (`grouping_game.py`). A pair of games
has the same payoff; the grouped player moves first in one and second in the other. Its score in a pair is the
mean of what it got, and one half is equality. Bands are 95 % intervals by the normal approximation over
pairs.
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
from grouping_game import LINEAR, SINES, X_SIN_X, make_levels, play_games

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
# From here on plain UCT tries every move; below, it expands that number of random moves once
WHOLE = MOVES
DOCUMENTS = Path(__file__).resolve().parents[2] / "docs" / "experiments"
EXPLORATION = 1.0  # makes the bound UCB1, whose proof wants payoffs in [0, 1]
SINE_TERMS = 10
NO_DIFFERENCE = 0.01  # of a payoff between 0 and 1: what counts as none
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
    """One place of the experiment: which payoffs, which grouping, how many rollouts for a move."""

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
        play_games(family.kind, parameters, *players, PLIES, cell.rollouts, exploration, streams, payoffs)
        got.append(payoffs)
    return Outcome(got[0], 1.0 - got[1])


def play_all(budgets: Sequence[int], games: int, seed: int, exploration: float) -> Outcomes:
    """Play every cell on two threads, the longest first."""
    cells = [
        Cell(family.name, splits, rollouts)
        for rollouts in budgets
        for splits in GROUPINGS
        for family in FAMILIES
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


# The four findings, each by a rule


Key = tuple[str, tuple[int, ...]]  # a family's name and a grouping


class Curve:
    """How one grouping did on one family, over the budgets."""

    def __init__(
        self, outcomes: Outcomes, family: str, splits: tuple[int, ...], budgets: Sequence[int]
    ) -> None:
        self.budgets = budgets
        scores = [outcomes[Cell(family, splits, rollouts)].score for rollouts in self.budgets]
        self.advantages = np.array(scores) - 0.5  # [budgets, G]; row by row the same payoffs
        half = len(self.budgets) // 2
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
        """The rule of the first finding for one curve."""
        return self.small.above() and self.fall.above()


class Finding(NamedTuple):
    """A published claim, where it holds here, and the figures."""

    claim: str
    holds: list[bool]  # for each payoff, or grouping, or both, that the claim is about
    figures: list[str]

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if all(self.holds) else "holds in part" if any(self.holds) else "does not hold"


def find_small(curves: dict[Key, Curve]) -> Finding:
    """Grouping helps most at small budgets."""
    shown = {key: curve for key, curve in curves.items() if key[0] in X_SIN_X_FAMILIES}
    figures = [
        f"{family}, {times(splits)}: {curve.small} in the smaller half of the budgets, {curve.fall} more "
        "than in the larger "
        f"half: {yes(curve.helps_most_when_small())}"
        for (family, splits), curve in shown.items()
    ]
    return Finding(
        "Grouping helps most at small budgets",
        [curve.helps_most_when_small() for curve in shown.values()],
        figures,
    )


def more_is_more(curves: dict[Key, Curve], family: str) -> tuple[bool, str]:
    """Return whether three splits help more than one on average, and up to a larger budget."""
    once, thrice = curves[family, GROUPINGS[0]], curves[family, GROUPINGS[-1]]
    gain = mean_of((thrice.advantages - once.advantages).mean(axis=0))
    longer = thrice.last_help() > once.last_help()
    return gain.above() and longer, (
        f"{family}: {times(GROUPINGS[-1])} minus {times(GROUPINGS[0])} is {gain} on average; the largest "
        "budget that helps is "
        f"{thrice.last_help()} instead of {once.last_help()}: {yes(gain.above() and longer)}"
    )


def find_more(curves: dict[Key, Curve]) -> Finding:
    """More grouping helps more and for longer."""
    answers = [more_is_more(curves, family) for family in X_SIN_X_FAMILIES]
    return Finding(
        "More grouping helps more and for longer",
        [holds for holds, _ in answers],
        [figures for _, figures in answers],
    )


def find_linear(curves: dict[Key, Curve]) -> Finding:
    """Return whether linear behaves like x sin x: both rules give the same answers on it."""

    def answers(family: str) -> list[bool]:
        return [
            *(curves[family, splits].helps_most_when_small() for splits in GROUPINGS),
            more_is_more(curves, family)[0],
        ]

    figures = [
        f"{family}: {', '.join(map(yes, answers(family)))}" for family in (*X_SIN_X_FAMILIES, "linear")
    ]
    figures.insert(
        0, "most at small budgets with " + ", with ".join(map(times, GROUPINGS)) + "; more and longer"
    )
    same = [answers(family) == answers("linear") for family in X_SIN_X_FAMILIES]
    return Finding("Linear behaves like x sin x", same, figures)


def find_sines(curves: dict[Key, Curve]) -> Finding:
    """Return whether the sum of sines shows no difference: its mean band is too small to matter."""
    shown = {splits: curves["sines", splits].overall for splits in GROUPINGS}
    none = [abs(mean.value) + mean.band < NO_DIFFERENCE for mean in shown.values()]
    return Finding(
        "The sum of sines shows no difference",
        none,
        [f"sines, {times(splits)}: {mean}" for splits, mean in shown.items()],
    )


def find(outcomes: Outcomes, budgets: Sequence[int]) -> list[Finding]:
    """All four findings, over these budgets."""
    curves = {
        (family.name, splits): Curve(outcomes, family.name, splits, budgets)
        for family in FAMILIES
        for splits in GROUPINGS
    }
    return [find_small(curves), find_more(curves), find_linear(curves), find_sines(curves)]


def yes(holds: bool) -> str:
    """In words."""
    return "yes" if holds else "no"


def times(splits: tuple[int, ...]) -> str:
    """Such as 16×16."""
    return "×".join(map(str, splits))


# What is written


def table(outcomes: Outcomes, family: Family) -> str:
    """One family's table, as Markdown."""
    budgets = sorted({cell.rollouts for cell in outcomes})
    head = [f"| rollouts | {' | '.join(f'{times(s)} first | second | score − ½' for s in GROUPINGS)} |"]
    rows = []
    for rollouts in budgets:
        cells = [outcomes[Cell(family.name, splits, rollouts)] for splits in GROUPINGS]
        columns = [f"{c.first.mean():.4f} | {c.second.mean():.4f} | {mean_of(c.score - 0.5)}" for c in cells]
        rows.append(f"| {rollouts} | {' | '.join(columns)} |")
    return "\n".join([f"## {family.title}\n", *head, "| --- " * (1 + 3 * len(GROUPINGS)) + "|", *rows, ""])


def listed(findings: list[Finding]) -> str:
    """Findings, as Markdown."""
    return "\n".join(
        f"{number}. {finding.claim}: **{finding.verdict}**\n"
        + "".join(f"   - {figure}\n" for figure in finding.figures)
        for number, finding in enumerate(findings, 1)
    )


def report(
    outcomes: Outcomes, whole: list[Finding], part: list[Finding], games: int, seed: int, exploration: float
) -> str:
    """Findings and tables, as Markdown."""
    command = f"scripts/experiments/grouping.py --games {games} --seed {seed} --exploration {exploration:g}"
    intro = (
        f"`{command}` wrote this page.\nA game has {PLIES} plies of {MOVES} moves. "
        f"Every cell has {games} games each way. UCT uses mean + {exploration:g} · √(2 ln n / n_child).\n"
        "*First* and *second* are the grouped player's mean payoffs when it moves first and second. "
        "*Score* is the mean of both.\nThe ± is half of a 95 % interval.\n"
    )
    return "\n".join(
        [
            *("# Grouped UCT against plain UCT\n", intro),
            *(f"## Findings from {WHOLE} rollouts on, where plain UCT tries every move\n", listed(whole)),
            *(f"## The same rules below {WHOLE} rollouts\n", listed(part)),
            *(table(outcomes, family) for family in FAMILIES),
        ]
    )


def draw(outcomes: Outcomes, family: Family, path: Path) -> None:
    """One family's figure: the grouped player's score over the budgets, with bands."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    budgets = sorted({cell.rollouts for cell in outcomes})
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for splits in GROUPINGS:
        means = [mean_of(outcomes[Cell(family.name, splits, rollouts)].score) for rollouts in budgets]
        values, bands = np.array([mean.value for mean in means]), np.array([mean.band for mean in means])
        (line,) = axes.plot(
            budgets, values, marker="o", markersize=4, label=f"{times(splits)}, split {len(splits) - 1}×"
        )
        axes.fill_between(
            budgets, values - bands, values + bands, color=line.get_color(), alpha=0.2, linewidth=0
        )
    axes.axhline(0.5, color="black", linewidth=0.8)
    axes.axvline(WHOLE, color="black", linewidth=0.8, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [str(rollouts) for rollouts in budgets])
    axes.set_xlabel("rollouts for a move")
    axes.set_ylabel("mean payoff of grouped UCT against plain")
    axes.set_title(family.title)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, write, print; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games", type=int, help="games each way in every cell; default 500, with --quick 40"
    )
    parser.add_argument("--quick", action="store_true", help="few games, small budgets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exploration", type=float, default=EXPLORATION, help="the constant of the bound")
    parser.add_argument(
        "--folder", type=Path, help="default: docs/experiments for the whole experiment, else ./grouping"
    )
    asked = parser.parse_args(arguments)
    if asked.folder is None:
        whole_experiment = not asked.quick and asked.games in (None, 500) and asked.exploration == EXPLORATION
        asked.folder = DOCUMENTS if whole_experiment else Path("grouping")
    games = asked.games if asked.games is not None else 40 if asked.quick else 500
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
    whole = find(outcomes, [rollouts for rollouts in budgets if rollouts >= WHOLE])
    part = find(outcomes, [rollouts for rollouts in budgets if rollouts < WHOLE])
    asked.folder.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        draw(outcomes, family, asked.folder / f"grouping_{family.name}.png")
    (asked.folder / "grouping.md").write_text(
        report(outcomes, whole, part, games, asked.seed, asked.exploration)
    )
    for finding in whole:
        print(f"{finding.verdict:<14} {finding.claim}")
    print(f"{len(FAMILIES)} figures and grouping.md are in {asked.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
