"""Records of games: SGF, JSON lines and pictures, written and read.

For others: `record.Record`, `sgf`, `json_lines`, `files.read_records`, `pictures`.
Imports: config, games.kit, games, kernels.
"""
