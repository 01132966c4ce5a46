"""Records of games: SGF, JSON lines, Parquet and pictures, written and read; games of self-play as records.

For others: `record.Record`, `sgf`, `json_lines`, `files.read_records`, `files.read_file`, `pictures`.
Imports: config, process, run, games.kit, games, kernels, report, replay, cli.
"""
