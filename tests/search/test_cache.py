"""The evaluation cache: it is exact, bounded, and replaces entries when it is full."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from azero.kernels.hashing import entry_of
from azero.search.cache import PROBES, EvaluationCache, find, make_cache, remember
from azero.search.tree import MOVE

KEYS = st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
ANSWERS = st.integers(0, 1000)


def words(key: tuple[int, ...]) -> np.ndarray:
    return np.array(key, np.uint64)


def store(cache: EvaluationCache, key: tuple[int, ...], answer: int) -> None:
    """Store an evaluation that differs from every other: its one or two moves and value are of a number."""
    moves = np.array([(answer, answer), (answer + 1, answer + 0.5), (7, 7)], MOVE)
    remember(cache, words(key), moves, moves_of(answer), np.float32(answer / 1024))


def moves_of(answer: int) -> int:
    """Return how many moves the evaluation of a number has."""
    return 1 + answer % 2


def recall(cache: EvaluationCache, key: tuple[int, ...]) -> int | None:
    """Return the number stored for a key, or None; all of its parts must agree."""
    entry = find(cache, words(key))
    if entry < 0:
        return None
    moves = cache.moves[entry, : cache.num_moves[entry]]
    answer = int(moves["action"][0])
    assert moves.tolist() == [(answer, answer), (answer + 1, answer + 0.5)][: moves_of(answer)]
    assert cache.value[entry] == answer / 1024
    return answer


def places(cache: EvaluationCache, key: tuple[int, ...]) -> list[int]:
    """Return the entries that may hold a key, in the order of the search."""
    size = len(cache.used)
    return [(int(entry_of(words(key), size)) + probe) % size for probe in range(PROBES)]


@pytest.mark.parametrize(
    ("asked", "size"), [(0, 0), (1, 1), (2, 2), (5, 8), (8, 8), (9, 16), (65_536, 65_536)]
)
def test_the_size_is_the_next_power_of_two(asked: int, size: int) -> None:
    cache = make_cache(asked, 2, 9)
    assert (
        cache.keys.shape == (size, 2)
        and cache.moves.shape == (size, 9)
        and cache.value.shape == cache.used.shape == (size,)
    )


def test_a_cache_of_no_entries_never_finds_and_never_stores() -> None:
    cache = make_cache(0, 2, 2)
    store(cache, (1, 2), 7)
    assert recall(cache, (1, 2)) is None
    assert cache.counts.tolist() == [0, 0]


def test_what_was_stored_is_found_and_nothing_else() -> None:
    cache = make_cache(64, 2, 2)
    assert recall(cache, (0, 0)) is None  # an empty entry holds zeros, which are a key too
    store(cache, (0, 0), 3)
    store(cache, (1, 2), 4)
    assert recall(cache, (0, 0)) == 3
    assert recall(cache, (1, 2)) == 4
    assert recall(cache, (2, 1)) is None  # the same words in another order
    assert recall(cache, (1, 3)) is None
    assert cache.counts.tolist() == [5, 2]


def test_the_same_position_again_takes_the_same_entry() -> None:
    cache = make_cache(64, 2, 2)
    for answer in range(10):
        store(cache, (1, 2), answer)
    assert cache.used.sum() == 1
    assert recall(cache, (1, 2)) == 9


def test_as_many_positions_as_are_looked_at_fit_and_the_next_replaces_the_first_of_its_places() -> None:
    cache = make_cache(PROBES, 2, 2)
    keys = [(number, 0) for number in range(PROBES + 1)]
    for answer, key in enumerate(keys[:PROBES]):
        store(cache, key, answer)
    assert [recall(cache, key) for key in keys[:PROBES]] == list(range(PROBES))
    loser = places(cache, keys[PROBES])[0]
    lost = next(key for key in keys[:PROBES] if int(find(cache, words(key))) == loser)
    store(cache, keys[PROBES], 100)
    assert recall(cache, keys[PROBES]) == 100
    assert recall(cache, lost) is None
    assert all(recall(cache, key) == answer for answer, key in enumerate(keys[:PROBES]) if key != lost)


@settings(max_examples=200)
@given(st.sampled_from([1, 2, 4, 8, 16]), st.lists(st.tuples(KEYS, ANSWERS), max_size=60))
def test_an_answer_is_always_the_last_one_stored_for_that_key(
    entries: int, stored: list[tuple[tuple[int, int], int]]
) -> None:
    """Against a dict: the cache may forget, but never be wrong, never grow, and never forget what was stored
    last.
    """
    cache, truth = make_cache(entries, 2, 2), dict[tuple[int, int], int]()
    for key, answer in stored:
        store(cache, key, answer)
        truth[key] = answer
        assert recall(cache, key) == answer
    found = {key: recall(cache, key) for key in truth}
    assert all(answer in (None, truth[key]) for key, answer in found.items())
    assert sum(answer is not None for answer in found.values()) == cache.used.sum() <= entries


@settings(max_examples=200)
@given(st.lists(st.tuples(KEYS, ANSWERS), max_size=60))
def test_entries_are_those_of_a_plain_table(stored: list[tuple[tuple[int, int], int]]) -> None:
    """The table once more in plain Python: the first place that is free or holds the key, else the first of
    all.
    """
    cache = make_cache(8, 2, 2)
    table: dict[int, tuple[tuple[int, int], int]] = {}
    for key, answer in stored:
        there = places(cache, key)
        place = next((place for place in there if place not in table or table[place][0] == key), there[0])
        table[place] = (key, answer)
        store(cache, key, answer)
    assert np.flatnonzero(cache.used).tolist() == sorted(table)
    for place, (key, answer) in table.items():
        assert tuple(int(word) for word in cache.keys[place]) == key
        assert int(cache.moves["action"][place, 0]) == answer


def test_a_position_with_more_moves_than_an_entry_holds_is_not_kept() -> None:
    cache = make_cache(64, 2, 1)
    store(cache, (1, 2), 4)
    store(cache, (1, 3), 5)
    assert (recall(cache, (1, 2)), recall(cache, (1, 3))) == (4, None)
    store(cache, (1, 2), 5)  # what is known of a position stays
    assert recall(cache, (1, 2)) == 4


def test_neighbouring_positions_spread_over_the_table() -> None:
    """Of 1024 positions that differ in few bits, 4096 entries lose hardly any."""
    cache = make_cache(4096, 2, 2)
    keys = [(left, right) for left in range(32) for right in range(32)]
    for key in keys:
        store(cache, key, 1)
    assert cache.used.sum() >= 1020
