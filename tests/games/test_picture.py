"""Pictures are well-formed, show every piece where it stands, and carry their overlays."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from playing import play

from azero.games import make_game
from azero.games.kit.picture import (
    CELL,
    COLOURED,
    DRAWN,
    HEAT,
    MARGIN,
    MARK,
    STONE,
    cells_of_actions,
    draw,
)

SVG = "{http://www.w3.org/2000/svg}"


def elements(picture: str, kind: str, **wanted: str) -> list[ElementTree.Element]:
    """The elements of a kind with these attributes."""
    found = ElementTree.fromstring(picture).iter(SVG + kind)
    return [element for element in found if all(element.get(name) == value for name, value in wanted.items())]


@pytest.mark.parametrize(("name", "options", "moves", "first", "second"), [
    ("tictactoe", {}, "4 0 8", 2, 1),
    ("connect_four", {}, "4 4 4 1", 2, 2),
    ("othello", {}, "d3 c3", 3, 3),
    ("go", {"size": 5}, "c3 pass d4", 2, 0),
    ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "a1 b2 c3", 2, 1),
    ("hex", {"size": 5, "swap": True}, "b1 swap c3", 1, 1),
])  # fmt: skip
def test_every_piece_is_drawn(
    name: str, options: dict[str, object], moves: str, first: int, second: int
) -> None:
    game = make_game(name, **options)
    assert game.board
    picture = draw(game.board, play(game, moves))
    if name == "tictactoe":
        assert len(elements(picture, "line", stroke=DRAWN[1])) == 2 * first
        assert len(elements(picture, "circle", stroke=DRAWN[2])) == second
    else:
        colours = COLOURED if name == "connect_four" else STONE
        assert len(elements(picture, "circle", fill=colours[1])) == first
        assert len(elements(picture, "circle", fill=colours[2])) == second
    labels = [element.text for element in elements(picture, "text")]
    assert sorted(labels, key=str) == sorted([*game.board.rows, *game.board.columns])


def test_a_stone_lies_in_the_middle_of_its_cell_and_the_last_one_is_ringed() -> None:
    game = make_game("gomoku", rows=3, columns=3, connect=3)
    assert game.board
    picture = draw(game.board, play(game, "c2"), last_cell=5)  # cell 5: row 1, column 2
    x, y = f"{MARGIN + 2.5 * CELL:.1f}", f"{MARGIN + 1.5 * CELL:.1f}"
    assert len(elements(picture, "circle", cx=x, cy=y, fill=STONE[1])) == 1
    assert len(elements(picture, "circle", cx=x, cy=y, stroke=MARK)) == 1


def test_a_row_of_hexagons_stands_half_a_cell_right_of_the_one_above() -> None:
    game = make_game("hex", size=3)
    assert game.board
    picture = draw(game.board, play(game, "b1 a2"))
    first, second = (elements(picture, "circle", fill=STONE[side])[0] for side in (1, 2))
    assert float(first.get("cx", "0")) - float(second.get("cx", "0")) == pytest.approx(
        CELL / 2
    )  # b1 touches a2
    assert len(elements(picture, "polygon")) == 9


def test_overlays_by_action_are_laid_over_their_cells() -> None:
    game = make_game("connect_four")
    assert game.board
    state = play(game, "4 4")
    visits = np.array([1, 0, 12, 30, np.nan, 2, 3])
    cells = cells_of_actions(game.board, state, visits)
    assert cells[5].tolist()[:3] == [1.0, 0.0, 12.0]
    assert cells[3, 3] == 30.0  # the column holds two stones already
    assert np.isnan(cells[:, 4]).all()
    picture = draw(game.board, state, numbers=cells, heat=cells / 30)
    assert {"1", "12", "30"} <= {str(element.text) for element in elements(picture, "text")}
    assert len(elements(picture, "rect", fill=HEAT)) == 5  # neither the 0 nor the nan


def test_a_swap_does_not_hide_the_number_of_the_stone_on_its_cell() -> None:
    game = make_game("hex", size=3, swap=True)
    assert game.board
    state = play(game, "b1")  # a swap would put the stone on a2, cell 3
    cells = cells_of_actions(game.board, state, np.arange(10.0))
    assert cells.ravel()[3] == 3.0


def test_values_are_written_with_two_decimals() -> None:
    game = make_game("tictactoe")
    assert game.board
    numbers = np.full((3, 3), np.nan)
    numbers[0, 0], numbers[1, 1] = 0.254, -1.0
    words = {
        element.text for element in elements(draw(game.board, game.initial_state(), numbers=numbers), "text")
    }
    assert {"0.25", "-1"} <= words


def test_an_overlay_of_another_shape_is_refused() -> None:
    game = make_game("tictactoe")
    assert game.board
    with pytest.raises(ValueError, match="heat has shape"):
        draw(game.board, game.initial_state(), heat=np.zeros((2, 2)))


def test_labels_of_any_characters_are_text() -> None:
    game = make_game("tictactoe")
    assert game.board
    board = replace(game.board, columns=("<", "&", '"'))
    written = {element.text for element in elements(draw(board, game.initial_state()), "text")}
    assert {"<", "&", '"'} <= written
