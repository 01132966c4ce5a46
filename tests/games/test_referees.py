"""The rules of every shipped game beside other people's; `scripts/referee.py` plays many more games."""

from __future__ import annotations

import pytest
import referee
from referees import (
    BREAKTHROUGH,
    OPENSPIEL,
    breakthrough_marks,
    compare_breakthrough_with_openspiel,
    compare_go_with_openspiel,
    compare_with_openspiel,
    go_marks,
    openspiel_marks,
)

from azero.config.schema import UserError


def test_a_referee_that_is_not_installed_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "PROGRAM", None)
    with pytest.raises(UserError, match="referee gnugo is not installed; apt-get install gnugo"):
        referee.refuse_absent(["counts", "gnugo"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        UserError, match=r'referee openspiel is not installed; pip install "azero\[openspiel\]"'
    ):
        referee.refuse_absent(["openspiel", "gnugo"])
    referee.refuse_absent(["counts", "hex"])


@pytest.mark.parametrize("name", sorted(OPENSPIEL))
def test_random_games_agree_with_openspiel_ply_by_ply(name: str) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed; it comes with the extra openspiel")
    result = compare_with_openspiel(name, games=20, seed=1)
    assert not result.mismatches, result.mismatches[0]
    assert result.games == 20
    assert result.plies > 20 * 5


@pytest.mark.parametrize("name", sorted(BREAKTHROUGH))
def test_random_games_of_breakthrough_agree_with_openspiel_ply_by_ply(name: str) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed; it comes with the extra openspiel")
    result = compare_breakthrough_with_openspiel(name, games=20, seed=1)
    assert not result.mismatches, result.mismatches[0]
    assert result.games == 20
    assert result.plies > 20 * 10


@pytest.mark.parametrize("size", [9, 5])
def test_random_games_of_go_agree_with_openspiel_up_to_the_first_repetition(size: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed; it comes with the extra openspiel")
    result = compare_go_with_openspiel(games=20, seed=1, size=size)
    assert not result.mismatches, result.mismatches[0]
    assert result.plies > 20 * 20


def test_a_board_is_read_from_openspiel_s_text() -> None:
    text = "Black (x) to play:\n  a b \n1 - x 1\n2 o - 2\n  a b "
    assert openspiel_marks(text, 2, 2).tolist() == [[0, 1], [2, 0]]
    assert openspiel_marks(". x\n o O ", 2, 2).tolist() == [[0, 1], [2, 2]]
    assert openspiel_marks("x.o\n...", 2, 3).tolist() == [[1, 0, 2], [0, 0, 0]]
    assert go_marks("GoState(komi=7.5)\n\n 2 +X\n 1 O+\n   AB\n", 2).tolist() == [[0, 1], [2, 0]]
    assert breakthrough_marks("3b.\n2.w\n1w.\n ab\n", 3).tolist() == [[2, 0], [0, 2], [1, 0]]
