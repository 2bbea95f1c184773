"""The review server: who gets in, what is saved, what is refused, and who is not kept waiting."""

import errno
import http.client
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from quietgraph.errors import UnwritablePathError
from quietgraph.graph.io.corrections import read_corrections
from quietgraph.review.access import Allowance, is_our_host, is_same_origin
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run

pytest.importorskip("uvicorn", reason="the extra [review] is not installed")

from quietgraph.review import listen as listening
from quietgraph.review.server import Review
from tests.review.serving import serving


class Client:
    """A browser that keeps its cookie, and can lie about where it comes from."""

    def __init__(self, review: Review, port: int) -> None:
        self.review, self.port, self.cookie = review, port, ""

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> SimpleNamespace:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        host = f"127.0.0.1:{self.port}"
        sent = {"Host": host, "Cookie": self.cookie}
        if body is not None:
            sent |= {"Origin": f"http://{host}", "Content-Type": "application/json"}
        text = body if isinstance(body, str | None) else json.dumps(body)
        wanted = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(connection):
            connection.request(method, path, text, sent | wanted)
            answer = connection.getresponse()
            body = answer.read().decode()
        return SimpleNamespace(status=answer.status, text=body, headers=answer)

    def enter(self) -> SimpleNamespace:
        answer = self.ask("GET", f"/?token={self.review.token}")
        self.cookie = answer.headers.getheader("Set-Cookie").split(";")[0]
        return answer


@contextmanager
def served(review: Review) -> Iterator[Client]:
    with serving(review) as port:
        yield Client(review, port)


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    store = DecisionStore(folder / "decisions.sqlite")
    with served(Review(open_run(folder), store, "127.0.0.1", "Ann")) as found:
        yield found


def node_of(client: Client, place: int = 0) -> str:
    return list(client.review.run.suspects)[place]


def test_the_link_lets_in_and_a_cookie_keeps_in(client: Client) -> None:
    assert client.ask("GET", "/").status == 403
    answer = client.enter()
    assert answer.status == 303
    assert answer.headers.getheader("Location") == "/"
    cookie = answer.headers.getheader("Set-Cookie").lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    page = client.ask("GET", "/")
    assert page.status == 200
    assert page.text == client.review.run.page
    told = json.loads(client.ask("GET", "/review.json").text)
    assert told == {"reviewer": "Ann", "next": "quietgraph fit pets --verified verified.csv"}
    assert page.headers.getheader("X-Frame-Options") == "DENY"


@pytest.mark.parametrize(
    "path",
    ["/", "/decisions", "/verified.csv", "/node?id=n2", "/review.json", "/?token=wrong", "/x"],
)
def test_without_the_token_nothing_is_shown(client: Client, path: str) -> None:
    answer = client.ask("GET", path)
    assert answer.status == 403
    assert "suspect" not in answer.text


def test_a_decision_is_saved_before_the_answer(client: Client) -> None:
    client.enter()
    node = node_of(client)
    decision = {"node": node, "reviewer": "Bob", "choice": "accept"}
    assert client.ask("POST", "/decisions", decision).status == 201
    assert [saved.node for saved in DecisionStore(client.review.store.path).after()] == [node]
    (listed,) = json.loads(client.ask("GET", "/decisions?after=0").text)
    assert listed.pop("made")
    assert listed == {"id": 1, "label": "dog", **decision}
    assert json.loads(client.ask("GET", "/decisions?after=1").text) == []


def test_another_sites_page_can_neither_read_nor_write(client: Client) -> None:
    client.enter()
    decision = {"node": node_of(client), "reviewer": "Eve", "choice": "accept"}
    for lie in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{client.port}"},
        {"Origin": "http://evil.example"},
        {"Origin": ""},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{client.port}"},
        {"Content_Type": "text/plain"},
    ):
        assert client.ask("POST", "/decisions", decision, **lie).status == 403, lie
    assert client.ask("GET", "/", Host="evil.example").status == 403
    assert client.review.store.after() == []


LONE = ("\\ud800", "Ann\\udfff")  # halves of a character, which no file can hold


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[]", "null", '"x"', '{"node": 1}', "[" * 10_000, "x" * 30_000),
        *(f'{{"node": "n2", "reviewer": "{name}", "choice": "keep"}}' for name in LONE),
        '{"node": "n2", "reviewer": "Ann", "choice": "other", "label": 5}',
    ],
)
def test_what_is_no_decision_gets_a_sentence(client: Client, body: str) -> None:
    client.enter()
    answer = client.ask("POST", "/decisions", body)
    assert answer.status == 400
    assert answer.text.startswith("A decision must be")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"node": "nobody"}, "no suspect of the run"),
        ({"reviewer": ""}, "1 to 80 characters"),
        ({"reviewer": "A\0"}, "without control characters"),
        ({"choice": "maybe"}, "there is no decision 'maybe'"),
        ({"choice": "other", "label": "horse"}, "no class of the run"),
    ],
)
def test_impossible_decisions_are_refused(client: Client, change: dict, sentence: str) -> None:
    client.enter()
    decision = {"node": node_of(client), "reviewer": "Ann", "choice": "keep"} | change
    answer = client.ask("POST", "/decisions", decision)
    assert answer.status == 400
    assert sentence in answer.text
    assert client.ask("GET", "/decisions?after=x").status == 400


