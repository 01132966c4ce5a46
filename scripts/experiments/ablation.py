"""Which settings make Connect Four strongest in a given time? Runs that differ in one answer.

    python scripts/experiments/ablation.py --minutes 10 --seeds 1,2,3  # all runs not on record
    python scripts/experiments/ablation.py --minutes 10 --seeds 1 --questions gate  # one question
    python scripts/experiments/ablation.py --table  # what is on record, no run

The answers of THOROUGH, one for each of five questions, are run with every seed, then all the others with the
first seed only; what is not on record is "not measured" in the table. Each run starts from nothing, with its
kernels compiled, and has one core to itself; as many run at once as there are cores (one thread disturbs its
neighbour little, two that wait for each other much). Its champion answers development positions
(`azero strength`) by the raw policy and by one and the same search, PUCT with solver, whatever taught
it; the record keeps the share of mistakes, mean of the six sets. Runs end by `minutes`, so that slower
settings play less: the question is what a second buys. Records are lines of JSON in
docs/lab/ablation.jsonl, one a run; delete a line to run it again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from azero.cli.arguments import whole_numbers
from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS = ROOT / "docs" / "lab" / "ablation.jsonl"
# connect_four_quick as it was when the records were made: each answer changes this.
BASE = (
    "search.num_simulations=48",
    "search.exact_plies=0",
    "search.forced_nodes=0",
    "train.max_uses=4",
)
# Answers of the same name are the same; "recipe" is BASE as it is.
PUCT = ("search=puct", "search.num_simulations=128", "search.dirichlet_alpha=1.4")
QUESTIONS: dict[str, dict[str, list[str]]] = {
    "search kind": {
        "recipe": [],
        "PUCT, 128 simulations": [*PUCT],
    },
    "simulations": {
        "recipe": [],
        "16": ["search.num_simulations=16"],
        "96": ["search.num_simulations=96"],
        "192": ["search.num_simulations=192"],
    },
    "value mixing": {
        "recipe": [],
        "none": ["train.value_mix=0"],
        "0.6 of the root value": ["train.value_mix=0.6"],
    },
    "window and reuse": {
        "recipe": [],
        "window 60,000": ["train.window=60000"],
        "2 uses": ["train.max_uses=2"],
        "8 uses": ["train.max_uses=8"],
    },
    "network size": {
        "recipe": [],
        "4 x 32": ["network.blocks=4", "network.channels=32"],
        "8 x 64": ["network.blocks=8"],
        "5 x 96": ["network.channels=96"],
    },
    "merging of equal positions": {"recipe": [], "none": ["train.merge_equal=false"]},
    "weight of values in Gumbel search": {"recipe": [], "0.3": ["search.value_scale=0.3"]},
    "openings": {
        "recipe": [],
        "none": ["selfplay.opening_fraction=0"],
        "of 40 % of the games": ["selfplay.opening_fraction=0.4"],
    },
    "temperature": {
        "recipe": [],
        "4 plies, then falling over 8": [
            "selfplay.temperature_plies=4",
            "selfplay.temperature_decay_plies=8",
        ],
    },
    "solver": {"recipe": [], "off": ["search.solver=false"]},
    "exact play": {"recipe": [], "14 plies": ["search.exact_plies=14"]},
    "gate": {
        "recipe": [],
        "60 games": ["evaluate.gate=score", "evaluate.games=60", "evaluate.temperature_plies=6"],
    },
    "average of weights": {"recipe": [], "none": ["train.ema_decay=0"]},
    "value head": {"recipe": [], "one number": ["network.value_output=scalar"]},
    "precision": {precision: [f"inference.precision={precision}"] for precision in ("bf16", "int8")},
    "PUCT's options": {
        "PUCT, 128 simulations": [*PUCT],
        "fpu 0.2 by what is explored": [*PUCT, "search.fpu_mode=explored", "search.fpu=0.2"],
    },
}
SEARCH = (
    "kind=puct",
    "tree_reuse=false",
    "fpu_mode=absolute",
    "fpu=0",
    "solver=true",
    "exact_plies=0",
)  # of the answers
MEASURE = """
import json, sys
from azero.report.console import Console
from azero.strength import measure_all
print(json.dumps(measure_all(sys.argv[1:], Console())))
"""
POSITIONS = 500  # of each set
FIGURES = (
    "policy_mean_percent",
    "search600_mean_percent",
    "search600_early_hard_percent",
    "policy_value_error",
)
# The questions that several seeds answer, each by the answer that is likeliest to win.
THOROUGH = (
    "recipe",
    "PUCT, 128 simulations",
    "simulations: 96",
    "value mixing: 0.6 of the root value",
    "window and reuse: 2 uses",
    "network size: 5 x 96",
)


def answers() -> dict[str, list[str]]:
    """Every answer of every question once, by its name in the records."""
    return {
        name_of(question, answer): changes
        for question, named in QUESTIONS.items()
        for answer, changes in named.items()
    }


def name_of(question: str, answer: str) -> str:
    """Return an answer's name, without the question if one run answers several questions."""
    same = [named for named in QUESTIONS.values() if named.get(answer) == QUESTIONS[question][answer]]
    return answer if len(same) > 1 else f"{question}: {answer}"


