"""Places: a record of many, and one of them again, in compiled code too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.gpu.places import arrays_of, bytes_of, make_place, place_in, repeated, row


class Inner(NamedTuple):
    words: np.ndarray
    factor: float
    nothing: Any


class Outer(NamedTuple):
    inner: Inner
    numbers: np.ndarray


def test_a_row_of_a_record_is_a_record() -> None:
    one = Outer(Inner(np.arange(3), 2.5, None), np.zeros((2, 2)))
    three = repeated(one, 3)
    assert three.inner.words.shape == (3, 3) and three.inner.nothing == ()
    three.inner.words[1] = [7, 8, 9]

    @njit
    def add(places: Any, b: int) -> float:
        place = row(places, b)
        place.numbers[0, 1] = place.inner.words.sum() * place.inner.factor
        return 1.0 if place.inner.nothing is None else 0.0

    assert add(three, 1) == 1.0
    assert three.numbers[:, 0, 1].tolist() == [0.0, 60.0, 0.0]  # (7 + 8 + 9) * 2.5
    assert place_in(three, 1).numbers[0, 1] == 60.0


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_places_share_nothing(kind: str) -> None:
    game = make_game("connect_four")
    place = make_place(game, SearchConfig(kind=kind, num_simulations=8, solver=True, exact_plies=4), 16)
    several = repeated(place, 3)
    assert bytes_of(several) == 3 * bytes_of(place)
    for array in arrays_of(several):
        assert len(array) == 3 and array.base is None
