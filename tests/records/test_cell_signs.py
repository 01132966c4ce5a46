"""Letters, shapes and arrows that SGF and PGN draw on boards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from azero.games import make_game
from azero.records.cell_signs import arrows_of, signs_of

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


def test_arrows_of_a_comment() -> None:
    """e2 is cell 52, e4 cell 36, d1 cell 59, d8 cell 3."""
    comment = "Plan [%cal Ge2e4,Rd1d8] and [%cal Ye2e2,Ge2,Ge2i9, ,Gd1e4]."
    assert arrows_of(CHESS, {}, comment) == [(52, 36), (59, 3), (59, 36)]


@pytest.mark.parametrize("value", ["", ":", "aa", "aa:aa", "aa:zz", "aa:bb:cc", "[:]"])
def test_arrows_between_points(value: str) -> None:
    assert arrows_of(GO, {"AR": ["aa:cb", value]}) == [(0, 7)]


def test_a_game_without_a_board_has_no_arrows() -> None:
    bare = replace(GO, board=None)
    assert not arrows_of(bare, {"AR": ["aa:cb"]})
    assert not signs_of(bare, {"TR": ["aa"]})
