"""How every program starts and reads its arguments.

For others: `hydra_program.program` runs a program with a run, `programs` lists and starts them all,
`overrides` reads their arguments; `arguments` and `player_spec` read those of the other programs.
Imports: config, process, run, report, games, games.laws, network, search, players, champion.
"""
