"""Threads that play many games: of self-play, and of the match between candidate and champion.

For others: `threads.play_games`, `matches`, `memory`, `report`.
Imports: config, process, games, kernels, network, report, replay, search, players, match.
"""
