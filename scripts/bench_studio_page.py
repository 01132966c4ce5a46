"""Measure the studio as a person meets it: how soon the page answers, and what it costs.

    python scripts/bench_studio_page.py  # needs the extra studio, playwright and Chromium

A real server and Chromium, on this machine together. Connect Four, a champion of 5 x 64 that has learned
nothing (its speed is that of any other).

- start: from the command to a page with a board that takes a click; the best of five, warm.
- click: from a click to the champion's piece on the board, 100 simulations, by the page's clock; median over
  games of other moves.
- streaming: the time of a search of 20,000 simulations with a page that shows it, and with a reader of the
  same messages that draws nothing, over that without either, in turns; medians of the ratios. The page's
  drawing takes part of the same cores.
- memory: what 200 more idle games, each with its stream open, add to the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import ExitStack
from typing import Any

import websockets
from playwright.sync_api import Page, sync_playwright
from studio_server import Server, server
from websockets.sync.client import connect

SIMULATIONS = 20_000
ROUNDS, TURNS = 7, 15
GAMES = 200
PERSON = {"kind": "person"}
CHAMPION = {"kind": "player", "name": "pv_mcts", "options": {"run": "bench", "num_simulations": 100}}
WATCH_ANSWERS = """() => {
  let clicked = null, wanted = 0;
  const stones = () => document.querySelectorAll(".stones .stone").length;
  window.answers = [];
  addEventListener("pointerup", (event) => [clicked, wanted] = [event.timeStamp, stones() + 2], true);
  new MutationObserver(() => {
    if (clicked === null || stones() < wanted) return;
    answers.push(performance.now() - clicked);
    clicked = null;
  }).observe(document.body, { subtree: true, childList: true });
}"""
LAUNCH: dict[str, Any] = {"args": ["--no-sandbox"], "executable_path": shutil.which("chromium")}


def start_seconds(folder: str) -> float:
    """Return the seconds from the command to a board that takes a click."""
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(**LAUNCH)
        page = browser.new_page()
        began = time.perf_counter()
        with server(folder) as running:
            page.goto(f"{running.base}/?token={running.token}")
            page.wait_for_selector(".board [data-cell]", timeout=60_000)
            taken = time.perf_counter() - began
            browser.close()
    return taken


def click_seconds(running: Server, page: Page) -> list[float]:
    """Return the seconds from each click to the champion's answer on the board, by the page's clock."""
    page.goto(f"{running.base}/?token={running.token}")
    found = list[float]()
    for first in range(ROUNDS):
        table = running.ask("/tables", {"game": "connect_four", "sides": [PERSON, CHAMPION]})
        page.goto(f"{running.base}/#/play?table={table['id']}")
        page.reload()
        page.wait_for_selector(".board [data-cell]")
        page.evaluate(WATCH_ANSWERS)
        for move in range(first, first + 8, 2):  # a game of its own each time: no evaluation is known already
            answers = page.evaluate("answers.length")
            page.locator(f".board [data-cell='{35 + move % 7}']").click(force=True)
            page.wait_for_function("had => answers.length > had", arg=answers, polling=100)
        found += page.evaluate("answers")
    return [milliseconds / 1000 for milliseconds in found]


def search_seconds(running: Server, table: str) -> float:
    """Return the seconds of a whole analysis of a new position."""
    moves = running.ask(f"/tables/{table}")["position"]["moves"]
    running.ask(f"/tables/{table}/move", {"action": moves[len(moves) // 2]["action"]})
    began = time.perf_counter()
    running.ask(f"/tables/{table}/analyse", {"player": "pv_mcts", "run": "bench", "simulations": SIMULATIONS})
    while not running.ask(f"/tables/{table}")["analysis"]["done"]:
        time.sleep(0.02)
    return time.perf_counter() - began


def read_on(running: Server, table: str, ended: threading.Event) -> None:
    """Read a table's stream, as a page does, and draw nothing."""
    address = f"{running.base.replace('http', 'ws')}/api/tables/{table}/stream"
    with connect(address, additional_headers={"Cookie": running.cookie}) as socket:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                socket.recv(0.2)


def streaming(running: Server, page: Page) -> tuple[dict[str, float], float]:
    """Return the slowdown of a search by a reader and by a page, and simulations/s without them."""
    ratios, alone = defaultdict[str, list[float]](list), list[float]()
    search_seconds(running, running.ask("/tables", {"game": "connect_four", "sides": [PERSON, PERSON]})["id"])
    for _ in range(TURNS):  # after a search that is not counted
        seconds = dict[str, float]()
        for watched in ("page", "nobody", "reader"):
            table = running.ask("/tables", {"game": "connect_four", "sides": [PERSON, PERSON]})["id"]
            ended = threading.Event()
            reader = threading.Thread(target=read_on, args=(running, table, ended))
            if watched == "reader":
                reader.start()
            if watched == "page":
                page.goto(f"{running.base}/#/play?table={table}")
                page.reload()
                page.wait_for_selector(".board [data-cell]")
            else:
                page.goto("about:blank")
            seconds[watched] = search_seconds(running, table)
            ended.set()
            if watched == "reader":
                reader.join()
        for watched in ("page", "reader"):
            ratios[watched].append(seconds[watched] / seconds["nobody"])
        alone.append(SIMULATIONS / seconds["nobody"])
    return {each: statistics.median(known) for each, known in ratios.items()}, statistics.median(alone)


async def memory_of_games(running: Server) -> float:
    """Return the MiB that GAMES idle games with open streams add."""
    before = running.memory()
    async with asyncio.timeout(120):
        sockets = []
        for _ in range(GAMES):
            table = await asyncio.to_thread(running.ask, "/tables", {"game": "connect_four"})
            address = f"{running.base.replace('http', 'ws')}/api/tables/{table['id']}/stream"
            sockets.append(await websockets.connect(address, additional_headers={"Cookie": running.cookie}))
            await sockets[-1].recv()
        added = running.memory() - before
        for socket in sockets:
            await socket.close()
    return added


def main() -> None:
    """Measure everything and print it."""
    with ExitStack() as ending:
        folder = ending.enter_context(tempfile.TemporaryDirectory())
        make = [sys.executable, "-m", "azero.initialize", "connect_four", "run=bench"]
        subprocess.run(make, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print(f"load average {os.getloadavg()[0]:.1f}")
        starts = [start_seconds(folder) for _ in range(5)]
        print(f"start: {min(starts):.2f} s (median {statistics.median(starts):.2f})")
        running = ending.enter_context(server(folder))
        print(f"memory of {GAMES} idle games: {asyncio.run(memory_of_games(running)):.0f} MiB")
        browsers = ending.enter_context(sync_playwright())
        page = browsers.chromium.launch(**LAUNCH).new_page()
        clicks = click_seconds(running, page)
        print(f"click to answer: {1000 * statistics.median(clicks):.0f} ms (most {1000 * max(clicks):.0f})")
        ratios, speed = streaming(running, page)
        for watched, ratio in ratios.items():
            print(f"search with a {watched}: {100 * (ratio - 1):.1f} % slower")
        print(f"search alone: {speed:,.0f} simulations/s")


if __name__ == "__main__":
    main()
