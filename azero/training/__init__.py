"""Training: examples in, trained network out.

For others: `fit.fit`, `sampler.Sampler`, `threads`.
Imports: config, process, games, network, report, replay.
"""
