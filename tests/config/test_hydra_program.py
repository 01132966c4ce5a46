"""What the command line accepts, what it answers, and with which exit status."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from running import RunProgram

import azero
from azero.cli import overrides, programs
from azero.cli.help import EXAMPLES, STAGE_EXAMPLES
from azero.cli.hydra_program import (
    NOT_READ_AT_ZERO,
    CommandLine,
    compose,
    idle_texts,
    program,
    suffix_of,
    values_of,
)
from azero.cli.overrides import as_typed, conf_folder, misfit_text, read_arguments, read_overrides
from azero.cli.programs import WRONG_INPUT
from azero.config.schema import Config, UserError, flatten, settings, value_text

PROGRAMS = ("loop", "initialize", "selfplay", "train", "evaluate", "correctness", "doctor", "estimate")


class Call(NamedTuple):
    """What a program did."""

    status: int
    out: str
    err: str
    runs: list[tuple[Config, str]]  # config and run name of each call of its main
    asked: list[CommandLine]  # what each was asked for


Start = Callable[..., Call]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Start:
    """Start a program whose main notes its config, with these arguments, in an empty folder.

    Hydra would compose everything twice, first only to look for hydra.mode, which no test here sets.
    """

    def run(*arguments: str, main: Callable[[Config, str], int | None] | None = None) -> Call:
        runs, asked = list[tuple[Config, str]](), list[CommandLine]()

        def note(config: Config, name: str, asked_for: CommandLine) -> int | None:
            runs.append((config, name))
            asked.append(asked_for)
            return main(config, name) if main else None

        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HYDRA_FULL_ERROR", "")  # put back afterwards
        monkeypatch.setattr(sys, "argv", ["azero", *arguments])
        monkeypatch.setattr("hydra._internal.hydra.Hydra.get_mode", lambda *_, **__: None)
        with pytest.raises(SystemExit) as end:
            sys.exit(program("loop", note, pass_arguments=True))
        captured = capsys.readouterr()
        return Call(int(end.value.code or 0), captured.out, captured.err, runs, asked)

    return run


def assert_one_sentence(call: Call, *parts: str) -> None:
    """The call was refused before any work, with one sentence that holds these parts."""
    assert call.status == WRONG_INPUT
    assert not call.runs
    lines = call.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("azero: ") and lines[0].endswith((".", "?")), call.err
    assert all(part in lines[0] for part in parts), lines[0]
    assert not call.out.strip()


def test_without_arguments_the_default_recipe_runs_in_its_own_folder(start: Start) -> None:
    call = start()
    assert (call.status, call.out) == (0, "")
    assert [name for _, name in call.runs] == ["tictactoe"]
    assert call.runs[0][0].game.name == "tictactoe"


def test_a_recipe_names_its_run_and_run_names_it_otherwise(start: Start) -> None:
    assert start("experiment=smoke").runs[0][1] == "smoke"
    assert start("experiment=smoke", "run=mine").runs[0][1] == "mine"


@pytest.mark.parametrize(
    "arguments, name",
    [
        (["game=rules/mine.py"], "mine"),
        (["game.name=rules/mine.py", "experiment=plain"], "mine"),
        (["game=rules/mine.py", "experiment=smoke"], "smoke-mine"),
        (["game=openspiel", "game.name=breakthrough"], "breakthrough"),
        (["game=openspiel:breakthrough", "experiment=smoke"], "smoke-breakthrough"),
        (["game=openspiel", "game.name='breakthrough(rows=6,columns=6)'"], "breakthrough"),
        (["game=tictactoe"], "tictactoe"),
        (["game=hex7"], "hex7"),
        (["game=othello6", "game.options.size=4"], "othello6"),
        (["game=hex11", "experiment=plain"], "hex11"),
        (["game=go9", "experiment=smoke"], "smoke-go9"),
        (["game=tictactoe", "experiment=smoke"], "smoke-tictactoe"),
        (["game=rules/mine.py", "run=ours"], "ours"),
    ],
)
def test_a_run_of_another_game_has_a_name_of_its_own(start: Start, arguments: list[str], name: str) -> None:
    call = start(*arguments)
    assert call.runs[0][1] == name
    assert ("run=" in call.asked[0].again(name)) == ("run=ours" in arguments)


def test_runs_of_two_boards_of_one_game_have_names_of_their_own(start: Start) -> None:
    assert [name for _, name in start("-m", "game=hex7,hex11").runs] == ["hex7", "hex11"]


def test_a_file_is_known_by_its_whole_path(start: Start, tmp_path: Path) -> None:
    assert start("game=rules/mine.py").runs[0][0].game.name == str(tmp_path / "rules" / "mine.py")


def test_settings_reach_the_config(start: Start) -> None:
    words = (
        "search.num_simulations=7",
        "train.schedule=step",
        "train.milestones=[0.25,0.5]",
        "minutes=1.5",
        "device=cpu",
    )
    config = start(*words).runs[0][0]
    assert (config.search.num_simulations, config.train.milestones, config.minutes, config.device) == (
        7,
        [0.25, 0.5],
        1.5,
        "cpu",
    )


def test_main_learns_what_was_asked_for(start: Start) -> None:
    words = ("experiment=smoke", "+game.options.size=3", "run=mine")
    assert start(*words).asked == [CommandLine(words, "smoke", "smoke")]
    assert start().asked == [CommandLine((), "tictactoe", "tictactoe")]
    assert start("-m", "seed=4,5").asked == [
        CommandLine((f"seed={seed}",), "tictactoe", "tictactoe") for seed in (4, 5)
    ]


def test_what_was_asked_for_can_be_asked_again_with_changes() -> None:
    asked = CommandLine(
        ("experiment=smoke", "++cycles=3", "train.milestones=[0.5, 0.75]", "seed=4", "run=mine"), "smoke"
    )
    assert asked.again("smoke", cycles=9) == "smoke 'train.milestones=[0.5, 0.75]' seed=4 cycles=9"
    assert asked.again("mine", seed=5) == "smoke ++cycles=3 'train.milestones=[0.5, 0.75]' run=mine seed=5"
    assert CommandLine().again("tictactoe", cycles=1) == "run=tictactoe cycles=1"
    assert CommandLine().again("12") == """"run='12'\""""


