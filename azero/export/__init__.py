"""A champion for elsewhere: one HTML file that plays, ONNX, TorchScript.

For others: nothing.
Imports: config, process, run, games.kit, games, kernels, network, search, players, champion, cli.
"""
