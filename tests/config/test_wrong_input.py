"""Wrong input and broken files: one sentence, no traceback, a non-zero exit status, and nothing is lost.

test_hydra_program.py has wrong settings; here programs meet missing and damaged folders and files.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azero
from azero.config.schema import Config
from azero.run.run import Run

RunProgram = Callable[..., "subprocess.CompletedProcess[str]"]
TOY = (
    "cycles=1", "network.blocks=1", "network.channels=4", "search.num_simulations=4", "selfplay.games=16",
    "train.batch_size=16", "train.epochs=1", "evaluate.games=4", "device=cpu",
)  # fmt: skip


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, without the lock's own."""
    files = (
        path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("run.lock")
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """The program ended with one sentence on stderr that holds these parts."""
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("azero: ") and lines[0].endswith("."), done.stderr
    assert all(part in lines[0] for part in parts), lines[0]


@pytest.fixture
def folder(trained_run: Any, tmp_path: Path) -> Path:
    """A folder with a copy of the trained run."""
    shutil.copytree(trained_run.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("run.lock*"))
    return tmp_path / "copy"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB of its own; only where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if (
        not mount
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=1m", "azero-test", disk], capture_output=True
        ).returncode
    ):
        pytest.skip("mounting a small disk is not allowed here")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_an_unknown_game_is_answered_with_those_there_are(run_program: RunProgram, tmp_path: Path) -> None:
    refused = run_program("loop", "game.name=draughts", folder=tmp_path)
    assert_refused(refused, "game.name=draughts", "tictactoe")
    assert_refused(
        run_program("loop", "game.name=mine.py", folder=tmp_path), "mine.py", "cannot be read: No such file"
    )
    (tmp_path / "mine.py").write_text("BOARD = 3\n")
    assert_refused(run_program("loop", "game.name=mine.py", folder=tmp_path), "mine.py", "make_game")


def test_an_unknown_option_of_a_game_is_named(run_program: RunProgram, tmp_path: Path) -> None:
    assert_refused(
        run_program("loop", "game.options.size=5", folder=tmp_path), "game.options.size", "tictactoe"
    )


