"""What does `cluster.overlap` cost in strength for equal games? Runs with and without it, else alike.

    python scripts/experiments/overlap.py                       # tic-tac-toe: three seeds, eight short cycles
    python scripts/experiments/overlap.py experiment=connect_four_quick minutes=0 cycles=40 --seeds 1,2,3,4,5

Who plays a cycle is fixed by rule, not by timing. So the runs need no cluster: stages follow each other, and
the games are those that a cluster would play meanwhile. Arguments are settings of `azero loop`, added to
those of SHORT. After each cycle the champion answers the positions that the run itself asks about: of
tic-tac-toe all, of Connect Four `oracle.positions`.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace

from azero import loop
from azero.cli.arguments import whole_numbers
from azero.cli.hydra_program import compose
from azero.process.signals import StopSignal
from azero.report.console import table_text
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.truth.known import has_table

SHORT = (
    *("experiment=smoke", "cycles=8", "selfplay.games=100", "evaluate=no_gate", "workers=1", "device=cpu"),
    *("inference.backend=torch", "inference.precision=fp32"),
)
KINDS = {"raw policy": "policy", "search": "search"}


def mistakes(folder: str, words: Sequence[str], overlap: bool) -> tuple[float, dict[str, list[float]]]:
    """Train a run; return its evaluations, and the share of mistakes after each cycle in percent, by kind."""
    name = f"overlap-{overlap}"
    places = (f"checkpoints={folder}/checkpoints", f"data={folder}/data", f"run={name}")
    config = compose(*SHORT, *words, *places)
    config = replace(config, cluster=replace(config.cluster, overlap=overlap))
    group = "correctness" if has_table(config.game.name) else "oracle"
    with Run.open(config, name, "overlap") as run, Reporter.open(run, io.StringIO()) as report:
        loop.run_cycles(config, run, report, StopSignal())
        cycles = [report.stats(cycle) for cycle in range(1, run.state.cycle + 1)]
    wrong = {
        title: [100 * (1 - stats[f"{group}/keeps_value_{kind}"]) for stats in cycles]
        for title, kind in KINDS.items()
    }
    return sum(stats["selfplay/evaluations"] for stats in cycles), wrong


def main() -> None:
    """Run the program."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("words", nargs="*", help="settings of azero loop")
    parser.add_argument("--seeds", default="1,2,3")
    arguments = parser.parse_args()
    results: dict[tuple[str, str], list[list[float]]] = {}
    for seed in whole_numbers(arguments.seeds, "--seeds", "1,2,3"):
        for overlap in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                evaluations, wrong = mistakes(folder, [*arguments.words, f"seed={seed}"], overlap)
            print(f"seed {seed}, overlap={str(overlap).lower()}: {evaluations:,.0f} evaluations")
            for title, shares in wrong.items():
                results.setdefault((title, str(overlap).lower()), []).append(shares)
                print(f"  {title:<10}", *(f"{share:5.1f}" for share in shares), flush=True)
    print("\nmistakes in percent, mean of the seeds")
    rows = [["", "after each cycle", "last ± deviation", "all cycles"]]
    for (title, setting), runs in results.items():
        means = [statistics.mean(shares) for shares in zip(*runs, strict=True)]
        last = [shares[-1] for shares in runs]
        deviation = statistics.stdev(last) if len(last) > 1 else 0.0
        whole = statistics.mean(map(statistics.mean, runs))
        curve = " ".join(f"{mean:.1f}" for mean in means)
        name = f"{title}, overlap={setting}"
        rows.append([name, curve, f"{means[-1]:.1f} ± {deviation:.1f}", f"{whole:.1f}"])
    print(table_text(rows))


if __name__ == "__main__":
    main()
