"""A champion for elsewhere: one HTML file that plays, ONNX, TorchScript.

For others: nothing.
Imports: config, games.kit, games, kernels, network, search, players.
"""
