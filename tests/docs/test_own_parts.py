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


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


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


def test_a_heuristic(files: dict[str, str]) -> None:
    game = make_game("othello", size=4)
    one, two = (make_heuristic(name, game) for name in (files["stones"], "discs"))
    state = game.initial_state()
    for _ in range(3):
        assert one.function(state) == pytest.approx(two.function(state) * 17 / 100)
        state = game.step(state, game.legal_actions(state)[0])
    known = settings(options_of("alpha_beta"))["heuristic"]
    assert read_value("first.heuristic", files["stones"], known) == files["stones"]
    with pytest.raises(
        UserError, match=r"^first\.heuristic=stone must be one of: .*, or a Python file with make"
    ):
        read_value("first.heuristic", "stone", known)


def test_the_optimizer_is_the_one_that_test_fit_tries(files: dict[str, str]) -> None:
    assert Path(files["lion"]).read_text() == (PROJECT / "tests" / "support" / "lion.py").read_text()


def test_numbers_of_each_cycle(tmp_path: Path, files: dict[str, str], run_program: RunProgram) -> None:
    """A run in another folder reports them; a file that fails is named with its line, and the run goes on."""
    asked = ("smoke", "run=own", f"metrics={Path(files['first_move']).name}")
    run_program("loop", *asked, "cycles=1", folder=tmp_path)
    measure = Path(files["first_move"])
    text = measure.read_text()
    measure.write_text(text.replace("champion.value", "champion.valu"))
    answer = run_program("loop", *asked, "cycles=2", folder=tmp_path)
    said = r"first_move\.py cannot be loaded; fix this first: AttributeError.*\(line 5\)"
    assert answer.returncode == 2 and re.search(said, answer.stderr)
    measure.write_text(text)
    run_program("loop", *asked, "cycles=2", folder=tmp_path)
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
