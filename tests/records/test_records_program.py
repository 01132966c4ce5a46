"""`azero records`: self-play as records, conversion, the summary, and what it refuses."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from running import RunProgram, TrainedRun
from targets import rows_of_targets

from azero.cli.arguments import read_range
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.records.__main__ import main
from azero.records.files import open_records, read_file
from azero.records.record import Record
from azero.records.selfplay import read_selfplay, selfplay_record, shards_of
from azero.records.summary import Summary
from azero.records.walk import positions
from azero.replay.examples import GameRecord, pairs_of
from azero.replay.shards import load_games
from azero.run.disk import replacing, write_for_user
from azero.run.run import Run

GAME = make_game("tictactoe")
OWN = Path(DOUBLE_MOVE)


def opened(run: TrainedRun) -> Run:
    """Return a run, opened for reading."""
    return Run.read(Config(checkpoints=str(run.checkpoints), data=str(run.data)), run.name)


def asked(run: TrainedRun, *words: str) -> list[str]:
    """Return the arguments that name a run, and others."""
    return [f"run={run.name}", f"checkpoints={run.checkpoints}", f"data={run.data}", *words]


# Self-play


def test_records_of_self_play_say_what_the_shards_hold(trained_run: TrainedRun) -> None:
    run = opened(trained_run)
    shards = shards_of(run, None)
    records = list(read_selfplay(run, GAME, shards, print))
    played = [game for shard in shards for game in load_games(run.read_file(shard), shard.file).games()]
    assert len(records) == len(played) == sum(shard.games for shard in shards)
    for record, game in zip(records, played, strict=True):
        assert record.path(record.main_line()[-1]) == game.actions.tolist()  # nobody resigns here
        assert (record.outcome, record.players) == (game.first_outcome, ("trained", "trained"))
        assert np.array_equal(positions(record)[:-1], game.states)
        for ply, node in enumerate(record.nodes[:-1]):
            if not game.target_counts[ply]:
                assert node.value is None and not node.policy
                continue
            sign = 1 if game.to_play[ply] == 0 else -1
            assert node.value == pytest.approx(sign * game.root_value[ply], abs=1e-6)
            policy = np.zeros(9)
            policy[list(node.policy)] = list(node.policy.values())
            assert policy == pytest.approx(rows_of_targets(game, 9)[ply], abs=2e-6)
    assert {record.cycle for record in records} == {shard.cycle for shard in shards}
    last = shards[-1].cycle
    assert {shard.cycle for shard in shards_of(run, range(last, last + 1))} == {last}


def game_record(actions: list[int], outcome: float) -> GameRecord:
    """Return a game of tic-tac-toe in which every ply was searched, with the value of its number."""
    states, plies = [GAME.initial_state()], len(actions)
    for action in actions[:-1]:
        states.append(GAME.step(states[-1], action))
    policy = np.zeros((plies, 9), np.float32)
    policy[:, 2], policy[:, 3] = 0.25, 0.75
    return GameRecord(
        number=7,
        states=np.array(states),
        to_play=np.arange(plies, dtype=np.int8) % 2,
        actions=np.array(actions, np.int32),
        **pairs_of(policy),
        root_value=np.full(plies, -0.5, np.float32),
        searched=np.ones(plies, bool),
        first_outcome=outcome,
    )


def test_a_game_that_was_cut_is_a_draw_with_all_its_moves() -> None:
    record = selfplay_record(GAME, game_record([0, 4, 1, 5], 0.0), "mine", 3)
    assert record.path(record.main_line()[-1]) == [0, 4, 1, 5]
    assert (record.outcome, record.result, record.cycle) == (0.0, "", 3)
    assert [node.value for node in record.nodes] == [-0.5, 0.5, -0.5, 0.5, None]  # for the first player
    assert record.nodes[3].policy == {3: 0.75, 2: 0.25}  # the best first


def test_games_that_the_run_removes_meanwhile_are_left_out_and_damaged_ones_refused(
    trained_run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, said = opened(trained_run.copy_to(tmp_path)), list[str]()
    shards = shards_of(run, None)
    run.paths.of(shards[0].file).unlink()
    with pytest.raises(UserError, match="the file is missing"):
        list(read_selfplay(run, GAME, shards, said.append))
    now = replace(run.state, shards=run.state.shards[1:])
    monkeypatch.setattr(Run, "read", lambda config, name: SimpleNamespace(state=now))
    records = list(read_selfplay(run, GAME, shards, said.append))
    assert len(records) == sum(shard.games for shard in shards[1:])
    assert said == [f"The games of cycle {shards[0].cycle} are left out: the run has just removed them."]


# The program


def test_every_format_holds_the_same_games(
    trained_run: TrainedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    lines = []
    for ending in ("sgf", "jsonl", "parquet"):
        out, again = tmp_path / f"games.{ending}", tmp_path / f"{ending}.jsonl"
        assert main(asked(trained_run, f"out={out}", "cycles=5")) == 0
        assert main([f"from={out}", f"out={again}"]) == 0
        lines.append(again.read_text())
        games = shards_of(opened(trained_run), range(5, 6))[0].games
        said = f"{out}: {games:,} games, cycles 5 to 5, {out.stat().st_size:,} bytes\n"
        assert said in capsys.readouterr().out
    assert lines[0] == lines[1] == lines[2] == (tmp_path / "games.jsonl").read_text()
    assert len(lines[0].splitlines()) == games
    assert not list(tmp_path.glob("*.tmp"))


def test_matches_and_games_of_people_are_converted(run_program: RunProgram, tmp_path: Path) -> None:
    done = run_program("arena", "first=random", "games=4", "record=match.jsonl", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run_program("records", "from=match.jsonl", "out=match.sgf", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    moves = [json.loads(line)["moves"] for line in (tmp_path / "match.jsonl").read_text().splitlines()]
    read = list(read_file(tmp_path / "match.sgf"))
    assert [[str(node.action) for node in record.nodes[1:]] for record in read] == moves


def test_a_game_of_ones_own_is_read_with_its_file(tmp_path: Path) -> None:
    game = make_game(str(OWN))
    with open_records(tmp_path / "games.jsonl") as write:
        record = Record(game)
        record.add_line([0, 1])
        write(record)
    words = [f"from={tmp_path / 'games.jsonl'}", f"out={tmp_path / 'games.sgf'}"]
    assert main(words) == 2  # a file of records runs no file
    assert main([*words, f"game={OWN}"]) == 0
    assert main([f"from={tmp_path / 'games.sgf'}", f"game={OWN}"]) == 0


def test_a_summary_counts_results_lengths_and_openings() -> None:
    summary = Summary()
    for moves, outcome in (("0 3 1 4 2", None), ("0 3 1 4 2", 1.0), ("0 3 1 4 5 8 6", 0.0), ("4", -1.0)):
        record = Record(GAME, outcome=outcome, cycle=len(moves))
        record.add_line(list(map(int, moves.split())))
        summary.add(record)
    assert summary.text().splitlines() == [
        "4 games of tictactoe, cycles 1 to 13, 3 distinct",
        "length: 4.5 plies on average, 1 to 7",
        "results: first player wins 1 (33 %), draws 1 (33 %), second player wins 1 (33 %), not finished 1",
        "",
        "the commonest openings of 4 plies",
        "opening  games  share  first player's score",
        "0 3 1 4      3   75 %                  75 %",
        "4            1   25 %                   0 %",
    ]


def test_without_out_a_summary_is_printed(
    trained_run: TrainedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(trained_run)) == 0
    games = sum(shard.games for shard in opened(trained_run).state.shards)
    text = capsys.readouterr().out
    assert f"{games:,} games of tictactoe, cycles " in text and "the commonest openings" in text


@pytest.mark.parametrize(("text", "cycles"), [("", None), ("12", range(12, 13)), ("10-20", range(10, 21))])
def test_cycles_are_a_number_or_a_range(text: str, cycles: range | None) -> None:
    assert read_range(text, "cycles", 1, 99, "a range") == cycles


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "Name either a run with run= or a file of games with from=."),
        ("run=trained from=broken.sgf", "Name either a run with run= or a file of games with from=."),
        ("from=broken.sgf cycles=3", "cycles= is for the games of a run."),
        ("run=trained game=tictactoe", "game= is for the games of a file; a run knows its game."),
        ("run=nobody", "holds no run nobody; it holds trained."),
        ("nobody", "holds no run nobody; it holds trained."),
        (
            "run=trained cycles=90-91",
            "cycles=90-91: run trained keeps the games of cycles 4 to 5; ",
        ),
        (f"run=trained cycles=90-{10**25}", f"cycles=90-{10**25}: run trained keeps the games of cycles "),
        ("run=trained cycles=5-2", "cycles=5-2 must be a cycle or a range, such as 12 or 10-20."),
        ("run=trained cycles=0", "cycles=0 must be a cycle or a range, such as 12 or 10-20."),
        (
            "run=trained out=there.sgf",
            "out=there.sgf is there already; name a new file, or set overwrite=true.",
        ),
        ("run=trained out=games.txt", "out=games.txt must end in .sgf, .pgn, .jsonl, .parquet."),
        (
            "run=trained out=games.parquett",
            "must end in .sgf, .pgn, .jsonl, .parquet; did you mean .parquet?",
        ),
        (f"run=trained out={'x' * 300}.sgf", ".sgf cannot be written: File name too long."),
        ("run=trained out=no/games.sgf", "out=no/games.sgf cannot be written: no is not a folder."),
        ("from=nothing.sgf", "nothing.sgf cannot be read: No such file or directory."),
        ("from=broken.sgf", "broken.sgf: SGF, game 2: the file ends inside the game, so it may be cut off."),
        ("from=broken.sgf out=new.sgf", "broken.sgf: SGF, game 2: the file ends inside the game"),
        ("from=broken.jsonl", "broken.jsonl: JSON, line 2: this is not JSON: '"),
        ("from=broken.parquet", "broken.parquet: this Parquet file is damaged"),
        ("from=other.parquet", "other.parquet: its columns are not those of azero's records."),
        ("from=empty.jsonl", "empty.jsonl: this holds no record, because it is empty."),
        ("rum=trained", "unknown setting 'rum'; did you mean run?"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    words: str,
    said: str,
    trained_run: TrainedRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    files = {
        "there.sgf": b"mine",
        "broken.sgf": b"(;GM[1]SZ[9];B[ee])\n(;GM[1]SZ[9];B[ee]",
        "broken.jsonl": b'{"game": "tictactoe", "moves": ["4"]}\nno',
        "broken.parquet": b"PAR1 and nothing else",
        "empty.jsonl": b"",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    arrow.parquet.write_table(arrow.table({"a": [1]}), "other.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    places = [f"checkpoints={trained_run.checkpoints}", f"data={trained_run.data}"]
    assert main([*words.split(), *places]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and error.startswith("azero: ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("mine")

    def interrupted() -> None:
        with open_records(path, overwrite=True) as write:
            write(Record(GAME))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [each.name for each in tmp_path.iterdir()] == ["games.jsonl"] and path.read_text() == "mine"
    with open_records(path, overwrite=True) as write:
        write(Record(GAME))
    assert json.loads(path.read_text())["game"] == "tictactoe"


def test_a_link_stays_one_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    real, link, pipe = (tmp_path / name for name in ("real", "link", "pipe"))
    real.write_text("old")
    link.symlink_to(real.name)
    with replacing(link) as place:
        place.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as place:
        place.write_text("told")
    assert os.read(reader, 10) == b"told" and pipe.is_fifo()
    os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "real"]


def test_a_file_of_the_user_s_with_a_temporary_name_stays(tmp_path: Path) -> None:
    path, mine = tmp_path / "games.jsonl", tmp_path / "games.jsonl.tmp"
    mine.write_text("mine")
    with open_records(path) as write:
        write(Record(GAME))
    write_for_user(path, b"new")
    left = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert left == {"games.jsonl": "new", "games.jsonl.tmp": "mine"}


def test_what_is_written_for_a_person_keeps_links_and_speaks_of_that_file_alone(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_for_user(link, b"new")
    assert link.is_symlink() and real.read_text() == "new"
    with pytest.raises(UserError, match=r"real/x cannot be written: Not a directory\.$"):
        write_for_user(real / "x", b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_without_pyarrow_the_answer_is_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    modules: dict[str, Any] = {"pyarrow": None, "pyarrow.parquet": None}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    (tmp_path / "games.jsonl").write_text('{"game": "tictactoe", "moves": ["4"]}')
    assert main([f"from={tmp_path / 'games.jsonl'}", f"out={tmp_path / 'games.parquet'}"]) == 2
    assert capsys.readouterr().err == 'azero: Parquet needs pyarrow; run pip install "azero[records]".\n'
