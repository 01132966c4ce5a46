"""What a head has started on its machine ends with it, also after `kill -9`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_for

HEAD = """
import subprocess, sys, time
from azero.cluster.guardian import guarded
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
deaf = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.setsid(); "
parent = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(600)"
with guarded():
    subprocess.Popen([sys.executable, "-c", deaf + parent, *sleep])
subprocess.Popen([*sleep, "not guarded"])
print("begun", flush=True)
{last}
"""


def running(words: bytes) -> list[int]:
    """Processes whose environment, or whose arguments, hold some words."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                texts = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
                found += [int(folder.name)] if words in texts[0] or words in texts[1] else []
        except OSError:
            continue
    return found


def wait_until(count: int, words: bytes) -> list[int]:
    """Wait until so many processes are there; return them."""
    found: list[int] = wait_for(lambda: running(words), lambda found: len(found) == count)
    return found


@pytest.mark.parametrize("last", ["time.sleep(600)", "sys.exit()"])
def test_all_that_was_started_inside_ends_with_the_head_and_nothing_else_does(last: str) -> None:
    """A child that ignores SIGTERM in a session of its own, and its child, end; the third one does not."""
    head = subprocess.Popen(
        [sys.executable, "-c", HEAD.format(last=last)], stdout=subprocess.PIPE, start_new_session=True
    )
    assert head.stdout and head.stdout.readline() == b"begun\n"
    mark = b"AZERO_GUARDED=%d-" % head.pid
    if last != "sys.exit()":
        wait_until(2, mark)
        head.send_signal(signal.SIGKILL)
    head.stdout.close()
    head.wait(60)
    wait_until(0, mark)
    wait_until(0, b"guardian.py\0%d-" % head.pid)  # it ends too
    (other,) = [pid for pid in running(b"not guarded") if os.getsid(pid) == head.pid]
    os.kill(other, signal.SIGKILL)