@pytest.mark.parametrize(
    "words",
    [
        ["smoke", "seed=2"],
        ["game=hex5"],
        ["game=hex5", "smoke"],
        ["game=go6"],
        ["game=mine.py", "cycles=2"],
        ["connect_four", "game=mine.py"],
        ["seed=2"],
    ],
)
def test_the_printed_command_is_the_typed_one(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of hex5 and mine.py imply a recipe, hex5 and plain, which need not be printed."""
    monkeypatch.setattr(overrides, "check_word", lambda word, files: None)
    monkeypatch.setattr(overrides, "is_own_game", lambda name: name.endswith(".py"))
    assert CommandLine(tuple(read_arguments(words)), "toy").again("toy") == " ".join(words)


@pytest.mark.parametrize(
    "words", [["game.name=mine.py"], ["game.name='a b.py'", "smoke"], ["experiment=null", "seed=2"]]
)
def test_a_command_that_has_no_shorter_form_is_printed_as_it_is(words: list[str]) -> None:
    """Without a recipe game=mine.py would take plain, and game= cannot be quoted for Hydra."""
    assert as_typed(read_overrides(words)) == words


@pytest.mark.parametrize(
    "path", ["/a/b.py", "/a b/c.py", "/ü/a(1).py", "/it's/$x.py", "/1/x=y.py", "/{a}:b/[c].py"]
)
def test_a_path_survives_the_command_line(path: str) -> None:
    assert compose(f"game={path}").game.name == path


@pytest.mark.parametrize(
    "name",
    [
        "smoke-seed=1,search.c_puct=2",
        "hex5-seed-1",
        "2048-a",
        "Go 9x9",
        "Шашки",
        "null",
        "true",
        "1.5",
        "a+b",
        "-x",
    ],
)
def test_a_run_is_named_as_it_is_listed_and_as_a_printed_command_names_it(name: str) -> None:
    (printed,) = shlex.split(CommandLine().again(name))
    assert {compose(argument).run for argument in {printed, f"run={name}"}} == {name}


def test_the_status_of_main_is_the_exit_status(start: Start) -> None:
    assert start(main=lambda config, name: 1).status == 1
    assert start(main=lambda config, name: 143).status == 143


def test_a_mistake_found_by_main_is_one_sentence(start: Start) -> None:
    def refuse(config: Config, name: str) -> int:
        raise UserError("The folder is full; empty it.")

    call = start(main=refuse)
    assert (call.status, call.err) == (WRONG_INPUT, "azero: The folder is full; empty it.\n")


def test_a_fault_of_azero_itself_is_one_sentence_and_names_its_traceback(start: Start) -> None:
    def fail(config: Config, name: str) -> int:
        raise ZeroDivisionError("a bug")

    call = start(main=fail)
    found = re.fullmatch(r"azero: unexpected ZeroDivisionError: a bug; the traceback is in (.*)\n", call.err)
    assert call.status == 70 and found
    assert "in fail" in Path(found[1]).read_text()
    Path(found[1]).unlink()


def test_hydra_writes_nothing(start: Start, tmp_path: Path) -> None:
    start("experiment=smoke")
    assert not list(tmp_path.iterdir())


def test_a_multirun_says_which_run_begins_and_gives_each_its_own_folder(start: Start, tmp_path: Path) -> None:
    call = start("-m", "experiment=smoke", "seed=1,2", "search.c_puct=1.0,2.0")
    assert call.status == 0
    names = [name for _, name in call.runs]
    assert names == [f"smoke-seed-{seed}-c_puct-{c_puct}" for seed in (1, 2) for c_puct in ("1_0", "2_0")]
    said = [f"Run {number} of the multirun: {name}" for number, name in enumerate(names, 1)]
    assert call.out.splitlines() == said
    assert sorted((config.seed, config.search.c_puct) for config, _ in call.runs) == [
        (1, 1.0),
        (1, 2.0),
        (2, 1.0),
        (2, 2.0),
    ]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "multirun.yaml"]


def suffixes(base: str, *words: str) -> list[str]:
    """What tells the runs of a multirun apart, behind the default name of each."""
    read = read_overrides(words, several=True)
    (runs,) = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(read), None)
    return [suffix_of(base, overrides, values_of(read)) for overrides in runs]


@pytest.mark.parametrize(
    "words, expected",
    [
        (["seed=1,2", "train.lr=0.1", "search=puct", "cycles=3"], ["-seed-1", "-seed-2"]),
        (["search=puct,gumbel"], ["-search-puct", "-search-gumbel"]),
        (["++seed=range(1,3)"], ["-seed-1", "-seed-2"]),
        (["train.lr=1e-3,0.01"], ["-lr-0_001", "-lr-0_01"]),
        (["search.num_simulations=8,16"], [f"-search_num_simulations-{n}" for n in (8, 16)]),
        (["game=hex5", "game.options.size=4,5"], ["-size-4", "-size-5"]),
        (["experiment=tictactoe,plain"], ["", "-experiment-plain"]),
        (["game=a.b.py,my games.py"], ["", ""]),
        (["seed=3"], [""]),
    ],
)
def test_only_settings_with_several_values_name_the_runs_of_a_multirun(
    words: list[str], expected: list[str]
) -> None:
    assert suffixes("tictactoe", *words) == expected


@pytest.mark.parametrize(
    "words, names",
    [
        (["experiment=hex5,plain", "game=hex5"], ["hex5", "hex5-experiment-plain"]),
        (["game=a.b.py,my games.py", "seed=3"], ["a_b", "my_games"]),
        (["run=one,two", "cycles=3"], ["one", "two"]),
    ],
)
def test_runs_of_a_multirun_have_default_names_or_given_ones(
    start: Start, words: list[str], names: list[str]
) -> None:
    assert [name for _, name in start("-m", *words).runs] == names


@pytest.mark.parametrize(
    "word",
    [
        "evaluate.anchors=[1,10],[1,100],[110]",
        "oracle.file=a/b.gz,a_b.gz,'a b.gz'",
        f"oracle.file=/{'long/' * 50}a.gz,/{'long/' * 50}b.gz",
        "game=here/mine.py,there/mine.py",
        "oracle.file='','a b'",
    ],
)
def test_runs_of_a_multirun_have_different_names_of_safe_characters(word: str) -> None:
    names = suffixes("mine", word)
    assert len(set(names)) == len(names) > 1
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,76}", name) for name in names), names


def test_a_multirun_fails_if_one_of_its_runs_does(start: Start) -> None:
    def refuse_the_first(config: Config, name: str) -> int:
        if config.seed == 1:
            raise UserError("Not this one.")
        return 0

    call = start("-m", "seed=1,2", main=refuse_the_first)
    assert call.status == WRONG_INPUT and len(call.runs) == 2


def test_a_multirun_that_is_stopped_begins_no_other_run(start: Start) -> None:
    call = start("-m", "seed=1,2", main=lambda config, name: 143)
    assert call.status == 143 and [config.seed for config, _ in call.runs] == [1]


@pytest.mark.parametrize(
    "argument, parts",
    [
        ("gibberish=3", ["unknown setting 'gibberish'; --help lists them."]),
        ("+nonsense=3", ["nonsense"]),
        ("search.nonsense=3", ["search.nonsense"]),
        ("search.c_put=3", ["unknown setting 'search.c_put'; did you mean search.c_puct?"]),
        ("num_simulations=3", ["unknown setting 'num_simulations'; did you mean search.num_simulations?"]),
        ("train.seed=3", ["unknown setting 'train.seed'; did you mean seed?"]),
        ("~nonsense", ["nonsense"]),
        ("conect_four", ["unknown recipe 'conect_four'; did you mean connect_four?"]),
        ("experiment=conect_four", ["experiment=conect_four does not exist; did you mean connect_four?"]),
        ("game=hexx5", ["game=hexx5 does not exist; did you mean hex5?"]),
        ("train=many_cycle", ["train=many_cycle does not exist; did you mean many_cycles?"]),
        ("mine.py", ["unknown recipe 'mine.py'; did you mean game=mine.py?"]),
        ("smoke,plain", ["experiment=smoke,plain must be one value; several need -m"]),
        ("smoke,", ["unknown recipe 'smoke,'"]),
        ("smoke,plian", ["unknown recipe 'plian'; did you mean plain?"]),
        (
            "hydra/launcher=joblib",
            ["hydra/launcher=joblib does not exist; a plugin of Hydra may be missing."],
        ),
        ("num_simulation=5", ["did you mean search.num_simulations?"]),
        ("--hlep", ["unknown flag '--hlep'; did you mean --help?"]),
        ("--resume", ["unknown flag '--resume'; settings are written key=value, such as cycles=3."]),
        ("--seed=4", ["settings are written key=value: seed=4."]),
        ("cycles=many", ["azero: cycles=many must be a whole number from 0 to 1,000,000."]),
        ("cycles=1.5", ["azero: cycles=1.5 must be a whole number from 0 to 1,000,000."]),
        ("cycles=null", ["azero: cycles=null must be a whole number from 0 to 1,000,000."]),
        ("train.milestones=abc", ["azero: train.milestones=abc must be a list of numbers, such as [0.5,1]."]),
        ("device=[1]", ["azero: device=[1] must be one of: auto, cpu, cuda, mps."]),
        ("game.options=3", ["azero: game.options=3 must be a group of options"]),
        ("minutes=many", ["azero: minutes=many must be a number from 0 to 10,000,000."]),
        ("minutes=-1", ["azero: minutes=-1 must be a number from 0 to 10,000,000."]),
        ("train.symmetries=perhaps", ["azero: train.symmetries=perhaps must be true or false."]),
        ("train.milestones=[a]", ["train.milestones=[a] must be a list of numbers, such as [0.5,1]."]),
        ("search.options=3", ["search.options=3 must be a group of options"]),
        ("search={c_puct:x}", ["search.c_puct=x must be a number from 0 to 1,000."]),
        ("search.solver=5", ["search.solver=5 must be true or false."]),
        ("seed={a:1}", ["seed={a:1} must be a whole number from 0 to"]),
        ("seed=", ["seed= must be a whole number from 0 to"]),
        ("seed=(1", ["'seed=(1' cannot be read; put a value with special signs in quotes."]),
        ("workers=auto", ["workers=auto must be a whole number from 0 to 1,024."]),
        ("lanes=3", ["unknown setting 'lanes'"]),
        ("train.window_beta=0.5", ["unknown setting 'train.window_beta'; did you mean train.window?"]),
        ("search=3", ["search=3", "puct"]),
        ("experiment=nonsense", ["experiment=nonsense", "smoke", "tictactoe", "published_tictactoe"]),
        ("game=draughts", ["game=draughts", "tictactoe", "path of a Python file"]),
        ("cycles", ["cycles", "key=value"]),
        ("=3", ["=3", "key=value"]),
        ("train.lr=nan", ["train.lr=nan"]),
        ("train.lr=-inf", ["train.lr=-inf"]),
        ("selfplay.games=0", ["selfplay.games=0"]),
        ("train.window=100", ["train.window=100", "train.batch_size=256"]),
        ("cycles=-1", ["cycles=-1"]),
        ("seed=null", ["seed"]),
        ("device=tpu", ["device=tpu", "cpu", "cuda"]),
        ("hydra.nonsense=1", ["hydra.nonsense"]),
        ("game.options=3", ["game.options"]),
    ],
)
def test_a_wrong_argument_is_one_sentence(start: Start, argument: str, parts: list[str]) -> None:
    assert_one_sentence(start(argument), *parts)


@pytest.mark.parametrize("argument", ["seed=1,2", "seed=1,nonsense"])
def test_several_values_without_multirun_are_refused(start: Start, argument: str) -> None:
    assert_one_sentence(start(argument), f"azero: {argument} must be one value; several need -m")


def test_a_wrong_value_of_a_multirun_is_refused_before_its_first_run(start: Start) -> None:
    assert_one_sentence(start("-m", "seed=1,x"), "azero: seed=x must be a whole number from 0 to")


@pytest.mark.parametrize(
    "words, said",
    [
        (
            ["seed=1,2", "run=mine"],
            "azero: run=mine names several runs of this multirun alike; leave it out.",
        ),
        (["seed=range(1,3)", "++run=mine"], "azero: run=mine names several runs"),
        (["seed=1,2", "run=a,b"], "azero: run=a,b names several runs"),
        (["seed=1,2,1"], "azero: seed= has 1 twice; each run of a multirun needs settings of its own."),
    ],
)
def test_runs_of_a_multirun_with_one_name_are_refused_before_the_first(
    start: Start, words: list[str], said: str
) -> None:
    assert_one_sentence(start("-m", *words), said)


def test_a_second_run_of_one_name_is_refused_however_it_got_it(start: Start) -> None:
    call = start("-m", "seed=1,2", "run='mine-${device}'")
    assert call.status == WRONG_INPUT and [config.seed for config, _ in call.runs] == [1]
    assert call.err == "azero: mine-auto is the name of an earlier run of this multirun too.\n"
    assert_one_sentence(start("hydra.mode=MULTIRUN", "seed=1,2", "run=mine"), "azero: run=mine names several")
    assert_one_sentence(start("-m", "seed=1,2", "hydra.sweep.dir={"), "azero: these settings cannot be used")


def test_a_multirun_may_name_its_runs_by_their_settings(start: Start) -> None:
    assert [name for _, name in start("-m", "seed=1,2", "run='mine-${seed}'").runs] == ["mine-1", "mine-2"]
    assert [name for _, name in start("-m", "seed=range(3,4)", "run=mine").runs] == ["mine"]
    names = [name for _, name in start("-m", "seed=1,2", "run=''").runs]
    assert names == ["tictactoe-seed-1", "tictactoe-seed-2"]


def test_recipes_are_trained_one_after_another_in_the_short_form_too(start: Start) -> None:
    assert [name for _, name in start("-m", "smoke,hex5").runs] == ["smoke", "hex5"]


def test_two_recipes_are_refused(start: Start) -> None:
    assert_one_sentence(start("smoke", "hex5"), "azero: smoke and hex5 are two recipes; name one.")
    assert_one_sentence(start("smoke", "experiment=plain"), "azero: smoke and plain are two recipes")


def test_a_setting_that_nothing_reads_is_told_of() -> None:
    asked = ("search.c_puct=2", "seed=3", "+search.max_considered_actions=4", "~game.options.size")
    gumbel, puct = compose("search=gumbel"), compose("search=puct")
    assert idle_texts(gumbel, asked) == ["search.c_puct has no effect on training with search.kind=gumbel."]
    said = "search.max_considered_actions has no effect on training with search.kind=puct."
    assert idle_texts(puct, asked) == [said]
    own = replace(gumbel, search=replace(gumbel.search, kind="/home/me/mine.py"))  # it may read both
    assert idle_texts(own, asked) == []
    own = replace(gumbel, train=replace(gumbel.train, optimizer="/home/me/mine.py"))
    assert idle_texts(own, ("train.momentum=0.5", "train.decay_factor=0.5")) == []
    plain = compose("train.optimizer=adamw", "train.schedule=constant", "evaluate.gate=off")
    words = ("train.momentum=0.5", "train.decay_factor=0.5", "evaluate.elo1=10", "evaluate.threshold=0.6")
    assert idle_texts(plain, words) == [
        "train.momentum has no effect with train.optimizer=adamw.",
        "train.decay_factor has no effect with train.schedule=constant.",
        "evaluate.elo1 has no effect with evaluate.gate=off.",
        "evaluate.threshold has no effect with evaluate.gate=off.",
    ]
    read = compose(
        "train.optimizer=sgd", "train.schedule=step", "train.milestones=[0.5]", "evaluate.gate=score"
    )
    assert idle_texts(read, (*words[:2], words[3])) == []
    assert idle_texts(compose("evaluate.gate=sequential"), words[2:3]) == []


def test_a_setting_whose_switch_is_0_is_told_of() -> None:
    words = ("search=puct", "search.dirichlet_alpha=1", "search.exact_nodes=10", "evaluate.anchors=[10]")
    off = compose("search=puct", "search.dirichlet_fraction=0")
    assert idle_texts(off, words) == [
        "search.dirichlet_alpha has no effect on training with search.dirichlet_fraction=0.",
        "search.exact_nodes has no effect on training with search.exact_plies=0.",
        "evaluate.anchors has no effect with evaluate.anchor_games=0.",
    ]
    on = compose("search=puct", "search.exact_plies=3", "evaluate.anchor_games=2")
    assert idle_texts(on, words) == []
    assert set(NOT_READ_AT_ZERO) | set(NOT_READ_AT_ZERO.values()) <= set(settings())


def test_a_flag_that_means_a_setting_is_answered_with_the_setting(start: Start) -> None:
    assert_one_sentence(start("--cycles", "3"), "settings are written key=value: cycles=3.")
    assert_one_sentence(start("--num-simulations", "9"), "key=value: search.num_simulations=9.")
    assert_one_sentence(start("--nonsense"), "unknown flag '--nonsense'")


@pytest.mark.parametrize(
    "arguments", [("connect_four",), ("seed=2", "connect_four"), ("connect_four", "seed=2")]
)
def test_a_bare_word_is_a_recipe(start: Start, arguments: tuple[str, ...]) -> None:
    config, name = start(*arguments).runs[0]
    assert (config.game.name, config.minutes, name) == ("connect_four", 60.0, "connect_four")
    assert config.seed == (2 if "seed=2" in arguments else 1)


def test_flags_may_stand_behind_a_game_without_a_recipe(start: Start) -> None:
    shown = start("game=connect_four", "--cfg", "job")
    assert shown.status == 0 and "rows: 6" in shown.out and "minutes: 60" in shown.out
    names = [name for _, name in start("game=hex5", "-m", "seed=1,2").runs]
    assert names == ["hex5-seed-1", "hex5-seed-2"]
    assert start("game=hex5", "--help").status == 0


RECIPE = "# @package _global_\n"


def own_recipe(folder: Path, text: str | bytes, name: str = "mine") -> Path:
    """Write a recipe into conf/experiment of a folder."""
    path = folder / "conf" / "experiment" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_recipe_of_ones_own_is_found_in_the_folder_and_by_the_environment(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{RECIPE}# My recipe.\ndefaults:\n  - connect_four\nminutes: 7\n"
    own_recipe(tmp_path, text)
    config, name = start("mine").runs[0]
    assert (config.minutes, config.game.name, config.search.kind, name) == (
        7,
        "connect_four",
        "gumbel",
        "mine",
    )
    assert "My recipe." in start("--help").out
    own_recipe(tmp_path / "other", text.replace("7", "8"), "theirs")
    monkeypatch.setenv("AZERO_CONF", str(tmp_path / "other" / "conf"))
    assert start("theirs").runs[0][0].minutes == 8
    assert_one_sentence(start("mine"), "unknown recipe 'mine'")


@pytest.mark.parametrize("recipe", ["connect_four_quick", "connect_four", "smoke"])
@pytest.mark.parametrize("kind, kept", [("puct", True), ("gumbel", False)])
def test_a_search_keeps_its_tree_if_it_can_however_the_algorithm_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str, kind: str, kept: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    own_recipe(tmp_path, f"{RECIPE}defaults:\n  - {recipe}\nsearch: {{kind: {kind}}}\n")
    for words in ([recipe, f"search={kind}"], [recipe, f"search.kind={kind}"], ["mine"]):
        search = compose(*words).search
        assert (search.kind, search.tree_reuse) == (kind, kept)


def test_what_is_printed_of_the_tree_and_a_multirun_go_by_the_algorithm(start: Start) -> None:
    assert "  tree_reuse: true\n" in start("connect_four", "search.kind=puct", "--cfg", "job").out
    assert "  tree_reuse: false\n" in start("smoke", "search=gumbel", "--cfg", "job").out
    runs = start("smoke", "-m", "search.kind=puct,gumbel").runs
    assert [config.search.tree_reuse for config, _ in runs] == [True, False]


def test_what_is_set_of_the_tree_is_so(start: Start) -> None:
    assert not start("smoke", "search.tree_reuse=false").runs[0][0].search.tree_reuse
    assert_one_sentence(
        start("smoke", "search=gumbel", "search.tree_reuse=true"), "set search.tree_reuse=false"
    )


@pytest.mark.parametrize(
    "text, line, problem",
    [
        ("search:\n\tc_puct: 3\n", 3, "'\\t' that cannot start any token"),
        ("search: [1\n", 3, "expected ',' or ']'"),
        ("cycles: 3: 4\n", 2, "mapping values are not allowed here"),
        ("cycles: 3\n# f\xfcnf\n".encode("latin-1"), 3, "not UTF-8"),
    ],
)
def test_a_mistake_of_yaml_is_one_sentence_with_file_and_line(
    start: Start, tmp_path: Path, text: str | bytes, line: int, problem: str
) -> None:
    path = own_recipe(tmp_path, RECIPE.encode() + (text.encode() if isinstance(text, str) else text))
    assert_one_sentence(start("mine"), f"azero: {path}, line {line}: ", problem)


@pytest.mark.parametrize(
    "text, parts",
    [
        ("search:\n  c_put: 3\n", ["experiment/mine", "unknown setting 'search.c_put'", "search.c_puct?"]),
        (
            "defaults:\n  - override /game: draughts\n",
            ["a recipe names game/draughts, which does not exist"],
        ),
        ("cycles: many\n", ["mine.yaml, line 2: cycles=many must be a whole number from 0 to 1,000,000."]),
        ("- cycles\n", ["experiment/mine"]),
    ],
)
def test_a_wrong_recipe_is_one_sentence(start: Start, tmp_path: Path, text: str, parts: list[str]) -> None:
    own_recipe(tmp_path, RECIPE + text)
    assert_one_sentence(start("mine"), *parts)


@pytest.mark.parametrize("words", [["--help"], ["--cfg", "job"]])
def test_help_and_cfg_import_neither_numba_nor_torch(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom azero.cli.hydra_program import program\n"
        f"sys.argv = {['azero', *words]}\n"
        "program('loop', print)\n"
        "assert not {'numba', 'torch'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "cycles" in done.stdout, done.stderr


def test_cfg_prints_every_setting_and_runs_nothing(start: Start) -> None:
    call = start("--cfg", "job", "experiment=smoke", "seed=77")
    assert call.status == 0 and not call.runs
    assert "seed: 77" in call.out and "num_simulations:" in call.out


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_has_purpose_examples_recipes_and_every_setting(
    name: str, tmp_path: Path, run_program: RunProgram
) -> None:
    done = run_program(name, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == programs.PROGRAMS[name]
    assert len([line for line in lines if line.startswith(f"  azero {name}")]) == 3
    recipes = sorted(path.stem for path in (conf_folder() / "experiment").glob("*.yaml"))
    starts = [line.split()[0] for line in lines if line.startswith("  ")]
    assert set(recipes) <= set(starts)
    values = flatten(compose())  # the default recipe's
    assert {f"{key}={value_text(values[key])}" for key in settings()} <= set(starts)
    assert max(map(len, lines)) <= 80
    assert not list(tmp_path.iterdir())


def test_help_shows_the_values_in_force(start: Start) -> None:
    """The default recipe sets 8 cycles and a threshold of 0.45; a wrong command has the help of that one."""
    for words in ([], ["xyzzy=3"], ["-m", "seed=1,2"]):
        out = start(*words, "--help").out
        assert "  cycles=8 " in out and "  evaluate.threshold=0.45 " in out
        assert "those of the recipe tictactoe," in out
    out = start("smoke", "seed=7", "--help").out
    assert "  cycles=1 " in out and "  seed=7 " in out and "those of the recipe smoke," in out


def test_the_examples_of_help_can_be_read() -> None:
    for examples in (*EXAMPLES.values(), STAGE_EXAMPLES):
        for words in examples:
            assert len(read_arguments(words.split())) >= len(words.split())


def test_version_is_azeros(start: Start) -> None:
    call = start("--version")
    assert (call.status, call.out) == (0, f"azero {azero.__version__}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "tictactoe game=hex5",
            "The recipe tictactoe is made for tictactoe, not for hex5; azero loop game=hex5 takes the recipe "
            "hex5.",
        ),
        (
            "connect_four_quick game=mine.py",
            "The recipe connect_four_quick is made for connect_four, not for mine.py; azero loop "
            "game=mine.py takes the recipe plain.",
        ),
        ("connect_four_quick game=connect_four", ""),
        ("hex7 game.options.size=5", ""),
        ("plain game=hex5", ""),
        ("smoke game=hex5", ""),
        ("game=hex5", ""),
        ("", ""),
    ],
)
def test_a_recipe_of_another_game_is_noted(words: str, sentence: str) -> None:
    assert misfit_text(read_overrides(words.split())) == sentence
