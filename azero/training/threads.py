"""How many threads train."""

from __future__ import annotations

import os

from azero.network.model import Network
from azero.process.machine import cores
from azero.report.reporter import Reporter

MOST_THREADS = 16
# Multiplications of a step's forward pass that make another thread worthwhile. Threads share each layer and
# wait for each other after it. Measured with 4 blocks x 32 channels, batch 256 (0.2 G): 14 ms a step on one
# thread, 10 on two; with another process busy 14 and 50.
PRODUCTS_A_THREAD = 250_000_000


def training_threads(products: int, recorded: int, report: Reporter) -> int:
    """Return how many threads train: OMP_NUM_THREADS, else the run's own, else by the work of a step.

    The last bits of weights depend on the number, so a run keeps its own, also on a machine with fewer cores.

    Args:
        products: multiplications of one step's forward pass.
        recorded: the threads that the run trained with so far; 0 for a run that has not trained.
        report: receives a message if the number changes or exceeds the cores.
    """
    wish = os.environ.get("OMP_NUM_THREADS", "")
    if wish.isdigit() and int(wish):
        if recorded not in (0, int(wish)):
            report.message(
                f"train: {wish} threads from now on (OMP_NUM_THREADS), instead of the run's {recorded}."
            )
        return int(wish)
    if recorded > cores():
        report.message(
            f"train: {recorded} threads on {cores()} cores, so that this run's weights stay the same to "
            f"the last bit; OMP_NUM_THREADS={cores()} may be faster."
        )
    return recorded or max(1, min(MOST_THREADS, cores(), products // PRODUCTS_A_THREAD))


def forward_products(network: Network, batch_size: int) -> int:
    """Return roughly how many multiplications a step's forward pass takes: every weight once a cell."""
    _, height, width = network.planes_shape
    return sum(weight.numel() for weight in network.parameters()) * height * width * batch_size
