"""Answers of several annotators from tables of every kind; what is wrong with them is one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietgraph.data.annotations import Annotations, read_annotations
from quietgraph.data.data import Data
from quietgraph.errors import QuietgraphError

IDS = np.array(["p1", "p2", "p3"])
LONG = "node,annotator,label\np1,ann,cat\np2,ann,dog\np1,bob,dog\n"


def answers_of(read: Annotations) -> set[tuple[str, ...]]:
    return {tuple(map(str, row)) for row in read.to_frame(IDS).to_numpy()}


def test_long_and_wide_files_and_frames_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "semi.csv").write_text(
        "\ufeff" + LONG.replace(",", ";").replace("node", "Task").replace("annotator", "worker")
    )
    (tmp_path / "wide.csv").write_text("node,ann,bob\np1,cat,dog\np2,dog,NA\np3,,\n")
    frame = pd.DataFrame({"ann": ["cat", "dog"], "bob": ["dog", None]}, index=["p1", "p2"])
    expected = {("p1", "ann", "cat"), ("p2", "ann", "dog"), ("p1", "bob", "dog")}
    for source in (tmp_path / "long.csv", str(tmp_path / "semi.csv"), tmp_path / "wide.csv", frame):
        assert answers_of(read_annotations(source, IDS)) == expected


def test_several_files_are_joined_and_equal_answers_count_once(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(LONG)
    (tmp_path / "two.csv").write_text("node,annotator,label\np1,ann,cat\np3,bob,cat\np2,eve,\n")
    both = read_annotations([tmp_path / "one.csv", tmp_path / "two.csv"], IDS)
    assert len(both) == 4
    assert both.names == ("ann", "bob")
    assert both.votes().tolist() == [[1, 1], [0, 1], [1, 0]]
    assert both.majority().tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("node,annotator,label\n", "holds no answer"),
        ("node,annotator,label\np1,ann,\n", "holds no answer"),
        (
            "node,annotator,label\np9,ann,cat\np1,ann,dog\n",
            "answer 1, is about the node 'p9', which is not in the graph",
        ),
        (
            "node,annotator,label\np1,ann,cat\np1,ann,dog\n",
            "answer 2, contradicts an earlier answer of the annotator 'ann'",
        ),
        ("node,annotator,label\np1,,cat\np2,ann,dog\n", "answer 1, has a label but no annotator"),
        ("node,annotator,label\np1,ann,cat\np2,ann,cat\n", "at least two classes"),
        ("node,annotator\np1,ann\n", "must have a column node and either annotator and label"),
        ("who,label\nann,cat\n", "must have a column node"),
        ("node\np1\n", "must have a column node and either"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(QuietgraphError, match=sentence) as caught:
        read_annotations(path, IDS)
    assert str(path) in str(caught.value) or "at least two classes" in sentence


def test_a_label_outside_the_classes_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("node,annotator,label\np1,ann,cats\n")
    with pytest.raises(QuietgraphError, match=r"answer 1,: .*'cats'. Did you mean 'cat'"):
        read_annotations(tmp_path / "answers.csv", IDS, np.array(["cat", "dog"]))


def test_own_labels_are_those_of_one_more_annotator(problem: Data) -> None:
    own = problem.with_codes(problem.codes, "x").without_choice()
    table = pd.DataFrame({"node": [0, 0, 5], "annotator": ["a", "b", "a"], "label": ["red", "red", "blue"]})
    found = own.annotate(table)
    assert found.annotations.names == ("a", "b")  # labels of a benchmark are true ones: answers take their place
    assert found.known.sum() == 2 + int(own.split.test.sum())
    free = Data("own", own.graph, own.codes, own.classes, as_own(own)).annotate(table)
    assert free.annotations.names == ("a", "b", "observed")
    assert bool(free.known.all())
    with pytest.raises(QuietgraphError, match="the annotator 'observed' is there twice"):
        Data("own", own.graph, own.codes, own.classes, as_own(own)).annotate(table.assign(annotator="observed"))


def as_own(data: Data):
    from quietgraph.data.splits import Split, no_node

    return Split(data.known, no_node(data.codes), no_node(data.codes))


cells = st.one_of(st.none(), st.sampled_from(["p1", "p2", "cat", "dog", "", "-1", "x > y"]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fixed_dictionaries({"node": cells, "annotator": cells, "label": cells}), max_size=6))
def test_any_table_is_read_or_refused_and_what_is_read_survives_a_round_trip(rows: list) -> None:
    try:
        read = read_annotations(pd.DataFrame(rows, columns=["node", "annotator", "label"]), IDS)
    except QuietgraphError:
        return
    assert answers_of(read_annotations(read.to_frame(IDS), IDS, read.classes)) == answers_of(read)
