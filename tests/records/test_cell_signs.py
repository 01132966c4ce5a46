"""Letters and shapes that SGF and PGN draw on cells."""

from __future__ import annotations

import pytest

from azero.games import make_game
from azero.records.cell_signs import signs_of

GO, HEX, CHESS = make_game("go", size=5), make_game("hex", size=5), make_game("chess")


def test_points_are_columns_and_rows_from_the_top_left() -> None:
    properties = {"LB": ["ba:A", "ee:12345"], "TR": ["aa"], "SQ": ["ab"], "CR": ["ac"], "MA": ["ad"]}
    expected = [(0, "△"), (5, "□"), (10, "○"), (15, "✕"), (1, "A"), (24, "123")]
    assert signs_of(GO, properties) == expected


def test_a_rectangle_is_all_its_points() -> None:
    assert sorted(signs_of(GO, {"CR": ["bb:cc"]})) == [(6, "○"), (7, "○"), (11, "○"), (12, "○")]


def test_hex_has_names_or_letters() -> None:
    name = HEX.board.cell_name(7) if HEX.board else ""
    assert signs_of(HEX, {"LB": [f"{name}:x", "cb:y"]}) == [(7, "x"), (7, "y")]


@pytest.mark.parametrize("value", ["", ":", "zz:A", "aa:", "[:]", "a:A", "aa"])
def test_what_is_no_cell_or_no_text_is_left_out(value: str) -> None:
    assert signs_of(GO, {"LB": [value], "TR": ["tt", "", "a"]}) == []


def test_coloured_squares_of_a_comment() -> None:
    """a8 is the first cell, h1 the last one."""
    assert signs_of(CHESS, {}, "Good [%csl Ga8,Rh1] and [%clk 0:05:00] [%csl Yz9,]") == [(0, "○"), (63, "○")]
