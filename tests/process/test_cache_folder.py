"""The folder of compiled kernels: one for this version, safe from other users."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from numba.core import config

import azero
from azero.process.kernel_cache import kernel_folder, own_folder, version_digest

PACKAGE = Path(azero.__file__).parent


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache home, no folder of the user's, and none chosen yet."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own_folder.cache_clear()
    yield tmp_path / "home"
    own_folder.cache_clear()


def test_the_folder_is_the_users_own_and_named_by_a_digest_of_the_sources(home: Path) -> None:
    folder = own_folder()
    assert folder == home / "azero" / "numba" / version_digest()
    assert folder.stat().st_mode & 0o077 == 0
    assert kernel_folder() == str(folder)


def test_a_folder_the_user_chose_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "/somewhere")
    assert kernel_folder() == f"/somewhere/azero-{version_digest()}"
    assert not home.exists()


def test_a_change_in_a_source_of_kernels_gives_another_folder(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "azero"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from azero.process import kernel_cache; print(kernel_cache.own_folder())"
    command = [sys.executable, "-c", code]

    def folder() -> str:
        return subprocess.run(
            command, cwd=copy.parent, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    before = folder()
    assert folder() == before
    with (copy / "search" / "puct.py").open("a") as source:
        source.write("# another helper\n")
    assert folder() != before


def test_unused_folders_and_those_beyond_the_newest_few_are_removed(home: Path) -> None:
    parent = home / "azero" / "numba"
    now = time.time()
    for day in range(10):
        (parent / f"version{day}").mkdir(parents=True)
        (parent / f"version{day}" / "kernel.nbc").write_bytes(b"x")
        os.utime(parent / f"version{day}", (now - 86400 * 4 * day, now - 86400 * 4 * day))
    parent.chmod(0o700)
    own = own_folder()
    kept = {path.name for path in parent.iterdir()}
    assert kept == {own.name if own else "", "version0", "version1", "version2", "version3"}


def test_folders_of_processes_that_may_be_at_work_are_kept(home: Path) -> None:
    parent = home / "azero" / "numba"
    for version in range(9):
        (parent / f"version{version}").mkdir(parents=True)
    parent.chmod(0o700)
    own_folder()
    assert len(list(parent.iterdir())) == 10


def test_a_folder_in_which_others_can_write_is_not_used(home: Path, tmp_path: Path) -> None:
    (home / "azero" / "numba").mkdir(parents=True)
    (home / "azero" / "numba").chmod(0o777)
    folder = own_folder()
    assert folder is not None and folder.parent == tmp_path / f"azero-numba-{os.getuid()}"


def test_a_home_that_cannot_be_written_does_no_harm(home: Path, tmp_path: Path) -> None:
    home.write_text("a file, so that no folder can be made in it")
    folder = own_folder()
    assert folder is not None and folder.parent == tmp_path / f"azero-numba-{os.getuid()}"


def test_nowhere_to_write_does_no_harm(home: Path, tmp_path: Path) -> None:
    home.write_text("a file")
    (tmp_path / f"azero-numba-{os.getuid()}").write_text("a file too")
    assert own_folder() is None
    assert kernel_folder() == os.devnull


def test_importing_azero_does_not_import_numba() -> None:
    command = [
        sys.executable,
        "-c",
        "import azero, sys; assert not {'numba', 'torch', 'numpy'} & sys.modules.keys()",
    ]
    subprocess.run(command, check=True, timeout=60, cwd=PACKAGE.parent)
