"""What a search has found, as clients read it: lines of Leela Zero and KataGo, colours of GoGui and HexGui.

Letters: A actions, H rows, W columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.kit.board import NO_CELL
from azero.games.playing import GameInProgress
from azero.players import Thought
from azero.protocols.gtp_moves import COLOURS, Moves, parse_colour
from azero.protocols.words import LARGEST_INTEGER, NUMBER, integer, seconds_of, truth

SHORTEST = 0.02  # seconds between two reports
MOST_LABELS = 12  # moves with a number on the board


class Style(NamedTuple):
    """How numbers of an analysis are written."""

    share: Callable[[float], str]  # of a probability
    values: bool  # whether `utility` is written: the value in [-1, 1]


LEELA = Style(lambda share: str(round(10_000 * share)), values=False)
KATA = Style(lambda share: f"{share:.6g}", values=True)


class Asked(NamedTuple):
    """What an analysis should report."""

    side: int  # who is to move
    every: float  # seconds between two reports
    least: int  # moves to report if there are so many
    most: int  # moves to report
    root: bool  # whether to report on the position too
    avoided: set[str]  # moves to leave out, in small letters
    allowed: set[str]  # the only moves to search, if there are any; in small letters


def read_analysis(words: list[str], moves: Moves, side: int, every: float) -> Asked:
    """Return what the words after `kata-analyze` and the like ask for. Keys that azero lacks are ignored.

    `side` and `every` count where the words name none.

    Raises:
        UserError: a word is missing or not allowed.
    """
    words, least, most, root = list(words), 0, LARGEST_INTEGER, False
    listed: dict[str, list[set[str]]] = {"avoid": [set(), set()], "allow": [set(), set()]}
    while words:
        key = words.pop(0).lower()
        if key in (*COLOURS, "b", "w"):
            side = parse_colour(key)
            continue
        if NUMBER.fullmatch(key):
            every = interval(key)
            continue
        wanted = 3 if key in listed else 1
        if len(words) < wanted:
            raise UserError(f"syntax error: {key[:20]} lacks a value")
        values, words = words[:wanted], words[wanted:]
        if key == "interval":
            every = interval(values[0])
        elif key == "minmoves":
            least = integer(values[0])
        elif key == "maxmoves":
            most = integer(values[0])
        elif key == "rootinfo":
            root = truth(values[0])
        elif key in listed:
            found = [text for text in values[1].split(",") if text]
            for text in found:
                if text.lower() not in moves.vertices:
                    raise UserError(f"illegal move: {text[:40]}")
            listed[key][parse_colour(values[0])].update(map(str.lower, found))
    return Asked(side, every, least, most, root, listed["avoid"][side], listed["allow"][side])


def left_out(asked: Asked, moves: Moves, at: GameInProgress) -> np.ndarray | None:
    """Return the moves that a search should leave out at a position, [A] bool; None: it was asked for none.

    What is not legal there is ignored. UserError: no legal move is left.
    """
    if not asked.avoided and not asked.allowed:
        return None
    known = moves.known(at.state, at.legal_actions())
    avoided, allowed = (
        np.isin(np.arange(at.game.num_actions), [known[text] for text in texts & known.keys()])
        for texts in (asked.avoided, asked.allowed)
    )
    banned = avoided | ~allowed if asked.allowed else avoided
    if not (at.legal_mask() & ~banned).any():
        raise UserError("no legal move is left to analyse")
    return banned


def interval(text: str) -> float:
    """Return the seconds of a text of hundredths."""
    return max(SHORTEST, seconds_of(text) / 100)


def win_rate(value: float) -> float:
    """Return a value in [-1, 1] as a share of wins."""
    return (value + 1) / 2


def info_line(thought: Thought, moves: Moves, state: np.ndarray, style: Style, asked: Asked) -> str:
    """Return the line of an analysis for the side to move at a state; "" if it has nothing to report."""
    parts = []
    value = 0.0 if math.isnan(thought.value) else thought.value
    for order, move in enumerate(thought.best_first()[: asked.most]):
        if not move.visits and order >= max(1, asked.least):
            break
        of = value if math.isnan(move.value) else move.value
        text = " ".join(moves.line_texts(state, move.line))
        part = f"info move {text.split()[0]} visits {move.visits}"
        if style.values:
            part += f" utility {of:.6g}"
        part += f" winrate {style.share(win_rate(of))}"
        if not math.isnan(move.prior):
            part += f" prior {style.share(move.prior)}"
        parts.append(f"{part} order {order} pv {text}")
    if asked.root:
        parts.append(f"rootInfo visits {thought.visits} utility {value:.6g} winrate {win_rate(value):.6g}")
    return " ".join(parts)


# --- GoGui and HexGui ---------------------------------------------------------------------------------------

GOGUI = """gfx/Visits of the search/azero-visits
gfx/Policy of the network/azero-policy
gfx/Values of the moves/azero-value
var/Best line/azero-line
param/Player/azero-param"""
HEXGUI = """gfx/Visits of the search/azero-hex_visits
gfx/Policy of the network/azero-hex_policy
gfx/Values of the moves/azero-hex_value
var/Best line/azero-line"""


def board_colours(thought: Thought, moves: Moves, state: np.ndarray, kind: str, hexgui: bool) -> str:
    """Return GoGui's graphics of policy, value or visits on the board.

    HexGui reads less: only INFLUENCE with numbers from 0 to 1, and TEXT.
    """
    if moves.board is None:
        raise UserError("this game has no board of cells")
    shares = dict[str, tuple[float, str]]()
    most = max((move.visits for move in thought.moves), default=0) or 1
    highest = max((move.prior for move in thought.moves if not math.isnan(move.prior)), default=0.0)
    if kind == "policy" and not highest:
        raise UserError("this player has no policy network")
    known = thought.best_first()
    texts = moves.texts(state, [move.action for move in known])
    for move, text in zip(known, texts, strict=True):
        if moves.board.cell_of(state, move.action) == NO_CELL or text.lower() not in moves.cells():
            continue
        if kind == "visits" and move.visits:
            shares[text] = (move.visits / most, str(move.visits))
        elif kind == "policy":
            shares[text] = (move.prior / highest, f"{100 * move.prior:.0f}")
        elif kind == "value" and move.visits:
            shares[text] = (win_rate(move.value), f"{100 * win_rate(move.value):.0f}")
    value = 0.0 if math.isnan(thought.value) else thought.value
    lines = []
    if hexgui:
        lines.append("INFLUENCE " + " ".join(f"{text} {share:.3f}" for text, (share, _) in shares.items()))
    else:
        lines += [f"COLOR {colour(share)} {text}" for text, (share, _) in shares.items()]
        labels = [f"{text} {label}" for text, (_, label) in list(shares.items())[:MOST_LABELS]]
        lines.append("LABEL " + " ".join(labels))
    meaning = {
        "visits": "visits",
        "policy": "policy in percent",
        "value": "win rate after each move in percent",
    }[kind]
    best = moves.text(state, thought.best)
    lines.append(
        f"TEXT {meaning}; {thought.visits} visits, win rate {100 * win_rate(value):.1f} %, best {best}"
    )
    return "\n".join(lines)


def colour(share: float) -> str:
    """Return a colour between the board's yellow, for 0, and green, for 1."""
    low, high = (0xF0, 0xD8, 0x90), (0x10, 0x90, 0x30)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(low, high, strict=True))


def chains(marks: np.ndarray) -> list[list[int]]:
    """Return the chains of stones of a board [H, W], each with its cells in rising order."""
    rows, columns = marks.shape
    kinds, found, known = marks.ravel().tolist(), list[list[int]](), set[int]()
    for start, mark in enumerate(kinds):
        if not mark or start in known:
            continue
        chain, todo = {start}, [start]
        while todo:
            row, column = divmod(todo.pop(), columns)
            for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                cell = r * columns + c
                if 0 <= r < rows and 0 <= c < columns and kinds[cell] == mark and cell not in chain:
                    chain.add(cell)
                    todo.append(cell)
        known |= chain
        found.append(sorted(chain))
    return found
