"""Which settings make Connect Four strongest in a given time? Runs of the recipe that differ in one answer, measured exactly.

    python scripts/experiments/ablation.py --minutes 10 --seeds 1,2,3                  every question; runs on record are left out
    python scripts/experiments/ablation.py --minutes 10 --seeds 1 --questions gate     one question
    python scripts/experiments/ablation.py --table                                     what is on record, no run

Each run starts from nothing and has the machine to itself. Its champion answers the development positions
(`scripts/strength.py`) by the raw policy and by search; the record keeps the share of mistakes, mean of the six sets. Runs end by
`minutes`, so that slower settings play less: the question is what a second buys. Records are lines of JSON in
docs/ablation.jsonl, one a run; delete a line to run it again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azero.command_line import one_sentence
from azero.config import UserError
from azero.words import whole_numbers

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS = ROOT / "docs" / "ablation.jsonl"
# The first answer of each question is the recipe as it is.
QUESTIONS: dict[str, dict[str, list[str]]] = {
    "search kind": {
        "recipe": [],
        "Gumbel, 32 simulations": ["search=gumbel", "search.num_simulations=32", "selfplay.temperature_plies=10"],
    },
    "simulations": {
        "recipe": [],
        "32": ["search.num_simulations=32"],
        "128": ["search.num_simulations=128"],
    },
    "playout-cap randomization": {
        "recipe": [],
        "a quarter in full, else 16": ["selfplay.full_search_fraction=0.25", "selfplay.fast_simulations=16"],
    },
    "value mixing": {
        "recipe": [],
        "half the root value": ["train.value_mix=0.5", "train.value_mix_final=0.5"],
    },
    "window and reuse": {
        "recipe": [],
        "window 20,000": ["train.window=20000"],
        "half the epochs": ["train.epochs=0.75"],
    },
    "network size": {
        "recipe": [],
        "4 x 32": ["network.blocks=4", "network.channels=32"],
        "4 x 48": ["network.blocks=4", "network.channels=48"],
        "8 x 64": ["network.blocks=8"],
    },
    "gate": {"recipe": [], "off": ["evaluate.gate=off", "evaluate.games=0"]},
    "average of weights": {"recipe": [], "EMA 0.99": ["train.ema_decay=0.99"]},
    "value head": {"recipe": [], "win, draw, loss": ["network.value_output=wdl"]},
    "pooling": {"recipe": [], "global pooling in every second block": ["network.pooling_every=2"]},
}
FIGURES = ("policy_mean_percent", "search600_mean_percent", "search600_early_hard_percent", "policy_value_error")
T_QUANTILES = {1: math.inf, 2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # two-sided 95 % of Student's t for so many runs


def answers() -> dict[str, list[str]]:
    """Every answer of every question once, by its name in the records."""
    return {name_of(question, answer): changes for question, named in QUESTIONS.items() for answer, changes in named.items()}


def name_of(question: str, answer: str) -> str:
    """The recipe itself is the same answer to every question."""
    return answer if answer == "recipe" else f"{question}: {answer}"


def read_records(path: Path) -> list[dict[str, Any]]:
    """What is on record."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def call(*words: str) -> str:
    """The output of one of azero's programs.

    Raises:
        UserError: it failed.
    """
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{' '.join(words)} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def run_once(changes: Sequence[str], seed: int, minutes: float) -> dict[str, Any]:
    """Train from nothing and measure. Returns the seconds, the cycles, and strength.py's figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        where = [f"checkpoints={folder}/checkpoints", f"data={folder}/data", "run=ablation"]
        begin = time.perf_counter()
        call(
            "-m",
            "azero.loop",
            "experiment=connect_four",
            f"minutes={minutes:g}",
            "cycles=100000",
            f"seed={seed}",
            *where,
            *changes,
        )
        seconds = time.perf_counter() - begin
        text = call(
            "scripts/strength.py", "--run", "ablation", "--checkpoints", f"{folder}/checkpoints", "--simulations", "0,600"
        )
        cycles = len((Path(folder) / "checkpoints" / "ablation" / "metrics.csv").read_text().splitlines()) - 1
    figures = {name: float(value) for name, _, value in (line.partition("=") for line in text.splitlines()) if value}
    return {"seconds": round(seconds, 1), "cycles": cycles, **figures}


def commit() -> str:
    """Of the source."""
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def interval(values: Sequence[float]) -> str:
    """The mean and half of its 95 % interval by Student's t."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {T_QUANTILES[min(len(values), 5)] * statistics.stdev(values) / math.sqrt(len(values)):.2f}"


def table(records: Sequence[dict[str, Any]], minutes: float) -> str:
    """A row for each answer that is on record for runs of so many minutes."""
    lines = ["| question | answer | runs | cycles | policy, mistakes % | search of 600 | early hard, search | value error |"]
    lines.append("| --- " * 8 + "|")
    for question, named in QUESTIONS.items():
        for answer in named:
            runs = [each for each in records if each["answer"] == name_of(question, answer) and each["minutes"] == minutes]
            if runs:
                columns = (interval([run[figure] for run in runs]) for figure in FIGURES)
                cycles = statistics.mean(run["cycles"] for run in runs)
                lines.append(f"| {question} | {answer} | {len(runs)} | {cycles:.0f} | {' | '.join(columns)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for and not on record, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="of each run")
    parser.add_argument("--seeds", default="1,2,3", help="with commas between")
    parser.add_argument("--questions", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--table", action="store_true", help="print what is on record and end")
    parser.add_argument("--records", type=Path, default=RECORDS)
    arguments = parser.parse_args()
    if not arguments.table:
        wanted = {name_of(question, answer) for question in arguments.questions for answer in QUESTIONS[question]}
        for seed in whole_numbers(arguments.seeds, "--seeds", "1,2,3"):
            for answer, changes in answers().items():
                key = {"answer": answer, "seed": seed, "minutes": arguments.minutes}
                if answer in wanted and not any(key.items() <= record.items() for record in read_records(arguments.records)):
                    print(f"{answer}, seed {seed}", flush=True)
                    record = {**key, "changes": changes, "commit": commit(), **run_once(changes, seed, arguments.minutes)}
                    with open(arguments.records, "a") as file:
                        file.write(json.dumps(record) + "\n")
    print(table(read_records(arguments.records), arguments.minutes))


if __name__ == "__main__":
    with one_sentence():
        main()
