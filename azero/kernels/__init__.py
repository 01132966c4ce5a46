"""How compiled code is written here: decorators, random streams, hashing.

For others: the decorators of `compiled`, functions to call from kernels.
Imports: games.kit, process.
"""
