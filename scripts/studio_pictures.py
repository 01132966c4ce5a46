"""Take the studio's pictures for the README and docs/studio.md; `screenshot.py studio` calls it.

Needs Chromium, playwright, and a run with a champion of Connect Four.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

MOVES = ["4", "4", "4", "4", "4", "2", "3", "5", "3", "3"]
WIDE, PHONE = (1280, 800), (390, 780)
PERSON = {"kind": "person"}


@contextmanager
def studio(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the address and the token of a studio for the runs below a folder, while the block runs."""
    words = ["open=false", "port=0", f"checkpoints={folder / 'checkpoints'}", f"data={folder / 'data'}"]
    command = [sys.executable, "-m", "azero.studio", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", server.stdout.readline())
        assert found, "the studio did not start"
        try:
            yield found[1], found[2]
        finally:
            server.terminate()


def ask(address: str, token: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the answer to a GET, or to a POST of a body."""
    cookie = f"azero_studio_{address.rpartition(':')[2]}={token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api{path}", data, {"cookie": cookie})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def take(browser: str, run: str, folder: Path, target: Path) -> list[Path]:
    """Write the pictures into a folder and return their paths.

    Args:
        browser: the path of Chromium.
        run: with a champion of Connect Four.
        folder: holds checkpoints/ and data/.
        target: where the pictures go.
    """
    from playwright.sync_api import Page, sync_playwright

    made = list[Path]()

    def shoot(page: Page, name: str) -> None:
        page.wait_for_timeout(1500)
        made.append(target / f"{name}.png")
        page.screenshot(path=made[-1])

    with studio(folder) as (address, token), sync_playwright() as browsers:
        chromium = browsers.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        champion = {"kind": "player", "name": "pv_mcts", "options": {"run": run, "num_simulations": 200}}
        asked = {"game": "connect_four", "sides": [PERSON, champion], "moves": MOVES}
        table = ask(address, token, "/tables", asked)["id"]
        ask(address, token, f"/tables/{table}/review", {"simulations": 200})
        ask(
            address, token, f"/tables/{table}/analyse", {"player": "pv_mcts", "run": run, "simulations": 3000}
        )
        while (
            not (known := ask(address, token, f"/tables/{table}"))["analysis"]["done"] or known["reviewing"]
        ):
            time.sleep(0.2)
        schemes: dict[str, Literal["light", "dark"]] = {"": "light", "-dark": "dark", "-phone": "light"}
        for (width, height), suffix in zip((WIDE, WIDE, PHONE), schemes, strict=True):
            page = chromium.new_context(
                viewport={"width": width, "height": height},
                color_scheme=schemes[suffix],
                device_scale_factor=1.5,
            ).new_page()
            page.goto(f"{address}/?token={token}")
            page.goto(f"{address}/#/play?game=connect_four&moves={'.'.join(MOVES)}&table={table}")
            page.wait_for_selector(".board [data-cell]")
            page.wait_for_timeout(3000)
            shoot(page, f"studio{suffix}")
            if suffix:
                continue
            for tab in (f"train?run={run}", f"runs?run={run}", "learn"):
                page.goto(f"{address}/#/{tab}")
                shoot(page, f"studio-{tab.partition('?')[0]}")
        chromium.close()
    return made
