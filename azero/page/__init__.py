"""What pages in the browser share: the board, buttons, keys, colours.

For others: `board.board_json`, `board.STATIC` with `board.js`, `keys.js` and `palette.css`.
Imports: games, games.kit.
"""
