"""What does a cluster cost, how many workers does one head serve, and does anything change a byte?

    python scripts/bench_cluster.py head                      # the head's own time for a game of Connect Four
    python scripts/bench_cluster.py simulate --figure FILE    # games/s against workers, 1 to 256, over Ray
    python scripts/bench_cluster.py overhead                  # games/s through Ray over the same threads
    python scripts/bench_cluster.py digests                   # no Ray, 1, 2, 4 workers, kills: equal?
    python scripts/bench_cluster.py kills --rounds 100        # kill -9 of random processes of two machines

The simulated workers answer, over Ray, after the time that a chunk takes, without computing; the head, the
book and the messages are real. Timings need a quiet machine.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import itertools
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from standard import standard

from azero.cli.hydra_program import compose, one_sentence
from azero.cluster.chunks import CHUNK_GAMES, Book, Chunk, answer_of, chunks_of
from azero.cluster.guardian import MARK
from azero.cluster.head import Event, Head, Joined, Reported
from azero.cluster.kinds import SELFPLAY as SELFPLAY_KIND
from azero.cluster.ray_crew import Actor, RayCrew, import_ray
from azero.cluster.selfplay import SelfPlayOnCluster
from azero.cluster.worker import Greeting, Order, Report, Terms, own_version
from azero.config.schema import Config
from azero.games import make_game
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.machine import cores
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.replay.shards import write_games
from azero.report.console import Progress
from azero.run.run import Run
from azero.run.state import run_digest
from azero.search.counters import WorkerStats
from azero.stages.backend import batch_rows, positions_to_time
from azero.workers.selfplay import Plan, Watch
from azero.workers.threads import GameQueue, WorkerThreads, make_workers, play_games

CHOICE = InferenceChoice("torch", "fp32", 32, "cpu", 0.0)
STAND_IN_PROCESSES = 2
TOY = (
    *("run=toy", "experiment=smoke", "cycles=4", "selfplay.games=160", "selfplay.concurrent_games=16"),
    *("device=cpu", "workers=1", "inference.backend=torch", "inference.precision=fp32"),
    "train.precision=fp32",
)
KILLED = collections.Counter[str]()  # by kind
EXACT = ("inference.backend=torch", "inference.precision=fp32", "selfplay.concurrent_games=64")
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_worker_niceness": "0"}


class Blank:
    """A network that gives all moves the same logit and every position the value 0."""

    batch_size = 64

    def __init__(self, num_actions: int) -> None:
        self.num_actions = num_actions

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return equal logits and values of 0."""
        return np.zeros((len(planes), self.num_actions), np.float32), np.zeros(len(planes), np.float32)


def sample_games(config: Config, games: int) -> list[GameRecord]:
    """Return games of random-like play: records as long and as large as those of a young network."""
    game = make_game(config.game.name, **config.game.options)
    seeds = game_seeds(1, 1, SELFPLAY, games)
    queue, inferences = GameQueue(iter(range(games))), [Blank(game.num_actions)]
    return play_games(game, inferences, config, queue, seeds, Progress(), StopSignal())[0]


def renumbered(chunk: Chunk, sample: Sequence[GameRecord]) -> list[GameRecord]:
    """Return sample games under the numbers of a chunk."""
    return [sample[number % len(sample)]._replace(number=number) for number in chunk.games]


class AtOnce:
    """A crew of one worker that answers at once; its answers were made before."""

    def __init__(self, answers: dict[int, Any]) -> None:
        self.answers, self.events = answers, list[Event]()
        self.stage = 0

    def begin(self, terms: Terms) -> None:
        self.stage = terms.stage
        self.events.append(Joined("one", greeting(terms.stage, room=64)))

    def poll(self, seconds: float) -> list[Event]:
        events, self.events = self.events, []
        return events

    def send(self, worker: str, order: Order) -> None:
        answers = [self.answers[chunk.number] for chunk in order.chunks]
        self.events.append(Reported(worker, Report(answers, WorkerStats(), 1, 0.0, order.last, "")))

    def interrupt(self) -> None: ...

    def refuse(self, worker: str) -> None: ...

    def replace(self, worker: str) -> None: ...

    def starting(self) -> int:
        return 0

    def node_of(self, worker: str) -> str:
        return "here"


