"""What PGN says of a move beside words: signs such as ! and ?, and commands in comments such as a clock."""

from __future__ import annotations

import math
import re

from azero.records.record import RecordNode

TAG = "PGNTAG"  # the property of a game: a PGN's other tags, name and text with a space between
NAG = "NAG"  # the property of a node: the numbers of its signs
MARKS = {"!": "1", "?": "2", "!!": "3", "??": "4", "!?": "5", "?!": "6"}  # of a move, and their NAGs
SIGNS = MARKS | {  # of the position too, as older programs write them
    **{"□": "7", "=": "10", "∞": "13", "⨀": "22", "N": "146"},
    **{"+=": "14", "+/=": "14", "⩲": "14", "=+": "15", "=/+": "15", "⩱": "15"},
    **{"+/-": "16", "±": "16", "-/+": "17", "∓": "17", "+-": "18", "+−": "18", "-+": "19", "−+": "19"},
}
GLYPHS = {number: sign for sign, number in MARKS.items()} | {
    **{"7": "□", "8": "□", "10": "=", "11": "=", "12": "=", "13": "∞", "14": "⩲", "15": "⩱", "16": "±"},
    **{"17": "∓", "18": "+−", "19": "−+", "22": "⨀", "23": "⨀", "44": "=∞", "45": "=∞", "146": "N"},
}
SCALE, SLOPE = 90.0, 1.5637541897  # of `centipawns`
COMMAND = re.compile(r"\[%\w[^\]]*\]\s*")


def glyphs_of(node: RecordNode) -> str:
    """Return the signs of a node's move as people read them; those without a usual sign are left out."""
    return " ".join(GLYPHS[number] for number in node.properties.get(NAG, ()) if number in GLYPHS)


def centipawns(value: float) -> int:
    """Return a value in [-1, 1] in hundredths of a pawn, from -12,780 to 12,780.

    90 tan(1.5637541897 value) is lc0's score type `centipawn` (`src/search/classic/search.cc`).
    """
    return round(SCALE * math.tan(SLOPE * min(1.0, max(-1.0, value))))


def without_commands(comment: str) -> str:
    """Return a comment without its commands, such as [%clk 0:05:00]."""
    return COMMAND.sub("", comment).strip() if "[%" in comment else comment


def with_commands(text: str, before: str) -> str:
    """Return a comment with another text, and the commands that it had."""
    if text == without_commands(before):
        return before
    commands = [command.strip() for command in COMMAND.findall(before)]
    return " ".join(filter(None, [*commands, text]))
