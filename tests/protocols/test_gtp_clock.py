"""Clocks of GTP: whole games under each kind never overstep, by a referee that counts for itself."""

from __future__ import annotations

import random

import pytest
from gtp_session import UCT, ask, engine

from azero.cli.player_spec import PlayerSpec
from azero.config.schema import UserError
from azero.players import Thought
from azero.protocols.gtp_clock import LEAST, Clock, TimeSettings, of_kgs, of_time_settings

NONE = TimeSettings()


@pytest.mark.parametrize(
    "numbers, settings",
    [
        ((600, 0, 0), TimeSettings("absolute", 600)),
        ((600, 30, 5), TimeSettings("canadian", 600, 30, 5)),
        ((0, 30, 5), TimeSettings("canadian", 0, 30, 5)),
        ((600, 0, 5), TimeSettings("absolute", 600)),
        ((600, 30, 0), NONE),  # GTP: overtime without stones is no limit
        ((0, 0, 0), NONE),  # three clients mean that there is no limit
        ((0, 0, 5), NONE),  # Lizzie, LizGoban and LizzieYzy with 0 seconds a move
        ((0, 30, 0), NONE),
        ((0, 1, 0), NONE),  # GoGui
        ((0.5, 0, 0), TimeSettings("absolute", 0.5)),
    ],
)
def test_time_settings(numbers: tuple[float, float, int], settings: TimeSettings) -> None:
    assert of_time_settings(*numbers) == settings


def test_kgs_time_settings() -> None:
    assert of_kgs("none", []) == of_kgs("none", [1, 2, 3]) == NONE
    assert of_kgs("absolute", [60]) == TimeSettings("absolute", 60)
    assert of_kgs("byoyomi", [60, 10, 3]) == TimeSettings("byoyomi", 60, 10, 3)
    assert of_kgs("canadian", [60, 10, 3]) == of_kgs("CANADIAN", [60, 10, 3.0])
    assert of_kgs("canadian", [60, 10, 3]) == TimeSettings("canadian", 60, 10, 3)


@pytest.mark.parametrize("kind", ["canadian", "byoyomi"])
def test_overtime_of_no_stones_or_periods_is_main_time_alone(kind: str) -> None:
    assert of_kgs(kind, [300, 60, 0]) == of_kgs(kind, [300, 0, 0]) == TimeSettings("absolute", 300)
    assert of_kgs(kind, [0, 60, 0]) == of_kgs("absolute", [0]) == NONE


@pytest.mark.parametrize(
    "text",
    [
        "absolute",
        "byoyomi 60 10",
        "canadian 60 10 0.5",
        "byoyomi 0 1 1e15",
        "byoyomi 0 5e-324 5",
        "fischer 1 1",
    ],
)
def test_kgs_time_settings_that_are_refused(text: str) -> None:
    kind, *numbers = text.split()
    with pytest.raises(UserError):
        of_kgs(kind, list(map(float, numbers)))


@pytest.mark.parametrize(
    "settings, moves_left, seconds",
    [
        (NONE, 40, 0.0),
        (
            TimeSettings("absolute", 60),
            100,
            (60 - 0.5 - 2) / 30,
        ),  # 30 moves are planned, and 0.02 s lost each
        (TimeSettings("absolute", 60), 10, (60 - 0.5 - 0.2) / 10),
        (TimeSettings("absolute", 60), 0, 60 - 0.5),
        (TimeSettings("absolute", 1), 10, (0.8 - 0.2) / 10),  # a fifth is kept, at most half a second
        (TimeSettings("absolute", 0), 10, LEAST),
        (TimeSettings("byoyomi", 600, 10, 3), 30, (600 - 0.5 - 0.6) / 30),
        (TimeSettings("byoyomi", 60, 10, 3), 30, 10 - 0.5),  # the period is longer than the share
        (TimeSettings("byoyomi", 0, 10, 3), 30, 10 - 0.5),
        (TimeSettings("canadian", 0, 30, 5), 30, (30 - 0.5) / 5),
        (TimeSettings("canadian", 60, 30, 5), 30, (30 - 0.5) / 5),
    ],
)
def test_the_seconds_of_a_move(settings: TimeSettings, moves_left: int, seconds: float) -> None:
    assert Clock(settings).seconds_for_move(moves_left) == pytest.approx(seconds)


def test_periods_run_out_together() -> None:
    clock = Clock(TimeSettings("byoyomi", 0, 0.001, 10_000))
    clock.spend(5.0)
    assert 4_990 <= clock.count <= 5_001 and not clock.is_over
    clock.spend(6.0)
    assert clock.is_over


def test_what_the_client_says_counts() -> None:
    clock = Clock(TimeSettings("canadian", 60, 30, 5))
    clock.set_left(12, 0)
    assert clock.seconds_for_move(30) == pytest.approx(29.5 / 5)
    clock.set_left(12, 2)
    assert clock.seconds_for_move(30) == pytest.approx(11.5 / 2)
    clock.set_left(0, 0)  # main time is over, and overtime begins
    assert (clock.left, clock.count) == (30, 5)
    clock = Clock(TimeSettings("absolute", 60))
    clock.set_left(12, 3)  # stones mean nothing without overtime
    assert clock.seconds_for_move(4) == pytest.approx((12 - 0.5 - 0.08) / 4)