def greeting(stage: int, room: int) -> Greeting:
    """Return what a simulated worker says of itself."""
    return Greeting(os.getpid(), own_version(), True, stage, "", "", room)


def head_of(crew: Any, config: Config, book: Book, stage: int) -> Head:
    """Return a head whose crew computes nothing."""
    terms = Terms(stage, config, 1, b"", CHOICE, np.zeros((0, 1, 1, 1), np.float32))
    return Head(crew, terms, book, "", Progress(), StopSignal(), print)


def head_seconds(games: int) -> float:
    """Return the head's seconds for a game of Connect Four: give out, receive, check, write."""
    config = compose("game=connect_four", *standard("connect_four"), "search.num_simulations=8")
    sample, chunks = sample_games(config, 256), chunks_of(range(games))
    answers = {chunk.number: answer_of(chunk, renumbered(chunk, sample), "connect_four") for chunk in chunks}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        settings = {"checkpoints": f"{folder}/checkpoints", "data": f"{folder}/data"}
        config = compose("game=connect_four", *(f"{key}={value}" for key, value in settings.items()))
        with Run.open(config, "bench", "bench_cluster") as run:
            begin = time.process_time()
            head = head_of(AtOnce(answers), config, book := Book(chunks), 1)
            head.play()
            write_games(run, 1, book.in_order(), "connect_four")
            return (time.process_time() - begin) / games


class StandIn:
    """One Ray actor that stands for many workers: a chunk takes its time and no work."""

    def __init__(self, chunk_seconds: float, sample: list[GameRecord], game_name: str) -> None:
        self.chunk_seconds, self.sample, self.game_name = chunk_seconds, sample, game_name
        self.due: dict[str, list[tuple[float, Chunk]]] = {}
        self.games: dict[str, int] = {}
        self.woken, self.stage = threading.Event(), 0

    def ready(self) -> None:
        """Answer when everything is imported."""
        own_version()

    def begin(self, worker: str, terms: Terms) -> Greeting:
        """Join."""
        self.due[worker], self.games[worker], self.stage = [], 0, terms.stage
        self.woken.clear()
        return greeting(terms.stage, room=4)

    def exchange(self, worker: str, order: Order) -> Report:
        """Take chunks; answer when the first one's time has come."""
        due = self.due[worker]
        for chunk in order.chunks:
            due.append((max(time.monotonic(), due[-1][0] if due else 0.0) + self.chunk_seconds, chunk))
        end = time.monotonic() + order.seconds
        self.woken.wait(max(0.0, min(due[0][0] if due else end, end) - time.monotonic()))
        ready = [chunk for moment, chunk in due if moment <= time.monotonic()]
        self.due[worker] = [pair for pair in due if pair[1] not in ready]
        self.games[worker] += sum(len(chunk.games) for chunk in ready)
        answers = [answer_of(chunk, renumbered(chunk, self.sample), self.game_name) for chunk in ready]
        return Report(answers, WorkerStats(games=self.games[worker]), 1, 0.0, order.last, "")

    def interrupt(self, worker: str, stage: int) -> None:
        """Answer what waits; a late call of the stage before counts no more."""
        if stage == self.stage:
            self.woken.set()


class Method:
    """A method of a stand-in for one of its workers, called as Ray's are."""

    def __init__(self, method: Any, worker: str) -> None:
        self.method, self.worker = method, worker

    def remote(self, argument: object) -> Any:
        """Call it."""
        return self.method.remote(self.worker, argument)


class StandInCrew(RayCrew):
    """Simulated workers behind a few of Ray's processes; messages, calls and results are Ray's."""

    def __init__(self, config: Config, workers: int, handles: Sequence[Any]) -> None:
        super().__init__(config.cluster, 1, cuda=False)
        for number in range(workers):
            name, handle = f"simulated-{number}", handles[number % len(handles)]
            methods = {each: Method(getattr(handle, each), name) for each in METHODS}
            self.actors[name] = Actor(argparse.Namespace(**methods), "here")

    def _look_at_nodes(self) -> None:
        """Start nothing."""


METHODS = ("begin", "exchange", "interrupt")


