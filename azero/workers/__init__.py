"""Threads that play many games of self-play.

For others: `threads.play_games`, `memory`, `report`.
Imports: config, process, games, kernels, network, report, replay, search, match.
"""
