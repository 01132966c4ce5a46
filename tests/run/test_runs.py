"""The list of runs, and deleting one: exactly its two folders, and only when asked, answered and free."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from forks import azero_command
from toy import toy_config

from azero.config.schema import Config, GameConfig, UserError
from azero.process.signals import StopSignal
from azero.report import listing
from azero.report.console import format_size
from azero.report.listing import age_text, size_of
from azero.report.reporter import NullReporter
from azero.run.folder import newest_run
from azero.run.run import Run
from azero.runs import delete_run, list_runs, main
from azero.stages import initialize


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The settings of two runs: mine on tic-tac-toe, measured, and an older one of Hex on 5 x 5."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name, game, recipe in (
        ("mine", GameConfig("tictactoe"), "smoke"),
        ("old", GameConfig(name="hex", options={"size": 5, "swap": False}), ""),
    ):
        config = toy_config(tmp_path, run=name, game=game)
        with Run.open(config, name, "test", recipe=recipe) as run:
            initialize.run_stage(config, run, NullReporter(), StopSignal())
    Path("checkpoints/mine/metrics.csv").write_text("cycle,correctness/keeps_value_search\n1,0.9\n2,0.96\n")
    before = time.time() - 3 * 86400
    os.utime("checkpoints/old/state.json", (before, before))
    Path("checkpoints/foreign").mkdir()
    return config


def test_the_table_has_a_line_for_each_run_the_latest_first(config: Config) -> None:
    head, mine, old = list_runs(config).splitlines()
    assert head.split() == ["run", "game", "recipe", "cycle", "strength", "size", "last", "used"]
    assert mine.split()[:7] == ["mine", "tictactoe", "smoke", "0", "4.0", "%", "mistakes"]
    assert mine.endswith("s ago")
    assert old.split()[:5] == ["old", "hex", "5", "-", "0"] and old.endswith("3 days ago")
    assert max(map(len, (head, mine, old))) <= 80


def test_long_names_are_cut_before_a_column_is_dropped(config: Config) -> None:
    Path("checkpoints/old").rename("checkpoints/an_old_run_with_a_very_long_name")
    head, *_, old = list_runs(config).splitlines()
    assert head.endswith("last used") and len(head) <= 80
    assert re.match(r"an_old_run_with[\w]*…", old) and old.endswith("3 days ago")


def test_two_runs_can_be_told_apart(config: Config) -> None:
    for number, name in enumerate(("old", "mine"), 1):
        Path(f"checkpoints/{name}").rename(f"checkpoints/connect_four_quick-{number}")
    assert {line.split()[0] for line in list_runs(config).splitlines()[1:]} == {
        "connect_four_quick-1",
        "connect_four_quick-2",
    }


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize(
    "names",
    [
        [f"connect_four_quick-search-puct-num_simulations-{n}-seed-{s}" for n in (32, 64) for s in (1, 2)],
        [f"hex5-lr-{lr}-and_the_same_end_of_many_words" for lr in ("0_1", "0_2", "0_01")],
        [f"a-name-that-differs-in-the-middle-{n}-only-and-not-at-its-end-{s}" for n in (1, 2) for s in "ab"],
    ],
)
def test_runs_of_a_sweep_can_be_told_apart_at_any_width(
    config: Config, monkeypatch: pytest.MonkeyPatch, names: list[str], columns: int
) -> None:
    for name in names:
        shutil.copytree("checkpoints/mine", f"checkpoints/{name}")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = list_runs(config).splitlines()
    shown = {line.split("  ")[0] for line in lines}
    assert len(shown) == 3 + len(names)
    if columns == 200:
        assert set(names) < shown


def test_a_file_or_a_pipe_gets_whole_names(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "connect_four_quick-search-puct-num_simulations-32-seed-1-and-longer-than-a-terminal-is-wide"
    Path("checkpoints/old").rename(f"checkpoints/{name}")
    monkeypatch.delenv("COLUMNS")
    done = subprocess.run(azero_command("runs"), capture_output=True, text=True)
    assert done.stdout.splitlines()[2].split()[:3] == [name, "hex", "5"]


def test_the_list_can_be_read_by_programs(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    Path("checkpoints/damaged").mkdir()
    Path("checkpoints/damaged/state.json").write_text("{")
    assert main(["format=json"]) == 0
    runs = {row.pop("run"): row for row in json.loads(capsys.readouterr().out)}
    assert list(runs) == ["damaged", "mine", "old"]
    assert runs["damaged"]["cycle"] is None and runs["damaged"]["bytes"] == 1
    assert runs["mine"].items() >= {"game": "tictactoe", "recipe": "smoke", "cycle": 0}.items()
    assert runs["mine"]["strength"] == "4.0 % mistakes" and runs["old"]["strength"] == ""
    assert runs["mine"]["settings"]["game.name"] == "tictactoe" and runs["damaged"]["settings"] == {}
    assert {runs[name]["settings"]["seed"] for name in ("mine", "old")} == {3}
    age = datetime.now(UTC) - datetime.fromisoformat(runs["old"]["last_used"])
    assert timedelta(days=2.9) < age < timedelta(days=3.1)
    assert main(["format=json", "checkpoints=none"]) == 0 and capsys.readouterr().out == "[]\n"
    assert main(["format=yaml"]) == 2


def test_a_narrow_terminal_shows_fewer_columns(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = list_runs(config).splitlines()
    assert lines[0].split()[:4] == ["run", "game", "cycle", "strength"] and max(map(len, lines)) <= 40


def test_a_damaged_run_is_in_the_table(config: Config) -> None:
    Path("checkpoints/old/state.json").write_text("{")
    assert "damaged" in list_runs(config)


def test_a_run_whose_state_is_missing_is_in_the_table_and_can_be_deleted(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("checkpoints/old/state.json").unlink()
    Path("checkpoints/mine/state.json").unlink()
    shown = list_runs(config)
    assert shown.count("state.json is missing") == 2 and "foreign" not in shown
    with pytest.raises(UserError, match=r"old/state\.json is missing; put a copy of it back"):
        Run.read(config, "old")
    assert delete_run(config, "old", lambda question: "y") == 0
    assert not Path("checkpoints/old").exists() and not Path("data/old").exists()
    shutil.rmtree("checkpoints/mine")
    assert "There is no run" in list_runs(config)


def test_games_whose_networks_are_gone_are_in_the_table(config: Config) -> None:
    Path("data/mine/000001-000.pickle").write_bytes(b"games")
    shutil.rmtree("checkpoints/mine")
    assert any(line.startswith("mine") and "is missing" in line for line in list_runs(config).splitlines())


def test_a_run_that_goes_while_it_is_listed_ends_no_list(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "names_of_runs", lambda config: ["mine", "gone", "old"])
    assert [line.split()[0] for line in list_runs(config).splitlines()[1:]] == ["mine", "old", "gone"]
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda folder: [*walk(folder), (folder, [], ["just-gone"])])
    assert size_of(Path("checkpoints/mine")) > 0


def test_without_runs_a_sentence_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = f"data={tmp_path / 'data'}"
    assert main([f"checkpoints={tmp_path}", data]) == 0
    assert "azero loop makes one" in capsys.readouterr().out
    assert main([f"checkpoints={tmp_path / 'mistyped'}", data]) == 0
    assert f"There is no run yet, nor a folder {tmp_path / 'mistyped'};" in capsys.readouterr().out


def test_both_folders_of_the_run_go_and_nothing_else(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    assert delete_run(config, "mine", lambda question: "y") == 0
    out = capsys.readouterr().out
    assert "checkpoints/mine  " in out and "data/mine  " in out and "Run mine is deleted." in out
    assert not Path("checkpoints/mine").exists() and not Path("data/mine").exists()
    assert Path("checkpoints/old/state.json").exists() and Path("data/old").exists()
    assert Path("checkpoints/foreign").exists()


@pytest.mark.parametrize("answer", ["", "n", "no", "later"])
def test_any_other_answer_keeps_the_run(config: Config, answer: str) -> None:
    assert delete_run(config, "mine", lambda question: answer) == 1
    assert Path("checkpoints/mine/state.json").exists() and Path("data/mine").exists()


def test_without_anybody_to_answer_the_run_stays(config: Config) -> None:
    done = subprocess.run(
        azero_command("runs", "delete=mine"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "Nothing was deleted." in done.stdout and done.stderr == ""
    assert Path("checkpoints/mine/state.json").exists()


def test_a_run_at_work_is_refused(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    with Run.open(toy_config(Path.cwd(), run="mine"), "mine", "azero.loop"):
        assert main(["delete=mine"]) == 2
    assert "is in use by process" in capsys.readouterr().err
    assert Path("checkpoints/mine/state.json").exists()


@pytest.mark.parametrize(
    "word, said",
    [
        ("delete=mien", "holds no run mien; did you mean mine?"),
        ("delete=foreign", "holds no run foreign"),
        ("delete=..", "run=.. cannot name a folder"),
        ("delete=mine/champion", "cannot name a folder"),
        ("delete=shipped/hex5", "shipped/hex5 comes with azero, so it stays."),
        ("remove=mine", "unknown setting 'remove'"),
        ("mine", "'mine' has no value; settings are written key=value"),
    ],
)
def test_what_is_no_run_is_refused(
    config: Config, word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert Path("checkpoints/foreign").exists() and Path("checkpoints/mine").exists()


def test_a_linked_folder_is_not_followed(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.move("data/mine", tmp_path / "elsewhere")
    Path("data/mine").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="cannot be deleted"):
        delete_run(config, "mine", lambda question: "y")
    assert (tmp_path / "elsewhere").exists()


def test_it_imports_neither_torch_nor_numba() -> None:
    script = "import sys, azero.runs; assert not {'torch', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_sizes_and_ages() -> None:
    assert [format_size(size) for size in (0, 999, 1500, 25_400_000, 3.2e9)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "25 MB",
        "3.2 GB",
    ]
    assert [age_text(age) for age in (5, 300, 7200, 86_400, 5e5)] == [
        "5 s ago",
        "5 min ago",
        "2 h ago",
        "1 day ago",
        "6 days ago",
    ]


def test_the_newest_run_is_the_one_used_last(config: Config) -> None:
    assert newest_run(config) == "mine"
    with pytest.raises(UserError, match="holds no run yet; azero loop makes one"):
        newest_run(replace(config, checkpoints=f"{config.checkpoints}-none"))
