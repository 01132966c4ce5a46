"""Self-play on an NVIDIA GPU: rules and search compiled for it, one thread a game, beside the network.

For others: `selfplay` (who plays a cycle's games there, and whether that can be).
Imports: config, process, games, kernels, network, report, replay, search, workers.
"""
