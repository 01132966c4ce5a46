"""The Elo table: who stands where, from results alone."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from azero.match.elo_table import Result, champion_name, csv_text, fit, rate, results_of, scalars_of, table_of
from azero.match.rating import Rating, elo_difference

LINKS = [Result("random", "uct 10", 10, 0, 50), Result("uct 10", "uct 100", 6, 12, 42)]
CHAMPIONS = [
    Result("champion 1", "random", 9, 1, 0),
    Result("champion 1", "uct 10", 6, 0, 4),
    Result("champion 1", "uct 100", 2, 2, 6),
    Result("champion 2", "uct 100", 5, 4, 1),
    Result("champion 2", "champion 1", 7, 2, 1),
]


def test_anchors_take_their_places_from_games_among_themselves() -> None:
    """Links of 60 games, 50 and 48 points; of the half draw that each player brings, all of an end's and half
    of the middle's.
    """
    rated = rate(LINKS)
    assert rated["random"] == Rating(0.0, 0.0)
    assert rated["uct 10"].elo == pytest.approx(elo_difference(50.375 / 60.75), abs=1e-6)
    assert rated["uct 100"].elo - rated["uct 10"].elo == pytest.approx(
        elo_difference(48.375 / 60.75), abs=1e-6
    )
    assert 0 < rated["uct 10"].margin < rated["uct 100"].margin


def test_champions_do_not_move_the_anchors() -> None:
    before, after = rate(LINKS), rate(LINKS + CHAMPIONS)
    assert {name: after[name] for name in before} == before
    assert after["champion 2"].elo > after["champion 1"].elo
    assert after["champion 1"].elo > after["random"].elo


def test_a_champion_that_met_one_anchor_is_apart_from_it_by_the_elo_of_its_score() -> None:
    rated = rate(
        [*LINKS, Result("champion 0", "uct 10", 3, 1, 6)]
    )  # a half draw of its own, a third of one of uct 10
    assert rated["champion 0"].elo - rated["uct 10"].elo == pytest.approx(
        elo_difference((3.5 + 1 / 3) / (10 + 2 / 3)), abs=1e-6
    )


def test_more_games_make_margins_smaller() -> None:
    once, thrice = rate(LINKS + CHAMPIONS), rate(LINKS + CHAMPIONS * 3)
    assert all(thrice[name].margin < once[name].margin for name in ("champion 1", "champion 2"))


def test_results_of_both_directions_add_up() -> None:
    one_way = fit([Result("a", "b", 5, 2, 3), Result("a", "b", 1, 0, 0)], {"b": 100.0})
    both_ways = fit([Result("a", "b", 5, 2, 3), Result("b", "a", 0, 0, 1)], {"b": 100.0})
    assert one_way == both_ways and one_way["b"].elo == pytest.approx(100.0)


def test_the_table_counts_games_and_points_best_first() -> None:
    table = table_of(LINKS + CHAMPIONS)
    assert (table[0].player, table[-1].player) == ("champion 2", "random")
    rows = {row.player: (row.games, row.points) for row in table}
    assert rows["champion 1"] == (40, 9.5 + 6 + 3 + 2)
    assert rows["uct 100"] == (80, 48 + 7 + 3)


def test_the_file_is_a_table_of_all_players() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(table_of(LINKS + CHAMPIONS)))))
    assert rows[0]["player"] == "champion 2" and rows[0]["cycle"] == "2" and rows[-1]["cycle"] == ""
    assert rows[-1] == {
        "player": "random",
        "cycle": "",
        "elo": "0",
        "margin": "0",
        "games": "70",
        "score": "0.150",
    }


def test_results_are_read_from_the_history_and_old_records_have_none() -> None:
    history: list[dict[str, Any]] = [
        {"cycle": 1, "promoted": True},
        {"cycle": 2, "rated": [["champion 0", "random", 1, 0, 1]]},
        {"rated": []},
    ]
    assert results_of(history) == [Result(champion_name(0), "random", 1, 0, 1)]


def test_a_rating_is_told_with_its_margin() -> None:
    assert scalars_of(Rating(300.0, 40.0)) == {
        "rating/elo": 300.0,
        "rating/elo_low": 260.0,
        "rating/elo_high": 340.0,
    }
