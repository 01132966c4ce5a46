"""Figures: their paths, pictures with them, and what pages and checks read of a board of figures."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from places import CROWNING
from playing import play

from azero.games import make_game
from azero.games.kit.board import FIGURES, Board, figure_of, owner_of
from azero.games.kit.figures import PATHS, circle, is_filled, outline, placed
from azero.games.kit.picture import (
    CELL,
    DARK_FIELD,
    FIELD,
    FIGURE,
    HEAT,
    LEFT,
    MARGIN,
    cells_of_actions,
    draw,
)
from azero.games.laws.check import check_game
from azero.games.laws.shown import board_faults
from azero.page.board import board_json
from azero.records.pictures import png_of, svg_of
from azero.studio.game_tree import GameTree
from azero.tracing.record import UctSettings, record
from azero.tracing.text import board_text

SVG = "{http://www.w3.org/2000/svg}"
ROOK = "a1a2 a4a3 b1b2 a3b2 c1c2 b2b1r"  # Black has a rook on b1

#     a b c
#   4 . p p
#   3 . . .
#   2 P . P
#   1 . r .


def board_of(game: str = CROWNING) -> Board:
    board = make_game(game).board
    assert board is not None
    return board


def test_marks_are_kinds_and_owners() -> None:
    board, game = board_of(), make_game(CROWNING)
    state = play(game, ROOK)
    assert board.marks(state).tolist() == [[0, 2, 2], [0, 0, 0], [1, 0, 1], [0, 6, 0]]
    assert [(owner_of(mark), board.figures[figure_of(mark)]) for mark in (1, 2, 6)] == [
        (1, "pawn"), (2, "pawn"), (2, "rook"),
    ]  # fmt: skip
    assert game.text(state) == ".pp/.../P.P/.r. P"


@pytest.mark.parametrize("figure", FIGURES[1:])
def test_a_figure_lies_in_its_cell(figure: str) -> None:
    points = [point for path in PATHS[figure] for point in outline(path)]
    assert all(-50 < number < 50 for point in points for number in point)
    assert is_filled(PATHS[figure][0]) and max(y for _, y in points) == 38  # all stand on one line


def test_paths_are_moved_and_become_lines() -> None:
    assert placed("M10 -20L0 40Z", 100, 200, 50) == "M105.00 190.00L100.00 220.00Z"
    corners = outline(circle(3, 4, 10))
    assert len(corners) == 1 + 4 * 8
    assert [abs(complex(x - 3, y - 4)) for x, y in corners] == pytest.approx([10] * 33, abs=0.02)


def test_a_picture_shows_figures_a_chequered_board_and_the_last_move() -> None:
    game = make_game(CROWNING)
    before = play(game, ROOK.removesuffix(" b2b1r"))
    action = game.parse_action(before, "b2b1r")
    root = ElementTree.fromstring(svg_of(game, game.step(before, action), before, action))
    paths, squares = (
        list(root.iter(SVG + "path")),
        [each for each in root.iter(SVG + "rect") if each.get("x")],
    )
    white, black = (FIGURE[side][0] for side in (1, 2))
    areas = [path.get("fill") for path in paths if path.get("fill") != "none"]
    assert areas.count(white) == 2 * 4  # two pawns of four areas
    assert areas.count(black) == 2 * 4 + 3  # and a rook of three
    fields = {(each.get("x"), each.get("y")): each.get("fill") for each in squares[:12]}
    corner = (f"{MARGIN:g}", f"{MARGIN + 3 * CELL:g}")
    assert fields[corner] == DARK_FIELD and list(fields.values()).count(FIELD) == 6  # a1 is dark
    coloured = {(each.get("x"), each.get("y")): each.get("fill") for each in squares[12:]}
    b1, b2 = ((f"{MARGIN + CELL:g}", f"{MARGIN + row * CELL:g}") for row in (3, 2))
    assert coloured == {b1: LEFT, b2: LEFT}


def test_a_picture_warns_and_is_a_png() -> None:
    game, board = make_game(CROWNING), board_of()
    state = play(
        game, ROOK.removesuffix(" b2b1r").removesuffix(" c1c2")
    )  # Black's pawn stands before its goal
    assert board.alert is not None and board.alert(state) == 7
    picture = draw(board, state)
    assert f'fill="{HEAT}"' in picture
    with Image.open(io.BytesIO(png_of(picture))) as image:
        scale = image.width / (3 * CELL + 2 * MARGIN)
        x, y = scale * (MARGIN + 1.5 * CELL), scale * (MARGIN + 2.5 * CELL + 0.3 * CELL)
        assert max(image.getpixel((int(x), int(y)))) < 60  # type: ignore[arg-type]  # the black pawn's foot


def test_pages_read_where_pieces_come_from() -> None:
    described = board_json(make_game(CROWNING))
    assert described["moves"] and described["figures"] == ["pawn", "knight", "rook"]
    assert described["shapes"] == {name: list(PATHS[name]) for name in ("pawn", "knight", "rook")}
    plain = board_json(make_game("tictactoe"))
    assert not plain["moves"] and plain["shapes"] == {} and plain["figures"] == ["stone"]
    tree = GameTree(make_game(CROWNING))
    assert tree.position_json()["last_from"] is None
    for name in ROOK.split():
        tree.play(tree.action_of(name))
    shown = tree.position_json()
    assert (shown["last_from"], shown["last"], shown["alert"]) == (7, 10, None)
    assert [(move["move"], move["from"], move["cell"]) for move in shown["moves"]] == [
        ("a2a3", 6, 3), ("c2c3", 8, 5),
    ]  # fmt: skip
    assert GameTree(make_game("tictactoe")).position_json()["moves"][4] == {
        "action": 4, "move": "4", "shown": "4", "cell": 4, "from": None,
    }  # fmt: skip


def test_a_trace_has_the_cells_that_pieces_leave() -> None:
    game = make_game(CROWNING)
    actions = list[int]()
    for name in ROOK.split():
        actions.append(game.parse_action(play(game, " ".join(ROOK.split()[: len(actions)])), name))
    found = record(game, actions, UctSettings(), 5)
    assert found["sides"] == ["White", "Black"] and found["board"]["moves"]
    assert [(move["from"], move["cell"]) for move in found["nodes"][0]["moves"]] == [(6, 3), (8, 5)]
    assert found["nodes"][1]["from"] in (6, 8) and found["nodes"][0]["from"] is None
    assert board_text(found).split("\n")[1].split() == [".", ".", "."]  # no name of a move stands there


def test_the_check_of_games_knows_figures() -> None:
    assert not check_game(make_game(CROWNING), games=20).findings
    board, game = board_of(), make_game(CROWNING)
    faults: dict[str, dict[str, Any]] = {
        "board.symbols must be 7 texts": {"symbols": (".", "P", "p")},
        "board.figures must be a tuple of some of stone, pawn": {"figures": ("pawn", "dragon", "rook")},
    }
    for message, change in faults.items():
        assert next(board_faults(replace(board, **change))).startswith(message)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"from_of": lambda _state, _action: 12}, "board.from_of returns neither a cell from 0 to 11"),
        ({"alert": lambda _state: np.float64(1)}, "board.alert returns neither a cell"),
        ({"marks": lambda _state: np.full((4, 3), 7)}, "2 second player, up to 6 for board.figures"),
    )
    for change, message in changes:
        found = check_game(replace(game, board=replace(board, **change)), games=2).findings
        assert any(message in text for text in found.first), list(found.first)


def test_a_king_in_check_is_warned_of() -> None:
    game = make_game("chess")
    moves = "e2e4 e7e5 f2f4 d8h4"  # the queen on h4 gives check to e1, cell 60
    assert game.alert(play(game, moves)) == 60
    assert game.alert(play(game, moves + " g2g3")) is None
    assert game.alert(play(game, "e2e4 f7f6 d1h5")) == 4  # e8


def test_shares_of_moves_to_one_cell_are_added() -> None:
    game, board = make_game(CROWNING), board_of()
    state, shares = play(game, "a1a2 a4a3 b1b2 a3b2 c1c2"), np.zeros(game.num_actions)
    for move, share in (("b2b1r", 0.5), ("b2b1n", 0.25), ("c4c3", 0.125)):
        shares[game.parse_action(state, move)] = share
    cells = cells_of_actions(board, state, shares)
    assert (cells[3, 1], cells[1, 2]) == (0.75, 0.125)
