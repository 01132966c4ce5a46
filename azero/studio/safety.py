"""Who may ask the studio for something: only the page that it has opened itself, on this machine.

The address that the studio opens carries a random token, which becomes a cookie that no script can read. A
page of another site can neither read an answer nor start anything: its requests lack the cookie (SameSite)
and name another origin, and a name that points to this machine by DNS rebinding is not an allowed host.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import ipaddress
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from azero.records.record import refuse_constant
from azero.studio.mistakes import FieldMistake

MOST_BODY = 64_000  # bytes of a request
MOST_RECORD = 1_000_000  # bytes of a game record
MOST_AT_ONCE = 200  # requests; each may take a thread
MOST_QUEUED = 2_000  # requests that wait for others to be answered; each takes some kilobytes
QUEUE_SECONDS = 60.0  # that such a request waits at most
HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
ANY_ADDRESS = "*"  # among hosts: the studio listens on all addresses of its machine
SAFE_METHODS = ("GET", "HEAD")
CLOSE_FORBIDDEN = 4403  # of a WebSocket: the reason is in the close message
NO_ENTRY, NOTHING_HERE = (
    Path(__file__).parent / "static" / f"{name}.html" for name in ("no_entry", "nothing_here")
)
BUSY = "The studio is busy with {} requests; try again in a moment."
NO_TOKEN = "Open the address that azero studio has printed; this browser has not shown its token."


class Refusal(Exception):
    """A request that is refused with an HTTP status and one sentence. `field` is that of a form, if any."""

    def __init__(self, status: int, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.status, self.field = status, field


def answer_to(failure: Exception) -> Response:
    """Return the answer to a request that has failed: the sentence, and 400 for a user's mistake."""
    status = failure.status if isinstance(failure, Refusal) else 400
    field = failure.field if isinstance(failure, FieldMistake | Refusal) else ""
    return JSONResponse({"error": str(failure), **({"field": field} if field else {})}, status)


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a person opens an address in a browser, who reads a page better than JSON."""
    return scope["method"] == "GET" and is_page(scope["path"]) and "text/html" in headers.get("accept", "")


def is_page(path: str) -> bool:
    """Return whether a path is none of those that a program reads."""
    return not path.startswith(("/api/", "/static/"))


def page_of(file: Path, sentence: str, status: int) -> Response:
    """Return the page of a file that says why there is no other page."""
    return HTMLResponse(file.read_text("utf-8").replace("{sentence}", html.escape(sentence)), status)


def api(method: str, path: str, answer: Callable[[Request], Awaitable[object]]) -> Route:
    """Return the route of an address below /api; `answer` returns what is sent as JSON, or a response."""

    async def endpoint(request: Request) -> Response:
        said = await answer(request)
        return said if isinstance(said, Response) else JSONResponse(said)

    return Route(f"/api{path}", endpoint, methods=[method])


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    Raises:
        Refusal: it is none, or too large.
    """
    try:
        read = json.loads(await request.body() or b"{}", parse_constant=refuse_constant)
        json.dumps(read, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except (ValueError, RecursionError) as mistake:
        raise Refusal(400, "The body of the request is not JSON.") from mistake
    if not isinstance(read, dict):
        raise Refusal(400, "The body of the request must be a JSON object.")
    return read


def whole(text: str, what: str, low: int = 0, high: int | None = None) -> int:
    """Return a whole number of an address; Refusal: it is something else, or not from `low` to `high`."""
    within = "" if high is None else f" from {low} to {high}"
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not is_number or int(text) < low or (high is not None and int(text) > high):
        raise Refusal(400, f"{what} must be a whole number{within}.")
    return int(text)


def can_be_sent(value: object) -> bool:
    """Return whether a value from a file can be sent as JSON, which has no NaN and no half characters."""
    try:
        return bool(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, TypeError, RecursionError):
        return False


def is_number(value: object, low: float, high: float) -> TypeGuard[float]:
    """Return whether a value that was read from JSON is a number from `low` to `high`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


class Guard:
    """The outermost layer of the server: checks host, origin, token and size before anything is done.

    Attributes:
        token: what the browser must have shown once.
        cookie: the name of the cookie that holds it; cookies of other ports keep out of the way.
        places: for requests under way.
        queued: how many requests wait for a place.
        waiting: requests whose answer has not begun.
        ended: whether the server ends.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str], port: int) -> None:
        """`hosts`: by which the studio may be called, without the port; ANY_ADDRESS: by any address."""
        self.any_address, self.port = ANY_ADDRESS in hosts, port
        self.app, self.token, self.cookie = app, token, f"azero_studio_{port}"
        bracketed = (f"[{host}]" if ":" in host else host for host in hosts if host != ANY_ADDRESS)
        self.hosts = {f"{host}:{port}".lower() for host in bracketed}
        self.places, self.queued, self.ended = asyncio.Semaphore(MOST_AT_ONCE), 0, False
        self.waiting = set[asyncio.Future[None]]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self.check_host(headers)
            if scope["type"] == "http" and (shown := self.token_shown(scope)):
                await self.welcome(shown)(scope, receive, send)
                return
            self.check(scope, headers)
            if scope["type"] == "http":
                await self.answer(scope, bounded(scope, headers, receive), with_headers(send))
            else:
                await self.app(scope, receive, send)
        except Refusal as refusal:
            if scope["type"] == "websocket":
                await receive()  # the request to connect
                await send({"type": "websocket.close", "code": CLOSE_FORBIDDEN, "reason": str(refusal)[:120]})
                return
            answer = answer_to(refusal)
            if wants_page(scope, headers):
                answer = page_of(NO_ENTRY, str(refusal), refusal.status)
            await answer(scope, receive, with_headers(send))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; Refusal: the server ends first."""

        async def send_noted(message: Message) -> None:
            self.waiting.discard(answering)
            await send(message)

        async def answer_in_turn() -> None:
            async with self.place():
                await self.app(scope, receive, send_noted)

        answering = asyncio.ensure_future(answer_in_turn())
        self.waiting.add(answering)
        try:
            await answering
        except asyncio.CancelledError:
            if not self.ended or answering not in self.waiting:
                raise
            raise Refusal(503, "The studio has ended.") from None
        finally:
            self.waiting.discard(answering)

    def end(self) -> None:
        """Refuse the requests that still wait for an answer, because the server ends."""
        self.ended = True
        for answering in self.waiting:
            answering.cancel()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Let a request wait until few enough are under way; Refusal: too many wait, or for too long."""
        if self.queued >= MOST_QUEUED:
            raise Refusal(503, BUSY.format(MOST_AT_ONCE + self.queued))
        self.queued += 1
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self.places.acquire()
        except TimeoutError:
            raise Refusal(503, BUSY.format(MOST_AT_ONCE + self.queued - 1)) from None
        finally:
            self.queued -= 1
        try:
            yield
        finally:
            self.places.release()

    def is_own(self, host: str) -> bool:
        """Return whether the studio may be called by that host; DNS rebinding needs a name, no address."""
        name, _, port = host.rpartition(":")
        is_bracketed = name[:1] == "[" and name[-1:] == "]"
        if self.any_address and port == str(self.port) and "%" not in name:
            with contextlib.suppress(ValueError):
                found = ipaddress.ip_address(name[1:-1] if is_bracketed else name)
                return (found.version == 6) == is_bracketed
        return host in self.hosts

    def check_host(self, headers: Headers) -> None:
        """Refuse a request that names another host."""
        if not self.is_own(headers.get("host", "").lower()):
            raise Refusal(403, "This studio has another address; open the one that azero studio has printed.")

    def check(self, scope: Scope, headers: Headers) -> None:
        """Refuse a request without the token, or one of another site's page that could change something."""
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        origin = headers.get("origin")
        if changes and origin is None and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refusal(403, "A page of another site must not use the studio.")
        own = {f"http://{host}" for host in (*self.hosts, headers.get("host", "").lower())}
        if origin is not None and origin.lower() not in own:
            raise Refusal(403, "A page of another site must not use the studio.")
        open_to_all = scope["type"] == "http" and scope["path"].startswith("/static/") and not changes
        cookies = cookie_parser(headers.get("cookie", ""))
        if not open_to_all and not self.is_token(cookies.get(self.cookie, "")):
            raise Refusal(403, NO_TOKEN)

    def token_shown(self, scope: Scope) -> str:
        """Return the token if the address of a GET of the page carries the right one, else ""."""
        if scope["method"] != "GET" or not is_page(scope["path"]):
            return ""
        shown = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return shown if self.is_token(shown) else ""

    def is_token(self, text: str) -> bool:
        """Check a token, in a time that does not tell how much of it is right."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def welcome(self, token: str) -> Response:
        """Return the answer that puts the token into a cookie and out of the address.

        It leads to the one page that there is; the browser keeps what follows the address's #.
        """
        answer = RedirectResponse("/", 303, headers={**HEADERS, "cache-control": "no-store"})
        answer.set_cookie(self.cookie, token, httponly=True, samesite="strict", max_age=30 * 86_400)
        return answer


def bounded(scope: Scope, headers: Headers, receive: Receive) -> Receive:
    """Return `receive` that refuses a body beyond its bound, whatever length the request promises."""
    most = MOST_RECORD if scope["path"] == "/api/records" else MOST_BODY
    too_large = f"The request is larger than {most // 1000:,} kB."
    promised = headers.get("content-length", "0")
    if not promised.isdecimal() or int(promised) > most:
        raise Refusal(413, too_large)
    seen = 0

    async def receive_bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise Refusal(413, too_large)
        return message

    return receive_bounded


def with_headers(send: Send) -> Send:
    """Return `send` that adds the headers of every answer."""

    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            extra = {**HEADERS, "cache-control": "no-cache"}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), text.encode())
                    for name, text in extra.items()
                    if name.encode() not in present
                ),
            ]
        await send(message)

    return send_more
