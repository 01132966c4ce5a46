"""Positions as pictures: SVG as `games/kit/picture.py` draws it, and PNG made from that SVG."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from azero.config.schema import UserError
from azero.games.ending import end_json
from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.games.kit.figures import outline
from azero.games.kit.picture import End, draw
from azero.records.record import Record
from azero.records.walk import positions

LONGEST = 1600  # pixels of a picture's longer side at most
SCALE = 2.0  # pixels for a unit of the SVG, where that is not too large
FINE = 2  # everything is drawn this many times as large, then made smaller, for smooth edges


def svg_of(game: Game, state: np.ndarray, before: np.ndarray | None = None, action: int = NO_CELL) -> str:
    """Return a position as an SVG file.

    Args:
        game: the rules.
        state: [S] uint64.
        before: the position before the last move, to mark that move; None at the start.
        action: the last move.

    Raises:
        UserError: the game has no board to draw.
    """
    if game.board is None:
        raise UserError(f"{game.name} has no board that azero can draw; choose sgf or json.")
    board, last_from, shown = game.board, NO_CELL, end_json(game, state)
    territory = np.reshape(shown["territory"], (len(board.rows), -1)) if shown["territory"] else None
    end = End(shown["winning"], territory, shown["result"] or shown["score"])
    if before is None:
        return draw(board, state, end=end)
    if board.from_of is not None:
        last_from = board.from_of(before, action)
    return draw(board, state, board.cell_of(before, action), last_from=last_from, end=end)


def svg_of_node(record: Record, place: int) -> str:
    """Return the position of a record's node as an SVG file, the last move marked; errors as in `svg_of`."""
    states, node = positions(record), record.nodes[place]
    return svg_of(record.game, states[place], states[node.parent] if place else None, node.action)


def png_of(svg: str) -> bytes:
    """Return a picture of `games/kit/picture.py` as a PNG file."""
    root = ElementTree.fromstring(svg)
    sides = [float(number) for number in root.attrib["viewBox"].split()[2:]]
    scale = min(SCALE, LONGEST / max(sides))
    width, height = (round(scale * side) for side in sides)
    picture = Image.new("RGB", (FINE * width, FINE * height))
    pen = ImageDraw.Draw(picture, "RGBA")  # blends what is not opaque
    font = ImageFont.load_default(float(root.attrib["font-size"]) * scale * FINE)
    for element in root:
        draw_element(pen, element, scale * FINE, font, picture.size)
    file = io.BytesIO()
    picture.resize((width, height), Image.Resampling.BOX).save(file, "PNG", optimize=True)
    return file.getvalue()


def draw_element(
    pen: ImageDraw.ImageDraw,
    element: ElementTree.Element,
    scale: float,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    size: tuple[int, int],
) -> None:
    """Draw one of the six shapes that a picture has, `scale` times as large."""
    attribute = element.attrib

    def at(*names: str) -> list[float]:
        return [scale * float(attribute[name]) for name in names]

    def colour(name: str) -> tuple[int, ...] | None:
        if attribute.get(name, "none") == "none":
            return None
        opacity = float(attribute.get("fill-opacity", 1)) if name == "fill" else 1.0
        return (*ImageColor.getrgb(attribute[name]), round(255 * opacity))

    stroke = colour("stroke")
    thickness = round(scale * float(attribute.get("stroke-width", 1))) if stroke else 0
    match element.tag.rpartition("}")[2]:
        case "rect" if "x" not in attribute:
            pen.rectangle((0, 0, *size), colour("fill"))
        case "rect":
            x, y, width, height = at("x", "y", "width", "height")
            pen.rectangle((x, y, x + width, y + height), colour("fill"), stroke, thickness)
        case "polygon":
            points = [scale * float(number) for number in attribute["points"].replace(",", " ").split()]
            pen.polygon(points, colour("fill"), stroke, thickness)
        case "circle":
            x, y, radius = at("cx", "cy", "r")
            radius += thickness / 2  # SVG draws a border on both sides of the edge
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour("fill"), stroke, thickness)
        case "line":
            ends = at("x1", "y1", "x2", "y2")
            pen.line(ends, stroke, thickness)
            for x, y in (ends[:2], ends[2:]):  # round ends
                radius = thickness / 2
                pen.ellipse((x - radius, y - radius, x + radius, y + radius), stroke)
        case "path":
            corners = [(scale * x, scale * y) for x, y in outline(attribute["d"])]
            if colour("fill"):
                pen.polygon(corners, colour("fill"))
                corners.append(corners[0])
            pen.line(corners, stroke, thickness, joint="curve")
        case "text":
            x, y = at("x", "y")
            pen.text((x, y), element.text or "", colour("fill"), font, anchor="ms")
