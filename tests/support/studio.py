"""The studio's server without a network, for tests: a client that has shown its token."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from azero.config.schema import Config
from azero.studio.__main__ import listen
from azero.studio.server import make_app
from azero.studio.serving import StudioServer
from azero.studio.state import Studio

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Starlette would rather have httpx2, which few have
    from starlette.testclient import TestClient as TestClient  # for tests beside this file
    from starlette.testclient import WebSocketTestSession

TOKEN = "secret-" * 5
PORT = 8643
HOST = f"127.0.0.1:{PORT}"
COOKIE = {"cookie": f"azero_studio_{PORT}={TOKEN}"}  # the client does not send its own with a WebSocket
PERSON = {"kind": "person"}


def make_studio(folder: Path, **more: Any) -> Studio:
    """Return the state of a server whose runs lie in a folder."""
    config = replace(Config(), checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    return Studio(config, **more)


def make_client(studio: Studio) -> TestClient:
    """Return a client of a server; it has shown no token."""
    app = make_app(studio, TOKEN, ["127.0.0.1", "localhost"], PORT)
    return TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)


@contextmanager
def client_of(studio: Studio) -> Iterator[TestClient]:
    """Yield a client of a server that has opened the page with its token."""
    with make_client(studio) as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        yield client


def player(name: str, **options: Any) -> dict[str, Any]:
    """Return a side that a player plays."""
    return {"kind": "player", "name": name, "options": options}


def stream(client: TestClient, table: dict[str, Any]) -> WebSocketTestSession:
    """Return the stream of a table."""
    return client.websocket_connect(f"/api/tables/{table['id']}/stream", headers={"host": HOST, **COOKIE})


def read_until(socket: WebSocketTestSession, wanted: Any, most: int = 2000) -> dict[str, Any]:
    """Return the first message of a stream for which `wanted` is true."""
    for _ in range(most):
        message = socket.receive_json()
        if wanted(message):
            return message
    raise AssertionError(f"none of {most} messages is what was wanted")


def post(client: TestClient, path: str, **body: Any) -> Any:
    """Return the answer to a request that works."""
    answer = client.post(f"/api{path}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def opened(client: TestClient, **asked: Any) -> Any:
    """Return a new table."""
    return post(client, "/tables", **asked)


def begin(client: TestClient, game: str, moves: str, **more: Any) -> Any:
    """Return a new table after some moves."""
    return opened(client, game=game, moves=moves.split(), **more)


def open_file(client: TestClient, text: str, **query: int) -> Any:
    """Return the answer to a file that is opened."""
    answer = client.post("/api/records", content=text.encode(), params=query)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def kept(client: TestClient, **query: str) -> list[dict[str, Any]]:
    """Return the list of kept games."""
    answer = client.get("/api/library", params=query)
    assert answer.status_code == 200, answer.text
    games: list[dict[str, Any]] = answer.json()["games"]
    return games


@contextmanager
def listening_studio(folder: Path) -> Iterator[int]:
    """Yield the port of a studio that listens, with the token `TOKEN`."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    running = StudioServer(make_app(make_studio(folder), TOKEN, ["127.0.0.1"], port))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield port
    running.should_exit = True
    thread.join(60)
    listening.close()
