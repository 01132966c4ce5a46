"""Who waits for the compiler is told so once, and not when compiled code is loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba import types

from azero import arena, correctness, play, strength
from azero.cli.programs import refuse
from azero.config.schema import Config, UserError
from azero.kernels import compiling
from azero.kernels.compiled import kernel, shared
from azero.kernels.compiling import CompileNotice

SOURCE = """
from numba import cfunc, njit

@njit(cache=True)
def twice(x):
    return 2 * x

@cfunc("int64(int64)", cache=True)
def thrice(x):
    return 3 * x
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Runs a module anew, as another process would, and calls what it compiles."""
    (tmp_path / "kernels_of_a_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run() -> int:
        monkeypatch.delitem(sys.modules, "kernels_of_a_test", raising=False)
        module = importlib.import_module("kernels_of_a_test")
        return int(module.twice(2) + module.thrice.ctypes(3))

    return run


def test_compiling_is_announced_once_and_loading_is_not(
    load: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "NOTICE_SECONDS", 0.0)
    said = list[str]()
    with CompileNotice(said.append):
        assert load() == 13
    assert said == ["Compiling what is used here for the first time; later starts skip it."]
    with CompileNotice(said.append):
        assert load() == 13
    assert len(said) == 1


def test_a_short_compilation_is_not_worth_a_word(
    load: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "NOTICE_SECONDS", 600.0)
    said = list[str]()
    with CompileNotice(said.append):
        assert load() == 13
    assert not said


class Compiling:
    """Speaks as if everything had to be compiled."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say = say

    def __enter__(self) -> None:
        self.say("Compiling")

    def __exit__(self, *_: object) -> None:
        pass


def test_each_program_that_searches_says_that_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for module in (arena, correctness, play, strength):
        monkeypatch.setattr(module, "CompileNotice", Compiling)
    monkeypatch.setattr(correctness, "asked_search", dict)
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    assert play.main(["opponent=random"]) == 0
    assert capsys.readouterr().out.startswith("Compiling\nYou play X")
    assert arena.main(["first=random", "second=random", "games=2"]) == 0
    assert capsys.readouterr().out.startswith("Compiling\narena ")
    assert strength.main(["run=none"]) == 2
    assert capsys.readouterr().out == "Compiling\nLoading the champion of run none.\n"
    with pytest.raises(UserError, match="holds no run none"):
        correctness.run_asked(Config(), "none")
    assert capsys.readouterr().out == "Compiling\n"


def test_a_mistake_is_wrapped_at_spaces_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert refuse("game=a-long-name-with-more-than-20 is not there.") == 2
    assert capsys.readouterr().err == "azero: game=a-long-name-with-more-than-20 is not there.\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    refuse("game=a-long-name-with-more-than-20 is not there.")
    assert capsys.readouterr().err == "azero:\ngame=a-long-name-with-more-than-20\nis not there.\n"


def test_kernels_share_one_compilation_for_all_integers() -> None:
    @shared
    def doubled(number, part):  # type: ignore[no-untyped-def]
        return 2 * number + part

    @kernel
    def asks(places):  # type: ignore[no-untyped-def]
        return doubled(places[0], 0.5) + doubled(7, 0.5) + doubled(np.int8(3), 0.5)

    assert asks(np.array([5], np.int32)) == 31.5
    assert [signature[0] for signature in doubled.signatures] == [types.int64]
