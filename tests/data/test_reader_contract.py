"""What the reader promises: messy tables in, an answer or one sentence out, alike for `load` and `convert`."""
# ruff: noqa: E501  (a case a line)

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.data.mapped import convert
from quietgraph.errors import QuietgraphError

EDGES = "source,target\na,b\nb,c\nc,d\n"
NODES = "id,age,country,label\na,1.5,de,cat\nb,2,fr,dog\nc,,de,\nd,-4,fr,cat\n"


@dataclass
class Case:
    """Tables, options, and what comes out: labels and ids where these are unusual, a note, or a sentence."""

    nodes: str | bytes | pd.DataFrame = NODES
    edges: str | bytes | pd.DataFrame = EDGES
    options: dict[str, Any] = field(default_factory=dict)
    says: str = ""  # a part of the notes, or of the error
    labels: list[Any] | None = None
    ids: list[Any] | None = None
    edge_count: int = 3


def labelled(*labels: str, name: str = "label") -> str:
    return f"id,x,{name}\n" + "".join(f"{'abcd'[n]},{n},{label}\n" for n, label in enumerate(labels))


ANSWERS = {
    "plain": Case(says="column age: 1 empty cells count as its mean -0.166667", labels=["cat", "dog", None, "cat"]),
    "byte order mark": Case("\ufeff" + NODES, ids=["a", "b", "c", "d"]),
    "windows line ends": Case(NODES.replace("\n", "\r\n"), EDGES.replace("\n", "\r\n")),
    "old mac line ends": Case(NODES.replace("\n", "\r")),
    "mixed line ends": Case(NODES.replace("\n", "\r\n") + "e,1,de,cat\n", ids=["a", "b", "c", "d", "e"]),
    "no last line end": Case(NODES.rstrip("\n"), EDGES.rstrip("\n")),
    "blank lines": Case("\n\n" + NODES.replace("b,2", "\nb,2")),
    "semicolons and bars": Case(NODES.replace(",", ";"), EDGES.replace(",", "|")),
    "semicolons in a quoted name": Case('id,"a; b; c; d",label\na,1,x\nb,2,y\nc,3,x\nd,4,y\n'),  # bug 10
    "quotes, commas and line ends in cells": Case('id,"a ""b""",label\na,"x, y",c\n"b","1\n2",d\nc,"""",c\nd,"",d\n'),
    "spaces around": Case(" id ,age,label\n a , 1 , x \nb,2,y\nc,3, x\nd,4,y\n", labels=["x", "y", "x", "y"]),
    "hostile names": Case('"a""b; DROP TABLE nodes; --",_row,label\na,1,x\nb,2,y\nc,3,x\nd,5,y\n'),
    "names that differ by case": Case("id,ID,Age,age,label\na,1,1,1,x\nb,2,3,2,y\nc,5,4,3,x\nd,5,4,4,y\n"),
    "an unnamed column": Case(",id,age,label\n0,a,1,x\n1,b,2,y\n2,c,3,x\n3,d,5,y\n", says="column without a name is ignored"),
    "an empty column": Case("id,e,age,label\na,,1,x\nb,NA,2,y\nc,,3,x\nd,,5,y\n", says="column e is empty and not used"),
    "our own columns": Case("id,age,label,quietgraph_why\na,1,x,q\nb,2,y,r\nc,3,x,s\nd,5,y,t\n", says="features: age: scaled"),
    "ids are texts": Case("id,x,label\n007,1,x\n7,2,y\n", "source,target\n007,7\n", ids=["007", "7"], edge_count=1),
    "7.0 and 7 are one node": Case("id,x,label\n1.0,1,x\n2,2,y\n", "a,b\n1,2.0\n", ids=["1.0", "2"], edge_count=1),  # bug 7
    "an id may be NA": Case("id,x,label\nNA,1,x\nDE,2,y\n", "a,b\nNA,DE\n", ids=["NA", "DE"], edge_count=1),
    "from and to": Case(edges="to\tfrom\ta\nb\ta\t1\nc\tb\t2\n", says="columns of the edges not used: a", edge_count=2),
    "any column is a weight": Case(edges="source,target,euro\na,b,\"1,5\"\nc,d,2\n", options={"columns": {"euro": "weight"}}, edge_count=2),
    "loops and duplicates": Case(
        edges=EDGES + "b,a\na,b\nc,c\n", says="(1 given both ways count once), 1 duplicates and 1 self-loops removed"
    ),
    "dangling edges": Case(edges=EDGES + "a,nobody\n,a\n", options={"drop_dangling": True}, says="2 edges to ids that are no"),
    "whole labels": Case(labelled("1", "0", "1", ""), labels=[1, 0, 1, -1]),
    "whole labels of a float column": Case(labelled("1.0", "0.0", "1.0", "NA"), labels=[1, 0, 1, -1], says="1 cells of label hold 'NA'"),
    "codes are names": Case(labelled("01", "02", "01", "02"), labels=["01", "02", "01", "02"]),
    "numbers of 400 digits are names": Case(labelled("9" * 400, "1", "1", "9" * 400), labels=["9" * 400, "1", "1", "9" * 400]),
    "-1 is a class in tables": Case(labelled("-1", "0", "1", "-1"), labels=[-1, 0, 1, -1], says="2 labels are '-1', a class"),  # bug 2
    "a class may be none": Case(labelled("none", "dent", "none", "dent"), labels=["none", "dent"] * 2, says="2 labels are 'none'"),  # bug 3
    "a word of one's own": Case(
        NODES.replace("dog", "?").replace("-4", "?").replace("d,", "d,").replace(",de,\n", ",de,cow\n"),
        options={"missing": "?"}, labels=["cat", None, "cow", "cat"], says="1 cells of label hold '?' and count as unknown",
    ),
    "usual names of labels": Case(labelled("x", "y", "x", "y", name="Class"), labels=["x", "y", "x", "y"]),
    "a named label": Case(options={"columns": {"country": "label"}}, labels=["de", "fr", "de", "fr"]),
    "many classes on request": Case(
        "id,x,label\n" + "".join(f"n{n},{n},c{n // 2}{n % 2 if n > 9 else ''}\n" for n in range(60)), "a,b\nn0,n1\n",
        options={"classes_max": 60}, edge_count=1,
    ),
    "true and false of a DataFrame": Case(
        pd.DataFrame({"id": list("abcd"), "x": range(4), "label": [True, False, None, True]}), labels=[True, False, None, True]
    ),
    "nullable numbers, dates, vectors": Case(
        pd.DataFrame({
            "id": pd.array([1, 2, 3], "Int64"), "n": pd.array([5, None, 7], "Int64"), "label": ["x", "y", "x"],
            "day": pd.to_datetime(["2024-01-01", None, "2024-01-03"]), "v": [[1.0, 2.0], None, [3.0, 4.0]],
        }),
        pd.DataFrame({"source": [1.0, 2.0], "target": [2, 3]}),
        says="features: n: scaled, day: date, v: vector (2 numbers)", ids=[1, 2, 3], edge_count=2,
    ),
    "texts of digits in a DataFrame are texts": Case(
        pd.DataFrame({"id": list("abcd"), "zip": ["1", "2", "1", "2"], "price": ["1,5", "2,5", "3,5", "4,5"], "y": list("xyxy")}),
        says="features: zip: category (2 values), price: scaled (decimal comma)",
    ),
    "bytes that are UTF-8": Case(pd.DataFrame({"id": [b"\xc3\xa4", b"b"], "x": [1, 2], "y": list("xy")}), "a,b\nä,b\n", ids=["ä", "b"], edge_count=1),
    "categories of pandas": Case(pd.DataFrame({"id": list("abcd"), "c": pd.Categorical(list("uvuv")), "y": list("xyxy")}), says="c: category (2"),
    "a copy of the label": Case(
        "id,c,label\n" + "".join(f"n{n},{n % 3},{'xyz'[n % 3]}\n" for n in range(30)), "a,b\nn0,n1\n",
        says="column c alone predicts 100% of the labels: if it was made from label, leave it out with --column c=ignore", edge_count=1,
    ),
    "rare classes": Case(says="2 of 2 classes have fewer than 5 labels (cat, dog): little can be learned of them"),
}  # fmt: skip

