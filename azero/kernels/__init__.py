"""How compiled code is written here: decorators, random streams, hashing, rows of words.

For others: the decorators of `compiled`, functions to call from kernels.
Imports: games.kit, process.
"""
