"""Real runs, really killed: the same command goes on, and the end is that of a run that nobody disturbed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torture
from places import PROJECT

from azero.run.state import State

STAGES = ("initialize", "selfplay", "train", "evaluate")

pytestmark = [pytest.mark.crash, pytest.mark.long, pytest.mark.timeout(900)]


def committed(folder: Path) -> State:
    """What the run of a folder has committed."""
    state = torture.state_of(folder)
    assert state
    return state


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the toy run."""
    digest: str = torture.finish(tmp_path_factory.mktemp("undisturbed"), [])[0]
    return digest


def kill_in(folder: Path, stage: str, number: signal.Signals, cycle: int) -> int:
    """Run until a stage of a cycle comes next, and kill there: the exit status."""
    process = torture.Process(folder, [])
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.child.poll() is None:
        state = torture.state_of(folder)
        if process.has_begun() and state and (state.cycle, state.stage) == (cycle, stage):
            break
        time.sleep(0.002)
    status: int = process.kill(number)
    return status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_killed_in_every_stage_ends_as_if_nobody_had(
    tmp_path: Path, undisturbed: str, number: signal.Signals
) -> None:
    for cycle, stage in enumerate(STAGES):
        status = kill_in(tmp_path, stage, number, max(0, cycle - 1))
        assert status in ({-9} if number == signal.SIGKILL else {128 + number})
        state = committed(tmp_path)
        assert (
            state.stage in STAGES[STAGES.index(stage) :] or state.cycle > cycle - 1
        )  # a fast stage may have ended meanwhile
    assert torture.finish(tmp_path, [])[0] == undisturbed
    assert "Traceback" not in (tmp_path / "output.txt").read_text()


def test_games_that_were_finished_before_sigterm_are_kept_and_the_end_is_the_same(tmp_path: Path) -> None:
    long = ["cycles=1", "selfplay.games=40000"]
    expected = torture.finish(tmp_path / "undisturbed", long)[0]
    folder, kept = tmp_path / "disturbed", []
    for attempt in range(1, 9):
        process = torture.Process(folder, long)
        while not ((begun := torture.state_of(folder)) and begun.inference) and process.child.poll() is None:
            time.sleep(0.01)  # before its first commit, a run has no state
        process.wait_until_begun()
        time.sleep(0.4 * attempt)
        assert process.kill(signal.SIGTERM) == 143
        state = committed(folder)
        kept.append(sum(shard.games for shard in state.partial))
        if state.stage != "selfplay" or kept[-1] > 0:
            break
    assert 0 < kept[-1] < 40000
    assert torture.finish(folder, long)[0] == expected


@pytest.mark.parametrize("what", ["candidate", "shards"])
def test_a_file_damaged_between_two_starts_is_named_and_the_run_goes_on(
    tmp_path: Path, undisturbed: str, what: str
) -> None:
    kill_in(tmp_path, "evaluate" if what == "candidate" else "train", signal.SIGKILL, 1)
    state = committed(tmp_path)
    assert state.candidate
    path = (
        tmp_path
        / ("checkpoints/toy" if what == "candidate" else "data/toy")
        / (state.candidate.file if what == "candidate" else state.shards[0].file)
    )
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    digest = torture.finish(tmp_path, [])[0]
    assert (digest == undisturbed) == (
        what == "candidate"
    )  # a candidate is made again; games that are lost are lost
    assert [entry.file for entry in committed(tmp_path).quarantine] == [
        path.name if what == "shards" else f"candidate/{path.name}"
    ]
    assert "Traceback" not in (tmp_path / "output.txt").read_text()


def test_a_damaged_champion_stops_the_run_with_one_sentence(tmp_path: Path) -> None:
    kill_in(tmp_path, "selfplay", signal.SIGKILL, 2)
    champion = committed(tmp_path).champion
    assert champion
    (tmp_path / "checkpoints/toy" / champion.file).write_bytes(b"something else")
    (tmp_path / "output.txt").write_text("")
    process = torture.Process(tmp_path, [])
    assert process.child.wait(120) == 2
    told = (tmp_path / "output.txt").read_text().strip().splitlines()
    assert re.fullmatch(
        rf"azero: The champion .*{champion.file} is damaged .* with accept_previous=true\.", told[-1]
    )
    assert "Traceback" not in "".join(told)
    torture.finish(tmp_path, ["accept_previous=true"])
    assert committed(tmp_path).cycle == 4


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    first = torture.Process(tmp_path / "run", ["selfplay.games=40000"])
    first.wait_until_begun()
    again = subprocess.run(first.child.args, cwd=PROJECT, capture_output=True, text=True, timeout=120)
    assert again.returncode == 2 and again.stdout == ""
    assert re.fullmatch(
        rf"azero: .* is in use by process {first.child.pid} on \S+ \(azero\.loop, since .*\n", again.stderr
    )
    assert first.child.poll() is None
    assert first.kill(signal.SIGTERM) == 143  # it ends in good order
    torture.finish(tmp_path / "run", ["selfplay.games=40"])
    assert committed(tmp_path / "run").cycle == 4


def test_every_fault_is_refused_or_recovered_from() -> None:
    """Some of each kind; the script forks its runs, so it is a process of its own."""
    counts = ["--kills", "12", "--errors", "12", "--damages", "120", "--strangers", "1"]
    done = subprocess.run(
        [sys.executable, str(PROJECT / "scripts/torture.py"), *counts],
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    table = [line.split("|")[1:5] for line in done.stdout.splitlines() if line.startswith("| a ")]
    assert len(table) == 9
    assert all(tried == good and wrong.strip() == "0" for _, tried, good, wrong in table)
