"""Many requests at once: they are answered one after another, and only beyond a bound refused."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")
pytest.importorskip("uvicorn", reason="the extra studio is not installed")

import httpx
from studio import COOKIE, HOST, PORT, TOKEN, listening_studio, make_studio

from azero.studio import safety
from azero.studio.server import make_app

MANY = 1000
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns; beside a browser's test this thread may have a loop already."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()


async def ask(client: httpx.AsyncClient, path: str = "/api/runs") -> list[httpx.Response]:
    return await asyncio.gather(*(client.get(path) for _ in range(MANY)))


def test_a_thousand_requests_at_once_are_answered(tmp_path: Path) -> None:
    app = make_app(make_studio(tmp_path), TOKEN, ["127.0.0.1"], PORT)

    async def ask_all() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers=COOKIE
        ) as client:
            return await ask(client)

    assert {answer.status_code for answer in run(ask_all())} == {200}
    assert app.queued == 0 and not app.places.locked() and not app.waiting


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a server that listens."""
    with listening_studio(tmp_path) as port:
        yield port


def test_a_thousand_connections_at_once_are_answered(port: int) -> None:
    head = f"GET /api/runs HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncookie: azero_studio_{port}={TOKEN}\r\n\r\n"

    async def ask_one() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode())
        status = await reader.readline()
        writer.close()
        return status.split()[1]

    async def ask_all() -> list[bytes]:
        return await asyncio.gather(*(ask_one() for _ in range(MANY)))

    assert set(run(ask_all())) == {b"200"}


@pytest.mark.parametrize(
    ("most", "seconds", "busy"), [(10, 30.0, 11), (1000, 0.01, None)], ids=["too many", "too long"]
)
def test_beyond_a_bound_a_request_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, most: int, seconds: float, busy: int | None
) -> None:
    monkeypatch.setattr(safety, "MOST_AT_ONCE", 1)
    monkeypatch.setattr(safety, "MOST_QUEUED", most)
    monkeypatch.setattr(safety, "QUEUE_SECONDS", seconds)
    end = asyncio.Event()

    async def answer_at_the_end(scope: Any, receive: Any, send: Any) -> None:
        await end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def ask_some() -> list[httpx.Response]:
        transport = httpx.ASGITransport(safety.Guard(answer_at_the_end, TOKEN, ["127.0.0.1"], PORT))
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers=COOKIE
        ) as client:
            asked = [asyncio.create_task(client.get("/api/runs")) for _ in range(50)]
            answered = 0
            while answered < (39 if most == 10 else 49):
                await asyncio.sleep(0)
                answered = sum(task.done() for task in asked)
            end.set()
            return await asyncio.gather(*asked)

    answers = run(ask_some())
    refused = [answer.json()["error"] for answer in answers if answer.status_code == 503]
    assert len(refused) == (39 if most == 10 else 49)
    if busy:
        assert set(refused) == {f"The studio is busy with {busy} requests; try again in a moment."}


def test_requests_that_wait_are_refused_when_the_server_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety, "MOST_AT_ONCE", 1)

    async def never_ready(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def ask_some() -> list[httpx.Response]:
        guard = safety.Guard(never_ready, TOKEN, ["127.0.0.1"], PORT)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(guard), base_url=f"http://{HOST}", headers=COOKIE
        ) as client:
            asked = [asyncio.create_task(client.get("/api/runs")) for _ in range(5)]
            while len(guard.waiting) < len(asked):
                await asyncio.sleep(0)
            guard.end()
            return await asyncio.gather(*asked)

    answers = run(ask_some())
    assert {answer.json()["error"] for answer in answers} == {"The studio has ended."}
