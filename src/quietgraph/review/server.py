"""The page of a run, served to reviewers whose decisions are saved as they are made.

Who may use it: whoever has the link with its random token. Against other web pages that a
reviewer has open: the Host header must name this machine (DNS rebinding), and what writes must
come from our own page (same origin, JSON).
"""

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from quietgraph.errors import QuietgraphError, UnwritablePathError
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import ReviewRun

_LARGEST_BODY: Final = 20_000  # bytes of a decision; ids may be long
_MANNERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_Next = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, eq=False)
class Review:
    """A review: the run, the decisions, and the secrets that let people in.

    Attributes:
        run: What is reviewed.
        store: Where decisions go.
        host: The address that is listened on.
        reviewer: The name that a new reviewer's page starts with; '' makes it ask.
        token: Of the link; a browser that came with it once shows the cookie from then on.
        cookie: What that cookie holds.
    """

    run: ReviewRun
    store: DecisionStore
    host: str
    reviewer: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def link(self, port: int) -> str:
        """Return the address to open, with the token."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/?token={quote(self.token)}"

    def app(self) -> Starlette:
        """Return the web application."""
        routes = [
            Route("/", self._page),
            Route("/decisions", self._list),
            Route("/decisions", self._add, methods=["POST"]),
            Route("/corrections.csv", self._corrections),
        ]
        return Starlette(
            routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._guard)]
        )

    async def _guard(self, request: Request, answer: _Next) -> Response:
        """Answer only whom it may concern."""
        refusal = self._refusal(request)
        if refusal:
            response: Response = PlainTextResponse(refusal, status_code=403)
        elif "token" in request.query_params:
            response = self._let_in(request)
        else:
            response = await answer(request)
        response.headers.update(_MANNERS)
        return response

    def _refusal(self, request: Request) -> str:
        """Return why a request is not answered, '' where it is."""
        if not is_our_host(request.headers.get("host", ""), self.host):
            return "This address is not served here."
        token = request.query_params.get("token")
        if token is not None and request.url.path == "/":
            right = hmac.compare_digest(token.encode(), self.token.encode())
            return "" if right else "The token in the link is wrong or of an earlier review."
        shown = request.cookies.get(_cookie_name(request), "")
        if not hmac.compare_digest(shown.encode(), self.cookie.encode()):
            return "Open the link that quietgraph review printed: it holds the token."
        if request.method not in {"GET", "HEAD"} and not is_same_origin(request):
            return "Decisions are taken from this page only."
        return ""

    def _let_in(self, request: Request) -> Response:
        """Give the cookie and drop the token from the address bar."""
        response = RedirectResponse("/", status_code=303)
        name = _cookie_name(request)
        response.set_cookie(name, self.cookie, httponly=True, samesite="lax", path="/")
        return response

    async def _page(self, _: Request) -> Response:
        return HTMLResponse(self.run.page_for(self.reviewer))

    async def _list(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not after.isdecimal() or len(after) > 15:
            return PlainTextResponse("after must be a number.", status_code=400)
        decisions = self.store.after(int(after))
        return JSONResponse([vars(decision) for decision in decisions])

    async def _add(self, request: Request) -> Response:
        try:
            node, reviewer, choice = await _read_decision(request)
        except ValueError as error:
            return PlainTextResponse(str(error), status_code=400)
        if node not in self.run.suspects:
            return PlainTextResponse("This node is no suspect of the run.", status_code=400)
        try:
            number = self.store.add(node, reviewer, choice)
        except UnwritablePathError as error:
            return PlainTextResponse(str(error), status_code=507)
        except QuietgraphError as error:
            return PlainTextResponse(str(error), status_code=400)
        return JSONResponse({"id": number}, status_code=201)

    async def _corrections(self, _: Request) -> Response:
        text, _counts = self.run.corrections(self.store.after())
        headers = {"Content-Disposition": 'attachment; filename="corrections.csv"'}
        return Response(text, media_type="text/csv", headers=headers)


def is_our_host(header: str, host: str) -> bool:
    """Return whether a Host header names this machine.

    A page of another site can point its own name at this address, but it cannot change what the
    browser writes here: so addresses and the names of this machine are fine, other names are not.

    Args:
        header: `name:port` as the browser sent it.
        host: What is listened on; loopback takes loopback names only.
    """
    name, _ = _name_and_port(header)
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        named = {"localhost"} if is_loopback(host) else {"localhost", host, *_own_names()}
        return name in {known.lower() for known in named}
    return address.is_loopback or not is_loopback(host)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_same_origin(request: Request) -> bool:
    """Return whether a write comes from our own page, as JSON."""
    origin = urlsplit(request.headers.get("origin", "")).netloc
    is_json = request.headers.get("content-type", "").startswith("application/json")
    return is_json and origin != "" and origin == request.headers.get("host", "")


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UnwritablePathError(
            f"cannot listen on {host} port {port}: {error.strerror}. "
            "Choose another port with --port (0 takes any free one), or another --host."
        ) from error
    return listener


def serve(review: Review, listener: socket.socket) -> None:
    """Answer reviewers until the process is told to stop."""
    settings = uvicorn.Config(
        review.app(), log_level="warning", server_header=False, lifespan="off"
    )
    uvicorn.Server(settings).run(sockets=[listener])


async def _read_decision(request: Request) -> tuple[str, str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            raise ValueError(f"A decision must be smaller than {_LARGEST_BODY:,} bytes.")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    names = ("node", "reviewer", "choice")
    if not isinstance(told, dict) or not all(isinstance(told.get(name), str) for name in names):
        raise ValueError("A decision must be JSON with the texts node, reviewer and choice.")
    return told["node"], told["reviewer"], told["choice"]


def _cookie_name(request: Request) -> str:
    """Return a name of its own per port: browsers share cookies among the ports of a host."""
    return f"quietgraph-{_name_and_port(request.headers.get('host', ''))[1]}"


def _name_and_port(header: str) -> tuple[str, int]:
    """Return both parts of a Host header, the name in small letters; '' where it is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return "", 0
    return name or "", port or 80


def _own_names() -> set[str]:
    return {socket.gethostname(), socket.getfqdn()}
