"""What does `cluster.overlap` cost in strength for equal games? Runs with and without it, else alike.

    python scripts/experiments/overlap.py                       # three seeds, eight short cycles, no cluster
    python scripts/experiments/overlap.py cycles=40 selfplay.games=800 --seeds 1,2,3,4,5

Who plays a cycle is fixed by rule, not by timing. So the runs need no cluster: stages follow each other, and
the games are those that a cluster would play meanwhile. Arguments are settings of `azero loop`, added to
those of SHORT. Each champion answers the development positions (`azero strength`).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from azero import loop, strength
from azero.cli.arguments import whole_numbers
from azero.cli.hydra_program import compose
from azero.process.signals import StopSignal
from azero.report.console import Console, table_text
from azero.report.reporter import Reporter
from azero.run.run import Run

SHORT = (
    *("experiment=connect_four_quick", "minutes=0", "cycles=8", "selfplay.games=200", "workers=1"),
    *("network.blocks=3", "network.channels=32", "search.num_simulations=32", "oracle.positions=0"),
    *("device=cpu", "inference.backend=torch", "inference.precision=fp32"),
)
MEASURED = {"raw policy": "policy_mean_percent", "100 simulations": "search100_mean_percent"}


def train(folder: Path, name: str, words: Sequence[str], overlap: bool) -> float:
    """Train a run; return the evaluations of its self-play."""
    places = (f"checkpoints={folder}/checkpoints", f"data={folder}/data", f"run={name}")
    config = compose(*SHORT, *words, *places)
    config = replace(config, cluster=replace(config.cluster, overlap=overlap))
    with Run.open(config, name, "overlap") as run, Reporter.open(run, io.StringIO()) as report:
        loop.run_cycles(config, run, report, StopSignal())
        cycles = range(1, run.state.cycle + 1)
        return sum(report.stats(cycle)["selfplay/evaluations"] for cycle in cycles)


def mistakes(folder: Path, name: str, positions: int) -> dict[str, float]:
    """Return the share of mistakes of a run's champion in percent, by kind of search."""
    words = (f"run={name}", "simulations=0,100", f"positions={positions}", "workers=1")
    places = (f"checkpoints={folder}/checkpoints", f"data={folder}/data")
    found = strength.measure_all([*words, *places], Console(io.StringIO()))
    return {title: found[tag] for title, tag in MEASURED.items()}


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="settings of azero loop")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--positions", type=int, default=1000, help="of each set, at most")
    arguments = parser.parse_args()
    results: dict[bool, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in whole_numbers(arguments.seeds, "--seeds", "1,2,3"):
            for overlap in (False, True):
                name, words = f"{seed}-{overlap}", [*arguments.words, f"seed={seed}"]
                with contextlib.chdir(folder):
                    evaluations = train(Path(folder), name, words, overlap)
                    found = mistakes(Path(folder), name, arguments.positions)
                shown = "  ".join(f"{title} {value:.1f} %" for title, value in found.items())
                print(
                    f"seed {seed}  overlap={overlap!s:<5}  {evaluations:,.0f} evaluations  {shown}",
                    flush=True,
                )
                for title, value in found.items():
                    results.setdefault(overlap, {}).setdefault(title, []).append(value)
    rows = [["cluster.overlap", *MEASURED]]
    for overlap, found_by in results.items():
        cells = [
            f"{statistics.mean(each):.1f} ± {statistics.stdev(each):.1f} %" for each in found_by.values()
        ]
        rows.append([str(overlap).lower(), *cells])
    print(table_text(rows))


if __name__ == "__main__":
    main()
