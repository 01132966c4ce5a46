"""A champion as a native library: the guide's program plays against it, and it searches as azero does."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from places import PROJECT

import azero
from azero.export.__main__ import main
from azero.initialize import main as initialize

ASKED = ["run=three", "out=champion.so"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a champion that has learned nothing."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler, cc")
    folder = tmp_path_factory.mktemp("library")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small = ("network.blocks=1", "network.channels=8", "device=cpu", "search.kind=puct")
        assert initialize(["game=tictactoe", "run=three", *small]) == 0
    return folder


@pytest.fixture(scope="module")
def built(folder: Path) -> Path:
    """The folder with the champion's library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(ASKED) == 0
    return folder


@pytest.mark.long
def test_the_guide_s_program_plays_a_game(built: Path) -> None:
    (program,) = re.findall(r"```c\n(.*?)```", (PROJECT / "docs" / "export.md").read_text(), re.DOTALL)
    assert len(program.splitlines()) <= 30
    (built / "game.c").write_text(program)
    words = ["-Wall", "-Wextra", "-Werror", "game.c", "./champion.so", "-o", "game"]
    subprocess.run(["cc", *words], cwd=built, check=True)
    moves = "99\n" + "\n".join(map(str, range(9)))  # the first one is not legal, nor are the taken cells
    done = subprocess.run(["./game"], input=moves, cwd=built, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("your action: it is not legal\n")
    assert done.stdout.splitlines()[-1].removeprefix("your action: ") in ("you win", "azero wins", "a draw")


@pytest.mark.long
def test_it_searches_as_azero_does(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    champion, library = azero.load_champion("three", device="cpu"), ctypes.CDLL("./champion.so")
    value = ctypes.c_double()
    for moves in ("", "4", "4 0", "4 0 8"):
        library.champion_reset()
        assert all(library.champion_play(int(move)) for move in moves.split())
        found = champion.search(champion.position(moves), 60)
        best = library.champion_best(60, ctypes.byref(value))
        assert found.visits[best] >= max(found.visits) - 2  # another compiler rounds a near tie otherwise
        assert value.value == pytest.approx(found.value, abs=1e-3)
    assert [library.champion_is_legal(action) for action in (-1, 0, 1, 9)] == [0, 0, 1, 0]


def test_a_library_needs_a_compiler(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CC", "no-compiler -O2")
    assert main([*ASKED, "overwrite=true"]) == 2
    assert capsys.readouterr().err == (
        "azero: A library needs a C compiler, and there is no no-compiler; install one, or set CC.\n"
    )


def test_a_header_that_exists_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "other.h").write_text("mine")
    assert main(["run=three", "out=other.so"]) == 2
    assert "out=other.h is there already" in capsys.readouterr().err
