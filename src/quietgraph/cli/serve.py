"""`quietgraph serve`: predictions of a fitted model over HTTP."""

import json
import os
import secrets
from pathlib import Path

import typer
from rich.markup import escape

from quietgraph.cli.console import results, say
from quietgraph.errors import InvalidParameterError
from quietgraph.extras import MissingExtraError
from quietgraph.graph.io import read_encoding
from quietgraph.methods import load_model
from quietgraph.review.access import Allowance, is_loopback

_SHORTEST_TOKEN = 8


def serve(
    *, model_dir: Path, host: str, port: int, rate: float, largest: float, as_json: bool
) -> None:
    """Answer requests for predictions over HTTP, for programs with the token."""
    try:
        from quietgraph.review.listen import listen, make_server  # noqa: PLC0415  (needs the extra)
        from quietgraph.review.service import PredictionService  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"quietgraph serve needs the package {error.name}, which is not installed. "
            "Install it with: pip install 'quietgraph[review]'"
        ) from error
    token = _token()
    folder = model_dir / "model" if (model_dir / "model").is_dir() else model_dir
    service = PredictionService(
        load_model(folder),
        host,
        read_encoding(folder),
        token,
        largest_body=round(largest * 1e6),
        known=Allowance(rate, 5 * rate),
    )
    with listen(host, port) as listener:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        if not is_loopback(host):
            say("[yellow]note:[/] the connection is not encrypted; put a proxy with TLS before it.")
        if as_json:
            typer.echo(json.dumps({"address": address, "token": token}))
        else:
            results.print(f"serve: {escape(address)}/predict\ntoken: {escape(token)}")
        say("stop with Ctrl-C")
        make_server(service).run(sockets=[listener])


def _token() -> str:
    token = os.environ.get("QUIETGRAPH_TOKEN")
    if token is None:
        return secrets.token_urlsafe(24)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InvalidParameterError(
            f"QUIETGRAPH_TOKEN must have at least {_SHORTEST_TOKEN} plain characters."
        )
    return token
