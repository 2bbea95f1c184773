"""The page of a run, served to reviewers whose decisions are saved as they are made.

Who may use it: whoever has the link with its random token. Against other web pages that a
reviewer has open: the Host header must name this machine (DNS rebinding), and what writes must
come from our own page (same origin, JSON).
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
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

from quietgraph.errors import (
    InvalidParameterError,
    QuietgraphError,
    UnreadableFileError,
    UnwritablePathError,
)
from quietgraph.review.access import Allowance, host_and_port, is_our_host, is_same_origin
from quietgraph.review.body import parse_json, read_body
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import ReviewRun

EXPORT_FILE: Final = "verified.csv"
_LARGEST_BODY: Final = 20_000  # bytes of a decision; ids may be long
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_STATUS: Final = {UnwritablePathError: 507, UnreadableFileError: 503, QuietgraphError: 400}
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
        known: Requests per second of a client with the cookie, and at once.
        unknown: The same without it.
    """

    run: ReviewRun
    store: DecisionStore
    host: str
    reviewer: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    known: Allowance = field(default_factory=lambda: Allowance(500, 2000))
    unknown: Allowance = field(default_factory=lambda: Allowance(20, 100))

    def link(self, port: int) -> str:
        """Return the address to open, with the token."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/?token={quote(self.token)}"

    def app(self) -> Starlette:
        """Return the web application."""
        routes = [
            Route("/", self._page),
            Route("/review.json", self._settings),
            Route("/node", self._node),
            Route("/decisions", self._list),
            Route("/decisions", self._add, methods=["POST"]),
            Route(f"/{EXPORT_FILE}", self._export),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._guard)],
            exception_handlers={QuietgraphError: _say_error},
        )

    async def _guard(self, request: Request, answer: _Next) -> Response:
        """Answer only whom it may concern."""
        status, refusal = self._refusal(request)
        if refusal:
            response: Response = PlainTextResponse(refusal, status_code=status)
        elif "token" in request.query_params:
            response = self._let_in(request)
        else:
            response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    def _refusal(self, request: Request) -> tuple[int, str]:
        """Return status and reason where a request is not answered, '' where it is."""
        if not is_our_host(request.headers.get("host", ""), self.host):
            return 403, "This address is not served here."
        shown = request.cookies.get(_cookie_name(request), "")
        has_cookie = hmac.compare_digest(shown.encode(), self.cookie.encode())
        client = request.client.host if request.client else ""
        if not (self.known if has_cookie else self.unknown).take(client):
            return 429, "Too many requests. Wait a second."
        token = request.query_params.get("token")
        if token is not None and request.url.path == "/":
            right = hmac.compare_digest(token.encode(), self.token.encode())
            wrong = "The token in the link is wrong or of an earlier review."
            return 403, "" if right else wrong
        if not has_cookie:
            return 403, "Open the link that quietgraph review printed: it holds the token."
        if request.method not in {"GET", "HEAD"}:
            return _refused_origin(request)
        return 200, ""

    def _let_in(self, request: Request) -> Response:
        """Give the cookie and drop the token from the address bar."""
        response = RedirectResponse("/", status_code=303)
        name = _cookie_name(request)
        response.set_cookie(name, self.cookie, httponly=True, samesite="lax", path="/")
        return response

    async def _page(self, _: Request) -> Response:
        return HTMLResponse(self.run.page)

    async def _settings(self, _: Request) -> Response:
        command = self.run.next_command(EXPORT_FILE)
        return JSONResponse({"reviewer": self.reviewer, "next": command})

    async def _node(self, request: Request) -> Response:
        line = self.run.evidence.get(request.query_params.get("id", ""))
        if line is None:
            return PlainTextResponse("Nothing more is known of this node.", status_code=404)
        return Response(line, media_type="application/json")

    async def _list(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdecimal()) or len(after) > 15:
            return PlainTextResponse("after must be a number.", status_code=400)
        decisions = await run_in_threadpool(self.store.after, int(after))
        return JSONResponse([vars(decision) for decision in decisions])

    async def _add(self, request: Request) -> Response:
        sent = await _read_decision(request)
        node, choice = sent["node"], sent["choice"]
        if node not in self.run.suspects:
            raise InvalidParameterError("This node is no suspect of the run.")
        label = self.run.label_after(node, choice, sent["label"])
        if choice == "other" and label not in self.run.classes:
            raise InvalidParameterError("This label is no class of the run.")
        number = await run_in_threadpool(self.store.add, node, sent["reviewer"], choice, label)
        return JSONResponse({"id": number}, status_code=201)

    async def _export(self, _: Request) -> Response:
        decisions = await run_in_threadpool(self.store.after)
        headers = {"Content-Disposition": f'attachment; filename="{EXPORT_FILE}"'}
        return Response(self.run.export(decisions)[0], media_type="text/csv", headers=headers)


async def _say_error(_: Request, error: Exception) -> Response:
    status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
    return PlainTextResponse(str(error), status_code=status)


async def _read_decision(request: Request) -> dict[str, str]:
    """Return node, reviewer, choice and label of a decision."""
    sent = parse_json(
        await read_body(request, largest=_LARGEST_BODY, what="A decision"), "A decision"
    )
    names = ("node", "reviewer", "choice", "label")
    try:
        sent = {"label": "", **sent}
        "".join(sent[name] for name in names).encode()  # no text holds half a character
    except (ValueError, TypeError, KeyError):
        raise InvalidParameterError(
            "A decision must be JSON with the texts node, reviewer and choice."
        ) from None
    return {name: sent[name] for name in names}


def _refused_origin(request: Request) -> tuple[int, str]:
    """Return status and reason where a write does not come from our own page, as JSON."""
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    try:
        same = is_same_origin(origin, host)
    except ValueError:
        return 400, "The Origin header is no address."
    is_json = request.headers.get("content-type", "").startswith("application/json")
    return 403, "" if same and is_json else "Decisions are taken from this page only."


def _cookie_name(request: Request) -> str:
    """Return a name of its own per port: browsers share cookies among the ports of a host."""
    return f"quietgraph-{host_and_port(request.headers.get('host', ''))[1]}"