def simulate(
    game: str, chunk_seconds: float, workers: Sequence[int], seconds: float
) -> Iterator[tuple[int, float, float]]:
    """Yield (workers, games/s, share of the time in which the head was busy).

    seconds: that each count of workers plays, but at least four chunks a worker.
    """
    os.environ.update(ENVIRONMENT)
    ray, rounds = import_ray(), max(4, round(seconds / chunk_seconds))
    config = compose(f"game={game}", "cluster.address=local", "search.num_simulations=4")
    sample = sample_games(config, 16)
    ray.init("local", log_to_driver=False, logging_level="ERROR", include_dashboard=False, num_cpus=4)
    try:
        maker = ray.remote(StandIn).options(max_concurrency=600, num_cpus=0)
        name = make_game(config.game.name, **config.game.options).name
        handles = [maker.remote(chunk_seconds, sample, name) for _ in range(STAND_IN_PROCESSES)]
        ray.get([handle.ready.remote() for handle in handles])
        for stage, count in enumerate(workers, 1):
            book = Book(chunks_of(range(count * rounds * CHUNK_GAMES)))
            head = head_of(StandInCrew(config, count, handles), config, book, stage)
            begin = time.perf_counter()
            head.play()
            took = time.perf_counter() - begin
            yield count, len(book.records) / took, head.totals.busy_seconds / took
    finally:
        ray.shutdown()


def chunk_seconds_of(recipe: str, seconds: float) -> float:
    """Return the seconds in which this machine's cores play as many games of a recipe as a chunk has.

    Real threads search for so many seconds of processor time with a new network, so that other work on the
    machine does not count. Games are as long as those of `sample_games`.
    """
    config = compose(f"experiment={recipe}")
    game, threads = make_game(config.game.name, **config.game.options), cores()
    network = build_network(config.network, game, 1)
    choice = replace(CHOICE, batch_size=batch_rows(config))
    few = replace(config, search=replace(config.search, num_simulations=4))
    plies = statistics.mean(len(record.actions) for record in sample_games(few, 64))
    stop, numbers = StopSignal(), 10_000
    queue, seeds = GameQueue(iter(range(numbers))), game_seeds(1, 1, SELFPLAY, numbers)
    with one_thread_per_worker():
        workers = make_workers(game, make_inferences(network, game, choice, threads), config)
        with WorkerThreads(workers, queue, seeds, stop):
            while not all(worker.searches_made() >= choice.batch_size for worker in workers):
                time.sleep(0.1)  # it compiles

            def state() -> tuple[float, float]:
                return time.process_time(), sum(worker.searches_made() for worker in workers)

            begin, searched = state()
            while time.process_time() - begin < seconds:
                time.sleep(0.1)
            end, searches = state()
            stop.requested = True
    return CHUNK_GAMES * plies * (end - begin) / (searches - searched) / threads


def draw(results: dict[str, list[tuple[int, float, float]]], limit: float, file: Path) -> None:
    """Draw games/s against workers, with the line of perfect scaling and the head's limit."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, points in results.items():
        counts, rates, _ = zip(*points, strict=True)
        (line,) = axes.plot(counts, rates, "o-", label=name)
        perfect = [rates[0] * count / counts[0] for count in counts]
        axes.plot(counts, perfect, ":", color=line.get_color(), linewidth=1)
    axes.axhline(limit, color="gray", linewidth=1)
    axes.annotate("the head alone: Connect Four", (1, limit), va="bottom", color="gray")
    axes.set(xscale="log", yscale="log", xlabel="simulated workers", ylabel="games/s")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.legend()
    figure.savefig(file, dpi=110)


def loop(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the toy run in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "azero.loop", *TOY, *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **ENVIRONMENT}, **pipes)


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for a run; end the script if it failed."""
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(output)


def state_in(folder: Path) -> Any:
    """Return what the run of a folder has committed; None before."""
    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    return Run.read(config, "toy").state if (folder / "checkpoints/toy/state.json").exists() else None


def victims(head: int) -> list[int]:
    """Return the head's process and those of workers whose environment is this script's."""
    mark, found = b"AZERO_BENCH_CLUSTER=%d\0" % os.getpid(), [head]
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(b"ray::WorkerProcess"):
                found += [int(folder.name)] if mark in (folder / "environ").read_bytes() else []
    return found


@contextlib.contextmanager
def two_machines() -> Iterator[Any]:
    """Start a cluster of two pretended machines with two cores each."""
    os.environ.update(ENVIRONMENT, AZERO_BENCH_CLUSTER=str(os.getpid()))
    from ray.cluster_utils import Cluster

    cluster = Cluster(True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=2)
        yield cluster
    finally:
        cluster.shutdown()


