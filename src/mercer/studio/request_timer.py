"""A connection that does not deliver its request in time is closed.

uvicorn waits without limit for the headers of a request, and for a body that is no longer read; a few connections that
send a byte now and then would occupy the server. Here headers, and bodies that are not files, have some seconds in
total, in however many pieces they come. Files are timed where they are received (`mercer.studio.pages`).
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

__all__ = ["timed_protocol"]

HEADERS = 10.0  # seconds from the connection, or from the first byte of a later request, to the end of the headers
BODY = 20.0  # seconds for a body that is not a file
REST = 5.0  # seconds for what is still being sent when the answer is complete


def timed_protocol() -> Any:
    """Return uvicorn's HTTP protocol class with time limits."""
    found: Any = importlib.import_module("uvicorn.protocols.http.h11_impl")
    idle, sending = found.h11.IDLE, found.h11.SEND_BODY

    class Timed(found.H11Protocol):
        """A connection that knows what it waits for, and until when."""

        phase = ""
        due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Begin to wait for headers."""
            super().connection_made(transport)
            self._enter("headers")

        def data_received(self, data: bytes) -> None:
            """Take what came, and see what is still to come."""
            super().data_received(data)
            state = self.conn.their_state
            if state is idle:
                self._enter("headers")
            elif not (state is sending and self.phase == "rest"):
                timed = state is sending and not self.scope["path"].startswith("/upload/")
                self._enter("body" if timed else "")

        def on_response_complete(self) -> None:
            """Wait a little for the rest of a request that is answered already, so that the answer can be read."""
            super().on_response_complete()
            self._enter("rest" if self.conn.their_state is sending else "")

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer."""
            self._enter("")
            super().connection_lost(exc)

        def _enter(self, phase: str) -> None:
            """Wait for something else; a wait that is under way keeps its deadline."""
            if phase == self.phase:
                return
            self.phase = phase
            if self.due is not None:
                self.due.cancel()
            seconds = {"headers": HEADERS, "body": BODY, "rest": REST}.get(phase)
            self.due = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    return Timed
