"""The page about parts of one's own, docs/lab/own_parts.md: each of its files is used as it says."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import PROJECT
from running import RunProgram

from azero.config.reading import read_value
from azero.config.schema import UserError, settings
from azero.games import make_game
from azero.games import own_files as allowed
from azero.games.game import Game
from azero.heuristics import make_heuristic
from azero.players import make_player, options_of

PAGE = (PROJECT / "docs" / "lab" / "own_parts.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NAMES = ("edge", "stones", "lion", "first_move")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The page's files by name."""
    found = {}
    for name, text in zip(NAMES, BLOCKS, strict=True):
        (tmp_path / f"{name}.py").write_text(text)
        found[name] = str(tmp_path / f"{name}.py")
    return found


def first_move(game: Game, player: str, **options: Any) -> int:
    one = np.zeros(1, np.int64)
    start = game.initial_state()[None]
    return int(make_player(player, game, prefix="first.", **options).choose(start, one, one)[0])


def test_a_player(game: Game, files: dict[str, str]) -> None:
    assert (first_move(game, files["edge"]), first_move(game, files["edge"], last=True)) == (0, 8)
    assert settings(options_of(files["edge"]))["last"].kind == "bool"
    with pytest.raises(UserError, match=r"^unknown setting 'first\.lasst'; did you mean first\.last\?"):
        first_move(game, files["edge"], lasst=True)
    with pytest.raises(UserError, match=r"^player=\S+none\.py cannot be read: No such file or directory"):
        first_move(game, str(Path(files["edge"]).with_name("none.py")))
    with pytest.raises(
        UserError, match=r"stones\.py must define Options; docs/lab/own_parts\.md shows how\."
    ):
        first_move(game, files["stones"])


BAD_PLAYERS = {
    "return game.legal_actions(states[0])[:0]": r"choose of \S+edge\.py must return a whole number",
    "return np.zeros(1)": r"edge\.py must return a whole number for each position",
    "return None": r"edge\.py must return a whole number for each position",
    "return np.array([99])": r"edge\.py plays 99, which is not legal in \.\.\./\.\.\./\.\.\. X\.$",
    "return np.array([-1])": r"edge\.py plays -1, which is not legal",
    "return 1 / 0": r"edge\.py fails: ZeroDivisionError: division by zero \(line 23\)\.$",
}


@pytest.mark.parametrize("body", BAD_PLAYERS)
def test_what_a_player_answers_is_checked(game: Game, files: dict[str, str], body: str) -> None:
    file = Path(files["edge"])
    text, line = file.read_text(), "        forbidden = ban_table"
    assert text.count(line) == 1
    file.write_text(text.replace(line, f"        {body.replace('game.', 'self.game.')}\n{line}"))
    with pytest.raises(UserError, match=BAD_PLAYERS[body]):
        first_move(game, str(file))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "return Edge(game, options.last)",
            "return game",
            r"^make of \S+edge\.py must return a player, a sub",
        ),
        ("def choose(", "def chose(", r"^make of \S+edge\.py must return a player"),
        (
            "class Options(PlayerOptions)",
            "class Options",
            r"^Options of \S+edge\.py must be a dataclass derived",
        ),
    ],
)
def test_make_must_return_a_player(game: Game, files: dict[str, str], old: str, new: str, said: str) -> None:
    file = Path(files["edge"])
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(UserError, match=said):
        first_move(game, str(file))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("/ 100", "+ 2", r"stones\.py gives 2 in .*; it must lie between -1 and 1\."),
        ("/ 100", "/ 0", r"stones\.py fails: ZeroDivisionError"),
        ("state[1]", "state[7]", r"stones\.py fails: IndexError"),
        ("    @heuristic\n", "", r"make of \S+stones\.py must return a function decorated with"),
        ("return stones", "return None", r"make of \S+stones\.py must return a function decorated with"),
    ],
)
def test_what_a_heuristic_says_is_checked(
    game: Game, files: dict[str, str], old: str, new: str, said: str
) -> None:
    file = Path(files["stones"])
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(UserError, match=said):
        make_heuristic(str(file), game)


def test_a_heuristic(files: dict[str, str]) -> None:
    game = make_game("othello", size=4)
    one, two = (make_heuristic(name, game) for name in (files["stones"], "discs"))
    state = game.initial_state()
    for _ in range(3):
        assert one.function(state) == pytest.approx(two.function(state) * 17 / 100)
        state = game.step(state, game.legal_actions(state)[0])
    assert make_heuristic(files["stones"], game) is one  # kept: kernels hold nothing but its address
    known = settings(options_of("alpha_beta"))["heuristic"]
    assert read_value("first.heuristic", files["stones"], known) == files["stones"]
    with pytest.raises(
        UserError, match=r"^first\.heuristic=stone must be one of: .*, or a Python file with make"
    ):
        read_value("first.heuristic", "stone", known)


def test_the_optimizer_is_the_one_that_test_fit_tries(files: dict[str, str]) -> None:
    assert Path(files["lion"]).read_text() == (PROJECT / "tests" / "support" / "lion.py").read_text()


@pytest.mark.long
def test_numbers_of_each_cycle(tmp_path: Path, files: dict[str, str], run_program: RunProgram) -> None:
    """A run in another folder reports them; a file that fails is named with its line, and the run goes on."""
    asked = ("smoke", "run=own", f"metrics={Path(files['first_move']).name}")
    measure = Path(files["first_move"])
    text = measure.read_text()
    mistakes = {
        "def measure(champion): return {}\n": "fails: TypeError: measure() takes 1 positional",
        "def measure(champion, cycle): return {}\n": "must return a dict of numbers by name.",
        "def measure(champion, cycle): return {'share': None}\n": "must return a dict of numbers by name.",
        "def measure(champion, cycle): return {'share': '0.5'}\n": "must return a dict of numbers by name.",
    }
    for mistake, sentence in mistakes.items():
        measure.write_text(mistake)
        answer = run_program("loop", *asked, "cycles=1", folder=tmp_path)
        assert answer.returncode == 2 and sentence in answer.stderr
        assert not list((tmp_path / "data" / "own").glob("*.pickle"))  # no game was played yet
    measure.write_text(text)
    run_program("loop", *asked, "cycles=1", folder=tmp_path)
    measure.write_text(text.replace("champion.value", "champion.valu"))
    answer = run_program("loop", *asked, "cycles=2", folder=tmp_path)
    said = r"first_move\.py fails: AttributeError.*\(line 5\)"
    assert answer.returncode == 2 and re.search(said, answer.stderr)
    measure.write_text("def measure(champion, cycle): return 3\n")
    answer = run_program("loop", *asked, "cycles=2", folder=tmp_path)
    assert "first_move.py must return a dict of numbers by name." in answer.stderr
    measure.write_text(text.replace('"its_share"', '"nothing": float("nan"),\n        "its_share"'))
    answer = run_program("loop", *asked, "cycles=2", folder=tmp_path)
    assert "own/nothing is nan, so it is left out." in answer.stdout + answer.stderr
    with (tmp_path / "checkpoints" / "own" / "metrics.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [row["cycle"] for row in rows] == ["1", "2"]
    assert all(
        -1 < float(row["own/value_of_start"]) < 1 and 0 < float(row["own/its_share"]) <= 1 for row in rows
    )


def test_a_server_runs_no_file_that_was_not_named(
    game: Game, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed, "named", [])
    with pytest.raises(UserError, match=r"edge\.py, which is not run here"):
        first_move(game, files["edge"])
    with pytest.raises(UserError, match=r"stones\.py, which is not run here"):
        make_heuristic(files["stones"], game)
