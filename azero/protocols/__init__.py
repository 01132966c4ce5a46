"""azero as an engine for other programs: GTP, KataGo's analysis, Gomocup, NBoard, UCI.

For others: nothing.
Imports: config, process, run, games.kit, games, kernels, search, players, records, cli.
"""
