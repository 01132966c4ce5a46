"""Exact scores of positions, and how often a champion misses them: to measure, never to train on.

For others: `solvers`, `exact`, `endgames`, `positions`, `judging`, `perfect_play`, `known`, `tictactoe`.
Imports: config, process, run, games, games.kit, kernels, network, report, classic, players, match.

Letters: P positions, A actions, S state words.

A *score* belongs to a move and counts plies, that move being the first. +n: the player to move wins with the
n-th ply. -n: the player loses with it. 0: a draw. The best winning move has the fewest plies, the best losing
move the most.
"""