SENTENCES = {
    "empty": Case("", says="nodes.csv is empty. Its first line must name the columns."),
    "no rows": Case("id,label\n", says="nodes.csv has no rows"),
    "empty edges": Case(edges="", says="edges.csv is empty"),
    "one column of edges": Case(edges="source\na\n", says="must have two columns, source and target, got only source"),
    "a column twice": Case(NODES.replace("age", "id"), says="names the column 'id' twice"),
    "an id twice": Case(NODES + "a,1,de,cat\n", says="nodes.csv line 6 has the id 'a' again (first line 2). Keep one row"),
    "7 and 7.0": Case("id,x,label\n7,1,x\n7.0,2,y\n", says="line 3 has the id '7' again"),
    "no id": Case(NODES + ",1,de,cat\n", says="nodes.csv line 6 has no id (1 such rows)"),
    "unknown target": Case(edges=EDGES + "a,zz\n", says="edges.csv line 5 names the target 'zz', which is no id of a node (1 such"),
    "empty target": Case(edges=EDGES + "a,\n", says="line 5 names the target '', which is no id"),
    "line of a row below one with line ends": Case('id,x,label\na,"1\n2",c\nb,,d\nb,2,c\n', says="line 5 has the id 'b' again (first line 4)"),
    "bad weight": Case(edges="source,target,weight\na,b,heavy\nb,c,1\n", says="edges.csv line 2 has the weight 'heavy'"),
    "negative weight": Case(edges="source,target,weight\na,b,-1\n", says="line 2 has the weight '-1'"),
    "mixed column": Case(NODES.replace("-4", "four"), says="'age' mixes numbers with text: 1 cells are no numbers, the first is 'four' (line 5)"),
    "foreign word among commas": Case(  # it was a text column
        "id;p;label\n" + "".join(f"n{n};{n},5;{n % 2}\n" for n in range(30)) + "n30;k.A.;1\n", "a,b\nn0,n1\n", says="the first is 'k.A.' (line 32)"
    ),
    "infinite": Case(pd.DataFrame({"id": list("abcd"), "x": [1, np.inf, 2, 3], "y": list("xyxy")}), says="'x' holds infinite numbers"),
    "too large to scale": Case(NODES.replace("-4", "1e200"), says="too large to scale"),
    "short row": Case(NODES + "e,1,de\n", says="line 6 cannot be read: Expected Number of Columns: 4 Found: 3"),
    "long row": Case(NODES + "e,1,de,cat,more\n", says="line 6 cannot be read: Expected Number of Columns: 4 Found: 5"),
    "open quote": Case(NODES + 'e,"1,de,cat\n', says="line 6 cannot be read: Value with unterminated quote"),
    "Latin-1": Case(NODES.replace("cat", "Kätzchen").encode("latin-1"), says="Save it as UTF-8."),
    "Latin-1 below the header": Case((NODES + "x" * 9000).replace("cat", "Kätzchen").encode("latin-1"), says="Save it as UTF-8."),
    "UTF-16": Case(NODES.encode("utf-16"), says="Save it as UTF-8."),
    "fractions as labels": Case(labelled("0.5", "1", "1", "0.5"), says="must be classes, but there are fractions (0.5)"),
    "a label per node": Case(
        "id,label\n" + "".join(f"n{n},{n}\n" for n in range(40)), says="40 different labels on 40 nodes are no classes"
    ),
    "prices as labels": Case("id;label\n" + "".join(f"n{n};{n},9\n" for n in range(40)), says="allow so many with --classes-max 40"),
    "one class": Case(labelled("x", "x", "x", ""), says="must have at least two classes, got only 'x'"),
    "no labels": Case("id,age\na,1\nb,2\nc,2\nd,3\n", says="has no labels: nothing in it is called label, class, y, target"),
    "empty labels": Case(labelled("", "", "", "NA"), says="has a label. Give labels to some nodes"),
    "several classes": Case(pd.DataFrame({"id": list("ab"), "label": [[0, 1], [1, 1]]}), says="several classes per node are not read"),
    "dates as labels": Case(pd.DataFrame({"id": list("abcd"), "label": pd.to_datetime(["2024-01-01"] * 4)}), says="astype(str)"),
    "vectors of two lengths": Case(pd.DataFrame({"id": list("ab"), "v": [[1.0, 2.0], [1.0]], "y": list("xy")}), "a,b\na,b\n", says="vectors of 1 and of 2"),
    "numbers and texts": Case(pd.DataFrame({"id": list("abcd"), "x": [1, "a", 2.5, None], "y": list("xyxy")}), says="got ['float', 'int', 'str']"),
    "unknown column": Case(options={"columns": {"agee": "number"}}, says="Did you mean 'age'"),
    "unknown kind": Case(options={"columns": {"age": "numbr"}}, says="Did you mean 'number'"),
    "unknown weight": Case(options={"columns": {"wight": "weight"}}, says="no column of the edges 'wight'"),
    "two labels": Case(options={"columns": {"age": "label", "country": "label"}}, says="only one column can be the label"),
}  # fmt: skip


