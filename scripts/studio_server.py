"""A studio in a process of its own, for scripts that look at it or measure it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Server:
    """A studio in a process of its own."""

    def __init__(self, folder: str | Path) -> None:
        """`folder`: holds checkpoints/ and data/."""
        command = [sys.executable, "-m", "azero.studio", "open=false", "port=0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        assert self.process.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:(\d+))/\?token=(\S+)", self.process.stdout.readline())
        assert found, "the studio did not start"
        self.base, self.token = found[1], found[3]
        self.cookie = f"azero_studio_{found[2]}={found[3]}"

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to a GET, or to a POST of a body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/api{path}", data, {"cookie": self.cookie})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024  # type: ignore[index]


@contextmanager
def server(folder: str | Path) -> Iterator[Server]:
    """Yield a studio; it ends with the context."""
    running = Server(folder)
    try:
        yield running
    finally:
        running.process.terminate()
        running.process.wait()
