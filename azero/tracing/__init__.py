"""A search that a person can watch, as text or as a page.

For others: `watched_uct`, `text`, `tree`, `page`.
Imports: games.kit, games, kernels.
"""
