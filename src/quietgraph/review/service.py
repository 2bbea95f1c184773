"""Predictions of a fitted model over HTTP, for programs.

POST /predict takes a graph that the model has not seen, as arrays or as rows of tables, or the
positions of nodes of `fit`. Every request but GET /health shows the token as
`Authorization: Bearer TOKEN`.
"""

import asyncio
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quietgraph.errors import InvalidParameterError, QuietgraphError
from quietgraph.graph import Graph
from quietgraph.graph.io import Encoding, read_graph
from quietgraph.methods import NodeClassifier, method_name
from quietgraph.review.access import Allowance, is_our_host
from quietgraph.review.body import parse_json, read_body
from quietgraph.types import AnyArray

_MOST_WAITING: Final = 16  # predictions that may wait for the one being computed
_FORMS: Final = (
    "A request must be JSON with nodes (positions in fit), or with features and edges (arrays), "
    "or with nodes and edges (rows of tables)."
)


@dataclass(eq=False)
class PredictionService:
    """A model that answers over HTTP.

    Attributes:
        model: Fitted.
        host: The address that is listened on.
        encoding: How columns of own tables become features; None where fit had arrays.
        token: That requests have to show.
        largest_body: Bytes of a request.
        known: Requests per second of a client with the token, and at once.
        unknown: The same without it.
    """

    model: NodeClassifier
    host: str
    encoding: Encoding | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    largest_body: int = 10_000_000
    known: Allowance = field(default_factory=lambda: Allowance(20, 100))
    unknown: Allowance = field(default_factory=lambda: Allowance(5, 20))
    waiting: int = field(default=0, init=False)
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def app(self) -> Starlette:
        """Return the web application."""
        routes = [
            Route("/health", self._health),
            Route("/model", self._facts),
            Route("/predict", self._predict, methods=["POST"]),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._guard)],
            exception_handlers={QuietgraphError: _say_error},
        )

    async def _guard(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        """Answer only whom it may concern."""
        status, refusal = self._refusal(request)
        response = await answer(request) if not refusal else _error(refusal, status)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    def _refusal(self, request: Request) -> tuple[int, str]:
        """Return status and reason where a request is not answered, '' where it is."""
        if not is_our_host(request.headers.get("host", ""), self.host):
            return 403, "This address is not served here."
        shown = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        has_token = hmac.compare_digest(shown, self.token.encode())
        client = request.client.host if request.client else ""
        if not (self.known if has_token else self.unknown).take(client):
            return 429, "Too many requests. Wait a second."
        if not has_token and request.url.path != "/health":
            return 401, "Show the token: Authorization: Bearer TOKEN."
        return 200, ""

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _facts(self, _: Request) -> Response:
        model = self.model
        facts = {
            "method": method_name(type(model)),
            "parameters": model.get_params(),
            "classes": _plain(model.classes_),
            "nodes": len(model.scores_),
            "inductive": model.is_inductive(),
            "largest_body": self.largest_body,
        }
        return JSONResponse(facts)

    async def _predict(self, request: Request) -> Response:
        body = await read_body(request, largest=self.largest_body, what="A request")
        if self.waiting >= _MOST_WAITING:
            return _error("The model is busy. Try again in a moment.", 503)
        self.waiting += 1
        try:
            async with self.one_at_a_time:
                return JSONResponse(await run_in_threadpool(self._answer, body))
        finally:
            self.waiting -= 1

    def _answer(self, body: bytes) -> dict[str, object]:
        asked = parse_json(body, "A request")
        if not isinstance(asked, dict):
            raise InvalidParameterError(_FORMS)
        try:
            names, probabilities = self._probabilities(asked)
        except UnicodeError:
            raise InvalidParameterError("A request must not hold half characters.") from None
        classes = _plain(self.model.classes_)
        best = probabilities.argmax(axis=1).tolist()
        rows = zip(names, best, np.round(probabilities, 6).tolist(), strict=True)
        answers = [
            {"node": name, "label": classes[code], "probabilities": row} for name, code, row in rows
        ]
        return {"classes": classes, "predictions": answers}

    def _probabilities(self, asked: dict[str, Any]) -> tuple[list[object], AnyArray]:
        """Return node names and probabilities of what was asked for."""
        if set(asked) == {"nodes"} and _are_positions(asked["nodes"]):
            return self._of_fit(asked["nodes"])
        if {"features", "edges"} <= set(asked) <= {"features", "edges", "weights"}:
            pairs, weights = _pairs(asked["edges"]), asked.get("weights")
            graph = Graph.from_arrays(_matrix(asked["features"]), pairs, weights=weights)
            return list(range(graph.num_nodes)), self.model.predict_proba(graph)
        if set(asked) == {"nodes", "edges"} and _are_rows(asked["nodes"], asked["edges"]):
            nodes, edges = pd.DataFrame(asked["nodes"]), pd.DataFrame(asked["edges"])
            read = read_graph(nodes=nodes, edges=edges, encoding=self.encoding)
            return _plain(read.node_ids), self.model.predict_proba(read.graph)
        raise InvalidParameterError(_FORMS)

    def _of_fit(self, nodes: list[int]) -> tuple[list[Any], AnyArray]:
        count = len(self.model.scores_)
        outside = [node for node in nodes if not 0 <= node < count]
        if outside:
            raise InvalidParameterError(f"nodes must lie in 0 ... {count - 1}, got {outside[0]}.")
        return nodes, self.model.predict_proba()[nodes]


def _plain(values: AnyArray) -> list[Any]:
    """Return labels or ids as JSON writes them; dates and the like as texts."""
    kinds = (bool, int, float, str)
    return [one if isinstance(one, kinds) else str(one) for one in values.tolist()]


def _are_positions(nodes: Any) -> bool:
    whole = isinstance(nodes, list) and all(type(node) is int for node in nodes)
    return whole and len(nodes) > 0


def _are_rows(*tables: object) -> bool:
    return all(
        isinstance(table, list) and table and all(isinstance(row, dict) for row in table)
        for table in tables
    )


def _matrix(rows: object) -> Any:
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError("features must be rows of equally many numbers.") from None


def _pairs(edges: Any) -> object:
    """Return pairs of positions [2, edges]; JSON knows only numbers."""
    try:
        pairs = [[int(source), int(target)] for source, target in edges]
        exact = pairs == [list(edge) for edge in edges] and all(
            abs(end) < 2**62 for pair in pairs for end in pair
        )
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise InvalidParameterError("edges must be pairs of whole numbers, positions of nodes.")
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


async def _say_error(_: Request, error: Exception) -> Response:
    return _error(str(error), 400)


def _error(sentence: str, status: int) -> Response:
    return JSONResponse({"error": sentence}, status_code=status)
