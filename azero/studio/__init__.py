"""The studio: play, analyse and train in the browser; a server of this machine and its page.

For others: nothing.
Imports: config, process, run, games.kit, games, kernels, report, replay, players, match, champion,
truth, tracing, records, cli, page, stages.
"""
