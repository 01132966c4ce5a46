"""The residual policy/value network and the backends that compute it.

For others: `model`, `inference.Inference`, `backends.make_inference`.
Imports: config, process, games.kit, games.
"""
