"""Training: examples in, trained network out.

For others: `fit.fit`, `trainer.Trainer`.
Imports: config, process, games, network, replay.
"""
