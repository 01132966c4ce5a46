"""Matches between players, their reports, ratings and gates.

For others: `lockstep` plays, `rating` and `elo_table` count, `gate` decides, `anchors` hold the fixed
opponents.
Imports: config, process, games, kernels, report, search, players.
"""
