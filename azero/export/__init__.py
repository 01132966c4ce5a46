"""A champion for elsewhere: one HTML file that plays, a library, a file for Kaggle, ONNX, TorchScript.

For others: nothing.
Imports: config, process, run, games.kit, games, kernels, report, network, search, players, champion, truth,
cli, page.
"""