class Node:
    """The second of two pretended machines, which may be killed."""

    def __init__(self, cluster: Any) -> None:
        (self.node,) = cluster.worker_nodes
        self.cluster = cluster

    @property
    def pid(self) -> int:
        """The process whose death is the machine's."""
        return int(self.node.all_processes["raylet"][0].process.pid)

    def begin_again(self) -> None:
        """Start another machine in its place. On a busy machine Ray may give up the first attempt."""
        self.cluster.remove_node(self.node, allow_graceful=False)
        for left in (2, 1, 0):
            try:
                self.node = self.cluster.add_node(num_cpus=2)
                return
            except Exception:
                if not left:
                    raise


def disturbed(
    folder: Path, words: Sequence[str], rounds: int, choice: random.Random, heads: bool, node: Any = None
) -> int:
    """Run to the end while `rounds` processes are killed at random moments; return how many were.

    heads: whether the head may be one.
    node: the second machine, whose Ray may be one; None: it may not.
    """
    killed, process = 0, loop(folder, *words)
    while killed < rounds:
        time.sleep(choice.uniform(0.2, 4.0))
        if process.poll() is not None:
            if process.returncode not in (0, -signal.SIGKILL):
                finish(process)
            if process.returncode == 0:
                break
            process = loop(folder, *words)
            continue
        head, *found = victims(process.pid)
        if found:  # else no worker has begun
            found += [head] * heads + ([node.pid] if node else [])
            victim = choice.choice(found)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                killed += 1
                is_node = node is not None and victim == node.pid
                KILLED["machine" if is_node else "head" if victim == head else "worker"] += 1
                if is_node:
                    node.begin_again()
    process.wait()
    if process.returncode == -signal.SIGKILL:
        process = loop(folder, *words)
    finish(process)
    return killed


def digests(folder: Path) -> bool:
    """Compare runs without Ray, with 1, 2, 4 workers, with killed workers and with killed heads."""
    finish(loop(folder / "plain"))
    expected = run_digest(state_in(folder / "plain"))
    print(f"no Ray              {expected}", flush=True)
    equal = True
    with two_machines() as cluster:
        address = f"cluster.address={cluster.address}"
        for name, words in {
            "2 workers": (address, "cluster.cores=2"),
            "4 workers": (address, "cluster.cores=1"),
            "1 worker": ("cluster.address=local",),
        }.items():
            finish(loop(folder / name, *words))
            equal &= told(name, folder / name, expected)
        disturbed(folder / "workers killed", (address, "cluster.cores=1"), 4, random.Random(1), heads=False)
        equal &= told("workers killed", folder / "workers killed", expected)
        disturbed(folder / "heads killed", (address, "cluster.cores=1"), 4, random.Random(2), heads=True)
        equal &= told("heads killed", folder / "heads killed", expected)
    return equal


def told(name: str, folder: Path, expected: str) -> bool:
    """Print a run's digest; return whether it is the expected one."""
    digest = run_digest(state_in(folder))
    print(f"{name:<19} {digest}", flush=True)
    return digest == expected


def kills(folder: Path, rounds: int) -> bool:
    """Kill random processes, workers' and heads', `rounds` times in all, over as many runs as that takes."""
    cycles = "cycles=12"
    finish(loop(folder / "plain", cycles))
    expected, equal, killed = run_digest(state_in(folder / "plain")), True, 0
    with two_machines() as cluster:
        words = (cycles, f"cluster.address={cluster.address}", "cluster.cores=1")
        node = Node(cluster)
        for number in itertools.count(1):
            if killed >= rounds:
                return equal
            place = folder / str(number)
            killed += disturbed(place, words, min(20, rounds - killed), random.Random(number), True, node)
            counts = ", ".join(f"{count} {kind}s" for kind, count in KILLED.items())
            equal &= told(f"killed: {counts}", place, expected)
    return equal