def write(folder: Path, case: Case) -> dict[str, Any]:
    """Write what is no DataFrame; return how it is given to `load`."""
    given: dict[str, Any] = {}
    for name, content in (("nodes", case.nodes), ("edges", case.edges)):
        given[name] = content if isinstance(content, pd.DataFrame) else folder / f"{name}.csv"
        if not isinstance(content, pd.DataFrame):
            given[name].write_bytes(content if isinstance(content, bytes) else content.encode())
    return {**(given if isinstance(case.nodes, pd.DataFrame) else {"source": folder}), **case.options}


@pytest.mark.parametrize("name", ANSWERS)
def test_tables_as_people_have_them_are_read(name: str, tmp_path: Path) -> None:
    case = ANSWERS[name]
    given = write(tmp_path, case)
    data = qg.load(**given)
    assert case.says in "\n".join(data.describe())
    assert data.graph.num_edges == case.edge_count
    assert case.labels is None or data.labels.tolist() == case.labels
    assert case.ids is None or data.ids.tolist() == case.ids
    convert(lambda **more: qg.load(**given, **more), tmp_path / "mapped")
    mapped = qg.load(tmp_path / "mapped")
    assert mapped.graph.fingerprint == data.graph.fingerprint
    assert mapped.labels.tolist() == data.labels.tolist()
    assert list(map(str, mapped.ids)) == list(map(str, data.ids))
    assert mapped.notes == data.notes
    assert mapped.source.columns == data.source.columns


