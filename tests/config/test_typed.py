"""Commands in hints work as typed, whether or not the environment of azero is active."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from azero.process.typed import typed


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs of an environment in this folder, not active, with azero's script in it."""
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    write_script(programs / "azero")
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return programs


def write_script(path: Path) -> None:
    """Make a program that says where it lies."""
    path.parent.mkdir(exist_ok=True)
    path.write_text('#!/bin/sh\necho "$0"\n')
    path.chmod(0o755)


def answer(command: str) -> str:
    """What the shell says to a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout.strip()


def test_without_an_active_environment_the_path_of_the_script_is_typed(environment: Path) -> None:
    assert typed("azero", "azero") == ".venv/bin/azero" == answer(typed("azero", "azero"))


def test_from_another_folder_the_whole_path_is_typed_with_quotes_where_needed(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "my environment"
    (tmp_path / "elsewhere").mkdir()
    environment.parent.rename(other)
    monkeypatch.setattr(sys, "executable", str(other / "bin" / "python"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert answer(typed("azero", "azero")) == str(other / "bin" / "azero")
    assert shlex.split(typed("azero", "azero")) == [str(other / "bin" / "azero")]


def test_in_an_active_environment_the_name_is_enough(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{environment}:{os.environ['PATH']}")
    assert typed("azero", "azero") == "azero"


def test_the_azero_of_another_environment_is_not_meant(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(tmp_path / "other" / "azero")
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{os.environ['PATH']}")
    assert typed("azero", "azero") == ".venv/bin/azero"


def test_a_script_in_a_folder_of_its_own_is_found_by_the_shell(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip installs it there for a user who may not write into Python's folder."""
    (environment / "azero").unlink()
    write_script(tmp_path / "local" / "azero")
    monkeypatch.setenv("PATH", f"{tmp_path / 'local'}:{os.environ['PATH']}")
    assert typed("azero", "azero") == "azero"


def test_without_any_script_python_runs_the_module(environment: Path) -> None:
    assert typed("tensorboard", "tensorboard.main") == ".venv/bin/python -m tensorboard.main"
