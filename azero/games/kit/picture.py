"""Positions as SVG pictures.

Letters: H rows, W columns. Cells are numbered row by row from the top left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from azero.games.kit import figures
from azero.games.kit.board import EMPTY, FIRST, NO_CELL, SECOND, Board, figure_of, owner_of
from azero.games.kit.board import STONE as STONES

CELL = 40.0  # width of a cell, in units of the picture
MARGIN = 30.0  # around the board, for the labels
RADIUS = CELL / math.sqrt(3.0)  # from a hexagon's centre to its corners, so that it is CELL wide
STONE = {FIRST: "#20242b", SECOND: "#f4f1ea"}
COLOURED = {FIRST: "#2f62d9", SECOND: "#f0932b"}  # stones of two colours; DRAWN: X and O
DRAWN = {FIRST: "#2f62d9", SECOND: "#b35c00"}
GREEN, GREEN_LINE = "#2f7a4d", "#1d5233"  # squares under black and white stones
WON = "#ffc933"  # rings of the cells that have won
CAPTION = 26.0  # height of the line below the board
# Colour of numbers and of the last move's ring, by the mark they lie on
INK = {EMPTY: "#20242b", FIRST: "#f4f1ea", SECOND: "#20242b"}
LINE, FIELD, HEAT, MARK = "#7a6a53", "#e7d3ae", "#d1361f", "#d1361f"
DARK_FIELD = "#b98f5f"  # of a chequered board, for figures
LEFT = "#f2c230"  # over the two cells of the last move, where pieces move
# Area, border and lines of figures, by their owner: the first player's are white
FIGURE = {FIRST: ("#fbfaf6", "#23272f", "#23272f"), SECOND: ("#2a2d34", "#0a0b0d", "#d8dbe0")}
FIGURE_SIZE = 1.08  # of a cell

Centre = Callable[[int, int], tuple[float, float]]  # (row, column) to the middle of the cell


class End(NamedTuple):
    """What shows how a game has ended.

    Attributes:
        won: the cells that have won, as of `Board.winning_cells`.
        territory: whose each empty cell is, [H, W] as of `Board.territory`; None: not shown.
        caption: a line below the board, such as who has won.
    """

    won: Sequence[int] = ()
    territory: np.ndarray | None = None
    caption: str = ""


NO_END = End()


def draw(
    board: Board,
    state: np.ndarray,
    last_cell: int = NO_CELL,
    numbers: np.ndarray | None = None,
    heat: np.ndarray | None = None,
    last_from: int = NO_CELL,
    end: End = NO_END,
) -> str:
    """Return a position as the text of an SVG file.

    Args:
        board: how to draw the game.
        state: [S] uint64.
        last_cell: the cell of the last move, marked with a ring, or coloured if the board has figures.
        numbers: [H, W], written into the cells; nan for none. Fractions get two decimals.
        heat: [H, W] in [0, 1], drawn over the cells as a colour; 0 and nan for none.
        last_from: the cell that the piece of the last move has left; coloured.
        end: what shows how the game has ended.

    Raises:
        ValueError: `numbers` or `heat` does not have the shape of the board.
    """
    marks = board.marks(state)
    for name, overlay in (("numbers", numbers), ("heat", heat)):
        if overlay is not None and overlay.shape != marks.shape:
            raise ValueError(f"{name} has shape {overlay.shape}, the board {marks.shape}")
    draw_board = draw_hexagons if board.kind == "hexagons" else draw_squares
    if last_from != NO_CELL or board.look() in ("figures", "drawn"):
        coloured, ringed = dict.fromkeys((last_cell, last_from), LEFT), NO_CELL
    else:
        coloured, ringed = {}, last_cell
    if board.alert is not None:
        coloured[board.alert(state)] = HEAT
    if board.look() in ("figures", "drawn"):
        coloured |= dict.fromkeys(end.won, WON)
        end = end._replace(won=())
    coloured.pop(NO_CELL, None)
    return draw_board(board, marks, ringed, coloured, numbers, heat, end)


def cells_of_actions(board: Board, state: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values of actions [A] by the cell of each action, [H, W] float64, nan elsewhere; for `draw`.

    If two actions share a cell, the first counts: in Hex the stone, not the swap. Where pieces move, values
    of all actions to a cell are added, such as shares of visits.
    """
    cells = np.full(len(board.rows) * len(board.columns), np.nan)
    for action, value in enumerate(values):
        cell = board.cell_of(state, action)
        if cell == NO_CELL:
            continue
        if np.isnan(cells[cell]):
            cells[cell] = value
        elif board.from_of is not None:
            cells[cell] += value
    return cells.reshape(len(board.rows), len(board.columns))


