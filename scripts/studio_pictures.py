"""Take the studio's pictures for the README and docs/studio.md; `screenshot.py studio` calls it.

Needs Chromium, playwright, and a run with a champion of Connect Four.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from studio_server import server

MOVES = ["4", "4", "4", "4", "4", "2", "3", "5", "3", "3"]
WIDE, PHONE = (1280, 800), (390, 780)
PERSON = {"kind": "person"}


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

    with server(folder) as running, sync_playwright() as browsers:
        chromium = browsers.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        champion = {"kind": "player", "name": "pv_mcts", "options": {"run": run, "num_simulations": 200}}
        asked = {"game": "connect_four", "sides": [PERSON, champion], "moves": MOVES}
        table = running.ask("/tables", asked)["id"]
        running.ask(f"/tables/{table}/review", {})
        running.ask(f"/tables/{table}/analyse", {"player": "pv_mcts", "run": run, "simulations": 3000})
        while not (known := running.ask(f"/tables/{table}"))["analysis"]["done"] or known["review"]["on"]:
            time.sleep(0.2)
        schemes: dict[str, Literal["light", "dark"]] = {"": "light", "-dark": "dark", "-phone": "light"}
        for (width, height), suffix in zip((WIDE, WIDE, PHONE), schemes, strict=True):
            page = chromium.new_context(
                viewport={"width": width, "height": height},
                color_scheme=schemes[suffix],
                device_scale_factor=1.5,
            ).new_page()
            page.goto(f"{running.base}/?token={running.token}")
            page.goto(f"{running.base}/#/play?game=connect_four&moves={'.'.join(MOVES)}&table={table}")
            page.wait_for_selector(".board [data-cell]")
            page.wait_for_timeout(3000)
            shoot(page, f"studio{suffix}")
            if suffix:
                continue
            for tab in (f"train?run={run}", f"runs?run={run}", "learn"):
                page.goto(f"{running.base}/#/{tab}")
                shoot(page, f"studio-{tab.partition('?')[0]}")
        chromium.close()
    return made
