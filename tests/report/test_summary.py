"""What a run says of its champion's strength, and the commands that it names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from azero.config.schema import Config, GameConfig
from azero.games.titles import game_title
from azero.report.console import format_share
from azero.truth.judging import random_mistakes
from azero.truth.known import positions_of
from azero.truth.positions import ILLEGAL, PositionSet
from azero.truth.summary import closing_text, strength_text

CONNECT_FOUR = Config(game=GameConfig("connect_four", options={"rows": 6, "columns": 7, "connect": 4}))
OWN = Config(game=GameConfig("rules/my_game.py", options={"size": 3}), checkpoints="my runs")


def test_random_moves_are_judged_exactly() -> None:
    """Three legal moves, of which one wins: two of three are mistakes.

    Two draws: none of two. The mean is a third.
    """
    scores = np.array([[3, 0, -2, ILLEGAL], [0, ILLEGAL, ILLEGAL, 0]])
    asked = PositionSet("two", [[], []], np.zeros((2, 1), np.uint64), scores)
    assert random_mistakes(asked) == pytest.approx((2 / 3 + 0) / 2)


def test_random_moves_agree_with_many_random_players() -> None:
    (asked,) = positions_of(Config())  # of tic-tac-toe
    rng = np.random.default_rng(0)
    drawn = np.where(asked.scores == ILLEGAL, -1.0, rng.random((4000, *asked.scores.shape))).argmax(axis=2)
    chosen = np.take_along_axis(asked.scores[None], drawn[:, :, None], axis=2)[:, :, 0]
    mistakes = (np.sign(chosen) != np.sign(asked.best)).mean()
    assert random_mistakes(asked) == pytest.approx(float(mistakes), abs=0.005)


def test_mistakes_are_compared_with_random_moves() -> None:
    stats = {"oracle/keeps_value_search": 0.959, "oracle/keeps_value_policy": 0.8, "evaluate/score": 0.9}
    chance = format_share(float(np.mean([random_mistakes(each) for each in positions_of(CONNECT_FOUR)])))
    assert len(positions_of(CONNECT_FOUR)) == 6 and chance == "37 %"
    count = sum(len(each.scores) for each in positions_of(CONNECT_FOUR))
    said = f"4.1 % mistakes with search, 20 % without, in {count:,} positions (random moves {chance})"
    assert strength_text(CONNECT_FOUR, stats) == said
    assert closing_text(CONNECT_FOUR, "connect_four", stats).splitlines() == [
        f"Connect Four: {said}.",
        "  Play it: azero play run=connect_four",
    ]
    alone = {"oracle/keeps_value_policy": 1.0}
    assert strength_text(CONNECT_FOUR, alone) == (
        f"0 % mistakes without search, in {count:,} positions (random moves {chance})"
    )


def test_hex_says_how_many_first_moves_are_right_and_which_run_to_play() -> None:
    config = Config(game=GameConfig("hex", options={"size": 5, "swap": False}))
    stats = {"oracle/keeps_value_policy": 0.5, "oracle/openings_right": 0.92}
    assert strength_text(config, stats).endswith("judges 92 % of the first moves correctly")
    assert closing_text(config, "hex5", stats).endswith("Play it: azero play run=hex5")


def test_tictactoe_without_positions_counts_its_table() -> None:
    config = Config(oracle=replace(Config().oracle, positions=0))
    stats = {"correctness/keeps_value_search": 1.0, "correctness/keeps_value_policy": 0.925}
    assert strength_text(config, stats) == "0 % mistakes with search, 7.5 % without"


def test_a_game_without_known_values_reports_its_elo_or_its_match() -> None:
    match = {"evaluate/score": 0.625, "evaluate/promoted": 1.0}
    rated = {"rating/elo": 312.4, "rating/elo_low": 250.0, "rating/elo_high": 374.8}
    assert strength_text(OWN, match) == "the new champion scored 62.5 % against the one before"
    assert (
        strength_text(OWN, {"evaluate/score": 0.4})
        == "the champion stays; the candidate scored 40 % against it"
    )
    assert strength_text(OWN, match | rated) == "Elo 312 against fixed opponents (95 % interval 250 to 375)"


def test_a_run_without_measurement_names_the_command_that_measures() -> None:
    assert strength_text(OWN, {"loss/total": 1.0}) == ""
    game = "game=rules/my_game.py game.options.size=3"
    assert closing_text(OWN, "mine", {}).splitlines() == [
        "My Game: this run did not measure its strength.",
        f"  Measure it: azero arena {game} first=pv_mcts first.run=mine second=uct 'checkpoints=my runs'",
        "  Play it: azero play run=mine 'checkpoints=my runs'",
    ]


def test_games_have_the_names_that_people_use() -> None:
    names = ["connect_four", "tictactoe", "openspiel:breakthrough(rows=6)", "a/my_game.py", "hex"]
    assert [game_title(name) for name in names] == [
        "Connect Four",
        "Tic-tac-toe",
        "Breakthrough",
        "My Game",
        "Hex",
    ]
    variants = [{}, {"variant": "standard"}, {"variant": "gardner"}, {"variant": "losalamos"}]
    assert [game_title("chess", each) for each in variants] == [
        "Chess",
        "Chess",
        "Gardner's chess",
        "Los Alamos chess",
    ]
    assert game_title("gardner") == "Gardner's chess"


def test_percent_never_claims_more_digits_than_matter() -> None:
    assert [format_share(share) for share in (0.0, 0.0004, 0.041, 0.0996, 0.38, 1.0)] == [
        "0 %", "0.0 %", "4.1 %", "10 %", "38 %", "100 %",
    ]  # fmt: skip