def draw_squares(
    board: Board,
    marks: np.ndarray,
    ringed: int,
    coloured: dict[int, str],
    numbers: np.ndarray | None,
    heat: np.ndarray | None,
    end: End,
) -> str:
    """Draw a board of squares or crossings; a cell to ring and colours of cells, the others as in `draw`."""
    height, width = marks.shape

    def centre(row: int, column: int) -> tuple[float, float]:
        return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL

    def square(row: int, column: int, style: str) -> str:
        x, y = centre(row, column)
        return f'<rect x="{x - CELL / 2:g}" y="{y - CELL / 2:g}" width="{CELL:g}" height="{CELL:g}" {style}/>'

    parts = []
    if board.kind == "squares":
        chequered = board.has_figures()
        for row, column in itertools.product(range(height), range(width)):
            dark = chequered and (height - 1 - row + column) % 2 == 0  # the first cell of the last row is
            field = GREEN if board.look() == "classic" else DARK_FIELD if dark else FIELD
            border = GREEN_LINE if field == GREEN else LINE
            parts.append(square(row, column, f'fill="{field}" stroke="{border}"'))
    else:
        parts.append(
            f'<rect x="{MARGIN:g}" y="{MARGIN:g}" width="{width * CELL:g}" height="{height * CELL:g}" '
            f'fill="{FIELD}"/>'
        )
        parts += [line(centre(row, 0), centre(row, width - 1), LINE, 1.5) for row in range(height)]
        parts += [line(centre(0, column), centre(height - 1, column), LINE, 1.5) for column in range(width)]
    for cell, colour in coloured.items():
        parts.append(square(cell // width, cell % width, f'fill="{colour}" fill-opacity="0.5"'))
    parts += heat_over(heat, square)
    parts += labels(board, centre, slant=0.0)
    parts += pieces(board, marks, centre, CELL * 0.43, ringed)
    parts += ended(end, centre, width, CELL * 0.4)
    parts += written(marks, numbers, centre)
    return page(width * CELL + 2 * MARGIN, height * CELL + 2 * MARGIN, parts, end.caption)


def draw_hexagons(
    board: Board,
    marks: np.ndarray,
    ringed: int,
    coloured: dict[int, str],
    numbers: np.ndarray | None,
    heat: np.ndarray | None,
    end: End,
) -> str:
    """Draw a board of hexagons, each edge in the colour of its player; arguments as in `draw_squares`."""
    height, width = marks.shape

    def centre(row: int, column: int) -> tuple[float, float]:
        return MARGIN + (column + 0.5 + row / 2) * CELL, MARGIN + RADIUS + row * 1.5 * RADIUS

    def corner(row: int, column: int, number: int) -> tuple[float, float]:
        """Corners are numbered clockwise from the upper right; 5 is the top."""
        x, y = centre(row, column)
        angle = math.radians(60 * number - 30)
        return x + RADIUS * math.cos(angle), y + RADIUS * math.sin(angle)

    def hexagon(row: int, column: int, style: str) -> str:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corner(row, column, number) for number in range(6)))
        return f'<polygon points="{points}" {style}/>'

    def edge(cells: list[tuple[int, int]], corners: tuple[int, int, int], colour: str) -> Iterator[str]:
        for row, column in cells:
            for start, end in itertools.pairwise(corners):
                yield line(corner(row, column, start), corner(row, column, end), colour, 6)

    across, down = range(width), range(height)
    parts = [
        *edge([(0, column) for column in across], (4, 5, 0), STONE[FIRST]),
        *edge([(height - 1, column) for column in across], (1, 2, 3), STONE[FIRST]),
        *edge([(row, 0) for row in down], (2, 3, 4), STONE[SECOND]),
        *edge([(row, width - 1) for row in down], (5, 0, 1), STONE[SECOND]),
    ]
    parts += [hexagon(row, column, f'fill="{FIELD}" stroke="{LINE}"') for row in down for column in across]
    for cell, colour in coloured.items():
        parts.append(hexagon(cell // width, cell % width, f'fill="{colour}" fill-opacity="0.5"'))
    parts += heat_over(heat, hexagon)
    parts += labels(board, centre, slant=0.5)
    parts += pieces(board, marks, centre, CELL * 0.36, ringed)
    parts += ended(end, centre, width, CELL * 0.33)
    parts += written(marks, numbers, centre)
    across, down = (width + height / 2) * CELL + 2 * MARGIN, (height * 1.5 + 0.5) * RADIUS + 2 * MARGIN
    return page(across, down, parts, end.caption)


def page(width: float, height: float, parts: list[str], caption: str) -> str:
    """Return the whole file."""
    if caption:
        parts.append(text((width / 2, height + CAPTION / 2 - 8), caption, INK[EMPTY]))
        height += CAPTION
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif" font-size="14" text-anchor="middle">\n'
        f'<rect width="100%" height="100%" fill="#cfc6b8"/>\n{body}\n</svg>\n'
    )


def line(start: tuple[float, float], end: tuple[float, float], colour: str, thickness: float) -> str:
    """Return a straight line."""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{thickness:g}" stroke-linecap="round"/>'
    )