def read_records(path: Path, minutes: float) -> list[dict[str, Any]]:
    """Return the records of runs of `minutes` minutes whose answers still mean what they meant."""
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [
        each
        for each in records
        if each["minutes"] == minutes and answers().get(each["answer"]) == each["changes"]
    ]


def call(core: int, *words: str) -> str:
    """The output of one of azero's programs, run on one core.

    Raises:
        UserError: it failed.
    """
    done = subprocess.run(
        ["taskset", "-c", str(core), sys.executable, *words], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise UserError(f"{' '.join(words)} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def run_once(changes: Sequence[str], seed: int, minutes: float, core: int) -> dict[str, Any]:
    """Train from nothing and measure; return the seconds, the cycles, and the numbers of `azero strength`."""
    with tempfile.TemporaryDirectory() as folder:
        where = [f"checkpoints={folder}/checkpoints", f"data={folder}/data", f"seed={seed}"]
        loop = ["-m", "azero.loop", "experiment=connect_four_quick", *where, *BASE, *changes]
        call(core, *loop, "run=compiled", "cycles=1", "selfplay.games=4")
        begin = time.perf_counter()
        call(core, *loop, "run=ablation", "cycles=100000", f"minutes={minutes:g}")
        seconds = time.perf_counter() - begin
        asked = ("run=ablation", f"checkpoints={folder}/checkpoints", f"positions={POSITIONS}", *SEARCH)
        figures = json.loads(call(core, "-c", MEASURE, *asked).splitlines()[-1])
        cycles = json.loads((Path(folder) / "checkpoints" / "ablation" / "state.json").read_text())["cycle"]
    return {"seconds": round(seconds, 1), "cycles": cycles, **figures}


def run_all(runs: Sequence[tuple[str, int]], minutes: float, records: Path) -> None:
    """Each answer with its seed, one on each core at a time; what is done is put on record at once.

    Raises:
        UserError: a run failed, or nothing here can bind a run to a core.
    """
    if not shutil.which("taskset"):
        raise UserError("the ablation needs taskset (util-linux) to give each run a core of its own")
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    allowed = sorted(os.sched_getaffinity(0))
    for core in allowed:
        free.put(core)
    writing = threading.Lock()

    def work(run: tuple[str, int]) -> None:
        answer, seed = run
        core = free.get()
        print(f"{time.strftime('%H:%M')} core {core}: {answer}, seed {seed}", flush=True)
        changes = answers()[answer]
        key = {"answer": answer, "seed": seed, "minutes": minutes, "changes": changes, "commit": commit()}
        try:
            record = {**key, **run_once(changes, seed, minutes, core)}
        finally:
            free.put(core)
        with writing, open(records, "a") as file:
            file.write(json.dumps(record) + "\n")

    with ThreadPoolExecutor(len(allowed)) as pool:
        for _ in pool.map(work, runs):
            pass


def commit() -> str:
    """Return the commit of the source, with "-dirty" if it was changed (the record itself does not count)."""
    name = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    same = ["git", "diff", "--quiet", "HEAD", "--", "azero", "conf", "scripts"]
    return name + ("-dirty" if subprocess.run(same, cwd=ROOT).returncode else "")


def student(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t, from 5 degrees of freedom by an expansion.

    Abramowitz and Stegun 26.7.5; below that it would be too short.
    """
    if freedom < 5:
        return (12.706, 4.303, 3.182, 2.776)[freedom - 1]
    z = statistics.NormalDist().inv_cdf(0.975)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + (z**3 + z) / 4 / freedom + second / freedom**2 + third / freedom**3


def half_width(groups: Sequence[Sequence[float]]) -> float:
    """Return half of the 95 % interval of one run, from the pooled deviation of seeds, by Student's t.

    Infinite where no group has two runs. Three runs alone say little about their deviation: t is 4.3 for
    them, 2.1 for 7 x 3.
    """
    freedom = sum(len(group) - 1 for group in groups)
    if not freedom:
        return math.inf
    squares = sum((value - statistics.mean(group)) ** 2 for group in groups for value in group)
    return student(freedom) * math.sqrt(squares / freedom)


def interval(values: Sequence[float], half: float) -> str:
    """The mean, and half of its 95 % interval where that of one run is known."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if half == math.inf else f"{mean} ± {half / math.sqrt(len(values)):.2f}"


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return a row for each answer on record, and the commits, because targets may differ between them."""
    runs = {name: [each for each in records if each["answer"] == name] for name in answers()}
    halves = {
        figure: half_width([[run[figure] for run in group] for group in runs.values() if group])
        for figure in FIGURES
    }
    lines = [
        "| question | answer | runs | cycles | policy, mistakes % | search of 600 | early hard, search | "
        "value error |"
    ]
    lines.append("| --- " * 8 + "|")
    for question, named in QUESTIONS.items():
        for answer in named:
            group = runs[name_of(question, answer)]
            if not group:
                lines.append(f"| {question} | {answer} | 0 | | not measured | | | |")
                continue
            columns = (interval([run[figure] for run in group], halves[figure]) for figure in FIGURES)
            cycles = statistics.mean(run["cycles"] for run in group)
            lines.append(f"| {question} | {answer} | {len(group)} | {cycles:.0f} | {' | '.join(columns)} |")
    commits = Counter(record["commit"] for record in records)
    return "\n".join(
        [*lines, "", "runs by commit: " + ", ".join(f"{count} of {name}" for name, count in commits.items())]
    )


def plan(questions: Sequence[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
    """Return the runs of the questions in order, (answer, seed); those of THOROUGH come first, by seed."""
    wanted = {name_of(question, answer) for question in questions for answer in QUESTIONS[question]}
    thorough = [(answer, seed) for seed in seeds for answer in THOROUGH if answer in wanted]
    return thorough + [
        (answer, seeds[0]) for answer in answers() if answer in wanted and answer not in THOROUGH
    ]


def main() -> None:
    """Run what is asked for and not on record, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="minutes of each run")
    parser.add_argument("--seeds", default="1,2,3", help="comma-separated seeds")
    parser.add_argument(
        "--questions", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS), metavar="QUESTION"
    )
    parser.add_argument("--table", action="store_true", help="print the records and exit")
    parser.add_argument("--records", type=Path, default=RECORDS)
    arguments = parser.parse_args()
    if not arguments.minutes > 0:
        raise UserError(f"--minutes {arguments.minutes:g} must be above 0.")
    if not arguments.table:
        if not arguments.records.parent.is_dir():
            raise UserError(f"--records {arguments.records}: there is no folder {arguments.records.parent}.")
        seeds = list(dict.fromkeys(whole_numbers(arguments.seeds, "--seeds", "1,2,3")))
        runs = plan(arguments.questions, seeds)
        recorded = [
            (each["answer"], each["seed"]) for each in read_records(arguments.records, arguments.minutes)
        ]
        run_all([run for run in runs if run not in recorded], arguments.minutes, arguments.records)
    print(table(read_records(arguments.records, arguments.minutes)))


if __name__ == "__main__":
    with one_sentence():
        main()
