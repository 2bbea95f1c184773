"""The review server: who gets in, what is saved, what is refused."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from quietgraph.graph.io import read_corrections
from quietgraph.report.fit_run import FitRun, write_run
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run

uvicorn = pytest.importorskip("uvicorn", reason="the extra [review] is not installed")

from quietgraph.review.server import Review, is_our_host, listen
from report_problem import own_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FitRun:
    return own_run(tmp_path_factory.mktemp("review") / "graph")


@pytest.fixture(scope="module")
def folder(run: FitRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(run, tmp_path_factory.mktemp("review") / "run")


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
        connection.request(method, path, text, sent | wanted)
        answer = connection.getresponse()
        found = SimpleNamespace(status=answer.status, text=answer.read().decode(), headers=answer)
        connection.close()
        return found

    def enter(self) -> SimpleNamespace:
        answer = self.ask("GET", f"/?token={self.review.token}")
        self.cookie = answer.headers.getheader("Set-Cookie").split(";")[0]
        return answer


@pytest.fixture
def client(folder: Path, tmp_path: Path) -> Iterator[Client]:
    review = Review(open_run(folder), DecisionStore(tmp_path / "d.sqlite"), "127.0.0.1", "Ann")
    with listen("127.0.0.1", 0) as listener:
        settings = uvicorn.Config(review.app(), log_level="warning", lifespan="off")
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Client(review, listener.getsockname()[1])
        server.should_exit = True
        thread.join(10)


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
    assert '<script type="application/json" id="review">{"reviewer":"Ann"}</script>' in page.text
    assert page.headers.getheader("X-Frame-Options") == "DENY"


@pytest.mark.parametrize("path", ["/", "/decisions", "/corrections.csv", "/?token=wrong", "/x"])
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
    listed = json.loads(client.ask("GET", "/decisions?after=0").text)
    assert listed == [{"id": 1, **decision}]
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


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '"x"', '{"node": 1}', "[" * 10_000, "x" * 30_000],
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
        ({"choice": "maybe"}, "there is no decision 'maybe'"),
    ],
)
def test_impossible_decisions_are_refused(client: Client, change: dict, sentence: str) -> None:
    client.enter()
    decision = {"node": node_of(client), "reviewer": "Ann", "choice": "keep"} | change
    answer = client.ask("POST", "/decisions", decision)
    assert answer.status == 400
    assert sentence in answer.text
    assert client.ask("GET", "/decisions?after=x").status == 400


def test_merged_decisions_go_back_into_fit(client: Client, run: FitRun, tmp_path: Path) -> None:
    client.enter()
    store, nodes = client.review.store, [node_of(client, place) for place in range(4)]
    for node, reviewer, choice in (
        (nodes[0], "Ann", "accept"),
        (nodes[0], "Bob", "unsure"),
        (nodes[1], "Ann", "keep"),
        (nodes[2], "Ann", "accept"),
        (nodes[2], "Bob", "keep"),
        (nodes[3], "Ann", "accept"),
    ):
        store.add(node, reviewer, choice)
    answer = client.ask("GET", "/corrections.csv")
    assert "attachment" in answer.headers.getheader("Content-Disposition")
    path = tmp_path / "corrections.csv"
    path.write_text(answer.text, encoding="utf-8", newline="")
    corrections = read_corrections(path)
    suspects = client.review.run.suspects
    assert corrections.labels == {
        nodes[0]: suspects[nodes[0]].suggested,
        nodes[3]: suspects[nodes[3]].suggested,
    }
    assert "2 labels corrected" in run.observation.correct(corrections).changes[-1]


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
    ],
)
def test_only_names_of_this_machine_are_served(header: str, host: str, ours: bool) -> None:
    assert is_our_host(header, host) is ours
