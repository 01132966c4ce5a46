"""azero as an engine for other programs: GTP, KataGo's analysis, Gomocup, NBoard.

For others: nothing.
Imports: config, process, run, games, search, players, cli.
"""
