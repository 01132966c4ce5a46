"""Examples as tensors: the same planes as the rules', turned as the game's symmetry tables say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from places import MANY_ACTIONS
from searching import after, random_states
from targets import rows_of_targets

from azero.games import make_game
from azero.games.game import Game
from azero.games.inputs import encode, planes_of
from azero.replay.examples import Examples, targets_of
from azero.training import batches
from azero.training.batches import draw_batch, load_data, to_device


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
    policy, *others = (rng.random(shape, np.float32) for shape in ((30, 9), 30, 30, (30, 9)))
    policy[rng.random((30, 9)) < 0.5] = 0.0
    return Examples(np.array(states), *targets_of(policy), *others)


def test_a_batch_holds_the_rows_asked_for(game: Game, examples: Examples) -> None:
    rows = np.array([3, 3, 29, 0])
    batch = draw_batch(load_data(examples, game, "cpu"), game, to_device(rows, "cpu"), None)
    planes, legal_mask = encode(game, examples.states[rows])
    assert batch.planes.dtype == torch.float32
    assert batch.planes.is_contiguous(memory_format=torch.channels_last)
    assert np.array_equal(batch.planes.numpy(), planes)
    assert np.array_equal(batch.legal_mask.numpy(), legal_mask)
    assert np.array_equal(batch.policy_target.numpy(), rows_of_targets(examples, 9)[rows])
    assert np.array_equal(batch.value_target.numpy(), examples.value_target[rows])
    assert np.array_equal(batch.draw_target.numpy(), examples.draw_target[rows])


def turned_by_hand(
    game: Game, planes: np.ndarray, target: np.ndarray, mask: np.ndarray, which: np.ndarray
) -> list[np.ndarray]:
    """Planes, targets and masks with every row turned: what stands in place i goes to place table[i]."""
    turned = [np.empty_like(planes), np.empty_like(target), np.empty_like(mask)]
    for row, number in enumerate(which):
        cells, actions = game.cell_symmetries[number], game.action_symmetries[number]
        for channel in range(planes.shape[1]):
            turned[0][row, channel].flat[cells] = planes[row, channel].ravel()
        turned[1][row, actions] = target[row]
        turned[2][row, actions] = mask[row]
    return turned


def test_a_symmetry_of_an_example_is_the_example_of_the_symmetric_game(game: Game) -> None:
    board, moves = game.board, [1, 4, 0, 2, 6]
    assert board is not None
    eye = np.eye(9, dtype=np.float32)
    states, value = np.array([after(game, *moves[:ply]) for ply in range(5)]), np.zeros(5, np.float32)
    marks = np.array([board.marks(state).ravel() for state in states], np.float32)  # any sets of cells
    data = load_data(Examples(states, *targets_of(eye[moves]), value, value, marks), game, "cpu")
    for number, actions in enumerate(game.action_symmetries):
        turned = draw_batch(data, game, torch.arange(5), torch.full((5,), number))
        mirrored = actions[moves].tolist()
        planes, mask = encode(game, np.array([after(game, *mirrored[:ply]) for ply in range(5)]))
        assert np.array_equal(turned.planes.numpy(), planes)
        assert np.array_equal(turned.policy_target.numpy(), eye[mirrored])
        assert np.array_equal(turned.legal_mask.numpy(), mask)
        after_turn = [board.marks(after(game, *mirrored[:ply])).ravel() for ply in range(5)]
        assert np.array_equal(turned.occupation.numpy(), after_turn)


def test_every_row_is_turned_by_its_own_symmetry(game: Game) -> None:
    """Quarter turns and mirrors, by hand: X on 0 and O on 1 of the top row, the target on 2."""
    states, target = after(game, 0, 1)[None], np.eye(9, dtype=np.float32)[[2]]
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    data = load_data(
        Examples(states, *targets_of(target), zero, one, np.empty((1, 0), np.float32)), game, "cpu"
    )
    turned = draw_batch(data, game, torch.zeros(8, dtype=torch.int64), torch.arange(8))
    corners = [
        (int(planes[0].argmax()), int(planes[1].argmax()), int(target.argmax()))
        for planes, target in zip(turned.planes, turned.policy_target, strict=True)
    ]
    assert set(corners) == {
        (0, 1, 2),
        (2, 1, 0),
        (2, 5, 8),
        (8, 5, 2),
        (8, 7, 6),
        (6, 7, 8),
        (6, 3, 0),
        (0, 3, 6),
    }
    assert corners[0] == (0, 1, 2)
    for (mine, other, _), mask in zip(corners, turned.legal_mask.numpy(), strict=True):
        assert np.flatnonzero(~mask).tolist() == sorted((mine, other))


def test_a_batch_is_turned_row_by_row(
    game: Game, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azero.games.inputs.MOVES_AT_ONCE", 20)  # of three positions or a few more
    rng = np.random.default_rng(2)
    rows, which = rng.integers(30, size=64), rng.integers(8, size=64)
    batch = draw_batch(
        load_data(examples, game, "cpu"), game, to_device(rows, "cpu"), to_device(which, "cpu")
    )
    planes, legal_mask = encode(game, examples.states[rows])
    expected = turned_by_hand(game, planes, rows_of_targets(examples, 9)[rows], legal_mask, which)
    for own, right in zip((batch.planes, batch.policy_target, batch.legal_mask), expected, strict=True):
        assert np.array_equal(own.numpy(), right)
    assert np.array_equal(batch.value_target.numpy(), examples.value_target[rows])


def test_a_batch_of_thousands_of_actions_is_turned_row_by_row() -> None:
    """Their numbers need two bytes, and some targets have a single move."""
    game, rng = make_game(MANY_ACTIONS), np.random.default_rng(4)
    states, policy = [], np.zeros((40, game.num_actions), np.float32)
    for row, state in enumerate(random_states(game, 40, seed=5)):
        legal = game.legal_actions(state)
        some = rng.choice(legal, rng.integers(1, len(legal) + 1), replace=False)
        policy[row, some] = 1 / len(some)
        states.append(state)
    value, marks = np.zeros(40, np.float32), np.empty((40, 0), np.float32)
    examples = Examples(np.array(states), *targets_of(policy), value, value, marks)
    data = load_data(examples, game, "cpu")
    assert data.rows.moves.dtype == torch.int16
    planes, legal_mask = encode(game, examples.states)
    assert legal_mask.tolist() == [game.legal_mask(state).tolist() for state in states]
    for which in (np.zeros(40, np.int64), rng.integers(2, size=40)):
        batch = draw_batch(data, game, torch.arange(40), to_device(which, "cpu"))
        expected = turned_by_hand(game, planes, policy, legal_mask, which)
        for own, right in zip((batch.planes, batch.policy_target, batch.legal_mask), expected, strict=True):
            assert np.array_equal(own.numpy(), right)


def test_planes_are_kept_as_bytes_only_where_nothing_is_lost(
    game: Game, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_data(examples, game, "cpu").rows.planes.dtype == torch.uint8
    monkeypatch.setattr(batches, "ENCODE_ROWS", 10)
    expected, _ = encode(game, examples.states)
    for odd in (0.5, -1.0, 300.0):
        calls: list[int] = []

        def planes_with_odd(
            game: Game, states: np.ndarray, odd: float = odd, calls: list[int] = calls
        ) -> np.ndarray:
            planes = planes_of(game, states)
            if len(calls) == 1:  # only in the second part
                planes[4, 1, 2, 0] = odd
            calls.append(1)
            return planes

        monkeypatch.setattr(batches, "planes_of", planes_with_odd)
        planes = load_data(examples, game, "cpu").rows.planes.view(30, 3, 3, 2).permute(0, 3, 1, 2).numpy()
        assert planes.dtype == np.float32
        changed = expected.copy()
        changed[14, 1, 2, 0] = odd
        assert np.array_equal(planes, changed)
