"""Rules that are edited after a run has begun, or while it goes on; helpers of installed games."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from toy import NAME, toy_config

from azero import loop
from azero.config.schema import Config, GameConfig, UserError
from azero.games import held_rules, make_game, rules_digest
from azero.replay.shards import load_games, write_games
from azero.run.run import Run
from azero.stages import preflight, train

# Two players put neutral stones into a row; who completes three in a row wins. Word 1 says who moves.
RULES = '''"""Rows of neutral stones."""

import numpy as np

from azero.games import game as interface

CELLS = 8
ONE = np.uint64(1)


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = state[1] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    successor[0] = state[0] | ONE << np.uint64(action)
    successor[1] = ONE - state[1]


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    for cell in range(CELLS):
        mask[cell] = state[0] >> np.uint64(cell) & ONE == 0


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return state[0] & state[0] >> ONE & state[0] >> np.uint64(2) != 0


@interface.rule(interface.OUTCOME)
def outcome(state):
    return -1.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return np.int64(state[1])


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    for cell in range(CELLS):
        out[0, 0, cell] = np.float32(state[0] >> np.uint64(cell) & ONE)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    key[0] = state[0]


def make_game():
    rules = interface.Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)
    same = np.arange(CELLS)[None]
    return interface.Game(
        name="stones", num_actions=CELLS, planes_shape=(1, 1, CELLS), state_words=2, key_words=1,
        max_plies=CELLS, rules=rules, action_symmetries=same, cell_symmetries=same, format_state=str,
        action_name=str,
    )
'''
EDITS = {
    "outcome": [("return -1.0", "return 1.0")],
    "layout": [
        ("state[0] | ONE << np.uint64(action)", "(state[0] | ONE << np.uint64(action + 8))"),
        ("state[0] >> np.uint64(cell)", "state[0] >> np.uint64(cell + 8)"),
    ],
    "wider": [("state_words=2", "state_words=3")],
    "legal": [("mask[cell] = state", "mask[cell] = cell != 3 and state")],
    "end": [(" & state[0] >> np.uint64(2)", "")],
    "mover": [("np.int64(state[1])", "np.int64(ONE - state[1])"), ("state[1] = 0", "state[1] = 1 - 1")],
    "name": [('name="stones"', 'name="pebbles"')],
}


def edited(name: str) -> str:
    text = RULES
    for old, new in EDITS[name]:
        assert old in text
        text = text.replace(old, new)
    return text


def rewrite(path: Path, text: str) -> None:
    """Change a file; its time changes too, however soon that is."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rules and a run of one cycle by them. Tests copy the run."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "stones.py").write_text(RULES)
    assert loop.run_asked(config_of(folder, folder / "stones.py", 1), NAME) == 0
    return folder


@pytest.fixture
def path(played: Path) -> Iterator[Path]:
    """The rules, as they were at first."""
    path = played / "stones.py"
    yield path
    rewrite(path, RULES)


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    """The run in a folder of its own."""
    for kind in ("checkpoints", "data"):
        shutil.copytree(played / kind, tmp_path / kind)
    return tmp_path


def config_of(folder: Path, path: Path, cycles: int) -> Config:
    return toy_config(folder, game=GameConfig(name=str(path)), cycles=cycles)


@pytest.mark.parametrize("name", EDITS)
def test_a_run_whose_rules_were_changed_is_refused_and_keeps_its_games(
    folder: Path, path: Path, name: str
) -> None:
    config = config_of(folder, path, 2)
    before, files = Run.read(config, NAME).state, sorted(folder.rglob("*"))
    rewrite(path, edited(name))
    with pytest.raises(UserError) as refused:
        preflight.check_rules(Run.read(config, NAME), make_game(str(path)), rules_digest(str(path)))
    said = str(refused.value)
    assert str(path) in said and "put the old rules back" in said and len(said.splitlines()) == 1
    with pytest.raises(UserError):  # of these rules, or of a law that they break
        loop.run_asked(config, NAME)
    assert Run.read(config, NAME).state == before and not before.quarantine
    assert sorted(folder.rglob("*")) == files