def test_a_gpu_that_is_not_there_is_missed_before_any_work(run_program: RunProgram, tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert_refused(run_program("loop", "device=cuda", "experiment=smoke", folder=tmp_path), "device=cuda")


def test_a_locked_run_is_refused_at_once_and_its_holder_named(folder: Path, run_program: RunProgram) -> None:
    import os
    import socket

    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"), cycles=5)
    with Run.open(config, "trained", "the other one"):
        before = content(folder)
        done = run_program("loop", "run=trained", "cycles=6", folder=folder)
        assert_refused(done, str(os.getpid()), socket.gethostname(), "the other one", "run=")
        assert content(folder) == before


@pytest.mark.parametrize("place", ["checkpoints", "data"])
def test_a_folder_of_something_else_is_not_touched(
    run_program: RunProgram, tmp_path: Path, place: str
) -> None:
    foreign = tmp_path / place / "mine"
    foreign.mkdir(parents=True)
    (foreign / "thesis.txt").write_text("all of it")
    assert_refused(run_program("loop", "run=mine", *TOY, folder=tmp_path), "thesis.txt")
    assert (foreign / "thesis.txt").read_text() == "all of it"
    assert not (tmp_path / "checkpoints" / "mine" / "state.json").exists()


@pytest.mark.parametrize(
    "settings, parts",
    [
        (["seed=2"], ["seed 1 → 2", "run="]),
        (["network.channels=16"], ["network.channels 32 → 16"]),
        (["network.channels=16", "network.blocks=1"], ["network.channels 32 → 16", "network.blocks 4 → 1"]),
        (["init_from=another"], ["init_from null → another"]),
    ],
)
def test_settings_that_cannot_fit_a_run_are_named(
    folder: Path, run_program: RunProgram, settings: list[str], parts: list[str]
) -> None:
    before = content(folder)
    assert_refused(run_program("loop", "run=trained", *settings, folder=folder), *parts)
    assert content(folder) == before


def test_another_game_in_a_run_is_refused(folder: Path, run_program: RunProgram, other_game: Path) -> None:
    before = content(folder)
    assert_refused(
        run_program("loop", "run=trained", f"game.name={other_game}", folder=folder), "tictactoe", "other.py"
    )
    assert content(folder) == before


def test_a_champion_of_another_game_is_refused(
    folder: Path, run_program: RunProgram, other_game: Path
) -> None:
    before = content(folder / "checkpoints" / "trained")
    done = run_program("loop", "run=new", "init_from=trained", f"game.name={other_game}", folder=folder)
    assert_refused(done, "tictactoe", "other.py")
    assert content(folder / "checkpoints" / "trained") == before


def test_a_champion_of_another_shape_is_refused(folder: Path, run_program: RunProgram) -> None:
    assert_refused(
        run_program("loop", "run=new", "init_from=trained", "network.channels=8", folder=folder),
        "init_from=trained",
        "network",
    )


def test_a_run_to_start_from_that_is_not_there_is_answered_with_those_that_are(
    folder: Path, run_program: RunProgram
) -> None:
    assert_refused(run_program("loop", "run=new", "init_from=nonsense", folder=folder), "nonsense", "trained")


@pytest.fixture
def other_game(tmp_path: Path) -> Path:
    """A game of a user's own: the rules of tic-tac-toe under another name."""
    path = tmp_path / "other.py"
    path.write_text(
        "from dataclasses import replace\n"
        "from azero.games import tictactoe\n\n"
        "def make_game():\n"
        f"    return replace(tictactoe.make_game(), name={str(path)!r})\n"
    )
    return path


def test_no_run_to_look_at(run_program: RunProgram, tmp_path: Path) -> None:
    assert_refused(run_program("correctness", folder=tmp_path), "tictactoe")


def test_a_stage_out_of_turn_names_the_one_that_comes_next(folder: Path, run_program: RunProgram) -> None:
    before = content(folder)
    assert_refused(run_program("train", "run=trained", "cycles=6", folder=folder), "selfplay")
    assert content(folder) == before


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "remove", "foreign"])
def test_a_damaged_champion_stops_the_run_and_the_way_back_is_named(
    folder: Path, run_program: RunProgram, damage: str
) -> None:
    champion = max((folder / "checkpoints" / "trained" / "champion").glob("*.pt"))
    whole = champion.read_bytes()
    broken = {
        "flip": whole[:500] + bytes([whole[500] ^ 1]) + whole[501:],
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "foreign": b"PK\x03\x04 something else",
    }
    champion.unlink()
    if damage in broken:
        champion.write_bytes(broken[damage])
    before = content(folder)
    assert_refused(
        run_program("loop", "run=trained", "cycles=6", folder=folder), champion.name, "accept_previous=true"
    )
    lost = {name for name in before if not (folder / name).exists()}
    assert not lost
    champion.write_bytes(whole)
    assert azero.load_champion("trained", str(folder / "checkpoints"), "cpu").best_move(
        np.zeros(2, np.uint64)
    ) in range(9)


def test_a_damaged_state_is_named(folder: Path, run_program: RunProgram) -> None:
    state = folder / "checkpoints" / "trained" / "state.json"
    whole = state.read_bytes()
    state.write_bytes(whole.replace(b'"cycle": 5', b'"cycle": 4', 1))
    assert_refused(run_program("loop", "run=trained", "cycles=6", folder=folder), "state.json", "damaged")
    state.write_bytes(whole[:-40])
    assert_refused(run_program("correctness", "run=trained", folder=folder), "state.json", "damaged")


@pytest.mark.parametrize("setting", ["checkpoints", "data"])
def test_a_file_where_a_folder_should_be(run_program: RunProgram, tmp_path: Path, setting: str) -> None:
    (tmp_path / "file").write_text("mine")
    assert_refused(run_program("loop", f"{setting}=file", *TOY, folder=tmp_path), "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_disk(run_program: RunProgram, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = run_program(
        "loop",
        f"checkpoints={small_disk}/checkpoints",
        f"data={small_disk}/data",
        *TOY,
        folder=small_disk.parent,
    )
    assert_refused(done, str(small_disk), "checkpoints=")


@pytest.mark.long
@pytest.mark.parametrize("free_kb", [0, 40, 150])
def test_a_full_disk_loses_nothing_and_the_same_command_goes_on(
    run_program: RunProgram, small_disk: Path, free_kb: int
) -> None:
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1024)):
            pass
    with ballast.open("rb+") as file:
        file.truncate(max(0, ballast.stat().st_size - free_kb * 1024))
    command = ("loop", f"checkpoints={small_disk}/checkpoints", f"data={small_disk}/data", "run=toy", *TOY)
    assert_refused(run_program(*command, folder=small_disk.parent), "full", "same command")
    ballast.unlink()
    done = run_program(*command, folder=small_disk.parent)
    assert done.returncode == 0, done.stderr
