"""The pieces of chess as paths, for pictures and for pages.

A figure is a list of paths in a cell of 100 x 100 units whose middle is 0, 0. They are drawn one over the
other. A path that ends with Z is filled and has a border, another one is only a line. Paths have the commands
M, L, C and Z of SVG, with absolute coordinates.
"""

from __future__ import annotations

import re

ROUND = 0.5523  # of the radius: how far the control points of a quarter of a circle lie
STEPS = 8  # straight lines of a curve
TOKEN = re.compile(r"[MLCZ]|-?\d+(?:\.\d+)?")


def circle(x: float, y: float, across: float, down: float | None = None) -> str:
    """Return a circle by its middle and radius, or an ellipse with another radius downwards."""
    down = across if down is None else down
    a, b = ROUND * across, ROUND * down
    quarters = (
        (x + across, y - b, x + a, y - down, x, y - down),
        (x - a, y - down, x - across, y - b, x - across, y),
        (x - across, y + b, x - a, y + down, x, y + down),
        (x + a, y + down, x + across, y + b, x + across, y),
    )
    curves = "".join("C" + " ".join(f"{number:.4g}" for number in quarter) for quarter in quarters)
    return f"M{x + across:.4g} {y:.4g}{curves}Z"


FOOT = "M-27 38L-27 34C-27 30 -22 29 -18 27L18 27C22 29 27 30 27 34L27 38Z"
WAIST = "M-20 13C-8 8 8 8 20 13C17 19 17 23 19 28L-19 28C-17 23 -17 19 -20 13Z"

PATHS: dict[str, tuple[str, ...]] = {
    "pawn": (
        "M-23 38L-23 35C-23 31 -17 29 -14 25L14 25C17 29 23 31 23 35L23 38Z",
        "M-14 25C-7 16 -6 8 -5 -2L5 -2C6 8 7 16 14 25Z",
        circle(0, -3, 12, 4.5),
        circle(0, -18, 12.5),
    ),
    "knight": (
        "M25 30C29 -2 22 -28 1 -33L-5 -41L-9 -31C-16 -25 -20 -13 -28 -2C-33 5 -32 13 -26 15C-22 16 -19 14"
        " -16 10C-11 6 -5 7 0 1C1 12 -18 16 -18 30Z",
        "M-24 38L-24 33C-24 31 -22 29 -19 29L26 29C28 29 29 31 29 33L29 38Z",
        "M8 -24C17 -14 19 4 18 22",
        "M-12 -17L-10 -18",
        "M-26 7L-25 6.5",
    ),
    "bishop": (
        FOOT,
        "M-15 27C-8 20 -8 14 -7 6L7 6C8 14 8 20 15 27Z",
        circle(0, 6, 13, 4.5),
        "M0 -32C12 -24 19 -13 17 -4C16 1 12 4 8 5L-8 5C-12 4 -16 1 -17 -4C-19 -13 -12 -24 0 -32Z",
        circle(0, -35, 5),
        "M0 -20L0 -4",
        "M-6 -13L6 -13",
    ),
    "rook": (
        "M-27 38L-27 32C-27 30 -26 29 -24 29L24 29C26 29 27 30 27 32L27 38Z",
        "M-20 29L-16 -9L16 -9L20 29Z",
        "M-24 -34L-24 -16L-17 -8L17 -8L24 -16L24 -34L14 -34L14 -27L5 -27L5 -34L-5 -34"
        "L-5 -27L-14 -27L-14 -34Z",
        "M-17 22L17 22",
    ),
    "queen": (
        FOOT,
        WAIST,
        "M-20 13L-31 -17L-16 -2L-16 -27L-6 -4L0 -31L6 -4L16 -27L16 -2L31 -17L20 13C8 8 -8 8 -20 13Z",
        *(circle(x, y, 4.5) for x, y in ((-31, -19), (-16, -29), (0, -34), (16, -29), (31, -19))),
        "M-18 21C-7 17 7 17 18 21",
    ),
    "king": (
        FOOT,
        WAIST,
        "M-3 -44L3 -44L3 -39L8 -39L8 -33L3 -33L3 -26L-3 -26L-3 -33L-8 -33L-8 -39L-3 -39Z",
        "M0 -6C-5 -23 -31 -24 -31 -6C-31 3 -23 7 -20 13C-8 8 8 8 20 13C23 7 31 3 31 -6C31 -24 5 -23 0 -6Z",
        "M0 -28C9 -22 9 -14 0 -5C-9 -14 -9 -22 0 -28Z",
        "M-18 21C-7 17 7 17 18 21",
    ),
}


def is_filled(path: str) -> bool:
    """Return whether a path is an area, not a line."""
    return path.endswith("Z")


def placed(path: str, x: float, y: float, size: float) -> str:
    """Return a path in a cell of width `size` whose middle is x, y."""
    numbers = 0

    def place(token: re.Match[str]) -> str:
        nonlocal numbers
        if token[0].isalpha():
            return token[0]
        numbers += 1
        return f"{float(token[0]) * size / 100 + (x if numbers % 2 else y):.2f} "

    return TOKEN.sub(place, path).replace("  ", " ").replace(" C", "C").replace(" L", "L").replace(" Z", "Z")


def outline(path: str) -> list[tuple[float, float]]:
    """Return the corners of a path, whose curves become straight lines."""
    tokens = TOKEN.findall(path)
    points = list[tuple[float, float]]()
    while tokens:
        command = tokens.pop(0)
        if command == "Z":
            break
        count = 3 if command == "C" else 1
        numbers, tokens = [float(token) for token in tokens[: 2 * count]], tokens[2 * count :]
        ends = list(zip(numbers[::2], numbers[1::2], strict=True))
        points += curve([points[-1], *ends]) if command == "C" else ends
    return points


def curve(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points of a Bézier curve by its four corners, without its start."""
    found = []
    for step in range(1, STEPS + 1):
        t = step / STEPS
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        x, y = (sum(w * corner[axis] for w, corner in zip(weights, corners, strict=True)) for axis in (0, 1))
        found.append((x, y))
    return found
