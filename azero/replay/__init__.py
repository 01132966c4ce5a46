"""Game records, training examples, shards on disk, the replay window.

For others: `examples`, `shards`.
Imports: config, run, games.kit, games, kernels.
"""
