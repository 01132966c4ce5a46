"""Your own game, from a file or an installed package, trains like a shipped one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from running import RunProgram

import azero
from azero.check_game import main as check_main
from azero.cli.hydra_program import compose
from azero.cli.overrides import read_overrides
from azero.config.schema import UserError
from azero.games import find_module, make_game, tictactoe

TOY = (
    "cycles=1", "network.blocks=1", "network.channels=4", "search.num_simulations=4", "selfplay.games=16",
    "train.batch_size=16", "train.epochs=1", "evaluate.games=4", "device=cpu",
)  # fmt: skip
MINE = '''"""Tic-tac-toe under another name, with an option that changes nothing."""

from dataclasses import dataclass, replace

from azero.config.schema import UserError
from azero.games import tictactoe


@dataclass
class Colours:
    first: "str" = "red"


def make_game(size=3, first="red"):
    if size != 3:
        raise UserError(f"game.options.size={size} must be 3.")
    return replace(tictactoe.make_game(), name="mine", options={"size": size, "first": Colours(first).first})
'''

Install = Callable[[str, str], None]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of a person's own in a folder of its own."""
    path = tmp_path / "my games" / "mine.py"
    path.parent.mkdir()
    path.write_text(MINE)
    return path


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package that registers one game: its name and its module's text.

    Programs started from the test see it too.
    """

    def add(name: str, text: str) -> None:
        site = tmp_path / "site"
        (site / f"{name}-1.0.dist-info").mkdir(parents=True)
        (site / f"{name}_rules.py").write_text(text)
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        (site / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(
            f"[azero.games]\n{name} = {name}_rules\n"
        )
        monkeypatch.syspath_prepend(site)
        monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")

    return add


def test_a_file_is_trained_by_its_path(mine: Path, run_program: RunProgram, tmp_path: Path) -> None:
    done = run_program("loop", "game=my games/mine.py", "game.options.size=3", *TOY, folder=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    champion = azero.load_champion("mine", str(tmp_path / "checkpoints"), "cpu")
    assert champion.game.name == "mine"
    assert """Go on: azero loop "game.name='""" in done.stdout


@pytest.mark.long
def test_a_run_goes_on_from_another_folder_and_with_the_file_elsewhere(
    mine: Path, run_program: RunProgram, tmp_path: Path
) -> None:
    assert run_program("loop", f"game={mine}", *TOY, folder=tmp_path).returncode == 0
    runs = (f"checkpoints={tmp_path / 'checkpoints'}", f"data={tmp_path / 'data'}")
    (tmp_path / "new").mkdir()
    shutil.move(mine, tmp_path / "new" / "mine.py")
    for path, folder in (("../new/mine.py", mine.parent), ("mine.py", tmp_path / "new")):
        done = run_program("loop", f"game={path}", *runs, *TOY, folder=folder)
        assert done.returncode == 0 and "Run mine has finished its 1 cycle already." in done.stdout, (
            done.stdout + done.stderr
        )
    other = tmp_path / "new" / "other.py"
    other.write_text(MINE.replace('"mine"', '"other"'))
    for game in (str(other), "tictactoe"):
        done = run_program("loop", f"game={game}", "run=mine", *runs, *TOY, folder=tmp_path)
        assert done.returncode == 2 and "game.name" in done.stderr and "mine.py" in done.stderr, done.stderr


@pytest.mark.long
def test_another_file_of_the_same_name_does_not_go_on_with_the_run(
    mine: Path, run_program: RunProgram, tmp_path: Path
) -> None:
    assert run_program("loop", f"game={mine}", *TOY, folder=tmp_path).returncode == 0
    (tmp_path / "other").mkdir()
    shutil.copy(mine, tmp_path / "other" / "mine.py")
    done = run_program("loop", "game=other/mine.py", *TOY, folder=tmp_path)
    assert done.returncode == 2 and "game.name" in done.stderr, done.stdout + done.stderr


