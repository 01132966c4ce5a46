"""Training, runs and matches of the studio: what starts, what is refused, what survives the server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import DOUBLE_MOVE, PROJECT
from running import TrainedRun

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import client_of, make_studio, player
from waiting import wait_for

from azero.config.schema import Config, UserError
from azero.report.metrics_csv import read_stats
from azero.run.folder import Holder, present_holder
from azero.run.run import Run
from azero.run.state import format_state
from azero.stages.diagnosis import newest_games
from azero.studio import jobs, matches, processes, runs_view, threads
from azero.studio.jobs import words_of

ENDLESS = {"recipe": "tictactoe", "minutes": 30}


@pytest.fixture(autouse=True)
def _ended(monkeypatch: pytest.MonkeyPatch, in_forks: None) -> Iterator[None]:
    """End every process that a studio has started."""
    started: list[subprocess.Popen[bytes]] = []

    def start(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        started.append(processes.start(words, log))
        return started[-1]

    for room in (jobs, matches):
        monkeypatch.setattr(room, "start", start)
    yield
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def trained(trained_run: TrainedRun, tmp_path: Path) -> Iterator[Any]:
    """A client of a studio with the run "trained" of tic-tac-toe."""
    trained_run.copy_to(tmp_path)
    with client_of(make_studio(tmp_path)) as client:
        yield client


def read(client: Any, path: str) -> Any:
    """Return the answer to a GET that must succeed."""
    answer = client.get(f"/api{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def ask(client: Any, path: str, body: dict[str, Any] | None = None, status: int = 200) -> Any:
    """Return the answer to a POST, which must have that status."""
    answer = client.post(f"/api{path}", json=body or {})
    assert answer.status_code == status, answer.text
    return answer.json()


def log_of(folder: Path, run: str) -> list[str]:
    """Return the last lines that a run has printed."""
    return processes.last_lines(folder / "data" / ".studio" / f"{run}.log")


def test_a_run_is_started_finishes_and_is_deleted(client: Any, tmp_path: Path) -> None:
    assert ask(client, "/train", {"recipe": "smoke", "name": "first"}) == {"run": "first"}
    assert "training already" in ask(client, "/train", {"recipe": "smoke", "name": "first"}, 409)["error"]
    live = wait_for(lambda: read(client, "/runs/first/live"), lambda live: live["state"] == "finished")
    assert live["cycles_done"] == 1 and live["champion"] is not None and live["sentence"] == ""
    assert len(live["boards"]) == 16
    for board in live["boards"]:  # X begins, so it has as many stones as O or one more
        assert board["marks"].count(1) - board["marks"].count(2) in (0, 1)
    assert any("self-play  40 games" in line for line in log_of(tmp_path, "first"))
    assert [run["name"] for run in read(client, "/runs")["runs"]] == ["first"]
    assert "a run first already" in ask(client, "/train", {"recipe": "smoke", "name": "first"}, 409)["error"]
    going = ask(client, "/runs/first/delete")
    assert [folder["path"] for folder in going["folders"]] == [
        str(tmp_path / "checkpoints/first"),
        str(tmp_path / "data/first"),
    ]
    assert not going["deleted"] and (tmp_path / "checkpoints/first").exists()
    assert ask(client, "/runs/first/delete", {"confirm": True})["deleted"]
    assert not (tmp_path / "checkpoints/first").exists() and not (tmp_path / "data/first").exists()
    assert client.get("/api/runs/first/live").status_code == 404


@pytest.mark.parametrize(
    "body, status, said",
    [
        ({}, 400, "Name a recipe or a game"),
        ({"recipe": "smoke", "game": "hex5"}, 400, "Name a recipe or a game"),
        ({"recipe": "smokey"}, 400, "There is no recipe 'smokey'"),
        ({"recipe": ["smoke"]}, 400, "There is no recipe"),
        ({"recipe": "smoke data=/tmp"}, 400, "There is no recipe"),
        ({"recipe": "../smoke"}, 400, "There is no recipe"),
        ({"game": "/etc/passwd"}, 400, "There is no game"),
        ({"game": "mine.py"}, 400, "There is no game"),
        ({"game": "hex", "options": {"size": "5 data=/tmp"}}, 400, "Size"),
        ({"game": "hex", "options": {"size": [5]}}, 400, "options"),
        ({"game": "hex", "options": {"size=5 seed": 5}}, 400, "size=5 seed"),
        ({"recipe": "smoke", "minutes": 0}, 400, "Minutes must"),
        ({"recipe": "smoke", "minutes": "1"}, 400, "Minutes must"),
        ({"recipe": "smoke", "minutes": True}, 400, "Minutes must"),
        ({"recipe": "smoke", "minutes": 1e9}, 400, "Minutes must"),
        ({"recipe": "smoke", "name": ".."}, 400, "A name has"),
        ({"recipe": "smoke", "name": "../out"}, 400, "A name has"),
        ({"recipe": "smoke", "name": "a b"}, 400, "A name has"),
        ({"recipe": "smoke", "name": "a" * 65}, 400, "A name has"),
        ({"recipe": "smoke", "name": 5}, 400, "A name has"),
    ],
)
def test_what_may_not_be_trained_is_refused(
    client: Any, tmp_path: Path, body: dict[str, Any], status: int, said: str
) -> None:
    for path in ("/train", *(["/estimate"] if "name" not in body else [])):
        assert said in ask(client, path, body, status)["error"]
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("verb", ["stop", "go_on", "delete"])
@pytest.mark.parametrize("name, status", [("none", 404), ("%2e%2e", 404), (".hidden", 400), ("a%00b", 400)])
def test_what_is_no_run_is_refused(client: Any, verb: str, name: str, status: int) -> None:
    answer = client.post(f"/api/runs/{name}/{verb}", json={"confirm": True})
    assert answer.status_code in (status, 400) and answer.json()["error"].endswith(".")


def test_a_game_is_trained_with_its_recipe_or_plain_settings(tmp_path: Path) -> None:
    own = Path(DOUBLE_MOVE)
    jobs = make_studio(tmp_path, own_games={"double_move": own}).jobs
    places = [f"checkpoints={tmp_path}/checkpoints", f"data={tmp_path}/data", "device=auto"]
    for asked, words, title in (
        ({"recipe": "smoke", "minutes": 0.5}, ["smoke", "minutes=0.5"], "smoke"),
        ({"game": "hex5", "minutes": 2}, ["game=hex5", "minutes=2"], "hex5"),
        ({"game": "hex5", "options": {"size": 4}}, ["game=hex5", "game.options.size=4"], "hex5-size4"),
        ({"game": "hex"}, ["game=hex7"], "hex7"),
        (
            {"game": "double_move", "minutes": 2},
            ["plain", f"game.name={own}", "minutes=2", "cycles=1000"],
            "",
        ),
    ):
        assert jobs.words(asked) == ([*words, *places], title or "double_move")


def test_processes_are_bounded(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_TRAINING", 1)
    ask(client, "/train", ENDLESS | {"name": "one"})
    assert "1 runs train already (one)" in ask(client, "/train", ENDLESS | {"name": "two"}, 429)["error"]


@pytest.mark.long
def test_a_killed_run_is_reported_and_goes_on(client: Any, tmp_path: Path) -> None:
    run = ask(client, "/train", ENDLESS)["run"]
    assert run == "tictactoe"
    wait_for(lambda: read(client, f"/runs/{run}/live"), lambda live: live["state"] == "training")
    assert "is training; stop it first" in ask(client, f"/runs/{run}/delete", {"confirm": True}, 409)["error"]
    wait_for((tmp_path / "checkpoints" / run / "state.json").is_file)
    holder = present_holder(tmp_path / "checkpoints" / run)
    assert holder is not None and holder.program == "azero.loop"
    os.kill(holder.pid, signal.SIGKILL)
    live = wait_for(lambda: read(client, f"/runs/{run}/live"), lambda live: live["state"] == "failed")
    assert live["sentence"] == (
        "The process was killed by SIGKILL, perhaps because memory ran out; what it had saved is kept."
    )
    assert "is not training" in ask(client, f"/runs/{run}/stop", status=409)["error"]
    ask(client, f"/runs/{run}/go_on", {"minutes": 30})
    wait_for(lambda: read(client, f"/runs/{run}/live"), lambda live: live["state"] == "training")


def test_how_a_process_ended_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("Game 1\n\x1b[Kazero: no such run\n\n")
    stopped = ("stopped", "It was stopped; what is finished is saved.")
    for status in (128 + signal.SIGINT, -signal.SIGINT, -signal.SIGTERM):  # below 0: while it was starting
        assert processes.ending(status, log) == stopped
    assert processes.ending(0, log) == ("finished", "")
    assert processes.ending(2, log) == ("failed", "azero: no such run")
    assert processes.ending(-signal.SIGKILL, log)[0] == "failed"


def test_a_run_that_cannot_begin_says_why(client: Any, tmp_path: Path) -> None:
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "letter.txt").touch()
    ask(client, "/train", {"recipe": "smoke", "name": "mine"})
    live = wait_for(lambda: read(client, "/runs/mine/live"), lambda live: live["state"] == "failed")
    assert "letter.txt belongs to no run" in live["sentence"]
    assert log_of(tmp_path, "mine")[-1] == live["sentence"]


def test_a_run_survives_the_server_and_is_found_again(tmp_path: Path) -> None:
    """The server is a process of its own here, killed with SIGKILL; another one stops the run."""
    places = [f"checkpoints={tmp_path / 'checkpoints'}", f"data={tmp_path / 'data'}"]
    command = [sys.executable, "-m", "azero.studio", "open=false", "port=0", *places]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address, _, token = server.stdout.readline().split()[-1].partition("/?token=")
    cookie = f"azero_studio_{address.rpartition(':')[2]}={token}"
    headers = {"cookie": cookie, "content-type": "application/json"}
    urllib.request.urlopen(
        urllib.request.Request(f"{address}/api/train", b'{"recipe": "tictactoe"}', headers)
    )
    folder = tmp_path / "checkpoints" / "tictactoe"
    holder = wait_for(lambda: present_holder(folder))
    server.kill()
    server.wait()
    server.stdout.close()
    with client_of(make_studio(tmp_path)) as client:
        live = read(client, "/runs/tictactoe/live")
        assert live["state"] == "training" and "error" not in live
        assert "training already" in ask(client, "/runs/tictactoe/go_on", status=409)["error"]
        assert ask(client, "/runs/tictactoe/stop") == {"state": "stopping"}
        again = client.post("/api/runs/tictactoe/stop", json={})  # a second click does not end it at once
        assert again.status_code == 409 or again.json() == {"state": "stopping"}  # 409: it has ended by now
        wait_for(lambda: present_holder(folder), lambda found: found is None)
        live = wait_for(lambda: read(client, "/runs/tictactoe/live"), lambda live: live["state"] == "stopped")
        said = log_of(tmp_path, "tictactoe")
        assert said[-1].startswith("Stopped; the same command goes on") or not said
    wait_for(lambda: processes.is_running(holder.pid, "azero.loop"), lambda running: not running)


@pytest.mark.long
def test_the_live_file_is_there_only_while_somebody_looks(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.5)
    ask(client, "/train", {"recipe": "connect_four_quick", "name": "mine"})  # its self-play takes a while
    file = tmp_path / "checkpoints" / "mine" / "live.json"
    live = wait_for(lambda: read(client, "/runs/mine/live"), lambda live: live.get("in_flight"))
    assert live["stage"] == "self-play" and live["total"] == 400 and file.exists()
    assert all(board["number"] < 400 for board in live["boards"])
    wait_for(file.exists, lambda there: not there)


def test_going_on_repeats_the_settings_of_the_run(trained_run: TrainedRun) -> None:
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data))
    had = Run.read(config, "trained").state.config
    assert words_of("tictactoe", had) == []
    other = had | {
        "game.options": {"size": 4},
        "search.num_simulations": 7,
        "seed": 3,
        "evaluate.anchors": [5],
    }
    assert words_of("tictactoe", other) == [
        *("game.options.size=4", "seed=3", "search.num_simulations=7", "evaluate.anchors=[5]"),
    ] or set(words_of("tictactoe", other)) == {
        *("game.options.size=4", "seed=3", "search.num_simulations=7", "evaluate.anchors=[5]"),
    }


def test_more_minutes_are_added_to_however_many_there_were(
    trained_run: TrainedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data))
    run, begun = Run.read(config, "trained"), list[str]()
    run.state = replace(run.state, elapsed_seconds=60 * 10_001.25)
    monkeypatch.setattr(Run, "read", lambda config, name: run)
    work = make_studio(trained_run.checkpoints.parent).jobs
    work.config = config
    monkeypatch.setattr(work, "begin", lambda name, words: begun.extend(words))
    work.go_on("trained", {"minutes": 3})
    assert "minutes=10004.25" in begun


def test_a_forecast_that_takes_too_long_is_ended_and_says_so(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def noted(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        begun.append(processes.start(words, log))
        return begun[-1]

    monkeypatch.setattr(jobs, "start", noted)
    monkeypatch.setattr(jobs, "ESTIMATE_SECONDS", 0.01)
    said = ask(client, "/estimate", {"recipe": "smoke"}, 400)["error"]
    assert said == "The forecast took more than 0.0 s; azero estimate in a terminal has no such limit."
    assert [process.returncode is not None for process in begun] == [True]


def test_a_run_that_a_terminal_goes_on_with_no_longer_ends_as_the_studio_s_process_did(
    trained: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    work = make_studio(tmp_path).jobs
    work.processes["trained"] = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    work.processes["trained"].wait()
    assert work.state("trained")[0] == "failed"
    holders: list[Holder | None] = [Holder("azero.loop", 4242, "here", "today"), None]
    monkeypatch.setattr(jobs, "present_holder", lambda folder: holders.pop(0))
    assert [work.state("trained")[0] for _ in range(2)] == ["training", "finished"]


def test_a_run_that_is_trained_anew_plays_with_its_new_network(
    trained: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    studio, made = make_studio(tmp_path), list[str]()
    game = studio.make_game("tictactoe")
    monkeypatch.setattr(studio.pool, "make", lambda game, side: made.append(side.sha256))

    def seat() -> None:
        side = studio.pool.read_side(player("pv_mcts", run="trained", num_simulations=10), game)
        studio.pool.get(game, side)

    seat()
    seat()
    run = Run.read(studio.config, "trained")
    assert run.state.champion is not None
    other = replace(run.state.champion, sha256="0" * 64)  # another network in a file of the same name
    run.paths.state.write_bytes(format_state(replace(run.state, champion=other)))
    seat()
    assert len(made) == 2 and made[1] == "0" * 64


def test_a_run_has_cycles_curves_and_games(trained: Any, trained_run: TrainedRun) -> None:
    run = read(trained, "/runs/trained")
    assert run["cycle"] == 5 and run["play"] == "tictactoe" and run["champions"][-1] <= 5
    assert [row[0] for row in run["table"]["rows"]] == ["1", "2", "3", "4", "5"]
    assert all(len(row) == len(run["table"]["head"]) for row in run["table"]["rows"])
    curves = {curve["title"]: curve["series"] for curve in run["curves"]}
    assert [cycle for cycle, _ in curves["loss"][0]["points"]] == [1, 2, 3, 4, 5]
    lines = {line["name"]: [value for _, value in line["points"]] for line in curves["mistakes"]}
    stats = read_stats(trained_run.checkpoints / trained_run.name / "metrics.csv", 5)
    found = [1 - stats[cycle]["oracle/keeps_value_search"] for cycle in range(1, 6)]
    assert lines["with search"] == found and 0.0 in found  # a zero is a point
    mistakes = lines["without search"]
    assert mistakes[0] > mistakes[-1] and min(mistakes) >= 0
    assert all("sentence" in each for each in read(trained, "/runs/trained/doctor")["findings"])
    games = read(trained, f"/runs/trained/games?cycle={run['games'][0]}")
    assert games["count"] == 3000
    for row in games["games"][:20]:
        game = read(trained, f"/runs/trained/games/{games['cycle']}/{row['number']}")
        assert game["outcome"] == row["outcome"] and len(game["moves"]) == row["plies"]
        assert len(game["positions"]) == len(game["values"]) == len(game["moves"]) + 1
        assert sum(map(bool, game["positions"][-1]["marks"])) == len(game["moves"])
        assert game["values"][-1] == game["outcome"]  # tic-tac-toe is played to its end
        assert all(value is None for value in game["values"][: game["opening"]])


def test_the_doctor_runs_no_rules_that_the_studio_was_not_started_with(tmp_path: Path) -> None:
    games = (PROJECT / "tests" / "old_run" / "data" / "old" / "000001-000.pickle").read_bytes()
    studio, mine, ran = make_studio(tmp_path), tmp_path / "mine.py", tmp_path / "ran"
    mine.write_text(f"open({str(ran)!r}, 'w')\n")
    with Run.open(replace(studio.config, run="mine"), "mine", "test") as run:
        shards = [run.write_shard(1, 0, games, 1, 1)]
        run.commit(replace(run.state, shards=shards, config={**run.state.config, "game.name": str(mine)}))
        assert newest_games(run)
    with client_of(studio) as client:
        assert "findings" in read(client, "/runs/mine/doctor") and not ran.exists()


@pytest.mark.parametrize(
    "path, status",
    [
        ("/runs/none", 404),
        ("/runs/none/doctor", 404),
        ("/runs/trained/games", 400),
        ("/runs/trained/games?cycle=-1", 400),
        ("/runs/trained/games?cycle=99", 404),
        ("/runs/trained/games/5/999999", 404),
        ("/runs/trained/games/5/x", 400),
        ("/matches/000001", 404),
        ("/matches/..%2f..%2ftrained", 404),
        ("/matches/1/games/0", 404),
    ],
)
def test_what_there_is_not_is_said_in_a_sentence(trained: Any, path: str, status: int) -> None:
    answer = trained.get(f"/api{path}")
    assert answer.status_code == status and answer.json()["error"].endswith(".")


def test_a_damaged_run_is_in_the_list(trained: Any, tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "trained" / "state.json").write_text("{")
    (run,) = read(trained, "/runs")["runs"]
    assert run["state"] == "damaged" and "state.json" in run["sentence"]
    assert trained.get("/api/runs/trained").status_code == 400


def test_a_match_fills_its_table_and_its_games_are_replayed(trained: Any) -> None:
    early = read(trained, "/runs/trained")["champions"][0]
    players = [player("pv_mcts", run="trained", cycle=early, num_simulations=4), player("random")]
    name = ask(
        trained, "/matches", {"game": "tictactoe", "first": players[0], "second": players[1], "games": 6}
    )["id"]
    match = wait_for(lambda: read(trained, f"/matches/{name}"), lambda match: match["state"] != "playing")
    assert match["state"] == "finished" and match["done"] == match["total"] == 6, match["lines"]
    (pairing,) = match["pairings"]
    assert pairing["wins"] + pairing["draws"] + pairing["losses"] == 6
    assert pairing["low"] <= pairing["score"] <= pairing["high"]
    assert {tuple(game["players"]) for game in match["list"]} == {(0, 1), (1, 0)}
    game = read(trained, f"/matches/{name}/games/0")
    assert (
        len(game["positions"]) == len(game["moves"]) + 1
        and f"champion of trained, cycle {early}" in game["players"]
    )
    assert trained.get(f"/api/matches/{name}/games/6").status_code == 404
    assert ask(trained, f"/matches/{name}/stop", status=409)["error"] == "This match is not being played."
    assert [match["id"] for match in read(trained, "/matches")["matches"]] == [name]


def test_a_match_that_cannot_be_noted_is_not_played(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def start(*words: Any) -> Any:
        begun.append(processes.start(*words))
        return begun[-1]

    def fail(*_: Any) -> None:
        raise UserError("The disk is full.")

    monkeypatch.setattr(matches, "start", start)
    monkeypatch.setattr(matches, "write_atomically", fail)
    asked = {"game": "tictactoe", "first": player("random"), "second": player("random"), "games": 1000}
    assert ask(trained, "/matches", asked, 400)["error"] == "The disk is full."
    assert [process.poll() is not None for process in begun] == [True]
    assert read(trained, "/matches")["matches"] == []


def test_a_tournament_is_stopped_and_found_again(trained: Any, tmp_path: Path) -> None:
    asked = {
        "game": "hex5",
        "players": [player("uct", seconds=0.2), player("random"), player("uct", seconds=0.1)],
    }
    name = ask(trained, "/matches", asked | {"games": 1000})["id"]
    wait_for(lambda: read(trained, f"/matches/{name}"), lambda match: match["done"] >= 2)
    with client_of(make_studio(tmp_path)) as again:
        assert read(again, f"/matches/{name}")["state"] == "playing"
        ask(again, f"/matches/{name}/stop")
        match = wait_for(lambda: read(again, f"/matches/{name}"), lambda match: match["state"] != "playing")
        assert match["state"] == "stopped" and 2 <= match["done"] < match["total"] == 3000
        assert match["players"][1] == "random" and match["games"] == 1000


@pytest.mark.parametrize(
    "change, said",
    [
        ({"games": 3}, "even number"),
        ({"games": 0}, "even number"),
        ({"games": "20"}, "even number"),
        ({"game": "draughts"}, "There is no game"),
        ({"first": {"kind": "person"}}, "played by machines"),
        ({"first": player("nobody")}, "unknown player nobody"),
        ({"first": player("uct", record="/tmp/x")}, "record"),
        (
            {"first": player("uct", num_simulations=10**9)},
            "Num simulations must be a whole number from 1 to 200,000, not",
        ),
        ({"players": [player("uct")]}, "2 players"),
        ({"players": [player("random")] * 9}, "2 players"),
    ],
)
def test_what_may_not_be_played_is_refused(
    client: Any, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    asked = {"game": "tictactoe", "first": player("uct"), "second": player("random")}
    assert said in ask(client, "/matches", asked | change, 400)["error"]
    assert not (tmp_path / "data" / ".studio" / "matches").exists()


def own_priority() -> int:
    """Return the calling thread's priority."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="only there do searches have low priority")
