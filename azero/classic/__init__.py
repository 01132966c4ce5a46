"""Classic searches: alpha-beta, UCT, flat Monte Carlo, AlphaGo 2016, grouped UCT, solvers of small games.

For others: one module for each search.
Imports: config, games, kernels, heuristics, search.
"""