@pytest.mark.long
def test_stages_and_correctness_take_a_file(mine: Path, run_program: RunProgram, tmp_path: Path) -> None:
    for stage in ("initialize", "selfplay"):
        done = run_program(stage, "game=my games/mine.py", *TOY, folder=tmp_path)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    done = run_program("correctness", "game=my games/mine.py", folder=tmp_path)
    assert done.returncode == 2 and "no development positions of mine" in done.stderr, done.stderr


@pytest.mark.long
def test_several_files_are_trained_one_after_another(
    mine: Path, run_program: RunProgram, tmp_path: Path
) -> None:
    (tmp_path / "yours.py").write_text(MINE.replace('"mine"', '"yours"'))
    done = run_program("loop", "-m", "game=my games/mine.py,yours.py", *TOY, folder=tmp_path, timeout=200)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr
    runs = {path.parent.name.split("-")[0] for path in (tmp_path / "checkpoints").glob("*/state.json")}
    assert runs == {"mine", "yours"}


@pytest.mark.long
def test_an_installed_game_is_known_by_its_name(
    install: Install, run_program: RunProgram, tmp_path: Path
) -> None:
    install("halma", MINE.replace('"mine"', '"halma"'))
    assert make_game("halma", size=3).name == "halma"
    assert compose("game=halma").game.name == "halma"
    assert check_main(["halma", "games=5"]) == 0
    done = run_program("loop", "game=halma", *TOY, folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "checkpoints" / "halma").is_dir(), done.stdout + done.stderr
    with pytest.raises(
        UserError, match=r"choose one of: tictactoe,.* halma, the path of your own Python file"
    ):
        make_game("draughts")


def test_an_installed_game_that_cannot_be_imported_is_one_sentence(install: Install) -> None:
    install("broken", "import no_such_module\n")
    with pytest.raises(
        UserError,
        match=r"^broken cannot be loaded; fix this first: ModuleNotFoundError: .*no_such_module'\.$",
    ):
        make_game("broken")
    install("empty", "")
    with pytest.raises(UserError, match="empty must define make_game"):
        make_game("empty")


@pytest.mark.parametrize(
    "text, parts",
    [
        ("x = 1\nx / 0\n", ["mine.py cannot be loaded", "ZeroDivisionError", "(line 2)"]),
        ("def make_game():\n    return [][0]\n", ["mine.py cannot be loaded", "IndexError", "(line 2)"]),
        ("def make_game(:\n", ["mine.py cannot be loaded", "SyntaxError", "line 1"]),
        ("def make_game():\n    pass\n", ["mine.py must return a Game"]),
        ("SIZE = 3\n", ["mine.py must define make_game"]),
    ],
)
def test_a_file_with_a_fault_is_one_sentence(mine: Path, text: str, parts: list[str]) -> None:
    mine.write_text(text)
    with pytest.raises(UserError) as refusal:
        make_game(str(mine))
    said = str(refusal.value)
    assert "\n" not in said and all(part in said for part in parts), said


@pytest.mark.parametrize(
    "wrong, said",
    [
        ("grid = np.zeros((3, 3), np.int8)", "np.zeros cannot be used so; a rule cannot make an array"),
        ("both = np.concatenate((state, state))", "np.concatenate cannot be used so; a rule cannot make"),
        ("both = state[:1] | state[1:]", "a rule cannot make an array"),
        ("copy = state.copy()", "a rule cannot make an array"),
        ("cells = [cell for cell in range(CELLS)]", "a rule cannot make an array, a list"),
        ("cells = {1, 2}", "a rule cannot make an array, a list, a text or the like"),
        ("text = str(CELLS)", "a rule cannot make an array, a list, a text or the like"),
        ("cells = {}", "Cannot infer the type of variable 'cells'"),
        ("cells = state.nothing", "Unknown attribute 'nothing'"),
        ("cells = CELLZ + 1", "NameError: name 'CELLZ' is not defined"),
        ("cells = helper(state)", "TypingError: write @njit above helper (line"),
        ("cells = bin(state[0])", "compiled code cannot use bin (line"),
        ("HISTORY.append(1)", "compiled code cannot use HISTORY (line"),
        ("LAST[0] = state[0]", "compiled code cannot change an array that stands outside it (line"),
    ],
)
def test_a_rule_that_cannot_be_compiled_is_named_with_its_line_and_not_cut(
    mine: Path, wrong: str, said: str
) -> None:
    lines = Path(tictactoe.__file__).read_text().splitlines()
    there = next(number for number, line in enumerate(lines) if line.startswith("CELLS ="))
    lines[there] += "; HISTORY = []; LAST = np.zeros(1, np.uint64); helper = lambda state: 0"
    at = next(number for number, line in enumerate(lines) if line.startswith("def is_terminal"))
    lines.insert(at + 1, f"    {wrong}")
    mine.write_text("\n".join(lines))
    with pytest.raises(UserError) as refusal:
        make_game(str(mine))
    message = str(refusal.value)
    assert said in message and message.endswith(f" (line {at + 2})."), message
    assert "\n" not in message and "nopython" not in message and "0x" not in message


