"""Decisions about labels: read from any file that people write, applied to data."""

from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.data.data import Data
from quietgraph.data.decisions import DECISIONS_FILE, Decision, Decisions, add_decisions, read_decisions
from quietgraph.data.splits import Split, no_node
from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph


@pytest.fixture
def data() -> Data:
    """Four nodes a, b, c, 7 with the labels cat, dog, none, cat."""
    codes = torch.tensor([0, 1, -1, 0])
    split = Split(codes >= 0, no_node(codes), no_node(codes))
    graph = Graph.from_arrays(np.eye(4), [[0, 1]])
    return Data("pets", graph, codes, np.array(["cat", "dog"]), split, ids=np.array(["a", "b", "c", 7], dtype=object))


def corrected(data: Data, path: Path, text: str) -> Data:
    (path / "fix.csv").write_text(text, encoding="utf-8")
    return data.correct(path / "fix.csv")


@pytest.mark.parametrize(
    ("text", "labels", "verified"),
    [
        ("node,label\na,dog\nc,cat\n7.0,\n", ["dog", "dog", "cat", "cat"], "ac"),
        ("id;label\n7;dog\n", ["cat", "dog", None, "dog"], "7"),
        (
            "node,given,suggested,decision\na,cat,dog,accept\nb,dog,cat,keep\nc,,dog,unsure\n7,cat,dog,Drop\n",
            ["dog", "dog", None, None],
            "ab",
        ),
        (
            "node,suggested,decision,label\na,dog,other,cat\nb,cat,accept,\nc,,,dog\n",
            ["cat", "cat", "dog", "cat"],
            "abc",
        ),
        ("node,observed,suggested,decision\na,dog,cat,keep\n", ["dog", "dog", None, "cat"], "a"),
        ("sku,label,quietgraph_label,quietgraph_why\na,cat,dog,wrong\nb,dog,,\n", ["dog", "dog", None, "cat"], "a"),
        ("id,label,decision,by,when,given\na,dog,accept,Ann,2026,cat\n", ["dog", "dog", None, "cat"], "a"),
    ],
)
def test_files_that_people_write_decide_labels(
    data: Data, tmp_path: Path, text: str, labels: list, verified: str
) -> None:
    found = corrected(data, tmp_path, text)
    assert found.labels.tolist() == labels
    assert "".join(str(one) for one, sure in zip(data.ids, found.verified, strict=True) if sure) == verified
    assert data.labels.tolist() == ["cat", "dog", None, "cat"]
    assert not data.verified.any()
    assert torch.equal(found.split.train, found.known)
    assert found.notes[-1].startswith("labels by fix.csv: ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node,given\na,cat\n", "must have a column node, and a column label or decision"),
        ("node,decision\na,accept\n", "must have a column node, and a column label or decision"),
        ("node,suggested,decision\na,dog,dog\n", "the decision on 'a' is 'dog'; it must be one of accept, keep"),
        ("node,label,decision\na,,other\n", "'a' has 'other' and no label"),
        ("node,suggested,decision\na,,accept\n", "'a' has 'accept' and no label"),
        ("node,label,decision\na,dog,drop\n", "'a' has 'drop' and the label 'dog', too"),  # it was verified
        ("node,label,decision\na,dog,unsure\n", "'a' has 'unsure' and the label 'dog', too"),
        ("node,suggested,label,decision\na,dog,cat,accept\n", "'a' has 'accept' and the label 'cat', too"),
        ("node,label\na,dog\na,cat\n", "line 3 decides on the node 'a' a second time"),
        ("node,label\nz,cat\n", "fix.csv decides on 'z', which is no node of pets"),
        ("node,label\na,cow\n", "there is no class"),
        ("", "fix.csv is empty"),
    ],
)
def test_contradictions_and_gaps_are_one_sentence(data: Data, tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(QuietgraphError, match=sentence):
        corrected(data, tmp_path, text)


def test_decisions_survive_a_file_whatever_they_hold(tmp_path: Path) -> None:
    made = [
        Decision("=a", "accept", "-x", 'Ann "A", B; C', "2026-01-02T03:04:05+00:00", "y"),
        Decision("b\nc", "keep", "@y", "=cmd|x", given="@y"),
        Decision("'=c", "drop"),
        Decision("d", "unsure", by="Bob"),
        Decision("-5", "other", "snö ☃", given="NA"),
    ]
    (tmp_path / "v.csv").write_text(
        Decisions("v", {one.node: one for one in made}).to_csv(), encoding="utf-8", newline=""
    )
    assert list(read_decisions(tmp_path / "v.csv").by_node.values()) == made


def test_a_reviewed_run_gives_what_was_decided_last(data: Data, tmp_path: Path) -> None:
    with pytest.raises(QuietgraphError, match="holds no decisions"):
        read_decisions(tmp_path)
    (tmp_path / "verified.csv").write_text("node,label\na,dog\nb,cat\n")
    store = tmp_path / DECISIONS_FILE
    add_decisions(
        store, [Decision("c", "other", "cat", "Ann"), Decision("7", "drop", by="Ann"), Decision("a", "unsure")]
    )
    add_decisions(
        store, [Decision("c", "other", "dog", "Ann"), Decision("7", "", by="Ann"), Decision("b", "keep", "dog")]
    )
    found = data.correct(tmp_path)
    assert found.labels.tolist() == ["dog", "dog", "dog", "cat"]
    assert found.verified.tolist() == [True, True, True, False]
    store.write_bytes(b"no database, but long enough to be one" * 30)
    with pytest.raises(QuietgraphError, match="is no readable file of decisions"):
        read_decisions(store)


def test_labels_before_a_review_stay_known_whatever_is_decided_later(data: Data) -> None:
    once = data.correct(Decisions("x", {"a": Decision("a", "other", "dog")}))
    twice = once.correct(Decisions("y", {"a": Decision("a", "drop"), "b": Decision("b", "keep")}))
    assert twice.before.tolist() == once.before.tolist() == data.codes.tolist()
    assert twice.labels.tolist() == [None, "dog", None, "cat"]
    assert twice.verified.tolist() == [False, True, False, False]
    written = data.correct(
        Decisions("z", {"a": Decision("a", "accept", "cat", given="dog")})
    )  # the table holds it already
    assert written.before.tolist() == [1, 1, -1, 0]


def test_test_nodes_of_a_benchmark_get_no_label(problem: Data) -> None:
    hidden = problem.with_codes(problem.codes.masked_fill(problem.split.test, -1), "hidden")
    node = int(problem.split.test.nonzero()[0])
    with pytest.raises(QuietgraphError, match="labels test nodes of small"):
        hidden.correct(Decisions("x", {str(node): Decision(str(node), "other", "red")}))
