"""Every command and every line of Python in the README works as printed.

The commands run in a folder that looks like a checkout after set-up: `.venv/bin/python` starts this test's interpreter and adds
toy sizes to the settings, so that each takes seconds. What is printed is what is run.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
TOY = (
    "network.blocks=1 network.channels=4 search.num_simulations=4 selfplay.games=16 train.batch_size=16 train.epochs=1"
    " evaluate.games=4 device=cpu"
)
# Commands whose status says something about the player, which is not trained here.
STATUSES = {"python -m azero.correctness": {0, 1}, "python -m azero.doctor": {0, 1}}

PYTHON = f"""#!/usr/bin/env bash
case "$*" in
  *--help* | *--cfg*) exec {sys.executable} "$@" ;;
  "-m azero.correctness"* | "-m azero.check_game"* | "-m azero.doctor"*) exec {sys.executable} "$@" ;;
  "-m azero.arena"* | "-m azero.play"* | "-m azero.trace"*) exec {sys.executable} "$@" ;;
  "-m azero."*) case "$*" in *cycles=*) size="{TOY}" ;; *) size="{TOY} cycles=1" ;; esac
    exec {sys.executable} "$@" $size ;;
  "-m pytest"*) exec {sys.executable} "$@" --collect-only --quiet -p no:cacheprovider ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
# --inspect reads the event files and ends, where the server would run on
TENSORBOARD = f'#!/usr/bin/env bash\nexec {sys.executable} -m tensorboard.main "$@" --inspect\n'
ACTIVATE = 'export PATH="$PWD/.venv/bin:$PATH"\n'


def blocks(language: str) -> list[str]:
    """The README's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every command of the README, without comments, in order."""
    lines = (re.sub(r"\s+#.*", "", line).strip() for block in blocks("bash") for line in block.splitlines())
    return [line for line in lines if line]


def write_program(path: Path, text: str) -> None:
    """A file that can be run."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """This checkout after set-up, with runs of its own. azero itself is on the path, where its kernels are compiled already."""
    for name in ("scripts", "tests", "pyproject.toml", "constraints.txt", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    write_program(programs / "python", PYTHON)
    write_program(programs / "tensorboard", TENSORBOARD)
    (programs / "activate").write_text(ACTIVATE)
    wanted = f"{tmp_path}\n{(ROOT / 'pyproject.toml').read_text()}{(ROOT / 'constraints.txt').read_text()}"
    for extra in ("core", "dev"):
        (tmp_path / ".venv" / f"installed-{extra}").write_text(wanted)
    return tmp_path


@pytest.mark.long
def test_every_command_runs(checkout: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    environment["PATH"] = f"{checkout / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode in STATUSES.get(command, {0}), f"$ {command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"$ {command}\n{done.stderr}"
    runs = {path.parent.name for path in (checkout / "checkpoints").glob("*/state.json")}
    assert {"tictactoe", "smoke", "second", "by_hand"} <= runs


def test_the_python_interface_works(
    trained_run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("python")
    assert len([line for line in block.splitlines() if line]) == 7
    monkeypatch.chdir(trained_run.folder)
    names: dict[str, Any] = {}
    exec(compile(block.replace('"tictactoe"', f'"{trained_run.name}"'), "README.md", "exec"), names)
    assert -1.0 <= names["champion"].value(names["state"]) <= 1.0
    assert names["champion"].best_move(names["state"]) in {1, 3, 5, 7}  # the corners lose, a side keeps the draw
    assert capsys.readouterr().out.strip().endswith("draw")
    picture = trained_run.folder / "board.svg"
    assert picture.read_text().startswith("<svg")
    picture.unlink()  # other tests use the folder too


def test_every_file_the_readme_names_is_there() -> None:
    named = set(re.findall(r"\]\(([^)#:]+)\)", README))
    named |= set(re.findall(r"`((?:azero|conf|scripts|\.ci)/[\w./]*)`", README))
    assert named
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_the_source_map_names_every_module() -> None:
    table = README.split("## Source map")[1]
    for path in sorted((ROOT / "azero").glob("*.py")):
        named = f"`azero/{path.name}`" in table or f"`{path.name}`" in table
        assert named or path.name == "__init__.py", path.name
    for path in sorted((ROOT / "azero").glob("*/")):
        assert path.name in {"__pycache__", "conf"} or f"`azero/{path.name}/`" in table, path.name


def test_recipes_are_all_in_the_readme() -> None:
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        assert f"| `{path.stem}` |" in README
