"""Evaluations: worked by hand, the compiled function beside its plain twin, and strictly within (-1, 1)."""

from __future__ import annotations

import numpy as np
import pytest

from azero.config import UserError
from azero.evaluations import make_evaluation
from azero.games import make_game


def test_discs_after_the_first_move_at_othello() -> None:
    game = make_game("othello", size=4)
    state = game.step(game.initial_state(), int(np.flatnonzero(game.legal_mask(game.initial_state()))[0]))
    value = make_evaluation("discs", game).function.__wrapped__(state)
    assert value == (1 - 4) / 17  # black has put one disc and turned one of two: 4 to 1, and white is to play


def test_an_evaluation_of_another_game_is_refused() -> None:
    with pytest.raises(UserError, match="discs is made for othello; for connect_four there is none"):
        make_evaluation("discs", make_game("connect_four"))


def test_an_unknown_evaluation_is_refused() -> None:
    with pytest.raises(UserError, match="evaluation=gut is unknown; there are discs"):
        make_evaluation("gut", make_game("othello"))
