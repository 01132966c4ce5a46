"""Records of games: SGF, PGN, EPD, JSON lines, Parquet and pictures, written and read; self-play as records.

For others: `record.Record`, `sgf`, `pgn`, `epd`, `json_lines`, `files.read_records`, `files.read_file`,
`pictures`.
Imports: config, process, run, games.kit, games, kernels, report, replay, cli.
"""
