"""A run begun by an earlier version goes on: `tests/old_run` holds one of commit c661453.

It has finished one cycle of tic-tac-toe. The champion's numbers are those that the earlier version printed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from places import PROJECT
from running import RunProgram

import azero
from azero.config.schema import UserError
from azero.run.state import format_state, parse_state

COMMAND = (
    "game=tictactoe", "run=old", "seed=3", "workers=1", "device=cpu", "network.blocks=1",
    "network.channels=4",
    "network.value_hidden=8", "search.num_simulations=8", "selfplay.games=24", "selfplay.concurrent_games=16",
    "train.epochs=1", "train.batch_size=32", "train.window=400", "train.precision=fp32", "evaluate.games=8",
    "inference.backend=torch", "inference.precision=fp32", "oracle.positions=0",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of the old run."""
    shutil.copytree(PROJECT / "tests" / "old_run", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_its_champion_loads(folder: Path) -> None:
    champion = azero.load_champion("old", str(folder / "checkpoints"), device="cpu")
    state = champion.game.initial_state()
    assert champion.value(state) == pytest.approx(-0.010189, abs=1e-5)
    assert champion.policy(state) == pytest.approx(
        [0.1107, 0.1099, 0.1106, 0.1105, 0.1119, 0.1100, 0.1106, 0.1144, 0.1114], abs=1e-4
    )
    assert champion.best_move(state) == 5


def test_the_length_of_openings_changes_when_it_would_have(folder: Path) -> None:
    """A setting named the cycles with long random openings, 90, so the 91st is the first with short ones."""
    state = parse_state((folder / "checkpoints/old/state.json").read_bytes(), "state.json")
    assert (state.final_openings, state.config.get("selfplay.opening_plies_cycles")) == (0, None)
    old = replace(state, config={**state.config, "selfplay.opening_plies_cycles": 90})
    new = parse_state(format_state(old), "state.json")
    assert (new.final_openings, new.config["selfplay.opening_plies_share"]) == (91, 1.0)  # of one cycle


def test_a_setting_that_is_gone_is_named(folder: Path) -> None:
    path = folder / "checkpoints/old/state.json"
    state = parse_state(path.read_bytes(), "state.json")
    path.write_bytes(format_state(replace(state, config={**state.config, "train.window_beta": 0.4})))
    with pytest.raises(UserError, match=r"sets train\.window_beta, which this version does not know; use"):
        azero.load_champion("old", str(folder / "checkpoints"), device="cpu")


@pytest.mark.long
def test_it_goes_on_with_the_same_command(folder: Path, run_program: RunProgram) -> None:
    before = json.loads((folder / "checkpoints/old/state.json").read_bytes())
    assert before["cycle"] == 1
    done = run_program("loop", *COMMAND, "cycles=2", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "Run old goes on with self-play of cycle 2." in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("Settings")] == [
        "Settings have changed: cycles 1 → 2."
    ]
    after = json.loads((folder / "checkpoints/old/state.json").read_bytes())
    assert (after["cycle"], after["stage"]) == (2, "selfplay")
    assert after["history"][0] == before["history"][0]
    assert after["history"][1].keys() == before["history"][0].keys()
    assert after["shards"][0] == before["shards"][0] and after["inference"] == before["inference"]
    rows = (folder / "checkpoints/old/metrics.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows] == ["cycle", "1", "2"]
