"""`azero studio`: train, play and analyse in the browser."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from azero.cli.arguments import DeviceSettings, refuse_rest, run_program, split_words, take_settings
from azero.config.schema import UserError, setting
from azero.games.own_files import allow_only
from azero.process.ending import end_now, flush_output

EXAMPLES = """

game=my_game.py
port=9000 open=false
"""
LOCAL = ("127.0.0.1", "localhost", "::1")
PORT = 8643
ELSEWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}  # an address outside for each host that means all
ADDRESS = "address"  # file with that of the studio that is open


@dataclass(frozen=True)
class StudioSettings(DeviceSettings):
    """Settings of the program."""

    game: str = setting("", "A Python file of your own game, which the page then offers.")
    games: str = setting("", "A folder of such files.")
    network: str = setting("", "A Python file of your own network, whose champions may then play.")
    port: int = setting(PORT, "Where the page is; 0: any free port.", between=(0, 65535))
    open: bool = setting(True, "Open the page in the browser.")
    host: str = setting(
        "127.0.0.1", "The address to listen on. Others than this machine's need allow_remote=true."
    )
    allow_remote: bool = setting(
        False, "Let other machines use the studio. Whoever has the token can train and play."
    )


def own_games(asked: StudioSettings) -> dict[str, Path]:
    """Return the user's own games by name.

    Raises:
        UserError: a file or folder does not exist.
    """
    files = [Path(asked.game)] if asked.game else []
    if asked.game and (not asked.game.endswith(".py") or not files[0].is_file()):
        raise UserError(
            f"game={asked.game} is not a Python file; games that azero knows are in the page already."
        )
    if asked.games:
        if not Path(asked.games).is_dir():
            raise UserError(f"games={asked.games} is not a folder.")
        files += sorted(path for path in Path(asked.games).glob("*.py") if not path.name.startswith("_"))
    return {path.stem: path.resolve() for path in files}


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; on any port if the usual one is taken.

    Raises:
        UserError: the address cannot be used.
    """
    for wanted in (port, 0) if port == PORT else (port,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            listening.listen(128)
            return listening
        except OSError as failure:
            listening.close()
            reason = failure
    raise UserError(f"The studio cannot listen on {host} port {port}: {reason.strerror}.")


def take_token(folder: Path) -> str:
    """Return the token in a file that only the user may read, made if there is none.

    It stays the same when the studio starts again, so that an open page goes on.
    """
    path = folder / "token"
    with contextlib.suppress(OSError, ValueError):  # ValueError: a damaged token
        if path.stat().st_mode & 0o077 == 0 and len(kept := path.read_text().strip()) >= 32:
            return kept
    token = secrets.token_urlsafe(24)
    write_private(path, token)
    return token


def write_private(path: Path, text: str) -> None:
    """Write a file that only the user may read; where nothing can be written, do nothing."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(text)
        try:
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)


@contextlib.contextmanager
def alone(folder: Path, data: str) -> Iterator[None]:
    """Keep other studios away from the folder of the kept games while this one runs.

    Raises:
        UserError: another one is there; it would overwrite games.
    """
    lock, address = FileLock(folder / "lock", timeout=0, is_singleton=False), folder / ADDRESS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
        address.unlink(missing_ok=True)  # of a studio that has ended
    except Timeout as held:
        where = f"in another process, which holds {folder / 'lock'}"
        with contextlib.suppress(OSError):  # it is another user's, or just starts
            where = f"at {address.read_text()}"
        other = f"use it, or end it, or choose another folder than data={data}"
        raise UserError(f"A studio is open {where}; {other}.") from held
    except (OSError, NotImplementedError):
        pass  # the folder cannot be written, or has no locks
    try:
        yield
    finally:
        lock.release()


def address_of(host: str) -> str:
    """Return the address to open: for a host that means all addresses, the one that leads elsewhere."""
    if host not in ELSEWHERE:
        return host
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as asked,
    ):
        asked.connect((ELSEWHERE[host], 9))  # sends nothing; it only looks up the way
        return str(asked.getsockname()[0])
    return socket.gethostname()


def serve(asked: StudioSettings) -> int:
    """Run the server until Ctrl-C; return the exit status."""
    if asked.host not in LOCAL and not asked.allow_remote:
        raise UserError(f"host={asked.host} lets other machines in; set allow_remote=true if you want that.")
    try:
        import uvicorn  # noqa: F401

        from azero.studio.safety import ANY_ADDRESS
        from azero.studio.server import make_app
        from azero.studio.serving import StudioServer
        from azero.studio.state import Studio
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] not in ("uvicorn", "starlette", "websockets", "anyio"):
            raise
        raise UserError(
            f'The studio needs {missing.name}; install it with: pip install "azero[studio]"'
        ) from missing
    games = own_games(asked)
    allow_only([Path(asked.network).resolve()] if asked.network else [])
    studio = Studio(asked.config, games)
    for name in games:
        studio.make_game(name)  # a broken file is refused before the page opens
    with alone(studio.folder, asked.data):
        listening = listen(asked.host, asked.port)
        port = listening.getsockname()[1]
        token, host = take_token(studio.folder), address_of(asked.host)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
        write_private(studio.folder / ADDRESS, address)
        others = [ANY_ADDRESS if asked.host in ELSEWHERE else host, socket.gethostname()]
        hosts = [*LOCAL, *(others if asked.allow_remote else [])]
        app = make_app(studio, token, hosts, port)
        print(f"The studio is at {address}\nCtrl-C ends it; runs that train go on.", flush=True)
        if asked.open:
            webbrowser.open(address)
        StudioServer(app).run(sockets=[listening])
    return 0


def studio_asked(words: Sequence[str]) -> int:
    """Serve what the words of the command line ask for, and end the process.

    All games are saved by then. Python's own end would wait for a thread that compiles, perhaps a minute.
    """
    texts = split_words(words)
    asked = take_settings(texts, StudioSettings)
    refuse_rest(texts, StudioSettings)
    status = serve(asked)
    flush_output()
    end_now(status)


main = partial(run_program, "studio", studio_asked, StudioSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
