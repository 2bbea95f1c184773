"""Bodies of requests: none is too large, and none keeps others waiting."""

import asyncio
import json
from typing import Any, Final

from starlette.requests import Request

from quietgraph.errors import InvalidParameterError

_SLOWEST: Final = 10.0  # seconds that a body may take to arrive


async def read_body(request: Request, *, largest: int, what: str) -> bytes:
    """Return the body of a request.

    Args:
        request: Whose body has not been read.
        largest: Bytes that it may have.
        what: It is, for messages.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST):
            async for part in request.stream():
                body += part
                if len(body) > largest:
                    raise InvalidParameterError(f"{what} must be smaller than {largest:,} bytes.")
    except TimeoutError:
        raise InvalidParameterError(f"{what} did not arrive in time. Send it again.") from None
    return bytes(body)


def parse_json(body: bytes, what: str) -> Any:
    """Return what JSON says; raise where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidParameterError(f"{what} must be JSON.") from None
