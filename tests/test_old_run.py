"""A run begun by an earlier version goes on: `tests/old_run` holds one of commit c54899a.

It has finished one cycle of tic-tac-toe. Its command had `lanes=1`, which is called `workers` today. The
champion's numbers are those that the earlier version printed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import RunProgram

import azero
from azero.cli.hydra_program import compose
from azero.config.schema import REMOVED, UserError
from azero.run.state import format_state, parse_state

COMMAND = (
    "game=tictactoe", "run=old", "seed=3", "lanes=1", "device=cpu", "network.blocks=1", "network.channels=4",
    "network.value_hidden=8", "search.num_simulations=8", "selfplay.games=24", "selfplay.concurrent_games=16",
    "train.epochs=1", "train.batch_size=32", "train.window=400", "train.precision=fp32", "evaluate.games=8",
    "inference.backend=torch", "inference.precision=fp32", "oracle.positions=0",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of the old run."""
    shutil.copytree(Path(__file__).parent / "old_run", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_its_champion_loads(folder: Path) -> None:
    champion = azero.load_champion("old", str(folder / "checkpoints"), device="cpu")
    state = champion.game.initial_state()
    assert champion.value(state) == pytest.approx(-0.104948, abs=1e-5)
    assert champion.policy(state) == pytest.approx(
        [0.1070, 0.1001, 0.1053, 0.1061, 0.1199, 0.1015, 0.1045, 0.1440, 0.1116], abs=1e-4
    )
    assert champion.best_move(state) == 5


def test_a_setting_that_is_gone_is_named_if_it_had_an_effect(folder: Path) -> None:
    """The old run has all of them at values that change nothing, so its champion loads above."""
    path = folder / "checkpoints/old/state.json"
    state = parse_state(path.read_bytes(), "state.json")
    assert not state.config.keys() & REMOVED.keys()
    path.write_bytes(format_state(replace(state, config={**state.config, "train.window_beta": 0.4})))
    with pytest.raises(UserError) as mistake:
        azero.load_champion("old", str(folder / "checkpoints"), device="cpu")
    assert (
        str(mistake.value)
        .partition("; ")[0]
        .endswith("sets train.window_beta=0.4, which this version does not have")
    )


def test_a_command_that_sets_one_is_told_that_it_is_gone() -> None:
    for key in REMOVED:
        with pytest.raises(UserError, match=f"the setting '{key}' is gone.*leave it out"):
            compose(f"{key}=1")


@pytest.mark.long
def test_it_goes_on_with_the_same_command(folder: Path, run_program: RunProgram) -> None:
    before = json.loads((folder / "checkpoints/old/state.json").read_bytes())
    assert before["cycle"] == 1 and before["config"]["lanes"] == 1 and "workers" not in before["config"]
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
    assert after["config"]["workers"] == 1 and "lanes" not in after["config"]
    rows = (folder / "checkpoints/old/metrics.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows] == ["cycle", "1", "2"]
