"""Corrections of labels by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.errors import QuietgraphError
from quietgraph.graph.io import read_corrections

CODES, CLASSES = torch.tensor([0, 1, -1, 0]), np.array(["cat", "dog"])
IDS = ["a", "b", "c", "d"]


def corrected(path: Path, text: str) -> list[str | None]:
    (path / "fix.csv").write_text(text)
    codes = read_corrections(path / "fix.csv").apply(CODES, CLASSES, IDS).tolist()
    return [None if code < 0 else str(CLASSES[code]) for code in codes]


def test_labels_by_node(tmp_path: Path) -> None:
    assert corrected(tmp_path, "node,label\na,dog\nc,cat\nd,\n") == ["dog", "dog", "cat", "cat"]
    assert CODES.tolist() == [0, 1, -1, 0]


def test_decisions_on_suspects(tmp_path: Path) -> None:
    rows = "a,cat,dog,accept\nb,dog,cat,keep\nc,cat,dog,unsure\nd,cat,dog,Drop\n"
    found = corrected(tmp_path, "node,given,suggested,decision\n" + rows)
    assert found == ["dog", "dog", None, None]


def test_a_label_beats_a_decision(tmp_path: Path) -> None:
    found = corrected(tmp_path, "node,suggested,decision,label\na,dog,accept,cat\nb,cat,accept,\n")
    assert found == ["cat", "cat", None, "cat"]


def test_numbers_are_matched_as_texts(tmp_path: Path) -> None:
    (tmp_path / "fix.csv").write_text("node,label\n7,1\n")
    ids, codes = np.array([7, 8, 9]), torch.tensor([0, 1, -1])
    fixed = read_corrections(tmp_path / "fix.csv").apply(codes, np.array([0, 1]), ids)
    assert fixed.tolist() == [1, 1, -1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node,given\na,cat\n", "must have a column node and a column label or decision"),
        ("node,decision\na,accept\n", "no column suggested that they could accept"),
        ("node,suggested,decision\na,dog,dog\n", "line 2 has the decision 'dog'"),
        ("node,label\nz,cat\n", "the node 'z', which is not in the graph"),
        ("node,label\na,catt\n", "Did you mean 'cat'"),
        ("node,label\na,cat\na,dog\n", "line 3 gives the node 'a' a second label"),
        ("", "is empty"),
    ],
)
def test_mistakes_have_their_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(QuietgraphError, match=sentence):
        corrected(tmp_path, text)
