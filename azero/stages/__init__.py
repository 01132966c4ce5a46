"""The four stages and what they share with the loop: clock, checks, inference, measuring a champion.

For others: `registry` (a record for each stage), `executor` (where games are played), `preflight`, `clock`,
`run_stage`, `backend`, `measure`, `diagnosis`, `trials`.
Imports: config, process, run, games, kernels, games.laws, network, report, replay, search, classic, training,
players, match, workers, cluster, gpu, champion, truth, cli.
"""
