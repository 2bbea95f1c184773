"""Who may ask the review server, and how often."""

import ipaddress
import re
import socket
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._-]+)(?::([0-9]{1,5}))?")
_MOST_CLIENTS: Final = 10_000  # whose requests are counted


@dataclass(eq=False)
class Allowance:
    """Requests that every client may make: `rate` a second, `burst` at once."""

    rate: float
    burst: float
    left: dict[str, tuple[float, float]] = field(default_factory=dict)  # by client, and when

    def take(self, client: str, now: float | None = None) -> bool:
        """Return whether the client may make a request now, and count it."""
        now = time.monotonic() if now is None else now
        if len(self.left) > _MOST_CLIENTS:
            self.left.clear()
        tokens, before = self.left.get(client, (self.burst, now))
        tokens = min(self.burst, tokens + self.rate * (now - before))
        self.left[client] = (max(0.0, tokens - 1), now)
        return tokens >= 1


def is_our_host(header: str, host: str) -> bool:
    """Return whether a Host header names this machine.

    A page of another site can point its own name at this address, but it cannot change what the
    browser writes here: so addresses and the names of this machine are fine, other names are not.

    Args:
        header: `name:port` as the browser sent it.
        host: What is listened on; loopback takes loopback names only.
    """
    name, _ = host_and_port(header)
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


def is_same_origin(origin: str, host: str) -> bool:
    """Return whether an Origin header names the same place as a Host header.

    Raises:
        ValueError: The origin is no address.
    """
    parts = urlsplit(origin)
    return parts.scheme in {"http", "https"} and parts.netloc != "" and parts.netloc == host


def host_and_port(header: str) -> tuple[str, int]:
    """Return both parts of a Host header, the name in small letters; '' where it is malformed."""
    found = _HOST.fullmatch(header)
    if found is None or int(found[2] or 80) > 65535:
        return "", 0
    return found[1].lower().strip("[]"), int(found[2] or 80)


def _own_names() -> set[str]:
    return {socket.gethostname(), socket.getfqdn()}
