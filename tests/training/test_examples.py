"""From finished games to training examples: targets, planes, symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from searching import after
from targets import rows_of_targets

from azero.games import make_game
from azero.games.game import Game
from azero.games.inputs import encode, moves_of
from azero.replay.examples import (
    Examples,
    GameRecord,
    examples_of,
    join,
    merge_equal,
    occupation_targets,
    outcome_for_mover,
    outcome_or_proof,
    pairs_of,
    plies_of,
    targets_of,
    value_targets,
)


def play(game: Game, actions: list[int], searched: list[bool] | None = None, number: int = 0) -> GameRecord:
    """A record of that game whose policy targets are the moves played."""
    state = game.initial_state()
    states, to_play = [], []
    for action in actions:
        states.append(state)
        to_play.append(game.to_play(state))
        state = game.step(state, action)
    outcome = game.outcome(state) * (1.0 if game.to_play(state) == 0 else -1.0)
    kept = np.array([True] * len(actions) if searched is None else searched)
    return GameRecord(
        number=number,
        states=np.array(states),
        to_play=np.array(to_play, np.int8),
        actions=np.array(actions, np.int32),
        **pairs_of(np.eye(game.num_actions)[actions] * kept[:, None]),
        root_value=np.zeros(len(actions), np.float32),
        searched=kept,
        first_outcome=outcome,
    )


def examples_from(games: list[GameRecord], mix: float = 0.0, **more: Any) -> Examples:
    """The examples of some games."""
    return examples_of(plies_of(games), mix, **more)


def test_the_winner_learns_one_and_the_loser_minus_one(game: Game) -> None:
    first_wins = play(game, [0, 3, 1, 4, 2])  # X X X / O O
    second_wins = play(game, [0, 3, 1, 4, 8, 5])  # O completes 3 4 5
    draw = play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert [record.first_outcome for record in (first_wins, second_wins, draw)] == [1.0, -1.0, 0.0]
    assert examples_from([first_wins]).value_target.tolist() == [1, -1, 1, -1, 1]
    assert examples_from([second_wins]).value_target.tolist() == [-1, 1, -1, 1, -1, 1]
    assert examples_from([draw]).value_target.tolist() == [0.0] * 9
    assert not np.signbit(examples_from([draw]).value_target).any()


def test_a_drawn_game_is_all_draw_and_another_none(game: Game) -> None:
    assert examples_from([play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])]).draw_target.tolist() == [1.0] * 9
    assert examples_from([play(game, [0, 3, 1, 4, 2])]).draw_target.tolist() == [0.0] * 5


def test_outcomes_are_mixed_with_the_root_values_of_the_same_player(game: Game) -> None:
    """The first player won; a quarter of the target is the root value: 0.75 * 1 + 0.25 * 0.2 = 0.8 …"""
    record = play(game, [0, 3, 1, 4, 2])._replace(
        root_value=np.array([0.2, -0.6, 0.0, 1.0, -1.0], np.float32)
    )
    mixed = examples_from([record], 0.25)
    assert mixed.value_target.tolist() == pytest.approx([0.8, -0.9, 0.75, -0.5, 0.5])
    assert mixed.draw_target.tolist() == [0.0] * 5  # no draw was seen and none is made up
    assert examples_from([record], 1.0).value_target.tolist() == record.root_value.tolist()
    assert examples_from([record], 0.0).value_target.tolist() == [1, -1, 1, -1, 1]


def test_a_drawn_game_s_root_values_take_their_sure_part_from_the_draw(game: Game) -> None:
    """Half of the target is the root value: 0.8 of it is win, so 0.4 of the target is and 0.6 is draw."""
    value = np.array([0.8, -0.8, 0.0, 1.0, -1.0, 0.5, 0, 0, 0], np.float32)
    mixed = examples_from([play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])._replace(root_value=value)], 0.5)
    assert mixed.value_target.tolist() == pytest.approx([0.4, -0.4, 0, 0.5, -0.5, 0.25, 0, 0, 0])
    assert mixed.draw_target.tolist() == pytest.approx([0.6, 0.6, 1, 0.5, 0.5, 0.75, 1, 1, 1])


def test_a_return_forgets_the_outcome_ply_by_ply(game: Game) -> None:
    """Lambda is 0.5; the first player won. Each return is half the next ply's and half the root value.

    ply                                0       1      2     3     4   outcome
    root value, for the mover        0.2    -0.6    0.0   1.0  -1.0
    root value, for the first        0.2     0.6    0.0  -1.0  -1.0
    return, for the first         0.1875   0.175  -0.25  -0.5   0.0   1
    """
    root = np.array([0.2, -0.6, 0.0, 1.0, -1.0], np.float32)
    record = play(game, [0, 3, 1, 4, 2])._replace(root_value=root)
    assert examples_from([record], decay=0.5).value_target.tolist() == pytest.approx(
        [0.1875, -0.175, -0.25, 0.5, 0.0]
    )
    assert examples_from([record], decay=0.0).value_target.tolist() == root.tolist()
    assert examples_from([record], decay=1.0).value_target.tolist() == [1, -1, 1, -1, 1]
    both = examples_from([record], mix=0.25, decay=0.5).value_target  # 0.75 * 0.1875 + 0.25 * 0.2 …
    assert both.tolist() == pytest.approx([0.190625, -0.28125, -0.1875, 0.625, -0.25])
    assert examples_from([record], decay=0.5).draw_target.tolist() == [0.0] * 5


def test_a_return_takes_a_proof_as_it_is_and_passes_over_plies_without_a_search(game: Game) -> None:
    """Lambda is 0.5. O's proven win at ply 3 is the return there, whatever followed.

    ply                             0     1     2     3       4      5     6   outcome
    searched                       no   yes   yes   yes     yes    yes   yes
    root value, for the first       0   0.2   0.6    -1     0.4      0   0.5
    return, for the first         0.0   0.0  -0.2    -1  0.3875  0.375  0.75         1
    """
    root = np.array([0, -0.2, 0.6, 1, 0.4, 0, 0.5], np.float32)
    record = play(game, [0, 4, 1, 3, 8, 7, 2], [False] + [True] * 6)._replace(
        first_outcome=1.0, root_value=root, proven=np.arange(7) == 3
    )
    found = examples_from([record], decay=0.5).value_target
    assert found.tolist() == pytest.approx([0.0, -0.2, 1.0, 0.3875, -0.375, 0.75], abs=1e-6)
    assert value_targets(plies_of([record]), 0.0, 0.5)[0, 0] == pytest.approx(0.0, abs=1e-6)


def test_a_return_of_a_drawn_game_is_less_draw_where_a_search_was_sure(game: Game) -> None:
    """Lambda is 0.5: the last draw is 0.5 * 1 + 0.5 * (1 - 0.4), the one before half of that and 0.5."""
    root = np.array([0] * 7 + [0.0, 0.4], np.float32)
    record = play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])._replace(root_value=root)
    found = examples_from([record], decay=0.5)
    assert found.draw_target[-3:].tolist() == pytest.approx([0.95, 0.9, 0.8])
    assert found.value_target[-3:].tolist() == pytest.approx([0.05, -0.1, 0.2])


def test_a_proof_decides_the_plies_before_it_and_its_own(game: Game) -> None:
    """Proofs made up: X won, but O had a win at ply 3 and gave it away at ply 5; at ply 6 X had its own.

    ply                0     1     2     3     4     5     6
    to move            X     O     X     O     X     O     X
    proven for mover                    +1                +1
    target            -1    +1    -1    +1    +1    -1    +1     plies 4 and 5 are followed by X's proof only
    """
    record = play(game, [0, 4, 1, 3, 8, 7, 2])._replace(first_outcome=1.0)
    value = np.array([0.5, 0.5, 0.5, 1, 0.5, 0.5, 1], np.float32)
    proven = record._replace(root_value=value, proven=np.array([0, 0, 0, 1, 0, 0, 1], bool))
    assert outcome_or_proof(plies_of([proven])).tolist() == [-1, 1, -1, 1, 1, -1, 1]
    assert examples_from([proven]).value_target.tolist() == [-1, 1, -1, 1, 1, -1, 1]
    assert examples_from([proven], 0.5).value_target.tolist() == [-0.25, 0.75, -0.25, 1, 0.75, -0.25, 1]
    assert (
        outcome_or_proof(plies_of([proven._replace(proven=np.zeros(7, bool))])).tolist()
        == outcome_for_mover(plies_of([record])).tolist()
    )


def test_a_proven_draw_is_one_whoever_wins_later(game: Game) -> None:
    record = play(game, [0, 4, 1, 3, 8, 7, 2])._replace(first_outcome=1.0)
    drawn = record._replace(root_value=np.array([0, 0, 0, 0, 1, 0, 1], np.float32), proven=np.arange(7) == 2)
    examples = examples_from([drawn])
    assert examples.value_target.tolist() == [0, 0, 0, -1, 1, -1, 1] and examples.draw_target.tolist() == [
        1,
        1,
        1,
        0,
        0,
        0,
        0,
    ]


@given(
    plies=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from([-1, 0, 1]), st.booleans()), min_size=1, max_size=12
    )
)
def test_the_next_proof_is_found_as_a_plain_loop_finds_it(plies: list[tuple[int, int, bool]]) -> None:
    movers, values, proven = (np.array(column) for column in zip(*plies, strict=True))
    record = GameRecord(
        number=0,
        states=np.zeros((len(plies), 1), np.uint64),
        to_play=movers.astype(np.int8),
        actions=np.zeros(len(plies), np.int32),
        **pairs_of(np.ones((len(plies), 1))),
        root_value=values.astype(np.float32),
        searched=np.ones(len(plies), bool),
        first_outcome=1.0,
        proven=proven.astype(bool),
    )
    first, expected = 1.0, []
    for mover, value, is_proven in reversed(plies):
        if is_proven:
            first = float(value if mover == 0 else -value)
        expected.append(first if mover == 0 else -first)
    assert outcome_or_proof(plies_of([record])).tolist() == expected[::-1]


@given(
    games=st.lists(
        st.lists(
            st.tuples(st.integers(0, 1), st.floats(-1, 1, width=32), st.booleans(), st.booleans()),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=4,
    ),
    decay=st.sampled_from([0.0, 0.5, 1.0]),
    proves=st.booleans(),
)
def test_a_game_s_targets_do_not_depend_on_the_games_beside_it(
    games: list[list[tuple[int, float, bool, bool]]], decay: float, proves: bool
) -> None:
    records = []
    for number, plies in enumerate(games):
        movers, values, proven, searched = (np.array(column) for column in zip(*plies, strict=True))
        record = GameRecord(
            number=number,
            states=np.zeros((len(plies), 1), np.uint64),
            to_play=movers.astype(np.int8),
            actions=np.zeros(len(plies), np.int32),
            **pairs_of(searched[:, None]),
            root_value=values.astype(np.float32),
            searched=searched.astype(bool),
            first_outcome=float(number % 3 - 1),
            proven=proven.astype(bool) if proves else None,
        )
        records.append(record)
    alone = [value_targets(plies_of([record]), 0.3, decay) for record in records]
    assert np.array_equal(value_targets(plies_of(records), 0.3, decay), np.concatenate(alone, axis=1))


@given(
    mix=st.floats(0, 1),
    decay=st.floats(0, 1),
    values=st.lists(st.floats(-1, 1, width=32), min_size=5, max_size=5),
    drawn=st.booleans(),
)
def test_mixed_targets_are_shares_of_outcomes(
    mix: float, decay: float, values: list[float], drawn: bool
) -> None:
    record = GameRecord(
        number=0,
        states=np.arange(5, dtype=np.uint64)[:, None],
        to_play=np.array([0, 1, 0, 1, 0], np.int8),
        actions=np.zeros(5, np.int32),
        **pairs_of(np.ones((5, 1))),
        root_value=np.array(values, np.float32),
        searched=np.ones(5, bool),
        first_outcome=0.0 if drawn else 1.0,
    )
    mixed = examples_from([record], mix, decay=decay)
    assert (np.abs(mixed.value_target) + mixed.draw_target <= 1 + 1e-6).all() and (
        mixed.draw_target >= 0
    ).all()


def test_equal_positions_become_one_with_the_means_of_their_targets(game: Game) -> None:
    """The empty board is in all four games: two won, one drawn, one lost; two began with 0, two with 4."""
    games = [[0, 3, 1, 4, 2], [4, 0, 3, 1, 5], [0, 1, 2, 4, 3, 5, 7, 6, 8], [4, 0, 8, 1, 5, 2]]
    merged = merge_equal(examples_from([play(game, moves) for moves in games]))
    assert len(np.unique(merged.states, axis=0)) == len(merged.states) == 1 + 2 + 3 + 4 + 4 + 2 + 1 + 1 + 1
    first = (merged.states == game.initial_state()).all(axis=1).argmax()
    assert rows_of_targets(merged, 9)[first].tolist() == [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0]
    assert merged.value_target[first] == (1 + 1 + 0 - 1) / 4 and merged.draw_target[first] == 1 / 4
    assert [column.dtype for column in merged] == [np.uint64, np.uint8, *[np.float32] * 4]


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 40))
def test_the_means_of_targets_are_those_of_rows_of_all_actions(seed: int, rows: int) -> None:
    """Bit for bit: summed in float64, row after row."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 6, (rows, 1)).astype(np.uint64)
    policy = rng.random((rows, 7), np.float32) * (rng.random((rows, 7)) < 0.5)
    others = rng.random((3, rows), np.float32)
    examples = Examples(states, *targets_of(policy), others[0], others[1], others[2][:, None])
    different, which, counts = np.unique(states[:, 0], return_inverse=True, return_counts=True)
    total = np.zeros((len(different), 7))
    np.add.at(total, which, policy)
    merged = merge_equal(examples)
    assert np.array_equal(rows_of_targets(merged, 7), (total / counts[:, None]).astype(np.float32))
    assert merged.states[:, 0].tolist() == different.tolist()
    assert (np.diff(merged.target_actions.astype(int))[merged.target_weights[:, 1:] > 0] > 0).all()


