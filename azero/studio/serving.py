"""The server's end: who still waits for an answer gets one at once, so nothing is cut off with an error."""

from __future__ import annotations

import socket
import threading
from types import FrameType

import uvicorn

from azero.process.ending import INTERRUPTED, end_now, write_line
from azero.studio.patience import PatientProtocol
from azero.studio.safety import Guard

LATE_SECONDS = 5.0  # of an end, which takes about two where nothing holds it up
LATE = "The studio waits for what it computes, and saves all games then. Ctrl-C again ends it now."


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
        self.guard, self.late = guard, False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end. A second Ctrl-C must not keep games from being saved, unless the end takes long."""
        if self.late:
            end_now(INTERRUPTED)
        if not self.should_exit:
            super().handle_exit(sig, frame)
            late = threading.Timer(LATE_SECONDS, self.note_late)
            late.daemon = True
            late.start()

    def note_late(self) -> None:
        """Say that the end takes long."""
        self.late = True
        write_line(LATE)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, after an answer to all requests under way."""
        self.guard.end()
        await super().shutdown(sockets)
