"""Connections of the review server: few, and none that keeps others waiting."""

import asyncio
import socket
from typing import Final, Protocol, cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from quietgraph.errors import UnwritablePathError

_MOST_CONNECTIONS: Final = 250  # far below the files that a process may open
_SLOWEST_REQUEST: Final = 10.0  # seconds from a connection, or the last answer, to a whole request
_SLOWEST_ANSWER: Final = 60.0  # seconds until the client has read an answer
_LARGEST_HEADERS: Final = 16_384  # bytes


class Served(Protocol):
    """What can be served."""

    def app(self) -> Starlette:
        """Return the web application."""
        ...


class BoundedProtocol(H11Protocol):
    """HTTP with limits: a client that does not finish its request makes room for others.

    Of more than 250 connections the one that has waited longest without a whole request is closed,
    so that half-open connections cannot shut anybody out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and start its clock."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(_SLOWEST_REQUEST, self._close_if_slow)
        if len(self.connections) > _MOST_CONNECTIONS:
            peers = [cast("BoundedProtocol", one) for one in self.connections]
            waiting = [one for one in peers if not one.is_answering]
            min(waiting, key=lambda one: one.since).transport.abort()

    def on_response_complete(self) -> None:
        """Start the clock of the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def is_answering(self) -> bool:
        """Whether a whole request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _close_if_slow(self) -> None:
        if self.transport.is_closing():
            return
        allowed = _SLOWEST_ANSWER if self.is_answering else _SLOWEST_REQUEST
        left = self.since + allowed - self.loop.time()
        if left <= 0:
            self.transport.abort()
        else:
            self.loop.call_later(min(left, _SLOWEST_REQUEST) + 0.05, self._close_if_slow)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:  # a name may be none that there can be
        reason = getattr(error, "strerror", error)
        raise UnwritablePathError(
            f"cannot listen on {host} port {port}: {reason}. "
            "Choose another port with --port (0 takes any free one), or another --host."
        ) from error
    return listener


def make_server(served: Served) -> uvicorn.Server:
    """Return the server of a review or model; it writes no address, and so no token, to any log."""
    settings = uvicorn.Config(
        served.app(),
        http=BoundedProtocol,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
        h11_max_incomplete_event_size=_LARGEST_HEADERS,
    )
    return uvicorn.Server(settings)