@pytest.mark.parametrize("name", SENTENCES)
def test_a_mistake_is_one_sentence_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    case = SENTENCES[name]
    given, before = write(tmp_path, case), sorted(tmp_path.iterdir())
    with pytest.raises(QuietgraphError) as caught:
        qg.load(**given)
    assert case.says in str(caught.value)
    assert "\n" not in str(caught.value)
    if name not in {"no labels", "empty labels"}:  # a graph without labels may be converted
        with pytest.raises(QuietgraphError) as again:
            convert(lambda **more: qg.load(**given, **more), tmp_path / "mapped")
        assert str(again.value) == str(caught.value)
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", [name for name, case in ANSWERS.items() if isinstance(case.nodes, pd.DataFrame)])
def test_parquet_says_the_same_as_a_data_frame(name: str, tmp_path: Path) -> None:
    case = ANSWERS[name]
    given = write(tmp_path, case)
    with duckdb.connect() as db:
        db.register("frame", case.nodes.convert_dtypes())
        db.execute(f"COPY frame TO '{tmp_path}/n[1].parquet' (FORMAT parquet)")  # a name that looks like a pattern
    data, read = qg.load(**given), qg.load(**{**given, "nodes": tmp_path / "n[1].parquet"})
    assert read.graph.fingerprint == data.graph.fingerprint
    assert read.labels.tolist() == data.labels.tolist()
    assert read.ids.tolist() == data.ids.tolist()
