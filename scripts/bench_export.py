"""Measure an exported page as a person meets it, in headless Chromium, from disk.

    python scripts/bench_export.py connect_four.html

Every number is the best of five, because whatever else runs on the machine only adds to it.

- opening: from the browser's call to a board that takes a click, in a new browser context.
- answer: from the first click to azero's piece, with the run's own simulations. The page waits 0.3 s at
  least, so that the eye sees both moves.
- search: 400 simulations of the first position in the page's worker.
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
EVALUATIONS = 200
# The page's own worker code in a worker of its own, so that only it is measured.
MEASURE = """([simulations, evaluations]) => new Promise((done, fail) => {
    const text = (id) => document.getElementById(id).textContent, about = JSON.parse(text("about"));
    const code = text("worker") + `
        const answering = onmessage;
        onmessage = async ({ data }) => {
            if (data.wasm) return answering({ data });
            let began = performance.now();
            for (let i = 0; i < data.evaluations; i++) engine.evaluate();
            const evaluation = (performance.now() - began) / data.evaluations;
            began = performance.now();
            engine.begin(data.kind, data.simulations);
            while (engine.grow(25));
            const { simulations } = engine.read();
            postMessage({ search: performance.now() - began, evaluation, simulations });
        };`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onerror = (event) => fail(event.message);
    worker.onmessage = ({ data }) => data.ready
        ? worker.postMessage({ simulations, evaluations, kind: about.layout.algorithms.at(-1) }) : done(data);
    const { layout, packing, width } = about;
    worker.postMessage({ wasm: text("wasm"), weights: text("weights"), layout, packing, width });
})"""


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
    answered = time.perf_counter()
    found: dict[str, Any] = page.evaluate(MEASURE, [SIMULATIONS, EVALUATIONS])
    context.close()
    assert found["simulations"] == SIMULATIONS, "the first position is proven before the search ends"
    return {
        "opening": 1000 * (opened - began),
        "answer": 1000 * (answered - clicked),
        "search": found["search"],
        "evaluation": found["evaluation"],
    }


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
    print(f"search: {best['search']:.0f} ms for {SIMULATIONS} simulations")
    print(f"evaluation: {best['evaluation']:.2f} ms")


if __name__ == "__main__":
    main()
