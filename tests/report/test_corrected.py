from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quietgraph.report.corrected import edit_text
from report.problem import Fitted, fit

MESSY = (
    '\ufeffid\t"the label"\tnote\r\n "a"\tred\t"two\r\nlines, ""quoted"""\r\n\r\n7.0\t blue \t+49 30 1234\r\n@c\t\t\'=x'
)


def test_every_cell_that_is_not_corrected_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_bytes(MESSY.encode())
    same = edit_text(path, "id", "the label", {}, {}).decode()
    assert (
        same
        == MESSY.replace("note\r\n", "note\tquietgraph_why\r\n")
        .replace('""quoted"""', '""quoted"""\t')
        .replace("1234", "1234\t")
        + "\t"
    )
    changed = edit_text(path, "id", None, {"7": 'da"rk\t'}, {"7": "why", "@c": "kept"}).decode()
    assert changed.splitlines()[4] == '7.0\t blue \t+49 30 1234\t"da""rk\t"\twhy'
    assert changed.endswith("@c\t\t'=x\t\tkept")
    in_place = edit_text(path, "id", "the label", {"7": "green"}, {}).decode()
    assert "7.0\tgreen\t+49" in in_place


def test_a_corrected_table_is_corrected_again_in_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("id,label,note\na,x,1\nb,y,2\n")
    for labels in ({"a": "y"}, {"b": "x"}):
        path.write_bytes(edit_text(path, "id", None, labels, dict.fromkeys(labels, "because")))
    assert path.read_text() == "id,label,note,quietgraph_label,quietgraph_why\na,x,1,,\nb,y,2,x,because\n"


def test_a_table_of_one_column_and_old_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_bytes(b"id\ra\rb")
    assert edit_text(path, "id", None, {"b": "x"}, {}) == b"id,quietgraph_label,quietgraph_why\ra,,\rb,x,"


def test_the_users_file_comes_back_with_two_more_columns(fitted: Fitted, tables: Path, tmp_path: Path) -> None:
    original = (tables / "nodes.csv").read_bytes()
    run = fitted.write(tmp_path / "run")
    lines = (run / "nodes_corrected.csv").read_bytes().split(b"\r\n")
    for ours, theirs in zip(lines, original.split(b"\r\n"), strict=True):
        assert ours.startswith(theirs)
    assert any(b"not reviewed; it was" in line for line in lines)


@pytest.mark.parametrize("kind", [".parquet", ".xlsx", "frame", "in place", "frame in place"])
def test_other_tables_stay_what_they_are(kind: str, tmp_path: Path) -> None:
    labels, features = np.arange(60) % 2, np.random.default_rng(0).normal(size=60)
    wrong = labels.copy()
    wrong[:3] = 1 - wrong[:3]
    known = pd.Series(wrong, dtype="Int64").where(np.arange(60) < 50)
    nodes = pd.DataFrame({"id": [f"n{place}" for place in range(60)], "label": known, "x": features + 8 * labels})
    edges = pd.DataFrame(
        {"source": [f"n{place}" for place in range(58)], "target": [f"n{place + 2}" for place in range(58)]}
    )
    path = tmp_path / f"nodes{kind if kind[0] == '.' else '.parquet'}"
    if kind == ".xlsx":
        nodes.to_excel(path, index=False)
    else:
        from quietgraph.graph.io.tables import open_database

        with open_database() as db:
            db.from_df(nodes).write_parquet(str(path))
    found = fit(None, nodes=nodes if "frame" in kind else path, edges=edges)
    run = found.write(tmp_path / "run", options={"correct_in_place": "in place" in kind})
    (target,) = run.glob("nodes_corrected.*")
    assert target.suffix == (".csv" if "frame" in kind else path.suffix)
    if target.suffix == ".parquet":
        with open_database() as db:
            table = db.sql(f"SELECT * FROM read_parquet('{target}')").df()
    else:
        table = pd.read_excel(target) if kind == ".xlsx" else pd.read_csv(target)
    assert table["id"].tolist() == nodes["id"].tolist()
    np.testing.assert_allclose(table["x"], nodes["x"])
    suggested = found.assessment.corrected()[:50].astype(int).tolist()
    if "in place" in kind:
        assert table["label"][:50].astype(int).tolist() == suggested
        assert table["label"].dtype.kind in "fi"  # numbers, as they were
    else:
        assert table["label"][:50].tolist() == wrong[:50].tolist()
        held = pd.to_numeric(table["quietgraph_label"])[:50].fillna(table["label"][:50].astype(float))
        assert held.astype(int).tolist() == suggested
    assert table["label"][50:].isna().all()
    assert (table["quietgraph_why"].fillna("") != "").sum() == found.assessment.is_suspect.sum()
    assert found.assessment.is_suspect.any()
