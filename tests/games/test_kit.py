"""The tools for rules files: bits of words, in plain Python as compiled, and labels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from places import CROWNING, FROM_TO, OWN_GAMES

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.kit.bits import bit, clear_bit, has_bit, set_bit
from azero.games.kit.board import letters
from azero.games.kit.options import number, one_of, whole_number, yes_or_no
from azero.games.laws.check import check_game
from azero.studio.game_tree import GameTree
from azero.studio.safety import Refusal

ALL = np.uint64(2**64 - 1)


def changed(word: np.uint64, place: int) -> tuple[int, int, int, bool, int]:
    """A word changed in every way: set, cleared, cleared by `~`, asked, and the bit alone."""
    cleared = int(word & ~bit(place))
    return (
        int(set_bit(word, place)),
        int(clear_bit(word, place)),
        cleared,
        has_bit(word, place),
        int(bit(place)),
    )


@pytest.mark.parametrize("word", [np.uint64(0), np.uint64(0b1010), ALL])
def test_bits_are_the_same_in_plain_python_and_compiled(word: np.uint64) -> None:
    @njit
    def compiled(word, place):  # type: ignore[no-untyped-def]
        return (
            set_bit(word, place),
            clear_bit(word, place),
            word & ~bit(place),
            has_bit(word, place),
            bit(place),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in (0, 1, 3, 62, 63):
            number = int(word)
            expected = (number | 1 << place, number & ~(1 << place), number & ~(1 << place))
            assert changed(word, place) == (*expected, bool(number >> place & 1), 1 << place)
            assert tuple(map(int, compiled(word, place))) == changed(word, place)


def test_a_bit_before_the_word_is_an_error_in_plain_python() -> None:
    with pytest.raises(OverflowError):
        bit(-1)


def test_there_are_labels_for_any_number_of_columns() -> None:
    labels = letters(800)
    assert labels[:3] == ("a", "b", "c") and labels[25:29] == ("z", "aa", "ab", "ac")
    assert len(set(labels)) == 800 and letters(30, skip="i")[24:27] == ("z", "aa", "ab")
    assert not any("i" in label for label in letters(800, skip="i"))


CLOBBER = str(OWN_GAMES / "clobber.py")


def test_a_game_of_two_actions_a_move_keeps_the_laws() -> None:
    check = check_game(make_game(CLOBBER), games=60)
    assert not check.findings and not check.warnings and check.cells.moves > 100


def test_the_studio_says_the_truth_where_several_moves_go_to_one_cell() -> None:
    """Pairs of cells as actions: a stone that stands on a cell is not why no move goes there."""
    game = make_game(FROM_TO)
    assert game.board is not None
    tree = GameTree(replace(game, board=replace(game.board, from_of=None)))
    with pytest.raises(Refusal, match=r"^No move goes to b1\. Several moves of this game can go to one cell"):
        tree.action_at(1)
    with pytest.raises(Refusal, match=r"^Several moves end there; choose one beside the board\."):
        tree.action_at(4)


def test_the_studio_asks_for_a_piece_and_its_goal() -> None:
    tree = GameTree(make_game(FROM_TO))  # the first player's pawns stand on a3 b3 c3, cells 6 7 8
    assert tree.game.action_name(tree.current.state, tree.action_at(4, 6)) == "a3b2"
    for cell, start, message in (
        (4, None, "Choose one of your pieces first, then the cell where it goes."),
        (1, None, "Choose one of your pieces first"),
        (5, 6, "a3 cannot move to c2."),
        (5, 99, "Choose one of your pieces first"),
    ):
        with pytest.raises(Refusal, match=f"^{re.escape(message)}"):
            tree.action_at(cell, start)
    tree = GameTree(make_game(CROWNING))
    for name in ("a1a2", "a4a3"):  # the pawns stand head to head; a2 is cell 6
        tree.play(tree.action_of(name))
    with pytest.raises(Refusal, match=r"^The piece on a2 cannot move\."):
        tree.action_at(6, None)
    for name in ("b1b2", "a3b2", "c1c2"):  # c2 is cell 8, a1 9; the pawn on b2 becomes a rook or a knight
        tree.play(tree.action_of(name))
    with pytest.raises(Refusal, match=r"^Several moves end on b1; choose one of them\."):
        tree.action_at(10, 7)


@pytest.mark.parametrize(
    "check",
    [
        *(
            lambda value=value: whole_number("size", value, 2, 9)
            for value in ("5", "auto", True, 5.0, None, 10)
        ),
        *(lambda value=value: number("komi", value, -9, 9) for value in ("5.5", "auto", True, 10)),
        *(lambda value=value: yes_or_no("swap", value) for value in ("no", 0, None)),
        *(lambda value=value: one_of("size", value, (4, 6)) for value in ("4", 5)),
    ],
)
def test_a_game_s_check_takes_no_value_that_stays_another_type(check: Callable[[], None]) -> None:
    with pytest.raises(UserError, match=r"^game\.options\.(size|komi|swap)=\S+ must be "):
        check()


def test_a_game_s_check_takes_what_fits() -> None:
    whole_number("size", 5, 2, 9)
    number("komi", 5, -9, 9)
    number("komi", 5.5, -9, 9)
    yes_or_no("swap", False)
    one_of("size", 6, (4, 6))
