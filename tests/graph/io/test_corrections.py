"""Decisions about labels: read from any file that people write, applied, and written back."""

from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.errors import QuietgraphError
from quietgraph.graph.io.corrections import (
    Corrections,
    LabelDecision,
    corrections_csv,
    read_corrections,
)

CODES = torch.tensor([0, 1, -1, 0])
CLASSES = np.array(["cat", "dog"], dtype=object)
IDS = ["a", "b", "c", "d"]


def decided(path: Path, text: str) -> tuple[list[str | None], list[str]]:
    """Return the labels after a file of decisions, and the verified nodes."""
    (path / "fix.csv").write_text(text)
    found = read_corrections(path / "fix.csv")
    codes = found.apply(CODES, CLASSES, IDS).tolist()
    labels = [None if code < 0 else CLASSES[code] for code in codes]
    return labels, [node for node, sure in zip(IDS, found.verified(IDS), strict=True) if sure]


def test_labels_by_node(tmp_path: Path) -> None:
    labels, verified = decided(tmp_path, "node,label\na,dog\nc,cat\nd,\n")
    assert labels == ["dog", "dog", "cat", "cat"]
    assert verified == ["a", "c"]
    assert CODES.tolist() == [0, 1, -1, 0]


def test_decisions_on_suspects(tmp_path: Path) -> None:
    rows = "a,cat,dog,accept\nb,dog,cat,keep\nc,cat,dog,unsure\nd,cat,dog,Drop\n"
    labels, verified = decided(tmp_path, "node,given,suggested,decision\n" + rows)
    assert labels == ["dog", "dog", None, None]
    assert verified == ["a", "b"]


def test_a_label_beats_a_decision(tmp_path: Path) -> None:
    text = "node,suggested,decision,label\na,dog,accept,cat\nb,cat,accept,\n"
    assert decided(tmp_path, text)[0] == ["cat", "cat", None, "cat"]


def test_a_label_that_was_kept_holds_though_the_data_say_otherwise(tmp_path: Path) -> None:
    labels, verified = decided(tmp_path, "node,observed,suggested,decision\na,dog,cat,keep\n")
    assert labels[0] == "dog"
    assert verified == ["a"]


def test_numbers_are_matched_as_texts(tmp_path: Path) -> None:
    (tmp_path / "fix.csv").write_text("node,label\n7,1\n")
    codes, classes = torch.tensor([0, 1, -1]), np.array([0, 1])
    fixed = read_corrections(tmp_path / "fix.csv").apply(codes, classes, np.array([7, 8, 9]))
    assert fixed.tolist() == [1, 1, -1]


def test_decisions_survive_a_file_whatever_they_hold(tmp_path: Path) -> None:
    decisions = [
        LabelDecision("=a", "accept", "-x", 'Ann "A", B; C', "2026-01-02T03:04:05+00:00"),
        LabelDecision("b\nc", "keep", "@y", "=cmd|x"),
        LabelDecision("'=c", "drop"),
        LabelDecision("d", "unsure", by="Bob"),
        LabelDecision("-5", "other", "snö ☃", observed="=cat"),
    ]
    (tmp_path / "v.csv").write_text(corrections_csv(decisions), encoding="utf-8", newline="")
    found = read_corrections(tmp_path / "v.csv").decisions
    assert list(found.values()) == decisions


def test_later_decisions_win_and_unsure_undoes_nothing() -> None:
    def made(**choices: str) -> Corrections:
        rows = {node: LabelDecision(node, choice, "cat") for node, choice in choices.items()}
        return Corrections(Path("x"), rows)

    merged = made(a="accept", b="keep", c="unsure").updated(made(a="drop", b="unsure", d="keep"))
    kinds = {node: one.decision for node, one in merged.decisions.items()}
    assert kinds == {"a": "drop", "b": "keep", "c": "unsure", "d": "keep"}
    assert list(merged.within(["d", "a"]).decisions) == ["a", "d"]


def test_the_label_before_the_first_decision_stays_with_the_node() -> None:
    first = Corrections(Path("x"), {"a": LabelDecision("a", "accept", "cat", observed="cow")})
    later = Corrections(Path("y"), {"a": LabelDecision("a", "other", "dog", observed="cat")})
    assert first.updated(later).decisions["a"] == LabelDecision("a", "other", "dog", observed="cow")


def test_labels_before_a_review_are_found_in_decisions_or_in_the_table() -> None:
    decided = Corrections(
        Path("x"),
        {
            "0": LabelDecision("0", "accept", "cat", observed="cow"),
            "1": LabelDecision("1", "accept", "cat"),
            "2": LabelDecision("2", "accept", "cat"),
            "3": LabelDecision("3", "keep", "cow"),
            "4": LabelDecision("4", "other", "cow", observed="gone"),
        },
    )
    classes, ids = np.array(["cat", "cow"]), np.arange(6)
    codes = torch.tensor([0, 1, 0, 1, 1, -1])  # the table holds some corrected labels already
    assert decided.observed(codes, classes, ids).tolist() == [1, 1, -1, 1, -1, -1]
    about = decided.about(codes, classes, ids).decisions
    assert [one.observed for one in about.values()] == ["cow", "cow", "", "cow", "gone"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node,given\na,cat\n", "must have a column node and a column label or decision"),
        ("node,decision\na,accept\n", "no column suggested that they could accept"),
        ("node,suggested,decision\na,dog,dog\n", "line 2 has the decision 'dog'"),
        ("node,label,decision\na,,other\n", "line 2 decides on a label that is not there"),
        ("node,label\nz,cat\n", "the node 'z', which is not in the graph"),
        ("node,label\na,catt\n", "Did you mean 'cat'"),
        ("node,label\na,cat\na,dog\n", "line 3 decides on the node 'a' a second time"),
        ("", "is empty"),
    ],
)
def test_mistakes_have_their_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(QuietgraphError, match=sentence):
        decided(tmp_path, text)
