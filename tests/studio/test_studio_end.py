"""Ctrl-C ends the studio without an error, whatever it is asked at that moment."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")
pytest.importorskip("uvicorn", reason="the extra studio is not installed")

import httpx
from websockets.sync.client import connect

SLOW = {"kind": "player", "name": "uct", "options": {"num_simulations": 200_000}}
PROGRAM = """
from azero.studio import server, state, threads
from azero.studio.__main__ import main
server.HINT_SIMULATIONS, state.MOST_QUESTIONS, threads.NICE = 200_000, 1, 0
main()
"""
# Where a shell lets its background jobs ignore Ctrl-C, the server returns and Python itself has to end. It
# would wait here for the object that the work of another thread holds, as it does for one that compiles.
HELD = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import atexit, threading
from azero.studio import server, threads
from azero.studio.__main__ import main

def hold(*_):
    atexit.register(threading.Event().wait)
    print("holds", flush=True)
    threading.Event().wait()

server.champions_of = hold
main()
"""
# The server's loop itself is held up.
LATE = """
import time
from azero.studio import server, serving
from azero.studio.__main__ import main

def hold(*_):
    print("holds", flush=True)
    while True:
        time.sleep(0.01)

server.table_of, serving.LATE_SECONDS = hold, 0.1
main()
"""


@pytest.fixture
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A studio; by default its hints take long and come one at a time."""
    script = tmp_path / "azero"  # by this name it is a program of azero, which takes over signals
    script.write_text(getattr(request, "param", PROGRAM))
    words = [sys.executable, str(script), "open=false", "port=0"]
    running = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with running:
        yield running
        running.kill()


@pytest.fixture
def page(program: subprocess.Popen[str]) -> Iterator[httpx.Client]:
    """A page that has shown its token."""
    assert program.stdout is not None
    found = re.search(r"(http://127\S+)/\?token=\S+", program.stdout.readline())
    assert found and program.stdout.readline().startswith("Ctrl-C ends it")
    with httpx.Client(base_url=found[1], timeout=120) as client:
        client.get(found[0])
        yield client


def interrupt(program: subprocess.Popen[str]) -> str:
    """End a program as Ctrl-C does; return what it has printed as errors."""
    program.send_signal(signal.SIGINT)
    return program.communicate(timeout=60)[1]


def test_a_hint_under_way_is_refused_and_nothing_is_printed(
    program: subprocess.Popen[str], page: httpx.Client
) -> None:
    table = page.post("/api/tables", json={"game": "gomoku"}).json()["id"]

    def hint() -> httpx.Response:
        return page.post(f"/api/tables/{table}/hint", json={})

    with ThreadPoolExecutor(2) as threads:
        hints = [threads.submit(hint) for _ in range(2)]
        refused = next(as_completed(hints)).result()
        assert refused.status_code == 429  # so the other one is under way
        assert interrupt(program) == ""
        answers = {each.result().status_code: each.result().json()["error"] for each in hints}
    assert answers[503] == "The studio has ended."


@pytest.mark.parametrize("plays", [True, False], ids=["a player", "an analysis"])
def test_a_search_that_a_page_looks_at_ends(
    program: subprocess.Popen[str], page: httpx.Client, plays: bool
) -> None:
    asked = {"game": "gomoku", **({"sides": [SLOW, SLOW]} if plays else {})}
    table = page.post("/api/tables", json=asked).json()["id"]
    if not plays:
        page.post(f"/api/tables/{table}/analyse", json={"simulations": 200_000})
    cookie = "; ".join(f"{name}={value}" for name, value in page.cookies.items())
    stream = f"ws://{page.base_url.netloc.decode()}/api/tables/{table}/stream"
    with connect(stream, additional_headers={"cookie": cookie}) as socket:
        while json.loads(socket.recv())["type"] != "analysis":
            pass
        assert interrupt(program) == ""


@pytest.mark.parametrize("program", [HELD], indirect=True)
def test_work_that_cannot_be_stopped_is_not_waited_for(
    program: subprocess.Popen[str], page: httpx.Client, tmp_path: Path
) -> None:
    table = page.post("/api/tables", json={}).json()["id"]
    assert program.stdout is not None
    with ThreadPoolExecutor(1) as thread:
        held = thread.submit(page.get, "/api/players?game=tictactoe")
        assert program.stdout.readline() == "holds\n"
        page.post(f"/api/tables/{table}/move", json={"move": "4"})
        assert interrupt(program) == "" and program.returncode == 0
        assert held.result().json() == {"error": "The studio has ended."}
    assert (tmp_path / "data/.studio/games" / f"{table}.json").exists()


def test_a_second_ctrl_c_does_not_keep_games_from_being_saved(
    program: subprocess.Popen[str], page: httpx.Client, tmp_path: Path
) -> None:
    table = page.post("/api/tables", json={}).json()["id"]
    page.post(f"/api/tables/{table}/move", json={"move": "4"})
    page.post(f"/api/tables/{table}/move", json={"move": "0"})
    program.send_signal(signal.SIGINT)
    assert interrupt(program) == ""
    kept = json.loads((tmp_path / "data/.studio/games" / f"{table}.json").read_text())
    assert kept["moves"] == ["4", "0"]


@pytest.mark.parametrize("program", [LATE], indirect=True)
def test_an_end_that_takes_long_says_so_and_a_second_ctrl_c_ends_it(
    program: subprocess.Popen[str], page: httpx.Client
) -> None:
    assert program.stdout is not None and program.stderr is not None
    with ThreadPoolExecutor(1) as thread:
        thread.submit(page.get, "/api/tables/x")
        assert program.stdout.readline() == "holds\n"
        program.send_signal(signal.SIGINT)
        assert "Ctrl-C again ends it now." in program.stderr.readline()
        assert interrupt(program) == "" and program.returncode == 130
