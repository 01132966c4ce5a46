"""A run's champion, for programs and for Python.

For others: `load.load_trained`, `champion.Champion`.
Imports: config, process, run, games.kit, games, network, players.
"""