def test_merged_decisions_go_back_into_fit(client: Client, tmp_path: Path) -> None:
    client.enter()
    nodes = [node_of(client, place) for place in range(5)]
    for node, reviewer, choice, label in (
        (nodes[0], "Ann", "accept", ""),
        (nodes[0], "Bob", "unsure", ""),
        (nodes[1], "Ann", "keep", ""),
        (nodes[2], "Ann", "accept", ""),
        (nodes[2], "Bob", "keep", ""),
        (nodes[3], "Ann", "other", "cow"),
        (nodes[4], "Ann", "drop", ""),
    ):
        decision = {"node": node, "reviewer": reviewer, "choice": choice, "label": label}
        assert client.ask("POST", "/decisions", decision).status == 201
    answer = client.ask("GET", "/verified.csv")
    assert "attachment" in answer.headers.getheader("Content-Disposition")
    path = tmp_path / "verified.csv"
    path.write_text(answer.text, encoding="utf-8", newline="")
    found = read_corrections(path)
    assert found.labels == {nodes[0]: "dog", nodes[1]: "cat", nodes[3]: "cow", nodes[4]: ""}
    assert found.decisions[nodes[0]].by == "Ann"


def test_a_node_is_shown_with_what_is_known_of_it(client: Client) -> None:
    client.enter()
    assert json.loads(client.ask("GET", "/node?id=%3Dodd").text)["columns"] == [["title", "=odd"]]
    assert client.ask("GET", "/node?id=nobody").status == 404


@pytest.mark.parametrize("origin", ["http://[::1", "http://[evil]/", "http://[::1]x:1"])
def test_a_malformed_origin_is_a_bad_request(client: Client, origin: str) -> None:
    client.enter()
    decision = {"node": node_of(client), "reviewer": "Ann", "choice": "keep"}
    assert client.ask("POST", "/decisions", decision, Origin=origin).status in {400, 403}
    assert client.review.store.after() == []


def test_half_open_requests_shut_nobody_out(client: Client) -> None:
    resource = pytest.importorskip("resource")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, allowed[1]), allowed[1]))
    with ExitStack() as stack:
        for _ in range(1100):  # more than a process may have files open
            half = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), 10))
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert client.enter().status == 303
        assert client.ask("GET", "/").status == 200


def test_a_request_that_never_ends_is_closed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_SLOWEST_REQUEST", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), 10) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert slow.recv(100) == b""


def test_large_headers_are_refused(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), 10) as big:
        big.sendall(b"GET / HTTP/1.1\r\nX-Big: " + b"x" * 40_000)
        assert b"400" in big.recv(100)


def test_who_asks_too_often_waits() -> None:
    allowance = Allowance(rate=10, burst=3)
    assert [allowance.take("a", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert allowance.take("b", now=0.0)
    assert allowance.take("a", now=0.1)
    assert not allowance.take("a", now=0.1)


def test_guessing_the_token_is_slowed_down(client: Client) -> None:
    seen = {client.ask("GET", "/?token=guess").status for _ in range(250)}
    assert seen == {403, 429}


def test_a_full_disk_is_a_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.enter()

    def full(*_: object) -> None:
        raise UnwritablePathError(f"decisions cannot be written: errno {errno.ENOSPC}.")

    monkeypatch.setattr(DecisionStore, "after", full)
    monkeypatch.setattr(DecisionStore, "add", full)
    decision = {"node": node_of(client), "reviewer": "Ann", "choice": "keep"}
    for answer in (
        client.ask("GET", "/decisions"),
        client.ask("GET", "/verified.csv"),
        client.ask("POST", "/decisions", decision),
    ):
        assert answer.status == 507
        assert "cannot be written" in answer.text


def test_the_token_is_in_no_log(client: Client, caplog: pytest.LogCaptureFixture, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    client.enter()
    client.ask("GET", f"/?token={client.review.token}x")
    said = caplog.text + "".join(capfd.readouterr())
    assert client.review.token not in said


def test_two_servers_share_one_folder(client: Client, folder: Path) -> None:
    second = Review(open_run(folder), DecisionStore(folder / "decisions.sqlite"), "127.0.0.1")
    with served(second) as other:
        client.enter()
        other.enter()
        nodes = [node_of(client, place) for place in range(20)]
        for place, node in enumerate(nodes):
            decision = {"node": node, "reviewer": f"R{place % 2}", "choice": "keep"}
            assert (client, other)[place % 2].ask("POST", "/decisions", decision).status == 201
        lists = [json.loads(one.ask("GET", "/decisions").text) for one in (client, other)]
    assert lists[0] == lists[1]
    assert [one["node"] for one in lists[0]] == nodes


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://127.0.0.1:1", "127.0.0.1:1", True),
        ("http://127.0.0.1:2", "127.0.0.1:1", False),
        ("null", "127.0.0.1:1", False),
        ("", "", False),
        ("ftp://127.0.0.1:1", "127.0.0.1:1", False),
    ],
)
def test_only_our_own_page_may_write(origin: str, host: str, same: bool) -> None:
    assert is_same_origin(origin, host) is same


@pytest.mark.parametrize(
    ("header", "host", "ours"),
    [
        ("127.0.0.1:8470", "127.0.0.1", True),
        ("localhost:8470", "127.0.0.1", True),
        ("LOCALHOST", "127.0.0.1", True),
        ("[::1]:8470", "::1", True),
        ("192.168.1.5:8470", "127.0.0.1", False),
        ("192.168.1.5:8470", "0.0.0.0", True),
        ("evil.example:8470", "0.0.0.0", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("lab-pc:8470", "lab-pc", True),
        ("", "127.0.0.1", False),
        ("127.0.0.1:port", "127.0.0.1", False),
        ("[::1", "127.0.0.1", False),
        ("user@127.0.0.1:8470", "127.0.0.1", False),
        ("user:password@localhost", "127.0.0.1", False),
        ("127.0.0.1:8470/path", "127.0.0.1", False),
        ("127.0.0.1:99999", "127.0.0.1", False),
    ],
)
def test_only_names_of_this_machine_are_served(header: str, host: str, ours: bool) -> None:
    assert is_our_host(header, host) is ours
