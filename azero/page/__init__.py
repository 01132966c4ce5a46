"""What pages in the browser share: the board, buttons, the look.

For others: `board.board_json`, `board.STATIC` with `board.js`, `elements.js` and `look.css`.
Imports: games, games.kit.
"""
