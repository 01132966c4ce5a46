"""Tools for rules files: bits, grids, options, boards as text and pictures.

For others: any module; a game of your own uses `bits`, `grid`, `options` and `board`.
Imports: config, process.
"""
