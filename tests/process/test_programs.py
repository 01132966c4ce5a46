"""`azero` lists the programs and starts one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import azero
from azero.cli.programs import PROGRAMS

PACKAGE = Path(azero.__file__).parent


def call(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `azero` with these arguments and wait for it."""
    command = [sys.executable, "-m", "azero", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60)


def test_the_table_names_every_program() -> None:
    files = {path.stem for path in PACKAGE.glob("*.py") if "__name__" in path.read_text()}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__main__.py")}
    assert PROGRAMS.keys() == (files | rooms) - {"__main__"}


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_name_it_lists_the_programs_one_line_each(arguments: list[str], tmp_path: Path) -> None:
    done = call(*arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(f"  azero {name:<12} {sentence}" in lines for name, sentence in PROGRAMS.items())
    assert max(map(len, lines)) <= 80


def test_version_is_azeros(tmp_path: Path) -> None:
    assert call("--version", folder=tmp_path).stdout == f"azero {azero.__version__}\n"


@pytest.mark.parametrize(
    "word, sentence",
    [
        ("lop", "azero: unknown program 'lop'; did you mean azero loop?\n"),
        ("--hlep", "azero: unknown program '--hlep'; did you mean azero --help?\n"),
        ("xyzzy", "azero: unknown program 'xyzzy'; azero lists the programs.\n"),
    ],
)
def test_an_unknown_program_is_one_sentence(word: str, sentence: str, tmp_path: Path) -> None:
    done = call(word, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_a_program_gets_its_arguments_and_gives_its_status(tmp_path: Path) -> None:
    done = call("loop", "--cfg", "job", "seed=77", folder=tmp_path)
    assert done.returncode == 0 and "seed: 77" in done.stdout, done.stderr
    done = call("check-game", "tictactoe", "games=0", folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, "azero: games=0 must be a whole number from 1 up.\n")


def test_help_of_a_program_may_be_asked_for_in_words(tmp_path: Path) -> None:
    asked = call("help", "runs", folder=tmp_path)
    assert asked.returncode == 0 and asked.stdout == call("runs", "--help", folder=tmp_path).stdout


def test_listing_the_programs_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import runpy, sys\n"
        "sys.argv = ['azero']\n"
        "try: runpy.run_module('azero', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'torch', 'numba', 'numpy', 'hydra', 'rich'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
