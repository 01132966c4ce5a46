"""A time limit for requests that a client never finishes, which uvicorn itself would wait for for ever."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS = 20.0  # for a request with its body: a page on this machine needs far less than one


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's HTTP protocol; a connection ends whose client takes too long to send a request."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. Parts that trickle in do not extend the time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, failure: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(failure)
        self._stop()

    def _waits(self) -> bool:
        """Return whether the client has to send something, and not the server."""
        return self.cycle is None or self.cycle.more_body or self.cycle.response_complete

    def _watch(self) -> None:
        if not self._waits():
            self._stop()
        elif self._limit is None:
            self._limit = self.loop.call_later(SECONDS, self._end)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _end(self) -> None:
        self._limit = None
        if self._waits() and self.transport.get_protocol() is self:  # else it is a WebSocket now
            self.transport.abort()
