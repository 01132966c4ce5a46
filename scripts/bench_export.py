"""Measure an exported page as a person meets it, in headless Chromium, from disk.

    python scripts/bench_export.py connect_four.html

Every time is the best of five. "of a processor" is what the page's process used, which other programs on the
machine do not change.

- opening: from the browser's call to a board that takes a click, in a new browser context.
- answer: from the first click to azero's piece, with the run's own simulations. The page waits 0.3 s at
  least, so that the eye sees both moves.
- search: 400 simulations of the first position in a worker like the page's.
- evaluation: one evaluation by the network there.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROUNDS = 5
SIMULATIONS = 400
EVALUATIONS = 1000
# The page's own worker code in another worker, which measures; `measure` returns milliseconds.
PREPARE = """() => new Promise((ready, fail) => {
    const text = (id) => document.getElementById(id).textContent;
    const { layout, packing, width } = JSON.parse(text("about"));
    const code = text("worker") + `
        const starting = onmessage;
        onmessage = async ({ data }) => {
            if (data.wasm) return starting({ data });
            const began = performance.now();
            for (let i = 0; i < data.evaluations; i++) engine.evaluate();
            if (data.simulations) engine.begin(data.kind, data.simulations);
            while (data.simulations && engine.grow(25));
            postMessage({ milliseconds: performance.now() - began, done: engine.read().simulations });
        };`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onerror = (event) => fail(event.message);
    window.measure = ([simulations, evaluations]) => new Promise((done) => {
        worker.onmessage = ({ data }) => done([data.milliseconds, data.done]);
        worker.postMessage({ simulations, evaluations, kind: layout.algorithms.at(-1) });
    });
    worker.onmessage = ready;
    worker.postMessage({ wasm: text("wasm"), weights: text("weights"), layout, packing, width });
}).then(() => true)"""


def processor_seconds(browser: Browser) -> float:
    """Return what all pages' processes have used so far."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(each["cpuTime"] for each in processes if each["type"] == "renderer")


def measure(browser: Browser, file: Path) -> dict[str, float]:
    """Return milliseconds of one visit."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(file.resolve().as_uri())
    page.locator(".hit.can").first.wait_for()
    opened = time.perf_counter()
    page.locator(".hit.can").first.click()
    clicked = time.perf_counter()
    page.locator(".stones .stone").nth(1).wait_for(state="attached")
    found = {"opening": 1000 * (opened - began), "answer": 1000 * (time.perf_counter() - clicked)}
    page.evaluate(PREPARE)
    for name, work in {"search": [SIMULATIONS, 0], "evaluation": [0, EVALUATIONS]}.items():
        count, before = EVALUATIONS if name == "evaluation" else 1, processor_seconds(browser)
        milliseconds, done = page.evaluate("work => measure(work)", work)
        assert done == SIMULATIONS, "the first position is proven before the search ends"
        found[name] = milliseconds / count
        found[f"{name}, processor"] = 1000 * (processor_seconds(browser) - before) / count
    context.close()
    return found


def main() -> None:
    """Measure the page and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", type=Path, help="a file that azero export has written")
    file = parser.parse_args().page
    with sync_playwright() as browsers:
        launch: dict[str, Any] = {"args": ["--no-sandbox"], "executable_path": shutil.which("chromium")}
        browser = browsers.chromium.launch(**launch)
        visits = [measure(browser, file) for _ in range(ROUNDS)]
        browser.close()
    best = {name: min(each[name] for each in visits) for name in visits[0]}
    print(f"size: {file.stat().st_size:,} bytes")
    print(f"opening: {best['opening']:.0f} ms until the first move is possible")
    print(f"answer: {best['answer']:.0f} ms")
    for name, digits, text in (("search", 0, f"{SIMULATIONS} simulations"), ("evaluation", 2, "one")):
        used = best[f"{name}, processor"]
        print(f"{name}: {best[name]:.{digits}f} ms for {text}, {used:.{digits}f} ms of a processor")


if __name__ == "__main__":
    main()
