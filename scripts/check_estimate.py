#!/usr/bin/env python3
"""Check the estimate: estimate a recipe, run it, and print both times beside each other.

usage: python scripts/check_estimate.py [--experiment NAME] [key=value ...]

The run is made in a folder that is thrown away. By default it is tic-tac-toe with eight cycles of 1,000
games. It prints the time of the whole run as `azero estimate` reports it beforehand, the time left as the
loop reports it after three cycles, what both really took, and the peak memory of either program. The last
line is `estimate_error_percent=N`: the error of the loop's own estimate.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from azero.cli.hydra_program import compose, one_sentence
from azero.report.console import format_seconds
from azero.report.forecast import seconds_left
from azero.report.metrics_csv import read_stats

AFTER = 3  # cycles
PARTS = ("selfplay", "train", "evaluate", "correctness")


def told_by(program: str, words: list[str]) -> str:
    """What a program of azero prints."""
    command = [sys.executable, "-m", f"azero.{program}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def error(estimate: float, actual: float) -> float:
    """In percent of the actual time."""
    return 100 * (estimate - actual) / actual


def main() -> int:
    """Print estimates and times; return 1 if the loop's own estimate was off by more than 20 %, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiment", default="tictactoe")
    parser.add_argument("overrides", nargs="*")
    asked = parser.parse_args()
    default = ["selfplay.games=1000"] if asked.experiment == "tictactoe" and not asked.overrides else []
    with tempfile.TemporaryDirectory() as folder:
        where = [f"checkpoints={folder}", f"data={folder}/data", "run=checked"]
        words = [f"experiment={asked.experiment}", *default, *asked.overrides, *where]
        config = compose(*words)
        if config.cycles <= AFTER:
            parser.error(f"cycles={config.cycles} leaves nothing to estimate after {AFTER} cycles")
        beforehand = told_by("estimate", words)
        seconds = re.findall(r"\d+", beforehand.rpartition("the whole run takes ")[2])
        low, high = float(seconds[0]), float(seconds[-1])
        begin = time.perf_counter()
        told_by("loop", words)
        actual = time.perf_counter() - begin
        cycles = [*read_stats(Path(folder) / "checked" / "metrics.csv", config.cycles).values()]
    left = seconds_left(cycles[:AFTER], config)
    took = sum(stats.get(f"time/{part}", 0.0) for stats in cycles[AFTER:] for part in PARTS)
    assert left is not None
    print(beforehand)
    print(
        f"beforehand: {format_seconds(low)} to {format_seconds(high)}; the run took {format_seconds(actual)}",
        end=" ",
    )
    print(f"({error(low, actual):+.0f} % to {error(high, actual):+.0f} %)")
    print(
        f"after {AFTER} cycles: {format_seconds(left)} left; the other {len(cycles) - AFTER} took "
        f"{format_seconds(took)}"
    )
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(f"most memory {memory / 2**30:.2f} GiB")
    print(f"estimate_error_percent={error(left, took):+.1f}")
    return int(abs(error(left, took)) > 20)


if __name__ == "__main__":
    with one_sentence():
        sys.exit(main())
