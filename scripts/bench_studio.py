"""Measure what the studio costs.

    python scripts/bench_studio.py live  # self-play with sixteen live boards, and without

`live`: one stage of self-play of Connect Four, 5 x 64. Windows of two seconds come in pairs, with the live
file and without it, in random order. The cost is the median over the pairs of the share of simulations that
are missing, counted per second and per CPU second of the process; other work disturbs the latter less.
The CPU time of a write is measured too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from standard import standard

from azero.cli.hydra_program import compose
from azero.process.signals import Stopped, StopSignal
from azero.report.live import LiveFile
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.stages import initialize, selfplay
from azero.workers import threads

WINDOW_SECONDS = 2.0
WARM_SECONDS = 5.0


def live_boards(pairs: int) -> None:
    """Print what sixteen live boards cost self-play."""
    made, writes = list[threads.SelfplayWorker](), list[float]()
    make, write = threads.make_workers, LiveFile.write
    costs = np.zeros((pairs, 2))

    def make_watched(*rest: Any) -> list[threads.SelfplayWorker]:
        made.extend(make(*rest))
        return made

    def write_timed(live: LiveFile, describe: Any) -> None:
        due = time.monotonic() >= live.next_look and live.path.exists()
        begin = time.thread_time()
        write(live, describe)
        if due:
            writes.append(time.thread_time() - begin)

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        words = ("game=connect_four", *standard("connect_four"), "selfplay.games=1000000")
        config = compose(*words, "network.blocks=5", "network.channels=64", "inference.cache=0")
        config = replace(config, checkpoints=f"{folder}/checkpoints", data=f"{folder}/data")
        with (
            StopSignal() as stop,
            Run.open(config, "bench", "bench_studio") as run,
            Reporter.open(run) as report,
        ):
            initialize.run_stage(config, run, report, stop)

            def compare() -> None:
                while not simulations(made):
                    time.sleep(0.1)
                time.sleep(WARM_SECONDS)
                rng = np.random.default_rng(1)
                for cost in costs:
                    speeds = {}
                    for watched in rng.permutation([True, False]).tolist():
                        run.paths.live.touch() if watched else run.paths.live.unlink(missing_ok=True)
                        speeds[watched] = window(made)
                    cost[:] = 1 - speeds[True] / speeds[False]
                stop.requested = True

            threading.Thread(target=compare, daemon=True).start()
            with (
                mock.patch.object(threads, "make_workers", make_watched),
                mock.patch.object(LiveFile, "write", write_timed),
                contextlib.suppress(Stopped),
            ):
                selfplay.run_stage(config, run, report, stop)
    print(f"{len(made)} workers, {pairs} pairs of windows, load average {os.getloadavg()[0]:.1f}")
    for name, column in zip(("second", "CPU second"), costs.T, strict=True):
        low, high = interval(column)
        middle = 100 * np.median(column)
        print(f"simulations a {name}: {middle:.2f} % fewer ({100 * low:.2f} to {100 * high:.2f})")
    each = float(np.mean(writes))
    share = 100 * each / len(made)
    print(f"a write: {1000 * each:.2f} ms of CPU, once a second: {share:.3f} % of the workers' time")


def window(workers: Sequence[threads.SelfplayWorker]) -> np.ndarray:
    """Return the simulations per second and per CPU second of the next WINDOW_SECONDS."""
    begin, worked, before = time.perf_counter(), time.process_time(), simulations(workers)
    time.sleep(WINDOW_SECONDS)
    made = simulations(workers) - before
    return made / np.array([time.perf_counter() - begin, time.process_time() - worked])


def simulations(workers: Sequence[threads.SelfplayWorker]) -> int:
    """Return the simulations of all workers until now."""
    return sum(worker.simulations_made() for worker in workers)


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median."""
    rng = np.random.default_rng(1)
    low, high = np.quantile([np.median(rng.choice(values, len(values))) for _ in range(4000)], (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["live"])
    parser.add_argument("--pairs", type=int, default=40, help="of windows")
    live_boards(parser.parse_args().pairs)


if __name__ == "__main__":
    main()