def test_targets_are_merged_the_same_however_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five states, two at a time; of the last only one is left."""
    rng = np.random.default_rng(3)
    states = rng.permutation(np.repeat(np.arange(5, dtype=np.uint64), [1, 4, 2, 3, 2]))[:, None]
    policy = rng.random((12, 300), np.float32) * (rng.random((12, 300)) < 0.05)
    others = rng.random((3, 12), np.float32)
    examples = Examples(states, *targets_of(policy), others[0], others[1], others[2][:, None])
    at_once = merge_equal(examples)
    monkeypatch.setattr("azero.replay.examples.MERGED_STATES", 2)
    for own, whole in zip(merge_equal(examples), at_once, strict=True):
        assert np.array_equal(own, whole) and own.dtype == whole.dtype
    means = np.array([policy[states[:, 0] == state].mean(axis=0, dtype=np.float64) for state in range(5)])
    assert rows_of_targets(at_once, 300) == pytest.approx(means, rel=1e-6)


def test_no_examples_are_merged_to_none() -> None:
    none = np.zeros((0, 1), np.float32)
    examples = Examples(
        np.zeros((0, 2), np.uint64), none.astype(np.uint8), none, none[:, 0], none[:, 0], none
    )
    assert [column.shape for column in merge_equal(examples)] == [column.shape for column in examples]


def test_rows_become_the_same_pairs_however_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[0, 0, 0.5, 0.5], [0, 0, 0, 0], [1, 0, 0, 0], [0.25] * 4, [0, 1, 0, 0]])
    for at_once in (4096, 2):
        monkeypatch.setattr("azero.replay.examples.PAIRED_ROWS", at_once)
        counts, actions, weights = pairs_of(rows).values()
        assert counts.tolist() == [2, 0, 1, 4, 1] and actions.tolist() == [2, 3, 0, 0, 1, 2, 3, 1]
        assert weights.tolist() == [0.5, 0.5, 1, *[0.25] * 4, 1]


def test_examples_with_longer_targets_follow_shorter_ones() -> None:
    rows = np.zeros((4, 300), np.float32)
    rows[0, 4], rows[1, 0], rows[2, 1:4], rows[3, 299] = 1.0, 1.0, 1 / 3, 1.0
    none = np.zeros((2, 0), np.float32)
    parts = [
        Examples(np.zeros((2, 1), np.uint64), *targets_of(part), np.zeros(2), np.zeros(2), none)
        for part in (rows[:2, :5], rows[2:])
    ]
    joined = join(parts)
    assert joined.target_actions.shape == (4, 3) and np.array_equal(rows_of_targets(joined, 300), rows)
    assert [part.target_actions.dtype for part in (*parts, joined)] == [np.uint8, np.int16, np.int16]


def test_the_entropy_of_a_target_is_that_of_its_weights() -> None:
    targets = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0.5, 0, 0, 0.5], [0.25] * 4])
    plies = plies_of([play(make_game("tictactoe"), [0, 3, 1, 4])._replace(**pairs_of(targets))])
    assert plies.target_entropy == pytest.approx([0, 0, np.log(2), np.log(4)])


def test_the_target_follows_who_is_to_play_and_not_the_ply() -> None:
    record = GameRecord(
        number=0,
        states=np.zeros((4, 1), np.uint64),
        to_play=np.array([0, 0, 1, 0], np.int8),  # the first side moves twice
        actions=np.zeros(4, np.int32),
        **pairs_of(np.ones((4, 1))),
        root_value=np.zeros(4, np.float32),
        searched=np.ones(4, bool),
        first_outcome=1.0,
    )
    assert examples_from([record]).value_target.tolist() == [1, 1, -1, 1]


def test_plies_of_an_opening_are_no_examples_but_count_for_the_outcome(game: Game) -> None:
    record = play(game, [0, 3, 1, 4, 2], searched=[False, False, True, True, True])
    examples = examples_from([record])
    assert examples.value_target.tolist() == [1, -1, 1]
    assert rows_of_targets(examples, 9).argmax(axis=1).tolist() == [1, 4, 2]
    assert np.array_equal(examples.states, record.states[2:])


def test_moves_of_fast_searches_are_no_examples_and_no_opening(game: Game) -> None:
    record = play(game, [0, 3, 1, 4, 2])
    targets = rows_of_targets(record, 9)
    targets[0] = 0.0  # a random ply; then one searched fast
    record = record._replace(searched=np.array([False, False, True, True, True]), **pairs_of(targets))
    assert record.opening_plies == 1
    assert examples_from([record]).value_target.tolist() == [1, -1, 1]


def test_games_follow_each_other_in_order_with_documented_types(game: Game) -> None:
    examples = examples_from([play(game, [0, 3, 1, 4, 2]), play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8], number=1)])
    assert isinstance(examples, Examples)
    assert [column.shape for column in examples] == [(14, 2), (14, 1), (14, 1), (14,), (14,), (14, 0)]
    assert [column.dtype for column in examples] == [np.uint64, np.uint8, *[np.float32] * 4]
    assert rows_of_targets(examples, 9)[5:].argmax(axis=1).tolist() == [4, 0, 2, 6, 3, 5, 1, 7, 8]


def test_occupation_is_the_last_position_for_the_mover(game: Game) -> None:
    """X X X / O O . / . . .: one and minus one for X, the other way round for O; then a longer game."""
    short, long = play(game, [0, 3, 1, 4, 2]), play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8], number=1)
    found = examples_from([short, long], ends_of=game).occupation
    first = [1, 1, 1, -1, -1, 0, 0, 0, 0]
    assert found[:2].tolist() == [first, [-sign for sign in first]]
    assert found[4].tolist() == first and not np.signbit(found[found == 0]).any()
    assert found[5].tolist() == [-1, 1, 1, 1, 1, -1, -1, -1, 1] and found.dtype == np.float32
    opening = play(game, [0, 3, 1, 4, 2], searched=[False, True, True, True, True])
    assert examples_from([opening], ends_of=game).occupation.tolist() == found[1:5].tolist()


@pytest.mark.parametrize(
    ("name", "options"), [("go", {"size": 5}), ("othello", {"size": 4}), ("hex", {"size": 3})]
)
def test_occupation_belongs_to_the_mover_in_every_game(name: str, options: dict[str, int]) -> None:
    """The planes of a position begin with the mover's pieces and the other player's."""
    game, rng = make_game(name, **options), np.random.default_rng(1)
    moves, state = [], game.initial_state()
    while not game.is_terminal(state):
        moves.append(int(rng.choice(game.legal_actions(state))))
        state = game.step(state, moves[-1])
    record = play(game, moves)
    own, other = game.planes(state)[:2]
    of_first = (own - other).ravel() * (1 if game.to_play(state) == 0 else -1)
    found = occupation_targets(plies_of([record]), game)
    assert all(
        (row == (of_first if mover == 0 else -of_first)).all()
        for row, mover in zip(found, record.to_play, strict=True)
    )


def test_no_games_are_refused() -> None:
    with pytest.raises(ValueError):
        plies_of([])


@pytest.mark.parametrize("listed", [False, True])
def test_planes_and_masks_are_the_rules_own(game: Game, listed: bool) -> None:
    game = twins.listed(game) if listed else game
    record = play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8])
    planes, legal_mask = encode(game, record.states)
    assert planes.dtype == np.float32 and legal_mask.dtype == np.bool_
    for row, state in enumerate(record.states):
        assert np.array_equal(planes[row], game.planes(state))
        assert np.array_equal(legal_mask[row], game.legal_mask(state))


@pytest.mark.parametrize("listed", [False, True])
def test_moves_are_listed_some_states_at_a_time(
    game: Game, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine and eight moves have no room together, five and four have; a game that is over has none."""
    monkeypatch.setattr("azero.games.inputs.MOVES_AT_ONCE", 9)
    game = twins.listed(game) if listed else game
    record = play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8])
    states = np.insert(record.states, 3, after(game, 0, 3, 1, 4, 2), axis=0)
    parts = [(counts.tolist(), moves.tolist()) for counts, moves in moves_of(game, states)]
    assert [counts for counts, _ in parts] == [[9], [8], [7, 0], [6], [5, 4], [3, 2, 1]]
    assert [move for _, moves in parts for move in moves] == [
        move for state in record.states for move in game.legal_actions(state)
    ]
    _, masks = encode(game, states)
    assert not masks[3].any() and masks.sum() == 45