def test_a_comment_may_change_and_the_run_says_so_once(
    folder: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"The text of the rules of {path} has changed since the run played last"
    assert loop.run_asked(config_of(folder, path, 1), NAME) == 0
    assert said not in capsys.readouterr().out
    rewrite(path, RULES + "# Nothing new.\n")
    assert loop.run_asked(config_of(folder, path, 2), NAME) == 0
    assert capsys.readouterr().out.count(said) == 1
    assert loop.run_asked(config_of(folder, path, 2), NAME) == 0
    assert said not in capsys.readouterr().out


def test_a_run_of_before_is_asked_too_and_goes_on_with_the_old_rules(folder: Path, path: Path) -> None:
    """Its state does not say what the rules were."""
    config = config_of(folder, path, 2)
    with Run.open(config, NAME, "test") as run:
        run.commit(replace(run.state, rules=""))
    rewrite(path, edited("outcome"))
    with pytest.raises(UserError, match=r"The rules in .*stones\.py have changed"):
        loop.run_asked(config, NAME)
    rewrite(path, RULES)
    assert loop.run_asked(config, NAME) == 0


def test_games_are_damaged_where_the_rules_have_stayed(folder: Path, path: Path) -> None:
    """A shard of other games with the right digest takes no other shard with it."""
    config = config_of(folder, path, 2)
    with Run.open(config, NAME, "test") as run:
        entry = run.state.shards[0]
        records = load_games(run.read_file(entry), "shard").games()
        wrong = [record._replace(states=record.states + 7) for record in records]
        run.commit(replace(run.state, shards=[entry, *write_games(run, 2, wrong, "stones")]))
    assert loop.run_asked(config, NAME) == 0
    assert len(Run.read(config, NAME).state.quarantine) == 1


def test_a_loop_keeps_the_rules_that_it_began_with(
    folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, real = config_of(folder, path, 3), train.run_stage

    def edit_and_train(*arguments: object) -> None:
        rewrite(path, edited("outcome"))
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(train, "run_stage", edit_and_train)
    assert loop.run_asked(config, NAME) == 0
    rewrite(path, RULES)
    run, game = Run.read(config, NAME), make_game(str(path))
    assert len(run.state.shards) == 3 and not run.state.quarantine
    for shard in run.state.shards:
        assert load_games(run.read_file(shard), shard.file, game)


def test_held_rules_are_let_go(path: Path) -> None:
    with held_rules(str(path)) as digest:
        rewrite(path, edited("outcome"))
        assert make_game(str(path)).rules.outcome.__wrapped__([3, 0]) == -1.0
        assert rules_digest(str(path)) == digest
    assert make_game(str(path)).rules.outcome.__wrapped__([3, 0]) == 1.0
    assert rules_digest(str(path)) != digest


# An installed game whose rules lie in two files: its end and a number are in the helper.
MAIN = RULES.replace("CELLS = 8\n", "")
for _old, _new in (
    ("import numpy as np\n", "import numpy as np\n{imports}\n"),
    ("state[0] & state[0] >> ONE & state[0] >> np.uint64(2) != 0", "full(state[0])"),
):
    assert _old in MAIN
    MAIN = MAIN.replace(_old, _new)
HELPER = """from numba import njit
import numpy as np

CELLS = 8


@njit(cache=True)
def full(stones):
    return stones & stones >> np.uint64(1) & stones >> np.uint64(2) != 0
"""
PLAY = """
import sys
from azero.games import make_game
game = make_game("stones")
state = game.initial_state()
plies = 0
while not game.is_terminal(state):
    state, plies = game.step(state, game.legal_actions(state)[0]), plies + 1
print(plies, len(game.legal_actions(game.initial_state())))
"""
Start = Callable[..., "subprocess.CompletedProcess[str]"]


def install(site: Path, *, package: bool) -> Path:
    """Write an installed game as a package, or as two modules beside each other; return its helper."""
    about = site / "stones-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stones\nVersion: 1\n")
    module = "stones_game.rules" if package else "stones_rules"
    entry = f"[azero.games]\nstones = {module}\n"
    (about / "entry_points.txt").write_text(entry)
    if not package:
        (site / "stones_rules.py").write_text(MAIN.format(imports="from stones_helper import CELLS, full\n"))
        helper = site / "stones_helper.py"
    else:
        (site / "stones_game").mkdir()
        (site / "stones_game" / "__init__.py").write_text("")
        text = MAIN.format(imports="from . import inner\n\nCELLS, full = inner.CELLS, inner.full\n")
        (site / "stones_game" / "rules.py").write_text(text)
        (site / "stones_game" / "inner.py").write_text("from stones_game.helper import CELLS, full\n")
        helper = site / "stones_game" / "helper.py"
    helper.write_text(HELPER)
    return helper


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start Python beside the installed game, with a folder of compiled code of its own."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
        )

    return run


@pytest.mark.parametrize("package", [False, True])
def test_a_changed_helper_of_an_installed_game_is_compiled_anew(
    tmp_path: Path, start: Start, package: bool
) -> None:
    helper = install(tmp_path / "site", package=package)
    assert start("-c", PLAY).stdout.split() == ["3", "8"]
    rewrite(helper, HELPER.replace(" & stones >> np.uint64(2)", "").replace("CELLS = 8", "CELLS = 6"))
    assert start("-c", PLAY).stdout.split() == ["2", "6"]


def test_an_installed_game_is_checked_before_a_run(tmp_path: Path, start: Start) -> None:
    helper = install(tmp_path / "site", package=False)
    rewrite(helper, HELPER.replace("& stones >> np.uint64(2) != 0", "& stones >> np.uint64(2) != 8"))
    ended = start("-m", "azero", "loop", "game=stones", "run=x")
    assert ended.returncode == 2 and ended.stderr.startswith("azero: The rules of stones are broken"), ended
    assert "azero check_game game=stones shows where" in ended.stderr
    assert not (tmp_path / "checkpoints").exists()
