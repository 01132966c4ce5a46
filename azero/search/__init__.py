"""PV-MCTS: the tree, select / expand / backup, PUCT, Gumbel, bounds, cache.

For others: `algorithm` for the search algorithms, `tree`, `mcts`, `prefetch`.
Imports: config, games, kernels, network, process.
"""
