"""Examples as tensors: the same planes as the rules', turned as `apply_symmetries` turns them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from azero import batches
from azero.batches import draw_batch, load_data, to_device
from azero.examples import Examples, apply_symmetries, encode
from azero.games import make_game
from azero.games.game import Game


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


@pytest.fixture(scope="module")
def examples(game: Game) -> Examples:
    """30 positions with random targets."""
    rng = np.random.default_rng(1)
    states: list[np.ndarray] = []
    state = game.initial_state()
    while len(states) < 30:
        states.append(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        state = game.initial_state() if game.is_terminal(state) else state
    return Examples(np.array(states), rng.random((30, 9), np.float32), rng.random(30, np.float32))


def test_a_batch_holds_the_rows_asked_for(game: Game, examples: Examples) -> None:
    rows = np.array([3, 3, 29, 0])
    batch = draw_batch(load_data(examples, game, "cpu"), game, to_device(rows, "cpu"), None)
    planes, legal_mask = encode(game, examples.states[rows])
    assert batch.planes.dtype == torch.float32
    assert np.array_equal(batch.planes.numpy(), planes)
    assert np.array_equal(batch.legal_mask.numpy(), legal_mask)
    assert np.array_equal(batch.policy_target.numpy(), examples.policy_target[rows])
    assert np.array_equal(batch.value_target.numpy(), examples.value_target[rows])


def test_a_batch_is_turned_row_by_row_as_the_plain_function_turns_it(game: Game, examples: Examples) -> None:
    rng = np.random.default_rng(2)
    rows, which = rng.integers(30, size=64), rng.integers(8, size=64)
    batch = draw_batch(load_data(examples, game, "cpu"), game, to_device(rows, "cpu"), to_device(which, "cpu"))
    planes, legal_mask = encode(game, examples.states[rows])
    expected = apply_symmetries(game, planes, examples.policy_target[rows], legal_mask, which)
    for own, right in zip((batch.planes, batch.policy_target, batch.legal_mask), expected, strict=True):
        assert np.array_equal(own.numpy(), right)
    assert np.array_equal(batch.value_target.numpy(), examples.value_target[rows])


def test_planes_are_kept_as_bytes_only_where_nothing_is_lost(
    game: Game, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_data(examples, game, "cpu").planes.dtype == torch.uint8
    monkeypatch.setattr(batches, "ENCODE_ROWS", 10)
    expected, _ = encode(game, examples.states)
    for odd in (0.5, -1.0, 300.0):
        calls: list[int] = []

        def encode_with_odd(
            game: Game, states: np.ndarray, odd: float = odd, calls: list[int] = calls
        ) -> tuple[np.ndarray, np.ndarray]:
            planes, mask = encode(game, states)
            if len(calls) == 1:  # only in the second part
                planes[4, 1, 2, 0] = odd
            calls.append(1)
            return planes, mask

        monkeypatch.setattr(batches, "encode", encode_with_odd)
        planes = load_data(examples, game, "cpu").planes.view(30, 2, 3, 3).numpy()
        assert planes.dtype == np.float32
        changed = expected.copy()
        changed[14, 1, 2, 0] = odd
        assert np.array_equal(planes, changed)
