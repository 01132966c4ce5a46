"""Arguments of the programs without a run: values, mistakes, the game, and what --help prints."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import pytest

from azero.arena import ArenaSettings
from azero.arena import main as arena
from azero.check_game import main as check_game
from azero.cli.arguments import (
    GameSettings,
    RunSettings,
    parse_value,
    refuse_rest,
    split_words,
    take_game,
    take_group,
    take_settings,
)
from azero.cli.help import program_help
from azero.cli.programs import WRONG_INPUT
from azero.config.reading import read_options
from azero.config.schema import UserError, setting, settings
from azero.oracle import main as oracle
from azero.play import main as play
from azero.players import options_of
from azero.trace import main as trace


@dataclass(frozen=True)
class Toy(GameSettings):
    """One setting of each type."""

    games: int = setting(10, "Games.", between=(1, 100))
    share: float = setting(0.5, "A share.", between=(0.0, float("inf")))
    plies: int | None = setting(None, "Plies.")
    quiet: bool = setting(False, "Print less.")
    file: str = setting("", "A file.")
    side: str = setting("first", "A side.", choices=("first", "second"))


def read(*words: str) -> Toy:
    """The settings that these words ask for."""
    texts = split_words(words)
    asked = take_settings(texts, Toy)
    refuse_rest(texts, Toy, ["player"])
    return asked


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
    assert split_words(["b=1", "a=x=y"]) == {"b": "1", "a": "x=y"}


def test_a_bare_word_is_the_game() -> None:
    assert read("othello6").game == read("game=othello6").game == "othello6"
    with pytest.raises(UserError, match="game is set twice"):
        read("game=hex", "othello6")


def test_settings_have_the_types_of_their_dataclass() -> None:
    asked = read("games=20", "share=2", "plies=3", "quiet=true", "file=1.50", "side=second")
    assert asked == Toy("tictactoe", 1, 20, 2.0, 3, True, "1.50", "second")
    assert read("plies=auto").plies is None and read("games=auto").games == 10
    assert read("file=null").file == "null" and read("file=${x}").file == "${x}"


@pytest.mark.parametrize(
    "word, said",
    [
        ("--resume", "unknown option '--resume'; settings are written key=value, such as seed=2."),
        ("=3", "unknown option '=3'"),
        ("game=1 game=2", "game is set twice."),
        ("game=hex X..", "game is set twice, by 'X..' too; perhaps a value with spaces lacks quotes."),
        ("gmaes=3", "unknown setting 'gmaes'; did you mean games?"),
        ("plyer=uct", "unknown setting 'plyer'; did you mean player?"),
        ("xyz=3", "unknown setting 'xyz'; --help lists them."),
        ("games=0", "games=0 must be a whole number from 1 to 100."),
        ("games=101", "games=101 must be a whole number from 1 to 100."),
        ("games=1.5", "games=1.5 must be a whole number"),
        ("games=true", "games=true must be a whole number"),
        ("games=many", "games=many must be a whole number"),
        ("games=", "games= must be a whole number"),
        ("games=[1", "games=[1 must be a whole number"),
        ("seed=-1", "seed=-1 must be a whole number from 0 up."),
        ("share=half", "share=half must be a number from 0 up."),
        ("share=nan", "share=nan must be a number from 0 up."),
        ("quiet=maybe", "quiet=maybe must be true or false."),
        ("side=left", "side=left must be one of: first, second."),
    ],
)
def test_a_mistake_is_one_sentence(word: str, said: str) -> None:
    with pytest.raises(UserError) as mistake:
        read(*word.split())
    assert said in str(mistake.value) and "\n" not in str(mistake.value)


@pytest.mark.parametrize(
    "words, said",
    [
        ("arena games=x", "games=x must be a whole number from 2 to 10,000,000."),
        ("arena games=[1]", "games=[1] must be a whole number from 2 to 10,000,000."),
        ("arena device=tpu", "device=tpu must be one of: auto, cpu, cuda, mps."),
        ("arena seed=-1", "seed=-1 must be a whole number from 0 up."),
        ("arena opening_plies=x", "opening_plies=x must be a whole number."),
        ("arena opening_plies=10", "opening_plies=10 must be a whole number from 0 to 9."),
        ("arena players=uct", "players=uct must be a list, such as [a,b]."),
        ("arena first.num_simulations=0",
         "first.num_simulations=0 must be a whole number from 1 to 100,000,000."),
        ("arena first.num_simulations=1.5",
         "first.num_simulations=1.5 must be a whole number from 1 to 100,000,000."),
        ("arena first.exploration=x", "first.exploration=x must be a number from 0 to 1,000."),
        ("arena first.seconds=.inf", "first.seconds=inf must be a number from 0 to 86,400."),
        ("arena first.simulations=5",
         "unknown setting 'first.simulations'; did you mean first.num_simulations?"),
        ("arena first.reward_for=me", "first.reward_for=me must be one of: mover, root."),
        ("arena first.heuristic=lines",
         "first.heuristic=lines needs first.rollout_depth; full rollouts use no heuristic."),
        ("arena first=pure_mcts first.update_root=maybe",
         "first.update_root=maybe must be true or false."),
        ("arena first=random first.seed=1", "unknown setting 'first.seed'; player random has no options."),
        ("arena first=alfa", "unknown player alfa; did you mean alpha_beta?"),
        ("arena first=grouped_uct first.grouping=x",
         "first.grouping=x must be one of: rows, columns, regions."),
        ("arena first=perfect first.seconds=0", "first.seconds=0 must be a number from 0.001 to 1,000,000."),
        ("arena first=flat_monte_carlo first.rollouts=5 first.num_simulations=6",
         "first.rollouts=5 is for each move, first.num_simulations=6 for all moves; set one of them."),
        ("arena first=alpha_beta first.run=t", "first.run=t needs first.heuristic=network."),
        ("arena game=go game.options.size=100",
         "game.options.size=100 must be a whole number from 2 to 19."),
        ("arena game=othello game.options.size=5", "game.options.size=5 must be one of: 4, 6, 8."),
        ("arena game=hex game.options.swap=7", "game.options.swap=7 must be true or false."),
        ("arena game=hex game.options.sise=4",
         "unknown setting 'game.options.sise'; did you mean game.options.size?"),
        ("arena game=connect_four game.options.rows=9",
         "game.options.rows=9 and game.options.columns=7 are too many; "
         "(rows + 1) * columns must be at most 64."),
        ("play side=third", "side=third must be one of: first, second."),
        ("play ply=x", "ply=x must be a whole number."),
        ("trace player.num_simulations=0",
         "player.num_simulations=0 must be a whole number from 1 to 10,000."),
        ("trace player=random", "player=random must be one of: uct, pv_mcts."),
        ("gtp ponder=maybe", "ponder=maybe must be true or false."),
        ("strength run=t simulations=a",
         "simulations=a must be whole numbers with commas between, such as 0,600."),
        ("strength run=t positions=0", "positions=0 must be a whole number from 1 up."),
        ("oracle seconds=0", "seconds=0 must be a number from 1e-09 to 1,000,000,000."),
        ("runs format=xml", "format=xml must be one of: table, json."),
        ("check_game connect_four rows=0", "rows=0 must be a whole number from 1 to 31."),
        ("check_game hex sise=4", "unknown setting 'sise'; did you mean size?"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_in_the_words_that_were_typed(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = words.split()
    assert importlib.import_module(f"azero.{name}").main(rest) == WRONG_INPUT
    assert capsys.readouterr().err == f"azero: {said}\n"


def test_a_game_takes_its_own_options_and_leaves_the_rest() -> None:
    texts = split_words(["game=othello6", "game.options.size=4", "first=uct"])
    game = take_game(texts, take_settings(texts, GameSettings))
    assert (game.name, game.options) == ("othello", {"size": 4})
    assert texts == {"first": "uct"}


def test_rules_that_azero_has_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.games.laws.check.quick_check", None)  # which takes a second and a half
    assert take_game({}, GameSettings("othello6")).options == {"size": 6}
    assert take_game({}, GameSettings()).name == "tictactoe"


def test_options_of_a_player_are_free() -> None:
    texts = split_words(["first=uct", "first.seconds=2", "first.heuristic=network", "firsts.x=1"])
    assert take_group(texts, "first") == {"seconds": 2, "heuristic": "network"}
    assert texts == {"first": "uct", "firsts.x": "1"}


def test_a_shell_strips_the_quotes_of_no_heuristic() -> None:
    options = take_group(split_words(["first.heuristic="]), "first")
    asked = read_options(options_of("alpha_beta"), options, "first.", "player alpha_beta")
    assert vars(asked)["heuristic"] == ""


def test_folders_and_device_are_taken() -> None:
    texts = split_words(["checkpoints=else", "device=cpu", "first=uct"])
    config = take_settings(texts, RunSettings).config
    assert (config.checkpoints, config.device, texts) == ("else", "cpu", {"first": "uct"})


@pytest.mark.parametrize("main", [arena, check_game, oracle, play, trace])
def test_help_has_a_purpose_examples_and_a_line_for_each_setting(
    main: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--help"]) == main(["game=hex", "-h"]) == 0
    text = capsys.readouterr().out
    assert text.count("\nExamples:\n") == 2 and "\n  seed=1 " in text
    assert max(map(len, text.splitlines())) < 80


def test_help_names_each_setting_with_its_default_and_each_player_with_its_options() -> None:
    text = program_help("arena", ArenaSettings, "first=uct", {"first=uct": "The first player."}, True)
    for key in settings(ArenaSettings):
        assert f"\n  {key}=" in text
    assert "\n  games=100 " in text and "\n  first=uct " in text
    assert "\n  uct                   num_simulations=auto seconds=0" in text


def test_the_version_is_that_of_azero(capsys: pytest.CaptureFixture[str]) -> None:
    assert arena(["--version"]) == 0
    assert capsys.readouterr().out.startswith("azero ")
