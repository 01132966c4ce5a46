"""Self-play and matches on many machines: a head gives numbered chunks of games to worker processes.

For others: `stage.play_on_cluster`, `stage.crew_of`, `match.OnCluster`, `head`.
Imports: config, process, games, network, report, run, replay, search, match, workers.
"""
