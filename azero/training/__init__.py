"""Training: examples in, trained network out.

For others: `fit.fit`, `sampler.Sampler`, `trainer.Trainer`.
Imports: config, process, games, network, replay.
"""
