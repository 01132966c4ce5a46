"""Self-play and matches on many machines: a head gives numbered chunks of games to worker processes.

For others: `selfplay`, `match`, `ray_crew.crew_of`, `worker.FIXED_POSITIONS`, `head`.
Imports: config, process, games, network, report, run, replay, search, match, workers.
"""
