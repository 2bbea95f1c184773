"""Predictions over HTTP: the same as in Python, for those with the token, within limits."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.testing import small_problem

pytest.importorskip("uvicorn", reason="the extra [review] is not installed")

from quietgraph.review.access import Allowance
from quietgraph.review.service import PredictionService
from tests.review.serving import serving


class Client:
    def __init__(self, service: PredictionService, port: int) -> None:
        self.service, self.port = service, port

    def ask(self, method: str, path: str, body: object = None, **headers: str):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"Authorization": f"Bearer {self.service.token}", **headers}
        text = body if isinstance(body, str | None) else json.dumps(body)
        connection.request(method, path, text, sent)
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read() or "null")
        connection.close()
        return found

    def predict(self, body: object, **headers: str):
        return self.ask("POST", "/predict", body, **headers)


@contextmanager
def served(service: PredictionService) -> Iterator[Client]:
    with serving(service) as port:
        yield Client(service, port)


@pytest.fixture(scope="module")
def model() -> qg.GCN:
    problem, labels, validation = small_problem()
    return qg.GCN(epochs=20, hidden=8).fit(problem.graph, labels, validation)


@pytest.fixture(scope="module")
def client(model: qg.GCN) -> Iterator[Client]:
    with served(PredictionService(model, "127.0.0.1", known=Allowance(1000, 1000))) as client:
        yield client


def test_a_graph_as_arrays_gets_the_answers_of_python(client: Client, model: qg.GCN) -> None:
    other = small_problem(seed=1, num_nodes=150)[0].graph
    half = other.edge_index.T.tolist()
    status, found = client.predict({"features": other.features.tolist(), "edges": half})
    assert status == 200
    assert [row["label"] for row in found["predictions"]] == model.predict(other).tolist()
    rows = np.array([row["probabilities"] for row in found["predictions"]])
    np.testing.assert_allclose(rows, model.predict_proba(other), atol=1e-6)
    assert found["classes"] == [0, 1, 2]


def test_nodes_of_fit_are_asked_for_by_position(client: Client, model: qg.GCN) -> None:
    status, found = client.predict({"nodes": [7, 3]})
    assert status == 200
    assert [row["node"] for row in found["predictions"]] == [7, 3]
    assert [row["label"] for row in found["predictions"]] == model.predict()[[7, 3]].tolist()
    assert client.predict({"nodes": [120]}) == (
        400,
        {"error": "nodes must lie in 0 ... 119, got 120."},
    )


def test_rows_of_own_tables_are_read_as_in_fit() -> None:
    draws = np.random.default_rng(0)
    classes = np.arange(60) % 2
    nodes = pd.DataFrame(
        {"id": [f"n{i}" for i in range(60)], "size": classes * 9 + draws.random(60)}
    )
    nodes["kind"] = np.where(classes, "big", "small")
    edges = pd.DataFrame({"source": nodes["id"][:-2].tolist(), "target": nodes["id"][2:].tolist()})
    data = qg.load(nodes=nodes.assign(label=np.where(classes, "a", "b")), edges=edges)
    model = qg.S2GC(epochs=30).fit(data)
    with served(PredictionService(model, "127.0.0.1", data.encoding)) as client:
        asked = {"nodes": nodes.to_dict("records"), "edges": edges.to_dict("records")}
        status, found = client.predict(asked)
        assert status == 200, found
        assert [row["node"] for row in found["predictions"]] == nodes["id"].tolist()
        assert [row["label"] for row in found["predictions"]] == model.predict().tolist()


def test_only_the_token_opens_the_door_and_health_needs_none(client: Client) -> None:
    for shown in ("", "Bearer wrong", "Basic x"):
        status, found = client.predict({"nodes": [1]}, Authorization=shown)
        assert status == 401
        assert "Bearer" in found["error"]
    assert client.ask("GET", "/health", Authorization="") == (200, {"status": "ok"})
    assert client.ask("GET", "/model", Authorization="")[0] == 401
    assert client.ask("GET", "/model")[1]["method"] == "gcn"
    assert client.ask("GET", "/health", Host="evil.example")[0] == 403


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[" * 100_000,
        [1],
        {},
        {"nodes": []},
        {"nodes": [1.5]},
        {"nodes": [True]},
        {"features": [[1, 2], [3]], "edges": []},
        {"features": [["a"]], "edges": []},
        {"features": [[1.0] * 12], "edges": [[0, 1.5]]},
        {"features": [[1.0] * 12], "edges": [[0]]},
        {"features": [[1.0] * 12], "edges": [[0, 10**30]]},
        {"features": [[1.0] * 12], "edges": [[0, 7]]},
        {"features": [[1.0] * 11], "edges": []},
        {"features": [[1.0] * 12] * 2, "edges": [[0, 1]], "weights": ["x"]},
        {"features": [[1.0] * 12], "edges": [], "surprise": 1},
        {"features": [[10**400] * 12], "edges": []},
        {"features": [[float("nan")] * 12], "edges": []},
        '{"nodes": [{"id": "a\\ud800"}, {"id": "b"}], "edges": [{"source": "b", "target": "b"}]}',
        {"nodes": [{"id": "a"}], "edges": "x"},
    ],
    ids=str,
)
def test_what_is_no_request_is_one_sentence(client: Client, body: object) -> None:
    status, found = client.predict(body)
    assert status == 400, found
    assert found["error"].endswith(".")
    assert client.ask("GET", "/health")[0] == 200


def test_large_and_frequent_requests_are_refused(model: qg.GCN) -> None:
    service = PredictionService(
        model,
        "127.0.0.1",
        largest_body=1000,
        known=Allowance(0.001, 3),
        unknown=Allowance(0.001, 1),
    )
    with served(service) as client:
        status, found = client.predict({"nodes": list(range(500))})
        assert (status, "1,000 bytes" in found["error"]) == (400, True)
        assert client.predict({"nodes": [1]})[0] == 200
        assert client.predict({"nodes": [1]})[0] == 200
        assert client.predict({"nodes": [1]})[0] == 429
        assert client.ask("GET", "/health", Authorization="")[0] == 200
        assert client.ask("GET", "/health", Authorization="")[0] == 429


def test_a_method_that_answers_only_for_its_graph_says_so() -> None:
    problem, labels, _ = small_problem()
    (name,) = [name for name, one in qg.METHODS.items() if not one.is_inductive()][:1]
    method = qg.METHODS[name]
    fitted = method(**method.quick).fit(problem.graph, labels)
    with served(PredictionService(fitted, "127.0.0.1")) as client:
        status, found = client.predict({"features": [[1.0] * 12], "edges": []})
        assert status == 400
        assert "inductive" in found["error"]
        assert client.predict({"nodes": [1]})[0] == 200