def test_a_run_goes_before_the_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studio, own = make_studio(tmp_path), os.getpriority(os.PRIO_PROCESS, 0)
    if own == 19:
        pytest.skip("the tests have the lowest priority")
    monkeypatch.setattr(threads, "NICE", own + 1)
    with client_of(studio) as client:
        name = client.post("/api/train", json=ENDLESS).json()["run"]
        process = studio.jobs.processes[name]
        priority = os.getpriority(os.PRIO_PROCESS, process.pid)
        process.kill()
        process.wait()
    assert priority == own < asyncio.run(threads.in_thread(own_priority))
    assert asyncio.run(threads.in_thread(own_priority, low=False)) == own


@pytest.mark.skipif(sys.platform != "linux", reason="only there do searches have low priority")
def test_a_search_keeps_a_priority_that_is_lower_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `nice -n 15`: only a system's administrator may give it a higher one."""
    monkeypatch.setattr(threads, "NICE", os.getpriority(os.PRIO_PROCESS, 0) - 1)
    assert asyncio.run(threads.in_thread(own_priority)) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_run_on_another_machine_is_not_stopped_here(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    signalled: list[int] = []
    holder = Holder("azero.loop", 4242, "elsewhere", "today")  # with a folder that two machines share
    monkeypatch.setattr(jobs, "present_holder", lambda folder: holder)
    monkeypatch.setattr(jobs, "ask_to_stop", signalled.append)
    answer = trained.post("/api/runs/trained/stop", json={})
    assert (answer.status_code, answer.json()["error"]) == (
        409, "Run trained trains on elsewhere; stop it there.",
    )  # fmt: skip
    assert not signalled


def test_a_folder_with_a_name_that_no_run_can_have_is_passed_over(client: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / ".old"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text("{}")
    assert client.get("/api/runs").json() == {"runs": []}


def test_pages_read_games_at_once(
    trained_run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(OrderedDict[str, Any]):
        """Lets others in between what was read and its use."""

        def move_to_end(self, key: str, last: bool = True) -> None:
            super().move_to_end(key, last)
            time.sleep(0.01)

    trained_run.copy_to(tmp_path)
    monkeypatch.setattr(runs_view, "OrderedDict", Slow)
    monkeypatch.setattr(runs_view, "SHARDS_KEPT", 0)  # each answer forgets what it has read
    with client_of(make_studio(tmp_path)) as client, ThreadPoolExecutor(8) as many:
        cycles = client.get("/api/runs/trained").json()["games"]
        asked = [f"/api/runs/trained/games?cycle={cycle}" for cycle in cycles * 10]
        assert {answer.status_code for answer in many.map(client.get, asked)} == {200}
