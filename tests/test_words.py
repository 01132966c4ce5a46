"""Words of a command line: values, mistakes, and the game among them."""

from __future__ import annotations

import pytest

from azero.config import UserError
from azero.words import parse_value, parse_words, take_config, take_game, whole_number


@pytest.mark.parametrize(
    "text, value",
    [
        ("5", 5),
        ("-0.5", -0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("uct", "uct"),
        ("1.2.3", "1.2.3"),
        ("[a, 2,b]", ["a", 2, "b"]),
        ("[]", []),
        ("games/mine.py", "games/mine.py"),
    ],
)
def test_a_value_is_what_it_looks_like(text: str, value: object) -> None:
    assert parse_value(text) == value and type(parse_value(text)) is type(value)


def test_words_keep_their_order_and_everything_after_the_first_equals_sign() -> None:
    assert parse_words(["b=1", "a=x=y"], "a=1") == {"b": 1, "a": "x=y"}


@pytest.mark.parametrize(
    "words, said", [(["games"], "'games' is no setting"), (["=3"], "'=3' is no setting"), (["a=1", "a=2"], "a is set twice")]
)
def test_what_is_no_setting_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_words(words, "games=10")


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "many"])
def test_a_number_must_be_whole_and_in_range(value: object) -> None:
    with pytest.raises(UserError, match=f"games={value} must be a whole number from 1 up"):
        whole_number({"games": value}, "games", 10, 1)
    assert whole_number({}, "games", 10, 1) == 10


def test_a_game_takes_its_own_options_and_leaves_the_rest() -> None:
    settings = parse_words(["game=othello6", "game.options.size=4", "games=3"], "a=1")
    game = take_game(settings)
    assert (game.name, game.options) == ("othello", {"size": 4})
    assert settings == {"games": 3}
    assert take_game({"game": "othello6"}).options == {"size": 6}
    assert take_game({}).name == "tictactoe"


def test_folders_and_device_are_taken() -> None:
    settings = {"checkpoints": "else", "device": "cpu", "first": "uct"}
    config = take_config(settings)
    assert (config.checkpoints, config.device, settings) == ("else", "cpu", {"first": "uct"})
