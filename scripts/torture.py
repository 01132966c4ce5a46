#!/usr/bin/env python3
"""Kill a real run at random moments, again and again, and see that it ends as if nobody had.

usage: torture.py [--rounds 20] [--seed 1] [--sigterm 0] [--folder FOLDER] [key=value ...]

One run of toy size is left in peace. Another, with the same seed, is killed with SIGKILL in each round and
resumed by the same command; when it ends before the rounds do, another begins. Every run that ends must have
the digest of the undisturbed one: the same games, weights and champion history. Exit status 0 if so, 1 if
not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from azero.config.schema import Config  # noqa: E402
from azero.run.run import Run, State, run_digest  # noqa: E402

# Computed everywhere in fp32, because 'auto' times what is fastest, and two runs may find different answers.
TOY = [
    *(
        "run=toy",
        "cycles=4",
        "device=cpu",
        "workers=2",
        "inference.backend=torch",
        "inference.precision=fp32",
        "train.precision=fp32",
    ),
    *(
        "network.blocks=1",
        "network.channels=8",
        "search.num_simulations=12",
        "selfplay.games=96",
        "selfplay.concurrent_games=16",
    ),
    *("train.epochs=2", "train.batch_size=32", "train.window=1000", "evaluate.games=16", "keep=1"),
]
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
}  # training with more threads crawls on a machine that is busy
END_SECONDS = 10.0  # a run that got SIGTERM has so long to save what is finished


class Process:
    """`python -m azero.loop` on the toy run of a folder."""

    def __init__(self, folder: Path, overrides: list[str]) -> None:
        """Start it; its output is added to `output.txt`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        with (folder / "output.txt").open("a") as output:
            command = [sys.executable, "-m", "azero.loop", *TOY, *overrides]
            command += [f"checkpoints={folder / 'checkpoints'}", f"data={folder / 'data'}"]
            self.child = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=ENVIRONMENT
            )

    def has_begun(self) -> bool:
        """Whether it holds the lock."""
        try:
            return bool(
                json.loads((self.folder / "data/toy/run.lock.json").read_bytes())["pid"] == self.child.pid
            )
        except (OSError, ValueError):
            return False

    def wait_until_begun(self) -> None:
        """Wait until it holds the lock, or has ended."""
        while not self.has_begun() and self.child.poll() is None:
            time.sleep(0.01)

    def kill(self, number: int) -> int:
        """Send a signal and wait for the end; return the exit status, negative for an unhandled signal.

        Raises:
            subprocess.TimeoutExpired: it did not end in time, and was killed.
        """
        self.child.send_signal(number)
        try:
            return self.child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise


def state_of(folder: Path) -> State | None:
    """What the run of a folder has committed."""
    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    return Run.read(config, "toy").state if (folder / "checkpoints/toy/state.json").exists() else None


def finish(folder: Path, overrides: list[str]) -> tuple[str, float]:
    """Let the run of a folder end in peace: (its digest, seconds from the lock to the last commit)."""
    process = Process(folder, overrides)
    process.wait_until_begun()
    begin = time.time()
    if status := process.child.wait():
        raise SystemExit(
            f"The run ended with status {status}:\n{(folder / 'output.txt').read_text()[-4000:]}"
        )
    state = state_of(folder)
    assert state is not None
    return run_digest(state), (folder / "checkpoints/toy/state.json").stat().st_mtime - begin


def disturb(
    folder: Path, overrides: list[str], seconds: float, number: signal.Signals, choice: random.Random
) -> str | None:
    """Run and kill at a random moment, mostly within `seconds` of the lock; None if the run ended before."""
    process = Process(folder, overrides)
    if choice.random() < 0.9:
        process.wait_until_begun()
        moment = choice.uniform(0, seconds)
    else:
        moment = choice.uniform(0, 2)  # while Python is still importing
    try:
        status = process.child.wait(moment)
    except subprocess.TimeoutExpired:
        status = process.kill(number)
    if status not in (0, -number, 128 + number):
        raise SystemExit(
            f"{number.name} ended the run with status "
            f"{status}:\n{(folder / 'output.txt').read_text()[-4000:]}"
        )
    return f"{number.name} after {moment:.2f} s" if status else None


def where(state: State | None) -> str:
    """How far a run has come."""
    return f"{state.cycle} cycles done, {state.stage} is next" if state else "nothing committed"


def torture(folder: Path, rounds: int, seed: int, overrides: list[str], sigterm: float = 0.0) -> bool:
    """Make the runs and print their digests. Returns whether all are equal.

    Args:
        folder: where they are made.
        rounds: how often a run is killed; one that ended before its moment came is no round.
        seed: of the random moments.
        overrides: settings of all runs.
        sigterm: share of the rounds that use SIGTERM instead of SIGKILL.
    """
    finish(
        folder / "warm-up", [*overrides, "cycles=1"]
    )  # compiles; the moments are drawn from a run that need not
    expected, seconds = finish(folder / "undisturbed", overrides)
    last = where(state_of(folder / "undisturbed"))
    print(f"undisturbed  {expected}  {last} after {seconds:.1f} s", flush=True)
    choice = random.Random(seed)
    digests: list[str] = []
    done = 0
    while done < rounds:
        place = folder / f"disturbed-{len(digests) + 1}"
        number = signal.SIGTERM if choice.random() < sigterm else signal.SIGKILL
        if what := disturb(place, overrides, seconds, number, choice):
            done += 1
            print(f"round {done:3}  {what}; {where(state_of(place))}", flush=True)
        if done == rounds or where(state_of(place)) == last:
            digests.append(finish(place, overrides)[0])
            print(f"disturbed    {digests[-1]}", flush=True)
    print(f"undisturbed  {expected}\n{'equal' if set(digests) == {expected} else 'DIFFERENT'}")
    return set(digests) == {expected}


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(
        description="Kill a real run at random moments and compare its end with an undisturbed one."
    )
    parser.add_argument("--rounds", type=int, default=20, help="how often to kill a run")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    parser.add_argument(
        "--sigterm", type=float, default=0.0, help="share of the rounds that use SIGTERM instead of SIGKILL"
    )
    parser.add_argument("--folder", type=Path, help="folder to keep the runs in; default: a temporary folder")
    parser.add_argument("overrides", nargs="*", help="settings of all runs, key=value")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = (
            given.folder.resolve()
            if given.folder
            else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        )
        return 0 if torture(folder, given.rounds, given.seed, given.overrides, given.sigterm) else 1


if __name__ == "__main__":
    raise SystemExit(main())
