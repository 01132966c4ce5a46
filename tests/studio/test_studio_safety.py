"""Who may use the studio: every sentence about its safety, tried from outside."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from forks import azero_command

pytest.importorskip("starlette", reason="the extra studio is not installed")
pytest.importorskip("uvicorn", reason="the extra studio is not installed")

from starlette.applications import Starlette
from starlette.websockets import WebSocketDisconnect
from studio import COOKIE, HOST, PORT, TOKEN, client_of, listening_studio, make_client, make_studio
from waiting import wait_for
from websockets.sync.client import connect

from azero.config.schema import UserError
from azero.games import own_files as allowed
from azero.studio import patience
from azero.studio.__main__ import (
    LOCAL,
    StudioSettings,
    address_of,
    alone,
    own_games,
    serve,
    take_token,
    write_private,
)
from azero.studio.safety import ANY_ADDRESS, MOST_BODY, MOST_RECORD, Guard


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": f"evil.example:{PORT}"},
        {"host": "127.0.0.1:80"},
        {"host": ""},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"cookie": ""},
        {"cookie": f"azero_studio_{PORT}=wrong"},
        {"cookie": f"azero_studio_{PORT}={TOKEN}x"},
    ],
    ids=str,
)
def test_a_page_of_another_site_changes_nothing_and_opens_no_socket(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        if "cookie" in headers:
            client.cookies.clear()
        asked = {"/api/tables": {"game": "tictactoe"}, "/api/train": {"recipe": "smoke"}, "/api/matches": {}}
        for path, body in asked.items():
            answer = client.post(path, json=body, headers=headers)
            assert answer.status_code == 403 and answer.json()["error"].endswith(".")
        with (
            pytest.raises(WebSocketDisconnect) as closed,
            client.websocket_connect("/api/tables/x/stream", headers={"host": HOST, **COOKIE, **headers}),
        ):
            pass
        assert closed.value.code == 4403
    assert not studio.tables.tables and not (tmp_path / "checkpoints").exists()


def test_the_page_itself_may(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        for headers in ({}, {"origin": f"http://{HOST}"}, {"sec-fetch-site": "same-origin"}):
            assert client.post("/api/tables", json={}, headers=headers).status_code == 201


@pytest.mark.parametrize(
    "path", ["/", "/api/games", "/api/runs", "/api/tables/x", "/?token=wrong", "/?token="]
)
def test_without_the_token_nothing_is_read(tmp_path: Path, path: str) -> None:
    with make_client(make_studio(tmp_path)) as client:
        answer = client.get(path)
        assert answer.status_code == 403
        assert answer.json()["error"] == (
            "Open the address that azero studio has printed; this browser has not shown its token."
        )


def test_the_token_becomes_a_cookie_that_no_script_reads(tmp_path: Path) -> None:
    with make_client(make_studio(tmp_path)) as client:
        answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert TOKEN not in client.get("/").text


def test_every_answer_says_what_a_page_may_load(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        for path in ("/", "/api/games", "/static/main.js", "/nothing", "/api/tables/x"):
            headers = client.get(path).headers
            assert headers["content-security-policy"].startswith("default-src 'self'; frame-ancestors 'none'")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"


def test_the_page_has_no_script_and_no_style_of_its_own(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        page = client.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|https?://", page)


def test_no_module_of_the_page_writes_html_or_loads_from_elsewhere() -> None:
    import azero.studio.server as server

    for path in sorted(server.STATIC.iterdir()):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), (
            path.name
        )
        assert not re.search(r"https?://|@import|url\((?![\"'`]?#)", text), path.name


def exports_of(path: Path) -> set[str]:
    """Return the names that a module of the page exports."""
    text = path.read_text(encoding="utf-8")
    names = set(re.findall(r"^export (?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE))
    for other in re.findall(r'^export \* from "([^"]+)"', text, re.MULTILINE):
        names |= exports_of(file_of(path, other))
    return names


def file_of(path: Path, other: str) -> Path:
    """Return the file of a module that one of the page's imports, as the server serves it."""
    import azero.studio.server as server
    from azero import page, tracing

    places = {
        "page": Path(page.__file__).parent / "static",
        "trace": Path(tracing.__file__).parent / "static",
    }
    first, _, rest = other.removeprefix("./").partition("/")
    return places[first] / rest if path.parent == server.STATIC and rest else path.parent / first


