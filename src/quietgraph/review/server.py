"""The page of a run, served to reviewers whose decisions are saved as they are made.

Who may use it: whoever has the link with its random token, which is exchanged for a cookie. What writes must come from
our own page: same origin, JSON.
"""

import hmac
import ipaddress
import json
import secrets
import socket
import webbrowser
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from quietgraph.data.decisions import VERIFIED_FILE
from quietgraph.errors import InvalidParameterError, QuietgraphError, UnreadableFileError, UnwritablePathError
from quietgraph.report.folder import PAGE_FILE, next_command
from quietgraph.review.decisions import ReviewedRun, check_name, export_decisions, open_run

_LARGEST_BODY: Final = 20_000  # bytes of a decision; ids may be long
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_Next = Callable[[Request], Awaitable[Response]]


def review_app(run: ReviewedRun, *, token: str, host: str = "127.0.0.1", reviewer: str = "") -> Starlette:
    """Return the web application of a review.

    Args:
        run: What is reviewed.
        token: Of the link that lets people in.
        host: What is listened on; a loopback address takes requests for loopback names alone.
        reviewer: The name that the page starts with; '' makes it ask.
    """
    page, cookie = (run.folder / PAGE_FILE).read_text(encoding="utf-8"), secrets.token_urlsafe(24)
    settings = {"reviewer": reviewer, "next": next_command(run.folder, run.facts, verified=run.folder)}

    def cookie_name(request: Request) -> str:  # browsers share cookies among the ports of a host
        return f"quietgraph-{request.url.port}"

    async def guard(request: Request, answer: _Next) -> Response:
        shown, given = request.cookies.get(cookie_name(request), ""), request.query_params.get("token")
        is_known = hmac.compare_digest(shown.encode(), cookie.encode())
        if given is not None and hmac.compare_digest(given.encode(), token.encode()):
            response: Response = RedirectResponse("/", status_code=303)  # and the token leaves the address bar
            response.set_cookie(cookie_name(request), cookie, httponly=True, samesite="lax")
        elif not is_known:
            response = PlainTextResponse("Open the link that quietgraph review printed: it holds the token.", 403)
        elif request.method not in {"GET", "HEAD"} and not _is_ours(request):
            response = PlainTextResponse("Decisions are taken from this page only.", 403)
        else:
            response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    async def decide(request: Request) -> Response:
        try:
            sent = json.loads(await request.body())
            texts = [sent[name] for name in ("node", "decision", "label", "by")]
            "".join(texts).encode()  # no text holds half a character
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidParameterError("A decision is JSON with the texts node, decision, label and by.") from None
        await run_in_threadpool(run.decide, *texts)
        return Response(status_code=201)

    async def listed(request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdecimal() and len(after) < 16):
            return PlainTextResponse("after must be a number.", 400)
        found = await run_in_threadpool(run.after, int(after))
        return JSONResponse([{"number": number, **asdict(one)} for number, one in found])

    async def export(_: Request) -> Response:
        text, _counts = await run_in_threadpool(export_decisions, run.folder)
        headers = {"Content-Disposition": f'attachment; filename="{VERIFIED_FILE}"'}
        return Response(text, media_type="text/csv", headers=headers)

    async def shown_page(_: Request) -> Response:
        return HTMLResponse(page)

    async def shown_settings(_: Request) -> Response:
        return JSONResponse(settings)

    async def outlook(_: Request) -> Response:
        return PlainTextResponse(await run_in_threadpool(run.outlook))

    return Starlette(
        routes=[
            Route("/", shown_page),
            Route("/review.json", shown_settings),
            Route("/decisions", listed),
            Route("/decisions", decide, methods=["POST"]),
            Route("/outlook", outlook),
            Route(f"/{VERIFIED_FILE}", export),
        ],
        middleware=[
            Middleware(
                TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"] if _is_loopback(host) else ["*"]
            ),
            Middleware(BaseHTTPMiddleware, dispatch=guard),
            Middleware(RequestBodyLimitMiddleware, max_body_size=_LARGEST_BODY),
        ],
        exception_handlers={QuietgraphError: _say_error},
    )


def serve_review(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8470,
    reviewer: str = "",
    browser: bool = True,
    started: Callable[[str], object] = print,
) -> None:
    """Serve the review of a run until it is interrupted.

    Args:
        folder: That `quietgraph fit` wrote.
        host: Address to listen on.
        port: 0 takes any free one.
        reviewer: The name that the page starts with.
        browser: Whether to open a browser.
        started: Called with the link.
    """
    if reviewer:
        reviewer = check_name(reviewer)
    token = secrets.token_urlsafe(24)
    app = review_app(open_run(folder), token=token, host=host, reviewer=reviewer)
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UnwritablePathError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. Choose another one with --port (0: any)."
        ) from error
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104
    link = f"http://{shown}:{listener.getsockname()[1]}/?token={token}"
    started(link)
    if browser:
        webbrowser.open(link)
    # Nothing is logged: addresses hold the token.
    settings = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none",
                              limit_concurrency=200)  # fmt: skip
    uvicorn.Server(settings).run(sockets=[listener])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_ours(request: Request) -> bool:
    """Return whether a write comes from our own page."""
    origin = request.headers.get("origin", "").partition("://")[2]
    is_json = request.headers.get("content-type", "").startswith("application/json")
    return is_json and origin != "" and origin == request.headers.get("host")


async def _say_error(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 503 if isinstance(error, UnreadableFileError | UnwritablePathError) else 400)