def overstepped(settings: TimeSettings, spent: list[float]) -> bool:
    """Return whether moves that took these seconds lose on time, counted from the rules of the clock."""
    main = settings.main
    for place, seconds in enumerate(spent):
        if seconds <= main:
            main -= seconds
            continue
        rest = [seconds - main, *spent[place + 1 :]]  # overtime begins within this move
        if settings.kind == "absolute":
            return True
        if settings.kind == "byoyomi":
            periods = settings.count
            for each in rest:
                while each > settings.period and periods:
                    each, periods = each - settings.period, periods - 1
                if not periods:
                    return True
            return False
        groups = [rest[begin : begin + settings.count] for begin in range(0, len(rest), settings.count)]
        return any(sum(group) > settings.period for group in groups)
    return False


CLOCKS = [
    TimeSettings("absolute", 300),
    TimeSettings("absolute", 10),
    TimeSettings("absolute", 3),
    TimeSettings("byoyomi", 60, 5, 3),
    TimeSettings("byoyomi", 0, 1, 1),
    TimeSettings("byoyomi", 2, 10, 1),
    TimeSettings("canadian", 60, 30, 10),
    TimeSettings("canadian", 0, 5, 5),
    TimeSettings("canadian", 1, 20, 3),
]


@pytest.mark.parametrize("settings", CLOCKS, ids=str)
@pytest.mark.parametrize("max_plies", [9, 60, 162, 722])
@pytest.mark.parametrize("told", [False, True])
def test_a_whole_game_does_not_overstep(settings: TimeSettings, max_plies: int, told: bool) -> None:
    # each move takes up to 2 % and a few thousandths of a second more than it was given
    rng = random.Random(f"{settings} {max_plies}")
    clock, spent = Clock(settings), list[float]()
    for ply in range(0, min(max_plies, 300), 2):
        seconds = clock.seconds_for_move((max_plies - ply + 1) // 2)
        assert seconds > 0
        spent.append(seconds * rng.uniform(0.5, 1.02) + rng.uniform(0, 0.004))
        clock.spend(spent[-1])
        assert not clock.is_over
        if told:
            clock.set_left(clock.left, clock.count)
    assert not overstepped(settings, spent)
    if settings.kind == "absolute" and settings.main > 0.1 * max_plies:
        assert sum(spent) > 0.4 * settings.main  # and the time is used


def test_the_referee_sees_who_oversteps() -> None:
    assert overstepped(TimeSettings("absolute", 10), [6, 5])
    assert not overstepped(TimeSettings("absolute", 10), [5, 5])
    assert overstepped(TimeSettings("byoyomi", 1, 2, 2), [5.5])
    assert not overstepped(TimeSettings("byoyomi", 1, 2, 2), [4.5, 1.9, 1.9])
    assert overstepped(TimeSettings("canadian", 1, 10, 2), [6, 5.5])
    assert not overstepped(TimeSettings("canadian", 1, 10, 2), [6, 4.5, 9, 1])


@pytest.mark.parametrize(
    "line",
    [
        "time_settings 20 0 0",
        "time_settings 10 20 3",
        "kgs-time_settings byoyomi 1 10 1",
        "kgs-time_settings canadian 0 20 5",
    ],
)
def test_the_engine_counts_its_clock_in_a_game(line: str) -> None:
    on = engine("tictactoe", UCT)
    now = [0.0]
    on.now = lambda: now[0]
    player, given = on.player(), list[float]()
    choose = player.choose

    def think(at: object, seconds: float = 0.0, *others: object) -> Thought:
        given.append(seconds)
        now[0] += seconds
        return choose(at, 0.0, *others)  # type: ignore[arg-type]

    player.choose = think  # type: ignore[method-assign, assignment]
    assert ask(on, line) == ["="]
    while not on.at.is_over:
        side = on.at.to_play
        assert ask(on, f"genmove {'bw'[side]}")[0].startswith("= ")
    assert given and min(given) > 0 and not any(clock.is_over for clock in on.clocks)
    settings, mine = on.settings, given[::2]
    assert not overstepped(settings, mine)
    before = on.clocks[0].left
    assert ask(on, "undo", "reg_genmove b", "time_left b 3 0")[0] == "="
    assert on.clocks[0].left != before or before == 3
    ask(on, "clear_board")
    assert on.clocks[0].left == (settings.main or settings.period)


def test_a_real_game_ends_on_its_clock() -> None:
    on = engine("connect_four", PlayerSpec("player", "uct", {}))
    assert ask(on, "time_settings 3 0 0") == ["="]
    for _ in range(10):
        assert ask(on, "genmove b")[0].startswith("= ") and ask(on, "genmove w")[0].startswith("= ")
    assert all(0 < clock.left < 3 for clock in on.clocks)
