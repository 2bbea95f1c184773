"""Requests to an ASGI application in this process; its exceptions are raised here."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode


@dataclass(frozen=True)
class Answer:
    """What the application answered."""

    status_code: int
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Sends the same headers with every request to one application."""

    app: Any
    headers: Mapping[str, str]
    host: str = "127.0.0.1:8899"

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Answer:
        return asyncio.run(self._request("GET", path, urlencode(params or {}), b""))

    def post(self, path: str, content: bytes) -> Answer:
        return asyncio.run(self._request("POST", path, "", content))

    async def _request(self, method: str, path: str, query: str, body: bytes) -> Answer:
        headers = {"Host": self.host, "Content-Length": str(len(body)), **self.headers}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(key.lower().encode(), value.encode()) for key, value in headers.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", int(self.host.rpartition(":")[2])),
            "state": {},
        }
        sent: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        got: list[dict[str, Any]] = []
        finished = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if sent:
                return sent.pop()
            await finished.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            got.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                finished.set()

        await self.app(scope, receive, send)
        status = next(m["status"] for m in got if m["type"] == "http.response.start")
        return Answer(status, b"".join(m.get("body", b"") for m in got))