def test_every_name_that_a_module_of_the_page_imports_is_there() -> None:
    import azero.studio.server as server

    found = 0
    for path in sorted(server.STATIC.glob("*.js")):
        for names, other in re.findall(
            r'import \{([^}]*)\} from "([^"]+)"', path.read_text(encoding="utf-8")
        ):
            wanted = {name.split(" as ")[0].strip() for name in names.split(",")} - {""}
            assert wanted <= exports_of(file_of(path, other)), f"{path.name} and {other}"
            found += len(wanted)
    assert found > 100


@pytest.mark.parametrize("path", ["/api/tables", "/api/records"])
def test_a_large_body_is_refused_whatever_length_it_promises(tmp_path: Path, path: str) -> None:
    most = MOST_RECORD if path == "/api/records" else MOST_BODY
    with client_of(make_studio(tmp_path)) as client:
        assert client.post(path, content=b" " * (most + 1)).status_code == 413
        parts = (b" " * 10_000 for _ in range(most // 10_000 + 1))  # in chunks, without a length
        answer = client.post(path, content=parts)
        assert answer.status_code == 413 and answer.json()["error"].startswith("The request is larger than")
        assert client.post(path, content=b"", headers={"content-length": "x"}).status_code in (400, 413)


def test_files_outside_are_not_served(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/static/x"):
            assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "game.py", "../game.py", "azero/games/go.py", "openspiel:../x", 3]
)
def test_the_page_cannot_name_a_file(tmp_path: Path, name: object) -> None:
    (tmp_path / "game.py").write_text("raise SystemExit")
    with client_of(make_studio(tmp_path)) as client:
        answer = client.post("/api/tables", json={"game": name})
        assert answer.status_code == 400 and "There is no game" in answer.json()["error"]


def test_other_machines_are_let_in_only_when_asked() -> None:
    with pytest.raises(UserError, match=r"host=0\.0\.0\.0 lets other machines in; set allow_remote=true"):
        serve(StudioSettings(host="0.0.0.0"))


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_address_is_the_one_that_it_listens_on(
    host: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: sockets[0].close())
    monkeypatch.setattr(allowed, "named", None)  # a server lets its process run no other networks
    asked = StudioSettings(host=host, port=0, open=False, data=str(tmp_path / "data"))
    try:
        serve(asked)
    except UserError as no_such_address:
        pytest.skip(str(no_such_address))
    assert f"http://{shown}:" in capsys.readouterr().out


def test_own_games_are_chosen_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "_not.py").write_text("")
    assert list(own_games(StudioSettings(games=str(tmp_path)))) == ["mine"]
    with pytest.raises(UserError, match="is not a Python file"):
        own_games(StudioSettings(game=str(tmp_path / "missing.py")))
    with pytest.raises(UserError, match="is not a folder"):
        own_games(StudioSettings(games=str(tmp_path / "mine.py")))


def test_the_token_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    first = take_token(tmp_path / "data" / ".studio")
    file = tmp_path / "data" / ".studio" / "token"
    assert len(first) >= 32 and file.stat().st_mode & 0o777 == 0o600
    assert take_token(file.parent) == first
    file.chmod(0o644)
    second = take_token(file.parent)
    assert second != first  # others may have read it
    assert take_token(file.parent) == second and file.stat().st_mode & 0o777 == 0o600
    file.write_text("")  # killed while it was written
    assert len(take_token(file.parent)) >= 32 and file.read_text()


def test_a_studio_for_all_addresses_is_called_by_any_of_them_but_by_no_other_name() -> None:
    guard = Guard(Starlette(), "token", [*LOCAL, ANY_ADDRESS, "box"], 8643)
    for host in ("192.168.1.5:8643", "[2001:db8::7]:8643", "localhost:8643", "box:8643"):
        assert guard.is_own(host)
    odd = ("*:8643", "[::1%x.example]:8643", "[[1.2.3.4:8643", "[1.2.3.4]:8643", "2001:db8::7:8643")
    for host in ("192.168.1.5:80", "evil.example:8643", "192.168.1.5", "", ":8643", *odd):
        assert not guard.is_own(host)
    assert not Guard(Starlette(), "token", LOCAL, 8643).is_own("192.168.1.5:8643")


def test_the_address_of_a_studio_for_all_addresses_can_be_opened() -> None:
    assert address_of("192.168.1.5") == "192.168.1.5"
    assert address_of("0.0.0.0") not in ("0.0.0.0", "")


