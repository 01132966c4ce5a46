"""Pictures as arrays, drawn with NumPy alone.

Letters: P boards, R rows, C columns; pictures are [height, width, 3] float in [0, 1] while they are drawn.
"""

from __future__ import annotations

import functools

import numpy as np

CELL = 54  # pixels
GAP = 2  # between cells
MARGIN = 14  # around a board
CAPTION = 24  # height of the line below a board
SMOOTH = 3  # each pixel is the mean of SMOOTH * SMOOTH

PAPER = np.array([0.965, 0.965, 0.975])
EMPTY = np.array([1.0, 1.0, 1.0])
HEAT = np.array([0.98, 0.62, 0.13])  # of a cell that gets the whole probability
INK = np.array([0.25, 0.27, 0.32])
FIRST = np.array([0.13, 0.35, 0.63])
SECOND = np.array([0.76, 0.22, 0.20])
RIGHT = np.array([0.10, 0.60, 0.30])
WRONG = np.array([0.85, 0.10, 0.15])

GLYPHS = {  # five rows of three pixels
    "0": "### #.# #.# #.# ###", "1": ".#. ##. .#. .#. ###", "2": "### ..# ### #.. ###", "3": "### ..# .## ..# ###",
    "4": "#.# #.# ### ..# ..#", "5": "### #.. ### ..# ###", "6": "### #.. ### #.# ###", "7": "### ..# .#. .#. .#.",
    "8": "### #.# ### #.# ###", "9": "### #.# ### ..# ###", ",": "... ... ... .#. #..", " ": "... ... ... ... ...",
    "-": "... ... ### ... ...",
}  # fmt: skip


def policy_picture(
    boards: np.ndarray, policy: np.ndarray, right: np.ndarray | None = None, captions: list[str] | None = None, across: int = 4
) -> np.ndarray:
    """The policy on boards whose actions are their cells: marks, and on empty cells their probability as heat and in percent.

    Args:
        boards: [P, R, C], +1 a stone of the first player (X), -1 of the second (O), 0 empty.
        policy: [P, R*C] probabilities.
        right: [P, R*C] bool, the right moves. They get a green dot, and the frame of the likeliest move is green
            if it is right and red if not; without this the frame is grey.
        captions: a line below each board, of digits, commas, hyphens and spaces.
        across: boards in one row of the picture.

    Returns:
        [height, width, 3] uint8.
    """
    count = len(boards)
    across = min(across, count)
    tiles = [
        draw_board(boards[p], policy[p], None if right is None else right[p], captions[p] if captions else "")
        for p in range(count)
    ]
    blank = np.broadcast_to(PAPER, tiles[0].shape)
    tiles += [blank] * (-count % across)
    rows = [np.concatenate(tiles[start : start + across], axis=1) for start in range(0, len(tiles), across)]
    return (255 * np.concatenate(rows)).round().clip(0, 255).astype(np.uint8)


def draw_board(board: np.ndarray, policy: np.ndarray, right: np.ndarray | None, caption: str) -> np.ndarray:
    """One board [R, C] with its margin and caption."""
    rows, columns = board.shape
    height, width = 2 * MARGIN + rows * CELL + CAPTION, 2 * MARGIN + columns * CELL
    tile = np.tile(PAPER, (height, width, 1))
    policy = np.where(board.ravel() == 0, policy, 0.0)
    likeliest = int(policy.argmax())
    for cell in range(rows * columns):
        top, left = MARGIN + cell // columns * CELL, MARGIN + cell % columns * CELL
        is_right = None if right is None else bool(right[cell])
        stone = int(board.flat[cell])
        drawn = draw_stone(stone) if stone else draw_empty(float(policy[cell]), is_right, cell == likeliest)
        tile[top + GAP // 2 : top + CELL - GAP // 2, left + GAP // 2 : left + CELL - GAP // 2] = drawn
    write(tile, caption, height - CAPTION // 2 - MARGIN // 2, width // 2, 2, INK)
    return tile


def draw_empty(probability: float, is_right: bool | None, is_likeliest: bool) -> np.ndarray:
    """An empty cell: heat, percent, a dot if the move is right, a frame if it is the likeliest."""
    size = CELL - GAP
    cell = np.tile(EMPTY + (HEAT - EMPTY) * probability, (size, size, 1))
    if is_likeliest:
        colour = INK if is_right is None else RIGHT if is_right else WRONG
        inside = np.zeros((size, size), np.bool_)
        inside[4:-4, 4:-4] = True
        cell[~inside] = colour
    if is_right:
        paint(cell, "dot", RIGHT)
    write(cell, f"{100 * probability:.0f}", size // 2, size // 2, 3, INK if probability >= 0.005 else (INK + 2 * PAPER) / 3)
    return cell


def draw_stone(stone: int) -> np.ndarray:
    """A cell with an X (+1) or an O (-1)."""
    size = CELL - GAP
    cell = np.tile(EMPTY, (size, size, 1))
    paint(cell, *(("cross", FIRST) if stone > 0 else ("ring", SECOND)))
    return cell


def paint(cell: np.ndarray, shape: str, colour: np.ndarray) -> None:
    """Colour a shape in a square picture."""
    covered = coverage(shape, len(cell))
    cell[...] = cell * (1 - covered) + colour * covered


@functools.cache
def coverage(shape: str, size: int) -> np.ndarray:
    """How much of each pixel a shape covers, [size, size, 1], so that its edges are smooth."""
    places = (np.arange(size * SMOOTH) + 0.5) / (size * SMOOTH)
    y, x = places[:, None], places[None, :]
    if shape == "cross":
        inside = (np.minimum(abs(y - x), abs(y + x - 1)) < 0.085) & (np.maximum(abs(y - 0.5), abs(x - 0.5)) < 0.29)
    elif shape == "ring":
        inside = abs(np.hypot(y - 0.5, x - 0.5) - 0.26) < 0.06
    else:  # a dot in the corner
        inside = np.hypot(y - 0.2, x - 0.8) < 0.07
    return inside.reshape(size, SMOOTH, size, SMOOTH).mean((1, 3))[..., None]


def write(picture: np.ndarray, text: str, y: int, x: int, scale: int, colour: np.ndarray) -> None:
    """Write text centred on a pixel, each point of a glyph `scale` pixels wide."""
    glyphs = [np.array([list(row) for row in GLYPHS[letter].split()]) == "#" for letter in text]
    if not glyphs:
        return
    line = np.concatenate([np.pad(glyph, ((0, 0), (0, 1))) for glyph in glyphs], axis=1)[:, :-1]
    line = line.repeat(scale, 0).repeat(scale, 1)
    top, left = y - line.shape[0] // 2, x - line.shape[1] // 2
    picture[top : top + line.shape[0], left : left + line.shape[1]][line] = colour
