"""Independent solvers of small boards: plain Python, their own rules, memoised negamax."""

from __future__ import annotations

from functools import cache


class PlainConnectFour:
    """Solve Connect Four; a position is (own stones, other stones), bit = row * columns + column."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        lines = []
        for row in range(rows):
            for column in range(columns):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    cells = [(row + k * down, column + k * right) for k in range(4)]
                    if all(0 <= r < rows and 0 <= c < columns for r, c in cells):
                        lines.append(sum(1 << r * columns + c for r, c in cells))
        self.through = [[line for line in lines if line >> cell & 1] for cell in range(rows * columns)]
        self.values: dict[tuple[int, int], int] = {}

    def free_cell(self, taken: int, column: int) -> int | None:
        """Where a stone would come to lie."""
        cells = range(column, self.rows * self.columns, self.columns)
        return next((cell for cell in cells if not taken >> cell & 1), None)

    def position(self, moves: list[int]) -> tuple[int, int]:
        """After some columns."""
        own, other = 0, 0
        for column in moves:
            cell = self.free_cell(own | other, column)
            assert cell is not None
            own, other = other, own | 1 << cell
        return own, other

    def value(self, own: int, other: int) -> int:
        """1, 0 or -1 for the mover."""
        if (own, other) in self.values:
            return self.values[own, other]
        best, taken = -1, own | other
        for column in range(self.columns):
            cell = self.free_cell(taken, column)
            if cell is None or best == 1:
                continue
            stones = own | 1 << cell
            if any(stones & line == line for line in self.through[cell]):
                best = 1
            else:
                full = taken | 1 << cell == (1 << self.rows * self.columns) - 1
                best = max(best, 0 if full else -self.value(other, stones))
        self.values[own, other] = best
        return best


WAYS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


def flipped(board: str, size: int, cell: int) -> list[int]:
    """The discs that x turns by playing on a cell of a board of x, o and dots."""
    turned = []
    for down, right in WAYS:
        row, column, line = cell // size + down, cell % size + right, []
        while 0 <= row < size and 0 <= column < size and board[row * size + column] == "o":
            line.append(row * size + column)
            row, column = row + down, column + right
        if 0 <= row < size and 0 <= column < size and board[row * size + column] == "x":
            turned += line
    return turned


@cache
def othello_lead(board: str, size: int, passed: bool = False) -> int:
    """The discs by which x, to play, leads at the end, empty cells not counted."""
    leads = []
    for cell in range(size * size):
        if board[cell] == "." and (turned := flipped(board, size, cell)):
            after = "".join("x" if place in (cell, *turned) else mark for place, mark in enumerate(board))
            leads.append(-othello_lead(after.translate(EXCHANGE), size))
    if leads:
        return max(leads)
    if passed:
        return board.count("x") - board.count("o")
    return -othello_lead(board.translate(EXCHANGE), size, True)


EXCHANGE = str.maketrans("xo", "ox")
