"""How a batch is trained on several cores: in shards, whose gradients are added.

torch would share each layer among threads that wait for each other hundreds of times a step. Beside one busy
process on two cores that took 4 to 9 s a step instead of 0.1 (5 blocks x 64 channels, batch 256). Shards wait
once a step. Their number follows from the settings alone, and each is computed by one thread, so the trained
weights do not depend on the cores. Batch norms see a shard: ghost batch normalization (Hoffer et al. 2017).
"""

from __future__ import annotations

from azero.network.model import Network

SHARD_ROWS = 64  # fewer take longer: 93 ms a step in one piece, 98 in shards of 64, 121 in shards of 32
# Multiplications of a forward pass that make another shard worthwhile. On two cores with AMX a step of 256
# rows in one and in two shards: 4 blocks x 32 channels on 3 x 3 (0.23 G) 15.9 and 10.7 ms in fp32, 10.5 and
# 9.6 ms in bf16; 3 x 32 on 5 x 5 (0.83 G) 28 and 17 ms, 16 and 12.5 ms. More shards than cores were not
# timed. On one core two shards of tic-tac-toe take 14.2 instead of 10.5 ms.
PRODUCTS_A_SHARD = 100_000_000


def shard_count(network: Network, batch_size: int, device: str) -> int:
    """Return into how many shards a batch is cut: 1 on a GPU, and where a step is little work."""
    if device != "cpu":
        return 1
    return max(1, min(batch_size // SHARD_ROWS, forward_products(network, batch_size) // PRODUCTS_A_SHARD))


def forward_products(network: Network, batch_size: int) -> int:
    """Return roughly how many multiplications a step's forward pass takes: every weight once a cell."""
    _, height, width = network.planes_shape
    return sum(weight.numel() for weight in network.parameters()) * height * width * batch_size
