"""The server's end: who still waits for an answer gets one at once, so nothing is cut off with an error."""

from __future__ import annotations

import socket

import uvicorn

from azero.studio.patience import PatientProtocol
from azero.studio.safety import Guard


class StudioServer(uvicorn.Server):
    """uvicorn's server of the studio."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(
            uvicorn.Config(
                guard,
                log_config=None,  # uvicorn's own would close handlers of other libraries
                log_level="warning",
                access_log=False,
                http=PatientProtocol,
                ws_max_size=65536,
                ws="websockets-sansio",
                timeout_graceful_shutdown=2,
                server_header=False,
            )
        )
        self.guard = guard

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, after an answer to all requests under way."""
        self.guard.end()
        await super().shutdown(sockets)
