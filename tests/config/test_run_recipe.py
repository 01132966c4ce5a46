"""Recipes run from Python, in processes that end when their caller does."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import DOUBLE_MOVE
from waiting import wait_for

import azero
from azero.cli.recipe import words_of
from azero.config.schema import UserError

pytestmark = pytest.mark.usefixtures("elsewhere")

SMALL: dict[str, Any] = {
    "network": {"blocks": 1, "channels": 4},
    "search": {"num_simulations": 4},
    "selfplay": {"games": 8},
    "train": {"batch_size": 16, "epochs": 1},
    "evaluate": {"games": 4},
    "inference": {"backend": "torch", "precision": "fp32"},
    "device": "cpu",
}
CALLER = """
import sys, azero
try:
    azero.run_recipe("smoke", run="mine", cycles=100000, device="cpu", network=dict(blocks=1, channels=4),
                     search=dict(num_simulations=4), selfplay=dict(games=8),
                     report=lambda line: print(line, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(5)
"""


@pytest.mark.long
def test_a_recipe_runs_twice_in_one_process_and_goes_on(tmp_path: Path) -> None:
    lines: list[str] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    run = azero.run_recipe("smoke", report=lines.append, cycles=1, **SMALL)
    assert (run.name, run.cycles) == ("smoke", 1)
    assert (run.folder / "state.json").is_file() and list(run.games.glob("*.pickle"))
    assert any(line.startswith("cycle 1/1") for line in lines)
    champion = run.champion()
    assert champion.game.name == "tictactoe" and champion.search(champion.position("4")).simulations <= 4
    other = azero.run_recipe("smoke", report=None, run="other", seed=2, cycles=1, **SMALL)
    assert (other.name, other.cycles, run.cycles) == ("other", 1, 1)
    again = azero.run_recipe("smoke", report=None, cycles=2, **SMALL)
    assert again == run and again.cycles == 2
    assert {number: signal.getsignal(number) for number in before} == before
    with pytest.raises(UserError, match=r"^There is a run smoke already; go on with resume=True, or choose"):
        azero.run_recipe("smoke", resume=False, **SMALL)


@pytest.mark.usefixtures("in_forks")
def test_a_game_of_ones_own_gives_the_run_its_name_and_a_notebook_shows_a_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Path(DOUBLE_MOVE)
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stdout", notebook)
    run = azero.run_recipe(game=own, cycles=1, **{**SMALL, "evaluate": {"games": 0}})
    assert run.name == "double_move" and run.champion().game.name == "double_move"
    shown = [line.rpartition("\r") for line in notebook.getvalue().split("\n")]
    bars, _, line = next(parts for parts in shown if "self-play  8 games in" in parts[2])
    first, *_, last = [bar.rstrip() for bar in bars.split("\r")]
    assert (
        first == "cycle 1/1  self-play ┄┄┄┄┄┄┄┄ 0/8 games" and last == ""
    )  # erased before the finished line
    assert line.startswith("cycle 1/1")


@pytest.mark.parametrize(
    ("recipe", "settings", "said"),
    [
        ("smok", {}, "unknown recipe 'smok'; did you mean smoke?"),
        ("run=x", {}, "recipe='run=x' must be a name such as 'hex5'; write settings as run='mine'."),
        (5, {}, "recipe=5 must be a name such as 'hex5'; write settings as run='mine'."),
        ("smoke", {"cyles": 3}, "unknown setting 'cyles'; did you mean cycles?"),
        ("smoke", {"cycles": "x"}, "cycles=x must be a whole number from 0 to 1,000,000."),
        ("smoke", {"search": {"c_put": 1}}, "unknown setting 'search.c_put'; did you mean search.c_puct?"),
        ("smoke", {"cycles": object()}, " must be a text, a number, True or False, a list or a dict."),
        ("smoke", {"run": "a/b"}, "run=a/b cannot name a folder; use letters, digits, '-' and '_'."),
    ],
)
def test_a_mistake_is_one_sentence_and_starts_nothing(
    recipe: Any, settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        azero.run_recipe(recipe, **settings)
    assert str(error.value).endswith(said) and not list(tmp_path.iterdir())


@pytest.mark.usefixtures("in_forks")
def test_what_the_run_itself_refuses_is_one_sentence_too(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "smoke").mkdir(parents=True)
    (tmp_path / "checkpoints" / "smoke" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt belongs to no run, for there is no .*run=NAME\.$"):
        azero.run_recipe("smoke", report=None, **SMALL)


@pytest.mark.usefixtures("in_forks")
def test_a_failing_report_stops_the_run() -> None:
    def fail(line: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        azero.run_recipe("smoke", report=fail, cycles=100_000, **SMALL)
    wait_until_alone(Path.cwd())


def test_values_are_written_as_hydra_reads_them() -> None:
    settings = {"minutes": 0.5, "keep": None, "train": {"ema": True}, "a": [1, "b c"], "run": "x y"}
    assert words_of(settings) == ["minutes=0.5", "train.ema=true", "a=[1,'b c']", "run='x y'"]


# Signals


def running(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if (
                path.name.isdecimal()
                and int(path.name) != os.getpid()
                and os.readlink(path / "cwd") == str(folder)
            ):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def start_caller(folder: Path) -> subprocess.Popen[str]:
    """Start a program that runs a recipe, and wait until a cycle has ended."""
    caller = subprocess.Popen([sys.executable, "-c", CALLER], stdout=subprocess.PIPE, text=True, cwd=folder)
    assert caller.stdout
    for line in caller.stdout:
        if line.startswith("cycle") and "train" in line:
            return caller
    raise AssertionError("the run has ended")


def wait_until_alone(folder: Path) -> None:
    """Wait until no process works in a folder; helpers end a moment after what they help."""
    wait_for(lambda: running(folder), lambda found: not found)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_saves_the_run_and_is_raised(tmp_path: Path) -> None:
    with start_caller(tmp_path) as caller:
        caller.send_signal(signal.SIGINT)
        output, _ = caller.communicate(timeout=60)
    assert caller.returncode == 5 and output.endswith("interrupted\n")
    assert "Stopped; the same command goes on from here." in output
    wait_until_alone(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.long
def test_a_run_ends_when_its_caller_is_killed(tmp_path: Path) -> None:
    with start_caller(tmp_path) as caller:
        assert len(running(tmp_path)) == 2
        caller.kill()
    wait_until_alone(tmp_path)
    run = azero.run_recipe(
        "smoke",
        report=None,
        run="mine",
        cycles=1,
        device="cpu",
        seed=1,
        **{key: SMALL[key] for key in ("network", "search", "selfplay")},
    )
    assert run.cycles >= 1  # nothing was damaged