def test_a_second_studio_is_sent_to_the_first(tmp_path: Path) -> None:
    with alone(tmp_path / ".studio", "data"):
        write_private(tmp_path / ".studio" / "address", "http://127.0.0.1:8643/?token=x")
        said = r"^A studio is open at http://127\.0\.0\.1:8643/\?token=x; use it, .* than data=data\.$"
        with pytest.raises(UserError, match=said), alone(tmp_path / ".studio", "data"):
            pass
        (tmp_path / ".studio" / "address").unlink()
        said = r"^A studio is open in another process, which holds .*lock; use it"
        with pytest.raises(UserError, match=said), alone(tmp_path / ".studio", "data"):
            pass
        (tmp_path / ".studio" / "address").mkdir()  # it cannot be read
        with pytest.raises(UserError, match=said), alone(tmp_path / ".studio", "data"):
            pass
        (tmp_path / ".studio" / "address").rmdir()
    with alone(tmp_path / ".studio", "data"):  # the first has ended
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The real program in a process of its own; its port and token."""
    folder = tmp_path_factory.mktemp("studio")
    command = azero_command("studio", "open=false", "port=0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=folder, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", process.stdout.readline())
        assert found
        yield int(found[1]), found[2]
        process.terminate()
        assert process.wait(60) is not None


def test_it_listens_on_this_machine_alone(server: tuple[int, str]) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("needs Linux's table of sockets")
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    listening = [
        row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == server[0]
    ]
    assert listening == ["0100007F"]  # 127.0.0.1


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /api/tables HTTP/1.1\r\nHost: evil\r\nContent-Length: 10000000\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /api/tables HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    ],
    ids=["bytes", "no host", "two hosts", "10 MB", "long", "negative"],
)
def test_raw_bytes_leave_the_server_up(server: tuple[int, str], data: bytes) -> None:
    port, token = server
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(data)
        raw.settimeout(60)
        answer = raw.recv(4096)
    assert not answer or answer.split()[1] in (b"400", b"403", b"413", b"431")
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as asking:
        asking.request("GET", f"/?token={token}")
        assert asking.getresponse().status == 303


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that waits half a second for a request."""
    monkeypatch.setattr(patience, "SECONDS", 0.5)
    with listening_studio(tmp_path) as port:
        yield port


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a",
        b"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_never_ends_is_not_waited_for(hasty: int, data: bytes) -> None:
    began, held = time.monotonic(), list[socket.socket]()
    for _ in range(100):
        held.append(socket.create_connection(("127.0.0.1", hasty), timeout=60))
        held[-1].sendall(data)
    for raw in held:
        with raw, contextlib.suppress(ConnectionResetError):
            while raw.recv(4096):  # an answer that refuses it may come first
                pass
    assert 0.4 < time.monotonic() - began


def test_bytes_that_trickle_in_do_not_extend_the_time(hasty: int) -> None:
    def is_heard() -> bool:
        try:
            raw.sendall(b"x")
        except ConnectionError:
            return False
        return True

    with socket.create_connection(("127.0.0.1", hasty), timeout=60) as raw:
        raw.sendall(b"GET /")
        wait_for(is_heard, lambda heard: not heard)


def test_whole_requests_and_sockets_take_the_time_they_need(hasty: int) -> None:
    cookie = f"azero_studio_{hasty}={TOKEN}"
    with closing(http.client.HTTPConnection("127.0.0.1", hasty, timeout=60)) as asking:
        for _ in range(4):  # one connection, for longer than half a second
            asking.request("GET", "/api/runs", headers={"cookie": cookie})
            assert asking.getresponse().read() == b'{"runs":[]}'
            time.sleep(0.2)
        asking.request("POST", "/api/tables", "{}", {"cookie": cookie})  # compiles rules
        table = json.loads(asking.getresponse().read())
    address = f"ws://127.0.0.1:{hasty}/api/tables/{table['id']}/stream"
    with connect(address, additional_headers={"cookie": cookie}) as stream:
        assert json.loads(stream.recv(60))["type"] == "table"
        time.sleep(0.8)
        stream.ping().wait(60)


def test_ten_megabytes_are_refused_before_they_are_read(server: tuple[int, str]) -> None:
    port, token = server
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as asking:
        asking.putrequest("POST", "/api/tables")
        asking.putheader("cookie", f"azero_studio_{port}={token}")
        asking.putheader("content-length", str(10_000_000))
        asking.endheaders()
        assert asking.getresponse().status == 413
