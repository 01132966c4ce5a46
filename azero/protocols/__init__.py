"""azero as an engine for other programs: GTP, KataGo's analysis, Gomocup, NBoard.

For others: nothing.
Imports: nothing.
"""