def text(at: tuple[float, float], content: str, colour: str) -> str:
    """Return text centred at a point."""
    return f'<text x="{at[0]:.1f}" y="{at[1] + 5:.1f}" fill="{colour}">{escape(content)}</text>'


def labels(board: Board, centre: Centre, slant: float) -> Iterator[str]:
    """Yield coordinates left of every row and below every column, the latter `slant` cells to the right."""
    rows = len(board.rows)
    for row, label in enumerate(board.rows):
        x, y = centre(row, 0)
        yield text((x - CELL / 2 - 14, y), label, INK[EMPTY])
    for column, label in enumerate(board.columns):
        x, y = centre(rows - 1, column)
        yield text((x + slant * CELL, y + CELL / 2 + 14), label, INK[EMPTY])


def pieces(board: Board, marks: np.ndarray, centre: Centre, radius: float, ringed: int) -> Iterator[str]:
    """Yield the pieces and a ring on the cell of the last move."""
    for (row, column), mark in np.ndenumerate(marks):
        x, y = centre(row, column)
        at = f'<circle cx="{x:.1f}" cy="{y:.1f}"'
        figure = STONES if mark == EMPTY else board.figures[figure_of(mark)]
        if figure != STONES:
            yield from drawn_figure(figure, owner_of(mark), x, y)
        elif mark != EMPTY and board.look() == "drawn":
            yield from drawn_symbol(owner_of(int(mark)), x, y)
        elif mark != EMPTY:
            colours = STONE if board.look() == "classic" or board.kind == "hexagons" else COLOURED
            yield f'{at} r="{radius:.1f}" fill="{colours[owner_of(int(mark))]}" stroke="#20242b"/>'
        if row * marks.shape[1] + column == ringed:
            yield f'{at} r="{radius * 0.5:.1f}" fill="none" stroke="{MARK}" stroke-width="3"/>'


def ended(end: End, centre: Centre, width: int, radius: float) -> Iterator[str]:
    """Yield rings around the cells that have won, and a small square on each cell of territory."""
    for cell in end.won:
        x, y = centre(*divmod(cell, width))
        for colour, thickness in (("#20242b", 6), (WON, 4)):
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" stroke="{colour}" '
                f'stroke-width="{thickness}"/>'
            )
    for (row, column), owner in np.ndenumerate(end.territory) if end.territory is not None else ():
        if owner != EMPTY:
            x, y = centre(row, column)
            yield f'<rect x="{x - 6:g}" y="{y - 6:g}" width="12" height="12" fill="{STONE[int(owner)]}"/>'


def drawn_symbol(owner: int, x: float, y: float) -> Iterator[str]:
    """Yield an X of the first player or an O of the second."""
    reach, colour = CELL * 0.25, DRAWN[owner]
    if owner == FIRST:
        yield line((x - reach, y - reach), (x + reach, y + reach), colour, 5)
        yield line((x - reach, y + reach), (x + reach, y - reach), colour, 5)
    else:
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{reach:.1f}" fill="none" stroke="{colour}" '
            'stroke-width="5"/>'
        )


def drawn_figure(figure: str, owner: int, x: float, y: float) -> Iterator[str]:
    """Yield the paths of a figure in the cell whose middle is x, y."""
    area, border, detail = FIGURE[owner]
    for path in figures.PATHS[figure]:
        fill, stroke = (area, border) if figures.is_filled(path) else ("none", detail)
        yield (
            f'<path d="{figures.placed(path, x, y, FIGURE_SIZE * CELL)}" fill="{fill}" stroke="{stroke}" '
            'stroke-width="1.3" stroke-linejoin="round" stroke-linecap="round"/>'
        )


def heat_over(heat: np.ndarray | None, shape: Callable[[int, int, str], str]) -> Iterator[str]:
    """Yield a colour over the cells, stronger for values nearer to 1."""
    for (row, column), value in np.ndenumerate(heat) if heat is not None else ():
        if value > 0:  # false for nan
            yield shape(row, column, f'fill="{HEAT}" fill-opacity="{min(float(value), 1.0):.3f}"')


def written(marks: np.ndarray, numbers: np.ndarray | None, centre: Centre) -> Iterator[str]:
    """Yield numbers in the cells, in a colour that shows on the mark there."""
    for (row, column), value in np.ndenumerate(numbers) if numbers is not None else ():
        if not np.isnan(value):
            content = f"{int(value)}" if float(value).is_integer() else f"{value:.2f}"
            yield text(centre(row, column), content, INK[owner_of(int(marks[row, column]))])
