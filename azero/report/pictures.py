"""Draw policies on boards, as arrays.

Letters: P boards, R rows, C columns.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFont
from PIL.ImageDraw import Draw, ImageDraw

CELL = 54  # pixels
MARGIN = 14  # around a board
CAPTION = 24  # height of the line below a board
FINE = 3  # everything is drawn this many times as large, then made smaller, for smooth edges

PAPER = (246, 246, 249)
EMPTY = np.array([255, 255, 255])
HEAT = np.array([250, 158, 33])  # colour of a cell with probability 1
INK, PALE = (64, 69, 82), (185, 187, 193)
STONES = {1: (33, 89, 161), -1: (194, 56, 51)}
RIGHT, WRONG = (26, 153, 77), (217, 26, 38)


def policy_picture(
    boards: np.ndarray,
    policy: np.ndarray,
    right: np.ndarray | None = None,
    captions: list[str] | None = None,
    across: int = 4,
) -> np.ndarray:
    """Draw a policy on boards whose actions are their cells: probabilities as heat and in percent.

    Args:
        boards: [P, R, C], +1 a stone of the first player (X), -1 of the second (O), 0 empty.
        policy: [P, R*C] probabilities.
        right: [P, R*C] bool, the right moves. They get a green dot. The frame of the likeliest move is green
            if it is right and red if not; without `right` it is grey.
        captions: a line below each board.
        across: boards in one row of the picture.

    Returns:
        [height, width, 3] uint8.
    """
    count, rows, columns = boards.shape
    across = min(across, count)
    height, width = 2 * MARGIN + rows * CELL + CAPTION, 2 * MARGIN + columns * CELL
    size = across * width, -(-count // across) * height
    picture = Image.new("RGB", (FINE * size[0], FINE * size[1]), PAPER)
    draw = Draw(picture)
    for p in range(count):
        left, top = p % across * width, p // across * height
        corner = left + MARGIN, top + MARGIN
        draw_board(draw, corner, boards[p], policy[p], None if right is None else right[p])
        caption = captions[p] if captions else ""
        write(draw, left + width / 2, top + height - (CAPTION + MARGIN) / 2, caption, INK)
    return np.asarray(picture.resize(size, Image.Resampling.BOX))


def draw_board(
    draw: ImageDraw, corner: tuple[int, int], board: np.ndarray, policy: np.ndarray, right: np.ndarray | None
) -> None:
    """Draw one board [R, C] with its upper left corner at a pixel."""
    policy = np.where(board.ravel() == 0, policy, 0.0)
    for cell, stone in enumerate(board.ravel().tolist()):
        x, y = corner[0] + cell % board.shape[1] * CELL, corner[1] + cell // board.shape[1] * CELL
        share, is_right = float(policy[cell]), right is not None and bool(right[cell])
        frame = None
        if not stone and cell == policy.argmax():
            frame = INK if right is None else RIGHT if is_right else WRONG
        colour = tuple((EMPTY + (HEAT - EMPTY) * share).astype(int).tolist())
        draw.rectangle(fine(x + 1, y + 1, x + CELL - 2, y + CELL - 2), colour, frame, 4 * FINE)
        if stone > 0:
            draw.line(fine(x + 12, y + 12, x + 42, y + 42), STONES[1], 6 * FINE)
            draw.line(fine(x + 12, y + 42, x + 42, y + 12), STONES[1], 6 * FINE)
        elif stone < 0:
            draw.ellipse(fine(x + 11, y + 11, x + 43, y + 43), None, STONES[-1], 6 * FINE)
        else:
            if is_right:
                draw.ellipse(fine(x + 39, y + 7, x + 47, y + 15), RIGHT)
            write(draw, x + CELL / 2, y + CELL / 2, f"{100 * share:.0f}", INK if share >= 0.005 else PALE)


def write(draw: ImageDraw, x: float, y: float, text: str, colour: tuple[int, int, int]) -> None:
    """Write text centred on a pixel."""
    draw.text((FINE * x, FINE * y), text, colour, ImageFont.load_default(17 * FINE), anchor="mm")


def fine(*places: float) -> list[float]:
    """Return coordinates in the larger picture that is drawn on."""
    return [FINE * place for place in places]