@pytest.mark.parametrize(
    "rule, wrong, said",
    [
        ("legal_mask", "return [True]", "it returns something; write into its last argument"),
        ("initial", "return 0, 0", "it returns something; write into its last argument"),
        ("outcome", "return", "it must return a number on every way through it"),
        ("outcome", "return 'draw'", "it returns str, not float64"),
    ],
)
def test_what_a_rule_returns_wrongly_is_said(mine: Path, rule: str, wrong: str, said: str) -> None:
    lines = Path(tictactoe.__file__).read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"def {rule}("))
    lines.insert(at + 1, f"    {wrong}")
    mine.write_text("\n".join(lines))
    with pytest.raises(UserError, match=re.escape(f"TypingError: {said} (line ")):
        make_game(str(mine))


@pytest.mark.parametrize(
    "changed, said",
    [
        ("num_actions=9.0", "TypeError: num_actions must be a whole number from 1, not 9.0 (line 17)"),
        ("max_plies=0", "TypeError: max_plies must be a whole number from 1, not 0 (line 17)"),
        (
            "planes_shape=(2, 9)",
            "planes_shape must be how many planes, rows and columns there are, not (2, 9)",
        ),
    ],
)
def test_a_wrong_number_of_a_game_is_named(mine: Path, changed: str, said: str) -> None:
    mine.write_text(MINE.replace('name="mine"', f'name="mine", {changed}'))
    with pytest.raises(UserError, match=re.escape(said)):
        make_game(str(mine))


def test_a_rule_without_its_signature_is_told_which_one(mine: Path) -> None:
    mine.write_text(
        "from azero.games import game as interface\n\n@interface.rule\ndef planes(state, out):\n    pass\n"
    )
    with pytest.raises(
        UserError, match=r"write @interface\.rule\(interface\.WRITE_PLANES\) above planes \(line"
    ):
        make_game(str(mine))


def test_a_changed_file_is_run_again_and_an_unchanged_one_is_not(mine: Path) -> None:
    assert find_module(str(mine)) is find_module(str(mine))
    assert make_game(str(mine)).options["first"] == "red"
    mine.write_text(MINE.replace('first="red"', 'first="blue"'))
    os.utime(mine, ns=(1, 1))
    assert make_game(str(mine)).options["first"] == "blue"


def test_a_game_of_ones_own_takes_the_plain_recipe_unless_another_is_asked_for() -> None:
    assert read_overrides(["game=mine.py", "seed=2"]) == ["game.name=mine.py", "seed=2", "experiment=plain"]
    assert compose("game=mine.py") == compose("game.name=mine.py", "experiment=plain")
    assert compose("game=mine.py", "experiment=smoke") == compose("game.name=mine.py", "experiment=smoke")
    assert compose("game=tictactoe") == compose()
    assert compose("game=openspiel", "game.name=hex") == compose("game=openspiel:hex")


def test_options_of_a_game_are_set_without_a_plus() -> None:
    config = compose(
        "game=mine.py", "game.options.size=5", "game.options.komi=7.5", "++game.options.wrap=true"
    )
    assert config.game.options == {"size": 5, "komi": 7.5, "wrap": True}
