"""Several inferences as one: the same answers in the same order, and no work for rows not asked for."""

from __future__ import annotations

import numpy as np
import pytest
from searching import FakeInference

from azero.games import make_game
from azero.network.side_by_side import SideBySideInference
from azero.stages.backend import positions_to_time


@pytest.mark.parametrize(("rows", "used"), [(None, 3), (12, 3), (9, 3), (8, 2), (5, 2), (4, 1), (1, 1)])
def test_each_row_gets_its_answer_from_as_few_parts_as_its_rows_need(rows: int | None, used: int) -> None:
    game = make_game("connect_four")
    parts = [FakeInference(game, batch_size=4) for _ in range(3)]
    planes = positions_to_time(game, 12, seed=2)
    together = SideBySideInference(parts)
    logits, value = together.infer(planes, rows)
    expected_logits, expected_value = FakeInference(game, batch_size=12).infer(planes)
    asked = rows or 12
    assert together.batch_size == 12
    assert (logits[:asked] == expected_logits[:asked]).all() and (
        value[:asked] == expected_value[:asked]
    ).all()
    assert len(logits) == len(value) >= asked
    assert [part.calls for part in parts] == [1] * used + [0] * (3 - used)


def test_a_mistake_in_one_part_is_told() -> None:
    game = make_game("connect_four")

    class Broken(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            raise RuntimeError("broken")

    parts = [FakeInference(game, batch_size=4), Broken(game, batch_size=4)]
    with pytest.raises(RuntimeError, match="broken"):
        SideBySideInference(parts).infer(positions_to_time(game, 8, seed=2))
