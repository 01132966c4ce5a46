"""Openings: different as far as the game has so many, and read from a book with every mistake named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from azero.config.schema import UserError
from azero.games import make_game
from azero.match.openings import draw_openings, read_book, varied_openings

SOURCE = np.random.SeedSequence(3)
GAME = make_game("tictactoe")


def test_drawn_openings_differ_as_far_as_there_are_so_many() -> None:
    openings = draw_openings(GAME, 1, 20, SOURCE)
    assert len(openings) == 20 and len(set(map(tuple, openings))) == 9  # nine first moves
    openings = draw_openings(GAME, 2, 40, np.random.SeedSequence(3))
    assert len(set(map(tuple, openings))) == 40  # of 72


@pytest.mark.parametrize("count, plies", [(9, 1), (10, 2), (60, 2), (100, 3)])
def test_varied_openings_are_as_short_as_they_can_be(count: int, plies: int) -> None:
    openings = varied_openings(GAME, count, np.random.SeedSequence(3))
    assert len(set(map(tuple, openings))) == count
    assert {len(opening) for opening in openings} == {plies}


def test_a_book_is_one_opening_a_line(tmp_path: Path) -> None:
    (tmp_path / "book").write_text("4 0\n\n 8 4 2 \n")
    assert read_book(GAME, tmp_path / "book") == ([4, 0], [8, 4, 2])


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "holds no opening"),
        ("4 9", "'9' is not a move of tictactoe"),
        ("4 4", "'4' is not legal after 4 in tictactoe"),
        ("0 3 1 4 2", "the game is over after 0 3 1 4 2"),
    ],
)
def test_a_wrong_book_is_refused_in_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "book").write_text(text)
    with pytest.raises(UserError, match=said):
        read_book(GAME, tmp_path / "book")


def test_a_book_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_book(GAME, tmp_path / "none")
