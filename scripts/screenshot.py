"""Take pictures with a headless browser: of TensorBoard's "start here" page, or of the studio.

    python scripts/screenshot.py checkpoints/tictactoe start_here.png
    python scripts/screenshot.py studio docs --run connect_four_quick

Needs Chromium or Chrome on the PATH; the studio's pictures need playwright too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from studio_pictures import take

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PAGE = "#custom_scalars&_smoothingWeight=0"  # no smoothing: there are few points
START_SECONDS = 60.0
DRAW_MILLISECONDS = 15_000  # of the page's own clock, which stops while the page waits for data
BROWSER_SECONDS = 120.0


class Missing(Exception):
    """Something is missing; the message says what, in one sentence."""


def find_browser() -> str:
    """Return the path of the browser.

    Raises:
        Missing: no browser was found.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise Missing(
        "There is no Chromium on the PATH; install it (Debian and Ubuntu: apt-get install chromium)."
    )


@contextmanager
def serve(logdir: Path) -> Iterator[str]:
    """Run TensorBoard on a free port of this machine while the block runs; yield its address."""
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logdir),
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, text=True)
        try:
            yield wait_for_address(server, log)
        finally:
            server.terminate()
            server.wait()


def wait_for_address(server: subprocess.Popen[str], log: Any) -> str:
    """Return the address that TensorBoard prints when it is ready."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        log.seek(0)
        for word in log.read().split():
            if word.startswith("http://127.0.0.1:"):
                return str(word)
        time.sleep(0.2)
    log.seek(0)
    raise Missing(f"TensorBoard did not start; it said: {' '.join(log.read().split()) or 'nothing'}.")


def get(address: str) -> Any:
    """Return the JSON at an address of this machine, without a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=10) as answer:
        return json.load(answer)


def wait_for_stats(address: str, logdir: Path) -> tuple[int, int]:
    """Wait until TensorBoard has read the folder; return the number of charts and of stats.

    Raises:
        Missing: the folder has no run.
    """
    until, before = time.monotonic() + START_SECONDS, None
    while time.monotonic() < until:
        try:
            layout = get(address + "data/plugin/custom_scalars/layout")
            tags = get(address + "data/plugin/scalars/tags")
        except (urllib.error.URLError, OSError):
            layout, tags = {}, {}
        if layout and tags and tags == before:
            return sum(len(category["chart"]) for category in layout["category"]), sum(
                len(names) for names in tags.values()
            )
        before = tags
        time.sleep(1.0)
    raise Missing(
        f"{logdir} has no start-here page; name the folder of a run, such as checkpoints/tictactoe."
    )


def take_picture(browser: str, address: str, picture: Path, width: int, height: int) -> None:
    """Write the page as a PNG file.

    Raises:
        Missing: the browser wrote no picture.
    """
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
            "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", f"--user-data-dir={profile}",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            f"--window-size={width},{height}", f"--virtual-time-budget={DRAW_MILLISECONDS}",
            f"--screenshot={picture.resolve()}", address + PAGE,
        ]  # fmt: skip
        picture.unlink(missing_ok=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BROWSER_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Missing(f"{browser} drew nothing within {BROWSER_SECONDS:.0f} s.") from error
        if not picture.is_file():
            raise Missing(
                f"{browser} wrote no picture; it said: {' '.join(done.stderr.split())[-500:] or 'nothing'}."
            )


def main() -> int:
    """Take the picture that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logdir", type=Path, help="folder of a run, such as checkpoints/tictactoe, or studio")
    parser.add_argument("picture", type=Path, help="PNG file to write; of the studio, a folder")
    parser.add_argument("--run", default="connect_four_quick", help="studio: a run of Connect Four")
    parser.add_argument("--folder", type=Path, default=Path(), help="studio: holds checkpoints and data")
    parser.add_argument("--width", type=int, default=1480, help="of the window, in pixels")
    parser.add_argument("--height", type=int, default=800, help="of the window, in pixels")
    arguments = parser.parse_args()
    try:
        browser = find_browser()
        if arguments.logdir == Path("studio"):
            arguments.picture.mkdir(parents=True, exist_ok=True)
            print(*take(browser, arguments.run, arguments.folder, arguments.picture), sep="\n")
            return 0
        if not arguments.logdir.is_dir():
            raise Missing(
                f"There is no folder {arguments.logdir}; name one of a run, such as checkpoints/tictactoe."
            )
        arguments.picture.parent.mkdir(parents=True, exist_ok=True)
        with serve(arguments.logdir) as address:
            charts, stats = wait_for_stats(address, arguments.logdir)
            take_picture(browser, address, arguments.picture, arguments.width, arguments.height)
    except Missing as missing:
        print(f"screenshot: {missing}", file=sys.stderr)
        return 2
    print(f"{arguments.picture}: {charts} charts; TensorBoard read {stats} stats from {arguments.logdir}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
