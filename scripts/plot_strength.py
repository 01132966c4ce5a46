"""Plot a run's mistakes against perfect play, by minutes, games and evaluations.

    python scripts/plot_strength.py connect_four  # strength.png
    python scripts/plot_strength.py seed1 seed2 --checkpoints checkpoints --picture curve.png
    python scripts/plot_strength.py connect_four hex7 othello6 --one-panel

Mistakes are those that each cycle measured (oracle.positions of each development set, six in Connect Four,
search at oracle.num_simulations), averaged over as many cycles as --smooth says, because a single cycle asks
few positions. Minutes are all stages of the run and the measuring, added up. Evaluations are positions that
the network computed for self-play.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.report.metrics_csv import read_rows

STAGES = ("time/initialize", "time/selfplay", "time/train", "time/evaluate", "time/correctness")
COUNTS = ("selfplay/games", "selfplay/evaluations")
POLICY = "raw policy"
CURVES = {
    POLICY: "oracle/keeps_value_policy",
    "search": "oracle/keeps_value_search",
    "search, early hard": "oracle/mistakes_search_early_hard",
}


class Curve(NamedTuple):
    """One run, cycle by cycle.

    Attributes:
        along: by axis, [C] of the cycles that measured: minutes, games and evaluations until the end of each
            cycle.
        mistakes: by curve, [C], in percent.
    """

    along: dict[str, np.ndarray]
    mistakes: dict[str, np.ndarray]


def read_curve(path: Path) -> Curve:
    """The curve of one run from its metrics.csv.

    Raises:
        UserError: there is no such file, or the run measured no mistakes, or did not count its games.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist; name a run that has finished a cycle.")
    rows = [{tag: float(text) for tag, text in row.items() if text} for _, row in read_rows(path)]
    asked = np.array(["oracle/keeps_value_search" in row for row in rows], np.bool_)
    if not asked.any():
        raise UserError(
            f"{path} holds no mistakes of a search; run with oracle.positions and oracle.num_simulations "
            "above 0."
        )
    if missing := next((tag for tag in COUNTS if not all(tag in row for row in rows)), None):
        raise UserError(
            f"{path} has no {missing} for each cycle; an earlier version of azero made it, draw a newer run."
        )
    of_cycles = {
        "minutes": [sum(row.get(stage, 0.0) for stage in STAGES) / 60 for row in rows],
        **{
            axis: [row[tag] for row in rows]
            for axis, tag in zip(("games", "evaluations"), COUNTS, strict=True)
        },
    }
    along = {axis: np.cumsum(each)[asked] for axis, each in of_cycles.items()}
    of_asked = [row for row, measured in zip(rows, asked, strict=True) if measured]
    return Curve(
        along,
        {
            name: 100 * np.array([share(row, column) for row in of_asked])
            for name, column in CURVES.items()
            if all(column in row for row in of_asked)  # other games have one set
        },
    )


def share(row: dict[str, float], column: str) -> float:
    """The share of mistakes."""
    return 1 - row[column] if "keeps_value" in column else row[column]


def smoothed(values: np.ndarray, width: int) -> np.ndarray:
    """Each value [C] averaged with its neighbours, `width` in all and fewer at both ends."""
    reach = width // 2
    return np.array(
        [values[max(0, place - reach) : place + reach + 1].mean() for place in range(len(values))]
    )


def headless_pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files.

    Raises:
        UserError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as missing:
        raise UserError(
            'The picture is drawn by matplotlib; pip install "azero[plots]" installs it.'
        ) from missing
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw_one_panel(curves: dict[str, Curve], width: int, path: Path) -> None:
    """One panel: the raw policy's mistakes against evaluations, a line for each run."""
    pyplot = headless_pyplot()
    from matplotlib import ticker

    figure, axes = pyplot.subplots(figsize=(9, 4.8), layout="constrained")
    for run, curve in curves.items():
        mistakes = smoothed(curve.mistakes[POLICY], width)
        axes.plot(curve.along["evaluations"], mistakes, marker=".", linewidth=1.2, label=run)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.set_yscale("symlog", linthresh=1, linscale=0.3)  # a run may make no mistake
    axes.set_yticks([0, 1, 2, 5, 10, 20, 50], ["0", "1", "2", "5", "10", "20", "50"])
    axes.set_ylim(bottom=-0.2)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("mistakes of the raw policy, percent")
    axes.grid(visible=True, alpha=0.25)
    figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw(curves: dict[str, Curve], width: int, path: Path) -> None:
    """A panel for each axis; runs differ by the kind of line."""
    pyplot = headless_pyplot()
    from matplotlib import ticker

    figure, grid = pyplot.subplots(1, 3, figsize=(12, 4.4), layout="constrained", sharey=True)
    styles = ("-", "--", ":", "-.", (0, (8, 2)))
    for axes, axis in zip(grid, ("minutes", "games", "evaluations"), strict=True):
        for style, (run, curve) in zip(itertools.cycle(styles), curves.items(), strict=False):
            for number, (name, mistakes) in enumerate(curve.mistakes.items()):
                label = f"{name}, {run}" if len(curves) > 1 else name
                axes.plot(
                    curve.along[axis],
                    smoothed(mistakes, width),
                    linestyle=style,
                    color=f"C{number}",
                    linewidth=1.2,
                    label=label,
                )
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(
            ticker.StrMethodFormatter("{x:g}") if axis == "minutes" else ticker.EngFormatter(sep="")
        )
        axes.set_yscale("log")
        axes.set_xlabel(axis)
        axes.grid(visible=True, which="both", alpha=0.25)
    grid[0].set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    grid[0].set_ylabel("mistakes, percent of positions")
    lines, labels = grid[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=len(curves), fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", help="runs, folders of --checkpoints")
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    parser.add_argument("--smooth", type=int, default=5, help="cycles to average, an odd number; 1 for none")
    parser.add_argument("--picture", type=Path, default=Path("strength.png"))
    parser.add_argument(
        "--one-panel", action="store_true", help="the raw policy by evaluations, for several games"
    )
    arguments = parser.parse_args(words)
    if arguments.smooth < 1 or arguments.smooth % 2 == 0:
        raise UserError(
            f"--smooth {arguments.smooth} must be odd and at least 1: as many cycles before as behind."
        )
    return arguments


def main() -> None:
    """Draw the curves and print the last values."""
    arguments = parse()
    curves = {run: read_curve(arguments.checkpoints / run / "metrics.csv") for run in arguments.runs}
    (draw_one_panel if arguments.one_panel else draw)(curves, arguments.smooth, arguments.picture)
    for run, curve in curves.items():
        last = ", ".join(
            f"{name} {smoothed(values, arguments.smooth)[-1]:.1f} %"
            for name, values in curve.mistakes.items()
        )
        print(
            f"{run}: {curve.along['minutes'][-1]:.1f} minutes, {curve.along['games'][-1]:,.0f} games; {last}"
        )
    print(f"Drawn: {arguments.picture}")


if __name__ == "__main__":
    with one_sentence():
        main()
