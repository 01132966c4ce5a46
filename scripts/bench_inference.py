"""How fast is the network? Evaluations a second by backend, precision and batch, and matrix products.

    python scripts/bench_inference.py  # Connect Four, 6 blocks x 64 channels
    python scripts/bench_inference.py --game tictactoe --blocks 4 --channels 32

One thread, then as many as there are cores, each with an inference of its own, as workers have; every batch
is a full one of positions of random play, and goes from NumPy arrays to NumPy arrays. The peak is what
products of square matrices reach in the same precision, threads and run, by torch or by OpenVINO, whichever
is faster. The share of it counts all multiply-adds of the convolutions and dense layers, also those with the
zeros that pad the board, which a library may leave out: a fifth of them with Connect Four, two fifths with
tic-tac-toe. So a share may exceed 100 %. Stats are medians of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from azero.cli.hydra_program import compose, one_sentence
from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inferences, obstacle
from azero.network.choosing import rows_are_independent, strays
from azero.network.folded import Dense, FoldedNetwork
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network, build_network
from azero.network.openvino_graph import openvino
from azero.network.torch_inference import DTYPES, torch_threads
from azero.process.machine import cores
from azero.stages.backend import positions_to_time

WAYS = [
    ("torch", "fp32"),
    ("torch", "bf16"),
    ("openvino", "fp32"),
    ("openvino", "bf16"),
    ("openvino", "int8"),
]
CHAIN = 8  # matrix products in a row, so that what surrounds them hardly counts

Calls = list[Callable[[], object]]  # one for each thread


class Subject(NamedTuple):
    """One row of the table."""

    way: tuple[str, str]
    inferences: list[Inference]  # one for each thread
    planes: np.ndarray


def calls_per_second(calls: Calls, seconds: float) -> float:
    """How often all threads together finish their call."""
    counts = [0] * len(calls)
    end = time.perf_counter() + seconds

    def work(which: int) -> None:
        while time.perf_counter() < end:
            calls[which]()
            counts[which] += 1

    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(which,)) for which in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


def multiply_adds(network: Network) -> int:
    """Of one position, by the shapes that the layers meet; padded ones count."""
    total = 0

    def count(layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        nonlocal total
        weight = layer.weight
        assert isinstance(weight, torch.Tensor)
        total += weight[0].numel() * output.numel()

    folded = FoldedNetwork(network)
    for layer in folded.modules():
        if isinstance(layer, nn.Conv2d | Dense):
            layer.register_forward_hook(count)
    with torch.inference_mode():
        folded(torch.zeros(1, *network.planes_shape))
    return total


def torch_product(precision: str, size: int, device: str) -> Callable[[], object]:
    """A call that makes `CHAIN` products by torch."""
    factor = torch.randn(size, size, device=device).to(DTYPES[precision])

    def run() -> None:
        product = factor
        for _ in range(CHAIN):
            product = product @ factor
        product[0, 0].item()  # waits for a GPU

    return run


def openvino_product(precision: str, size: int) -> Callable[[], object]:
    """The same by OpenVINO; in int8, what stands between the products makes them int8 again."""
    library = openvino()
    op = library.opset13
    ends = [op.constant(np.array([end], np.float32)) for end in (0.0, 4.0, -1.0, 1.0)]
    weight = op.constant(np.random.default_rng(1).uniform(-1, 1, (size, size)).astype(np.float32))
    asked = product = op.parameter([size, size], np.float32)
    if precision == "int8":
        weight = op.fake_quantize(weight, *ends[2:], *ends[2:], levels=255)
    for _ in range(CHAIN):
        if precision == "int8":
            product = op.fake_quantize(op.relu(product), *ends[:2], *ends[:2], levels=256)
        product = op.matmul(product, weight, False, True)
    model = library.Model(
        [op.result(op.reduce_max(product, op.constant(np.array([0, 1]))))], [asked], "products"
    )
    hint = "f32" if precision == "fp32" else "bf16"
    settings = {
        "INFERENCE_PRECISION_HINT": hint,
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": 1,
        "ENABLE_CPU_PINNING": False,
    }
    request = library.Core().compile_model(model, "CPU", settings).create_infer_request()
    return lambda: request.infer(share_outputs=True)


def products(backend: str, precision: str, size: int, threads: int, device: str) -> Calls:
    """Return one call for each thread."""
    by_torch = backend == "torch"
    return [
        torch_product(precision, size, device) if by_torch else openvino_product(precision, size)
        for _ in range(threads)
    ]


def subjects_of(network: Network, game: Game, batches: list[int], threads: int, device: str) -> list[Subject]:
    """What can be measured here; prints why the rest cannot."""
    subjects = []
    for way in WAYS:
        if reason := obstacle(*way, device):
            print(f"{' '.join(way)} is left out: {reason}")
            continue
        for batch in batches:
            choice = InferenceChoice(*way, batch, device, 0.0)
            subjects.append(
                Subject(
                    way, make_inferences(network, game, choice, threads), positions_to_time(game, batch, 1)
                )
            )
    return subjects


def calls_of(subject: Subject, threads: int) -> Calls:
    """Return one call for each thread."""
    return [partial(inference.infer, subject.planes) for inference in subject.inferences[:threads]]


def main() -> None:
    """Print a table, then the fastest that a run may choose by itself."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="connect_four", help="a name of conf/game")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 256, 512], help="rows of a call")
    parser.add_argument("--threads", type=int, default=cores(), help="most threads")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--product", type=int, default=1024, help="rows and columns of the matrices")
    parser.add_argument("--seconds", type=float, default=0.3, help="seconds of a measurement in a round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    config = compose(f"game={arguments.game}")
    game, device = make_game(config.game.name, **config.game.options), resolve_device(arguments.device)
    network = build_network(NetworkConfig(blocks=arguments.blocks, channels=arguments.channels), game, 1)
    work, counts = multiply_adds(network), sorted({1, arguments.threads})
    print(
        f"{arguments.game}, {arguments.blocks} x {arguments.channels}: {work / 1e6:.2f} million "
        "multiply-adds a position"
    )
    with torch_threads(1):
        subjects = subjects_of(network, game, arguments.batches, arguments.threads, device)
        ways = list(dict.fromkeys(subject.way for subject in subjects))
        peaks = {
            (way, count): products(*way, arguments.product, count, device) for way in ways for count in counts
        }
        rates: dict[object, list[float]] = {}
        for number in range(arguments.rounds + 1):  # the first only prepares
            for key, calls in peaks.items():
                rates.setdefault(key, []).append(
                    calls_per_second(calls, arguments.seconds) * CHAIN * arguments.product**3
                )
            for place, subject in enumerate(subjects):
                for count in counts:
                    rate = calls_per_second(calls_of(subject, count), arguments.seconds) * len(subject.planes)
                    rates.setdefault((place, count), []).append(rate)
            if number == 0:
                rates.clear()
    median = {key: statistics.median(found) for key, found in rates.items()}
    for (backend, kind), count in peaks:
        median[kind, count] = max(median.get((kind, count), 0.0), median[(backend, kind), count])
    print_rows(network, subjects, median, list(dict.fromkeys(kind for _, kind in ways)), counts, work)


def print_rows(
    network: Network,
    subjects: list[Subject],
    median: dict[object, float],
    precisions: list[str],
    counts: list[int],
    work: int,
) -> None:
    """Print the measurements."""
    print(
        "\n| matrix products | "
        + " | ".join(f"{count} thread(s), G multiply-adds/s" for count in counts)
        + " |"
    )
    print("| --- |" + " ---: |" * len(counts))
    for kind in precisions:
        print(f"| {kind} | " + " | ".join(f"{median[kind, count] / 1e9:.0f}" for count in counts) + " |")
    heads = [f"{count} thread(s), evaluations/s | of the peak" for count in counts]
    print(f"\n| backend | batch | ms a batch | {' | '.join(heads)} | strays | rows independent |")
    print("| --- |" + " ---: |" * (2 + 2 * len(counts)) + " ---: | --- |")
    for place, (way, inferences, planes) in enumerate(subjects):
        cells = [
            f"{median[place, count]:,.0f} | {median[place, count] * work / median[way[1], count]:.0%}"
            for count in counts
        ]
        independent = "yes" if rows_are_independent(inferences[0], planes) else "no"
        found = f"{strays(network, inferences[0], planes):.4f} | {independent}"
        print(
            f"| {' '.join(way)} | {len(planes)} | {1000 * len(planes) / median[place, 1]:.2f} | "
            f"{' | '.join(cells)} | {found} |"
        )
    allowed = [place for place, subject in enumerate(subjects) if subject.way[1] != "int8"]
    best = max(allowed, key=lambda place: median[place, counts[-1]])
    print(f"\nfastest without int8: {' '.join(subjects[best].way)}, batches of {len(subjects[best].planes)}")
    print(f"evaluations_per_second={median[best, counts[-1]]:.0f}")


if __name__ == "__main__":
    with one_sentence():
        main()
