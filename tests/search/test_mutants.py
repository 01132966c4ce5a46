"""check_game finds the mistakes that ruin learning, planted in the shipped games."""

from __future__ import annotations

from typing import Any

import pytest
from mutants import END, PAGE, START, Mutant, answer, make_mutant, read_mutants, table

FIXED, FIRST = "planes show fixed sides", "`outcome` is the first player's"
MUST_FIND: list[Any] = [
    ("tictactoe", FIRST, {}),
    ("connect_four", FIRST, {"rows": 5, "columns": 5}),
    ("gomoku", FIRST, {"rows": 5, "columns": 5, "connect": 4}),
    pytest.param("othello", FIRST, {"size": 6}, marks=pytest.mark.long),
    pytest.param("othello", FIXED, {"size": 6}, marks=pytest.mark.long),
    ("go", FIRST, {"size": 3, "komi": 0.5}),
]


def mutant_of(game: str, mistake: str) -> Mutant:
    """Return one mutant."""
    (found,) = [mutant for mutant in read_mutants() if (mutant.game, mutant.mistake) == (game, mistake)]
    return found


@pytest.mark.parametrize("game, mistake, options", MUST_FIND)
def test_what_ruins_learning_is_found(game: str, mistake: str, options: dict[str, Any]) -> None:
    finding, _ = answer(make_mutant(mutant_of(game, mistake), **options))
    assert finding.startswith(
        "planes do not switch with the player to move"
        if mistake == FIXED
        else "outcome seems to be the first player's value, not the mover's"
    )


@pytest.mark.long
@pytest.mark.parametrize("mistake", [FIXED, FIRST])
def test_it_is_found_on_a_full_board_too(mistake: str) -> None:
    assert answer(make_mutant(mutant_of("othello", mistake), size=8))[0]


def test_misere_is_a_game() -> None:
    assert answer(make_mutant(mutant_of("tictactoe", "`outcome` has the opposite sign"))) == ("", "")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_page_lists_what_is_found_and_why_the_rest_is_missed() -> None:
    assert len(read_mutants()) >= 40
    page = PAGE.read_text()
    assert page[page.index(START) + len(START) : page.index(END)] == table()
