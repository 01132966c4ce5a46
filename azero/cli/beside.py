"""Run a program of azero beside another process: `python -m azero.cli.beside loop ARGUMENTS`.

The other process holds the writing end of the standard input. When it ends, however it does, the input ends,
and the program is asked to save and stop, as Ctrl-C does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from azero.cli.programs import start


def stop_with_other() -> None:
    """Wait for the end of the input, then stop this process."""
    while os.read(0, 4096):  # not `sys.stdin`, whose lock would be held when the process ends
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    threading.Thread(target=stop_with_other, daemon=True).start()
    sys.exit(start(sys.argv[1:]))
