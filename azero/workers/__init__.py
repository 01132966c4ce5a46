"""Threads that play many games: of self-play, and of the match between candidate and champion.

For others: `selfplay` and `matches` (who plays a cycle's games and its match), `threads.play_games`,
`memory`, `report`.
Imports: config, process, games, kernels, network, report, replay, search, players, match.
"""