def ray_seconds() -> float:
    """Return the processor time of this process and of the workers that it has started.

    Ray's own processes take some too, which goes by the wall time and so by what else the machine does.
    """
    ticks, mark = 0, b"%s=%d-" % (MARK.encode(), os.getpid())
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            worker = folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(b"ray::Worker")
            if worker and mark in (folder / "environ").read_bytes():
                ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def overhead(rounds: int, games: int) -> tuple[float, float]:
    """Return games/s through Ray over those of the same threads without it, by wall time and processor time.

    Each round plays one stage either way, with the same network, the order changing. Medians of the rounds;
    one round before, in which processes start and compile, does not count.
    """
    config = compose("experiment=connect_four", "cluster.address=local", *EXACT)
    config = replace(config, selfplay=replace(config.selfplay, games=games))
    game = make_game(config.game.name, **config.game.options)
    network, threads = build_network(config.network, game, 1), cores()
    planes, seeds = positions_to_time(game, 64, 1), game_seeds(1, 1, SELFPLAY, games)
    crew = RayCrew(config.cluster, threads, cuda=False)

    def by_threads() -> list[GameRecord]:
        inferences = make_inferences(network, game, CHOICE, threads)
        queue = GameQueue(iter(range(games)))
        return play_games(game, inferences, config, queue, seeds, Progress(), StopSignal())[0]

    def by_ray() -> list[GameRecord]:
        plan = Plan(config, 1, game, network, CHOICE, range(games))
        return SelfPlayOnCluster(plan, crew, planes, print).play(Watch(Progress(), StopSignal())).games

    ratios = list[tuple[float, float]]()
    for number in range(-1, rounds):
        took: dict[Any, tuple[float, float]] = {}
        played = {}
        for play in (by_threads, by_ray)[:: 1 if number % 2 else -1]:
            begin = time.perf_counter(), ray_seconds()
            with one_thread_per_worker():
                played[play] = play()
            took[play] = time.perf_counter() - begin[0], ray_seconds() - begin[1]
        if len({SELFPLAY_KIND.dump(each, game.name) for each in played.values()}) > 1:
            raise SystemExit("DIFFERENT")
        wall, processor = (a / b for a, b in zip(took[by_threads], took[by_ray], strict=True))
        print(
            f"round {number + 1}: wall {wall:.3f}, processor {processor:.3f} {[*took.values()]}", flush=True
        )
        ratios += [(wall, processor)] if number >= 0 else []
    walls, processors = zip(*ratios, strict=True)
    return statistics.median(walls), statistics.median(processors)


def main() -> int:
    """Parse the arguments and go."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("head", "simulate", "overhead", "digests", "kills"))
    parser.add_argument("--rounds", type=int, default=0, help="of the part; 0: as many as suit it")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 16, 64, 128, 256])
    parser.add_argument("--go9", type=float, help="seconds of a chunk of go9; default: measured here")
    parser.add_argument("--connect-four", type=float, help="the same of connect_four")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each simulated cluster")
    parser.add_argument("--games", type=int, default=0, help="of head (8,000) or a stage of overhead (320)")
    parser.add_argument("--figure", type=Path, help="PNG to draw")
    given = parser.parse_args()
    if given.part in ("head", "simulate"):
        alone = head_seconds(given.games or 8000)
        print(f"head: {1e6 * alone:.0f} microseconds a game, so {1 / alone:,.0f} games/s of Connect Four")
    if given.part == "simulate":
        results = {}
        for game, known in (("go9", given.go9), ("connect_four", given.connect_four)):
            seconds = known or chunk_seconds_of(game, given.seconds)
            print(f"{game}: a chunk of {CHUNK_GAMES} games takes {seconds:.2f} s")
            results[game] = list[tuple[int, float, float]]()
            for count, rate, busy in simulate(game, seconds, given.workers, given.seconds):
                results[game].append((count, rate, busy))
                perfect = count * CHUNK_GAMES / seconds
                print(
                    f"{count:4} workers {rate:9,.1f} games/s {rate / perfect:6.3f}  head busy {busy:.0%}",
                    flush=True,
                )
        if given.figure:
            draw(results, 1 / alone, given.figure)
    if given.part == "overhead":
        wall, processor = overhead(given.rounds or 5, given.games or 320)
        print(f"through Ray over threads: {wall:.3f} by wall time, {processor:.3f} by processor time")
    if given.part in ("digests", "kills"):
        with tempfile.TemporaryDirectory() as name:
            equal = digests(Path(name)) if given.part == "digests" else kills(Path(name), given.rounds or 100)
        print("equal" if equal else "DIFFERENT")
        return 0 if equal else 1
    return 0


if __name__ == "__main__":
    with one_sentence():
        raise SystemExit(main())
