"""Does the default run learn perfect tic-tac-toe, and in what time? One run for each seed.

    python scripts/bench_tictactoe.py  # ten seeds with a warm kernel cache
    python scripts/bench_tictactoe.py --cold  # each with an empty kernel cache, as on a fresh machine

Wall time is the whole process: start, compilation, every stage, the correctness table. The check never
chooses or ends a run.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from azero.champion.load import load_players
from azero.cli.hydra_program import compose, one_sentence
from azero.games import make_game
from azero.truth.tictactoe import PlayerStats, TicTacToeQuestions, check_champion

UNFINISHED = 4520


class Outcome(NamedTuple):
    """One run."""

    seed: int
    seconds: float
    cycles: int
    search: PlayerStats
    policy: PlayerStats
    perfect_policy_seconds: (
        float  # from the start to the end of the first cycle after which the raw policy stays perfect
    )


def run_once(seed: int, folder: Path, cold: bool, overrides: list[str]) -> Outcome:
    """Run the loop in a process of its own and ask its champion everything."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    if cold:
        environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
    arguments = [f"seed={seed}", f"checkpoints={folder}/checkpoints", f"data={folder}/data", *overrides]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "azero.loop", *arguments], env=environment, capture_output=True, text=True
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stderr)
    game = make_game("tictactoe")
    stats = check_champion(
        *load_players(compose(*arguments), "tictactoe", game), game, TicTacToeQuestions(game)
    )
    with open(folder / "checkpoints" / "tictactoe" / "metrics.csv") as file:
        rows = list(csv.DictReader(file))
    return Outcome(seed, seconds, len(rows), stats.search, stats.policy, perfect_after(rows, seconds))


def perfect_after(rows: list[dict[str, str]], seconds: float) -> float:
    """Seconds until the raw policy was perfect for good; infinite if it is not."""
    of_cycle = [
        sum(float(row[f"time/{stage}"] or 0) for stage in ("selfplay", "train", "evaluate")) for row in rows
    ]
    outside = seconds - sum(of_cycle)  # start and end; counted before the first cycle
    last_fault = max(
        (k for k, row in enumerate(rows) if float(row["correctness/keeps_value_policy"]) < 1.0), default=-1
    )
    return float("inf") if last_fault == len(rows) - 1 else outside + sum(of_cycle[: last_fault + 2])


def line(outcome: Outcome) -> str:
    """A row of the table."""
    search, policy = outcome.search, outcome.policy
    return (
        f"| {outcome.seed} | {outcome.seconds:.1f} | {outcome.cycles} | {search.fixed:.0f}/11 "
        f"| {search.keeps_value * UNFINISHED:.0f} | {search.losses_first:.0f} + {search.losses_second:.0f} "
        f"| {policy.fixed:.0f}/11 | {policy.keeps_value * UNFINISHED:.0f} | "
        f"{outcome.perfect_policy_seconds:.1f} |"
    )


def main() -> None:
    """Print a row a seed, then the summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="seeds 1 .. N")
    parser.add_argument("--cold", action="store_true", help="an empty kernel cache for every run")
    parser.add_argument("overrides", nargs="*", help="settings of the loop, such as cycles=4")
    arguments = parser.parse_args()
    print(
        "| seed | seconds | cycles | search | of 4,520 | lost first + second | raw policy | of 4,520 | "
        "perfect policy after |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    outcomes = []
    for seed in range(1, arguments.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(run_once(seed, Path(folder), arguments.cold, arguments.overrides))
        print(line(outcomes[-1]), flush=True)
    perfect = sum(each.search.fixed == 11 and each.search.keeps_value == 1.0 for each in outcomes)
    times = [each.seconds for each in outcomes]
    print(f"median {statistics.median(times):.1f} s, slowest {max(times):.1f} s")
    print(f"slowest_perfect_policy_seconds={max(each.perfect_policy_seconds for each in outcomes):.1f}")
    print(f"lost_games={sum(each.search.losses_first + each.search.losses_second for each in outcomes):.0f}")
    print(f"perfect_seeds={perfect}")


if __name__ == "__main__":
    with one_sentence():
        main()
