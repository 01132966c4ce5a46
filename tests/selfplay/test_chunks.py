"""The head's book: every game comes back once, whatever workers do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from azero.cluster.chunks import Answer, Book, Chunk, Differing, answer_of, chunks_of
from azero.config.schema import UserError
from azero.replay.examples import GameRecord, pairs_of
from azero.run.disk import digest


def record(number: int, root: float = 0.0) -> GameRecord:
    """Return a game of one ply."""
    return GameRecord(
        number=number,
        states=np.full((1, 2), number, np.uint64),
        to_play=np.zeros(1, np.int8),
        actions=np.zeros(1, np.int32),
        **pairs_of(np.ones((1, 1))),
        root_value=np.full(1, root, np.float32),
        searched=np.ones(1, np.bool_),
        first_outcome=1.0,
    )


def answer(chunk: Chunk, root: float = 0.0, games: int | None = None) -> Answer:
    """Return what a worker sends after it has played a chunk, or its first `games` games."""
    return answer_of(chunk, [record(number, root) for number in chunk.games[:games]], "toy")


def test_chunks_have_fixed_numbers_whatever_games_are_left() -> None:
    openings = {9: np.array([3], np.int32)}
    assert [chunk.games for chunk in chunks_of(range(20))] == [
        tuple(range(8)),
        tuple(range(8, 16)),
        (16, 17, 18, 19),
    ]
    some = chunks_of([17, 9, 3], openings)
    assert [(chunk.number, chunk.games) for chunk in some] == [(0, (3,)), (1, (9,)), (2, (17,))]
    assert [list(chunk.openings) for chunk in some] == [[], [9], []]
    assert [each.title for each in some[:2]] == ["game 3", "game 9"]


def test_workers_share_what_waits_and_take_no_more_than_they_have_room_for() -> None:
    book = Book(chunks_of(range(80)))
    assert [chunk.number for chunk in book.take("a", room=9, workers=2)] == [0, 1, 2, 3, 4]
    assert [chunk.number for chunk in book.take("b", room=2, workers=2)] == [5, 6]
    assert (book.load_of("a"), book.load_of("b"), book.load_of("c")) == (5, 2, 0)
    assert book.take("b", room=0, workers=2) == []


def test_a_finished_stage_holds_every_game_once_in_order() -> None:
    book = Book(chunks_of(range(20)))
    for chunk in reversed(book.take("a", room=9)):
        assert not book.done
        assert book.finish("a", answer(chunk)) == []
    assert book.done and [each.number for each in book.in_order()] == list(range(20))
    assert book.received > 0 and (book.retries, book.repeats) == (0, 0)


def test_the_chunks_of_a_lost_worker_go_to_others_first() -> None:
    book = Book(chunks_of(range(40)))
    lost = book.take("a", room=2)
    book.lose("a", "killed")
    assert book.retries == 2 and book.load_of("a") == 0
    again = book.take("b", room=3)
    assert {chunk.number for chunk in lost} == {chunk.number for chunk in again[:2]}


def test_the_last_chunks_are_given_out_twice_and_the_first_answer_counts() -> None:
    book = Book(chunks_of(range(32)))
    given = book.take("slow", room=4)
    twice = book.take("idle", room=4)
    assert [chunk.number for chunk in twice] == [3, 2]  # the newest half, which is hardly begun
    assert book.take("third", room=4)[0].number == 1
    assert book.finish("idle", answer(twice[0])) == ["slow"]  # which need not begin it
    assert book.load_of("slow") == 3
    assert book.finish("slow", answer(given[3])) == [] and book.repeats == 1
    assert len(book.records) == 8


def test_a_worker_with_work_gets_nothing_twice() -> None:
    book = Book(chunks_of(range(32)))
    book.take("a", room=2)
    book.take("b", room=9)
    assert book.take("a", room=9) == []


def test_a_chunk_that_comes_twice_must_be_the_same_in_every_byte() -> None:
    book = Book(chunks_of(range(16)))
    first, other = book.take("a", room=2)
    book.take("b", room=2)
    book.finish("a", answer(first))
    book.finish("a", answer(other))
    with pytest.raises(Differing, match="Workers a and b have played games 8 to 15 differently"):
        book.finish("b", answer(other, root=0.5))
    assert sorted(book.records) == list(range(8))  # nobody knows which of the two is right


def test_a_mixed_run_takes_the_first_of_two_different_answers() -> None:
    book = Book(chunks_of(range(8)), compare=False)
    (chunk,) = book.take("a", room=1)
    book.take("b", room=1)
    book.finish("a", answer(chunk, root=0.25))
    book.finish("b", answer(chunk, root=0.5))
    assert book.in_order()[0].root_value[0] == 0.25 and book.repeats == 1


def test_an_answer_that_was_damaged_on_its_way_is_asked_for_again() -> None:
    book = Book(chunks_of(range(8)))
    (chunk,) = book.take("a", room=1)
    whole = answer(chunk)
    book.finish("a", whole._replace(data=whole.data[:-1] + b"?"))
    assert not book.done and book.retries == 1
    (again,) = book.take("a", room=1)
    book.finish("a", answer(again))
    assert book.done


def test_a_worker_that_sends_other_games_is_named() -> None:
    book = Book(chunks_of(range(16)))
    one, other = book.take("a", room=2)
    with pytest.raises(UserError, match="Worker a was asked for games 0 to 7 and sent others"):
        book.finish("a", answer(other)._replace(chunk=one.number))
    with pytest.raises(UserError, match="Worker a has sent no games"):
        book.finish("a", Answer(1, b"junk", digest(b"junk"), True))


def lose_all(book: Book, deadly: set[int]) -> list[int]:
    """Play a book to its end with workers that die of some games; return the games set aside, in order."""
    aside = list[int]()
    for number in range(1000):
        if book.done:
            break
        held = book.take(name := f"worker-{number}", room=2)
        if any(deadly.intersection(chunk.games) for chunk in held):
            aside += book.lose(name, "SIGSEGV")
            continue
        for chunk in held:
            book.finish(name, answer(chunk))
        book.lose(name, "ended")
    return aside


def test_a_chunk_with_which_two_workers_died_is_played_alone() -> None:
    book = Book(chunks_of(range(16)))
    for name in ("a", "b"):
        assert len(book.take(name, room=2)) == 2
        book.lose(name, "killed")
    (alone,) = book.take("c", room=2)
    assert book.take("c", room=2) == []  # nothing besides it
    (other,) = book.take("d", room=2)
    book.finish("d", answer(other))
    book.finish("c", answer(alone))
    assert book.done and not book.aside


def test_a_chunk_that_kills_alone_is_split_and_only_its_deadly_game_is_set_aside() -> None:
    """Two workers die with chunks 0 and 1, one with chunk 1 alone, two with game 11 alone."""
    openings = {number: np.array([number], np.int32) for number in (9, 11)}
    book = Book(chunks_of(range(40), openings))
    assert lose_all(book, {11}) == [11]
    assert book.done and book.aside == {11: "SIGSEGV"}
    assert [each.number for each in book.in_order()] == [*range(11), *range(12, 40)]
    singles = [chunk for chunk in book.by_number.values() if len(chunk.games) == 1]
    assert [chunk.games[0] for chunk in singles] == [8, 9, 10, 12, 13, 14, 15]
    assert [list(chunk.openings) for chunk in singles if chunk.openings] == [[9]]
    assert singles[0].title == "game 8"


def test_a_game_is_set_aside_only_after_three_workers_died_that_played_nothing_else() -> None:
    book = Book(chunks_of([5]))
    for name in "abcd":
        assert len(book.take(name, room=2)) == 1
        assert book.lose(name, "killed") == []
    book.take("e", room=2)
    assert book.lose("e", "killed") == [5] and book.done


def test_too_many_deadly_games_stop_the_run() -> None:
    assert sorted(lose_all(Book(chunks_of(range(40))), {3, 11, 20})) == [3, 11, 20]
    book = Book(chunks_of(range(40)))
    with pytest.raises(UserError, match="Each of the games 3, 11, 20, 39 has ended 3 workers") as failure:
        lose_all(book, {3, 11, 20, 39})
    assert "SIGSEGV" in str(failure.value) and "without cluster.address" in str(failure.value)
    with pytest.raises(UserError, match="Each of the games 3 has"):
        lose_all(Book(chunks_of(range(8)), spare=0), {3})


def test_three_deaths_with_different_chunks_stop_nothing() -> None:
    book = Book(chunks_of(range(80)))
    for name in "abcdefgh":
        assert len(book.take(name, room=1)) == 1
        book.deaths.clear()
        book.lose(name, "killed")
    assert book.retries == 8


def test_a_closed_book_keeps_the_games_of_unfinished_chunks() -> None:
    book = Book(chunks_of(range(16)))
    one, other = book.take("a", room=2)
    book.close()
    book.finish("a", answer(one, games=3))
    book.finish("a", answer(other))
    assert [each.number for each in book.in_order()] == [0, 1, 2, *range(8, 16)]
    assert not book.done and book.take("b", room=9) == []


@pytest.mark.parametrize("seed", range(20))
def test_whatever_workers_do_every_game_comes_back_once(seed: int) -> None:
    """Random joins, deaths, answers, damage and repeats; in every second case a worker dies of game 5."""
    choice = random.Random(seed)
    deadly = {5} if seed % 2 else set[int]()
    book = Book(chunks_of(range(8 * choice.randint(1, 12))))
    held: dict[str, list[Chunk]] = {}
    deaths = 0
    for step in range(10_000):
        if book.done:
            break
        if len(held) < 4:
            held[f"worker-{step}"] = []
        name = choice.choice(list(held))
        if deaths < 2 and choice.random() < 0.05:
            book.lose(name, "killed")
            held.pop(name)
            deaths += 1
        elif held[name] and choice.random() < 0.6:
            chunk = held[name].pop(choice.randrange(len(held[name])))
            if deadly.intersection(chunk.games):
                book.lose(name, "SIGSEGV")
                held.pop(name)
                continue
            sent = answer(chunk)
            damaged = choice.random() < 0.1
            book.finish(name, sent._replace(data=sent.data + b"?") if damaged else sent)
        else:
            held[name] += book.take(name, choice.randint(0, 4), len(held))
    assert book.done and [*book.aside] == [*deadly]
    assert {each.number for each in book.in_order()} == set(range(8 * len(book.chunks))) - deadly
