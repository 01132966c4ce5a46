"""Programs started as forks of one process, which has imported what takes a program two seconds.

`azero_command("gtp", "game=hex")` is a command for `subprocess` like `python -m azero.gtp game=hex`. It
starts this file as a small process that asks the server for a fork, lends it its arguments, folder and
streams, passes signals on and ends with the fork's status. Where the environment has other values of what
imports read, it becomes the program itself. A fork has no champions that come with azero, unless BOX is in
its environment. How a fresh interpreter starts and ends is for the tests of signals, imports and of `azero`,
which start one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

IMPORTED = ("torch", "hydra", "azero.stages.registry", "azero.champion.load")
READ = re.compile("HOME$|TMPDIR$|LANG|LC_|XDG_|PYTHON|LD_|NUMBA|NUMPY|OMP_|OPENBLAS|MKL|KMP|TORCH|CUDA")
SET_BY_USE = {"TORCHINDUCTOR_CACHE_DIR"}  # by torch, in a process that has trained; read when it compiles
BOX = "FORKS_BOX"
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def azero_command(program: str, *words: str) -> list[str]:
    """Return what starts a program of azero with these words; "" is `azero` itself."""
    return forked(f"azero.{program}" if program else "azero", *words)


def forked(module: str, *words: str) -> list[str]:
    """Return what starts a module like `python -m`; it may lie in the folder where it is started."""
    return [sys.executable, "-S", __file__, address(), module, *words]


@functools.cache
def address() -> str:
    """Return where the server listens, after starting it; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="forks")
    place = os.path.join(folder.name, "socket")
    pipe, command = subprocess.PIPE, [sys.executable, __file__, place]
    # pipes, because the forks' streams keep what Python found out about these: a file could be sought in
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
    assert server.stdin and server.stdout
    while not (line := server.stdout.readline()).startswith(b"listening"):
        assert line, "the server of forks has ended"

    def close() -> None:
        assert server.stdin and server.stdout
        server.stdin.close()
        server.stdout.close()
        server.wait()
        folder.cleanup()

    atexit.register(close)
    return place


def read_by_imports(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the environment that is read before a program begins."""
    read = {name for name in environment if READ.match(name)} - SET_BY_USE
    return {name: environment[name] for name in read}


def ask(place: str, module: str, words: list[str]) -> None:
    """Let the server fork, and end as the fork does."""
    with open(f"{place}.environment") as file:
        if json.load(file) != read_by_imports(os.environ):
            os.execv(sys.executable, [sys.executable, "-m", module, *words])
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        asked = {"module": module, "words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        data = json.dumps(asked).encode()
        socket.send_fds(server, [f"{len(data):8}".encode()], [0, 1, 2])
        server.sendall(data)
        answers = server.makefile()
        child = int(answers.readline())
        for number in PASSED_ON:
            signal.signal(number, lambda got, _: os.kill(child, got))
        for stream in (0, 1, 2):
            os.close(stream)  # they are the fork's
        status = int(answers.readline())
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to take away
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def serve(place: str) -> None:
    """Import, listen, and fork for whoever connects, until stdin closes."""
    import gc
    import importlib

    for name in IMPORTED:
        importlib.import_module(name)
    from azero.run import folder
    from azero.studio import threads

    folder.SHIPPED_RUNS = folder.SHIPPED_RUNS.with_name("none")
    threads.NICE = 0  # else the studio's searches get no time beside other tests
    gc.freeze()  # or a fork that collects copies all that was imported
    with open(f"{place}.environment", "w") as file:
        json.dump(read_by_imports(os.environ), file)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        print("listening", flush=True)
        while listening.fileno() in select.select([listening.fileno(), 0], [], [])[0]:
            client, _ = listening.accept()
            if not os.fork():
                listening.close()
                keep(client)
            client.close()
            with contextlib.suppress(ChildProcessError):  # waited for, so that their times count as its own
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def keep(client: socket.socket) -> None:
    """Fork the program that a client asks for, and say how it ended; kill it if the client dies."""
    size, streams, _, _ = socket.recv_fds(client, 8, 3)
    asked = json.loads(client.recv(int(size), socket.MSG_WAITALL))
    child = os.fork()
    if not child:
        client.close()
        become(asked, streams)
    for stream in (*streams, 0, 1, 2):
        os.close(stream)
    client.sendall(f"{child}\n".encode())
    ended = os.pidfd_open(child)
    if ended not in select.select([ended, client.fileno()], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(f"{status}\n".encode())
    os._exit(0)


def become(asked: Mapping[str, Any], streams: list[int]) -> None:
    """Be the program, and end without freeing what was imported, which takes a second."""
    import runpy
    import threading

    from azero.process.ending import prepare
    from azero.run import folder

    if BOX in asked["environment"]:
        folder.SHIPPED_RUNS = folder.SHIPPED_RUNS.with_name("shipped")
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    sys.argv = [asked["module"], *asked["words"]]
    prepare()
    status: object = 0
    try:
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the interpreter's end does
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        ask(sys.argv[1], sys.argv[2], sys.argv[3:])
