"""Annotations from tables of every kind; what is wrong with them is one sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import Annotations
from quietgraph.errors import QuietgraphError

IDS = ["p1", "p2", "p3"]
LONG = "node,annotator,label\np1,ann,cat\np2,ann,dog\np1,bob,dog\n"


def answers_of(read: Annotations) -> set[tuple[str, str, str]]:
    rows = read.to_frame(IDS)
    return {tuple(map(str, row)) for row in rows[["node", "annotator", "label"]].to_numpy()}


def test_long_wide_and_parquet_files_and_tables_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "wide.csv").write_text("node,ann,bob\np1,cat,dog\np2,dog,\n")
    pd.read_csv(tmp_path / "long.csv").to_parquet(tmp_path / "long.parquet")
    frame = pd.DataFrame({"ann": ["cat", "dog"], "bob": ["dog", None]}, index=["p1", "p2"])
    expected = {("p1", "ann", "cat"), ("p2", "ann", "dog"), ("p1", "bob", "dog")}
    for source in (tmp_path / "long.csv", tmp_path / "wide.csv", tmp_path / "long.parquet", frame):
        assert answers_of(read_annotations(source, IDS)) == expected


def test_several_files_are_joined_and_equal_answers_count_once(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(LONG)
    (tmp_path / "two.csv").write_text("node,annotator,label\np1,ann,cat\np3,bob,cat\np2,eve,\n")
    both = read_annotations([tmp_path / "one.csv", tmp_path / "two.csv"], IDS)
    assert len(both) == 4
    assert both.names == ("ann", "bob")


def test_a_file_that_nobody_filled_in_is_named_though_others_hold_answers(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(LONG)
    (tmp_path / "next.csv").write_text("node,annotator,label\np3,ann,\n")
    with pytest.raises(QuietgraphError, match=r"next\.csv holds no answer\. Fill in"):
        read_annotations([tmp_path / "one.csv", tmp_path / "next.csv"], IDS)


def test_rankings_and_confidences_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "llm.csv"
    path.write_text("node,annotator,ranking,confidence\np1,llm,cat > dog,0.8\np2,llm,dog,\n")
    read = read_annotations(path, IDS, ["cat", "cow", "dog"])
    assert read.labels.tolist() == [0, 2]
    assert read.ranks.tolist() == [[0, 3, 1], [3, 3, 0]]
    assert read.confidences.tolist() == pytest.approx([0.8, float("nan")], nan_ok=True)


@pytest.mark.parametrize(
    "ranking", ["3 1", "3 > 1", "3|1", "[3, 1]", "['3', '1']", "3;1", [3, 1], "3 1 3"]
)
def test_rankings_are_written_in_many_ways(ranking: Any) -> None:
    table = pd.DataFrame({"node": [0], "annotator": ["llm"], "ranking": [ranking]})
    assert read_annotations(table, [0], [1, 2, 3]).ranks.tolist() == [[1, 3, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("node,annotator,label\n", "holds no answer"),
        ("node,annotator,label\np1,ann,\n", "holds no answer"),
        ("node,annotator,label\np9,ann,cat\np1,ann,dog\n", "node 'p9', which is not in the graph"),
        ("node,annotator,label\np1,ann,cat\np1,ann,dog\n", "contradicts an earlier answer"),
        ("node,annotator,label\np1,,cat\np2,ann,dog\n", "a label but no annotator"),
        ("node,annotator,label\np1,ann,cat\np2,ann,cat\n", "at least two classes"),
        ("node,annotator\np1,ann\n", "a column label or ranking"),
        ("who,label\nann,cat\n", "must have a column node"),
        ("node\np1\n", "no column of an annotator"),
        ("node,annotator,label,confidence\np1,ann,cat,85\np2,ann,dog,1\n", "between 0 and 1"),
        ("node,annotator,label,ranking\np1,ann,cat,dog > cat\n", "another label than the first"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(QuietgraphError, match=sentence) as caught:
        read_annotations(path, IDS)
    assert str(path) in str(caught.value) or "at least two classes" in sentence


def test_a_label_outside_the_classes_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("node,annotator,label\np1,ann,cats\n")
    with pytest.raises(QuietgraphError, match=r"answer 1.*'cats'. Did you mean 'cat'"):
        read_annotations(path, IDS, ["cat", "dog"])


def test_a_matrix_of_another_length_is_refused() -> None:
    with pytest.raises(QuietgraphError, match=r"one row per node \(3\).*got shape \(2, 2\)"):
        read_annotations(np.zeros((2, 2)), IDS)


cells = st.one_of(
    st.none(),
    st.sampled_from(["p1", "p2", "cat", "dog", "", "-1", "x > y"]),
    st.integers(-2, 3),
    st.floats(),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "node": cells,
                "annotator": cells,
                "label": cells,
                "confidence": cells,
                "ranking": cells,
            }
        ),
        max_size=6,
    )
)
def test_any_table_is_read_or_refused_and_what_is_read_survives_a_round_trip(rows: Any) -> None:
    table = pd.DataFrame(
        rows, columns=["node", "annotator", "label", "confidence", "ranking"], dtype=object
    )
    try:
        read = read_annotations(table, IDS)
    except QuietgraphError:
        return
    again = read_annotations(read.to_frame(IDS), IDS, read.classes)
    assert answers_of(again) == answers_of(read)
    assert np.array_equal(again.ranks, read.ranks)
