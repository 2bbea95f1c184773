"""Odd names, links, devices, clocks and neighbours: nothing is lost, hung or printed raw."""

import csv
import datetime
import json
import os
import threading
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quietgraph as qg
from faults.inject import Ended, call, run_in_child
from fuzz.seeds import frames
from fuzz.stored import write_run_folder
from quietgraph.annotators.batch_answers import read_batch_answers
from quietgraph.bench.runs_csv import read_runs
from quietgraph.cli.console import printable
from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.noise_setting import parse_noise
from quietgraph.graph.io import read_corrections, read_graph
from quietgraph.graph.io.node_table import read_node_table
from quietgraph.review import decisions
from quietgraph.review.decisions import DecisionStore, latest_choices
from quietgraph.review.run import open_run

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
FIT = ("fit", "tables", "--method", "gcn", "--set", "epochs=1", "--set", "hidden=4")
ODD_IDS = {
    "n0": "caf\u00e9",
    "n1": "cafe\u0301",  # the same to the eye, another node
    "n2": "two\nlines",
    "n3": "NA",
    "n4": "=1+1",
    "n5": "\u202eturned",
    "n6": "x" * 5000,
    "n7": "null",
}
ODD_CLASSES = {"a": 'x","y\n\x1b[31m<script>', "b": "[red]=cmd|x"}


def write_odd(folder: Path) -> None:
    nodes, edges = frames()
    nodes["id"] = nodes["id"].replace(ODD_IDS)
    nodes["label"] = nodes["label"].replace(ODD_CLASSES)
    for end in ("source", "target"):
        edges[end] = edges[end].replace(ODD_IDS)
    folder.mkdir()
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_odd(tmp_path / "tables")
    return tmp_path


def run(folder: Path, *words: str) -> Ended:
    ended = run_in_child(call(words, folder), folder)
    assert "Traceback" not in ended.errors, ended.errors
    return ended


def test_odd_ids_and_classes_come_back_from_every_table(folder: Path) -> None:
    assert run(folder, *FIT, "--out", "run").code == 0
    ids, classes = {*frames()[0]["id"].replace(ODD_IDS)}, {*ODD_CLASSES.values()}
    opened = open_run(folder / "run")
    assert {*opened.classes} == classes
    assert {*opened.suspects} == {*opened.evidence} <= ids
    assert {one.observed for one in opened.suspects.values()} <= classes
    table = read_node_table(folder / "run" / "predictions.csv")
    assert table is not None
    assert {*table["node"]} == ids
    assert run(folder, "label", "next", "run", "--budget", "12", "--out", "next.csv").code == 0
    fill_in(folder / "next.csv")
    assert {*read_corrections(folder / "next.csv").labels} <= ids
    again = run(folder, *FIT, "--verified", "next.csv", "--out", "again", "--json")
    assert again.code == 0, again.errors
    facts = json.loads(again.errors[again.errors.index("{\n") : again.errors.rindex("}") + 1])
    assert {*facts["data"]["class_names"]} == classes
    assert facts["labels"]["verified"] == 12
    assert "\x1b" not in again.errors
    assert 'x","y\\n\\x1b[31m<script>' in again.errors  # no name begins a line of its own


def fill_in(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, label in zip(rows, cycle(ODD_CLASSES.values()), strict=False):
        row["label"] = label
    pd.DataFrame(rows).to_csv(path, index=False)


def test_names_of_files_need_not_be_utf8() -> None:
    shown = printable(f"report: a{os.fsdecode(bytes([255]))}b")
    assert shown == r"report: a\udcffb"
    assert shown.encode()


def test_an_output_that_is_a_link_stays_one(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    for more in ((), ("--overwrite",)):
        assert run(folder, *FIT, "--out", "link", *more).code == 0
        assert (folder / "link").is_symlink()
        open_run(folder / "real")


@pytest.mark.parametrize(
    "words", [(*FIT, "--out", "tables", "--overwrite"), ("convert", "tables", "tables")]
)
def test_a_source_is_never_replaced_by_its_result(words: tuple[str, ...], folder: Path) -> None:
    ended = run(folder, *words)
    assert ended.code == 2
    assert "holds other files" in ended.errors
    assert sorted(os.listdir(folder / "tables")) == ["edges.csv", "nodes.csv"]


def test_two_fits_into_one_folder_leave_one_of_them_whole(folder: Path) -> None:
    codes = []

    def fit(seed: int) -> None:
        words = (*FIT, "--out", "run", "--overwrite", "--seed", str(seed))
        codes.append(run(folder, *words).code)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 in codes
    seed = json.loads((folder / "run" / "run.json").read_text())["seed"]
    assert qg.load_model(folder / "run" / "model").seed == seed
    open_run(folder / "run")
    assert list(folder.glob(".quietgraph-*")) == []


@pytest.mark.parametrize("text", ["y" * 300, "/".join(["d" * 200] * 25), "/proc/none/run"])
def test_a_place_that_cannot_be_is_one_sentence(text: str, folder: Path) -> None:
    ended = run(folder, *FIT, "--out", text)
    assert ended.code == 2
    assert ended.errors.count("\n") == 1


READERS: dict[str, Callable[[Path], Any]] = {
    "annotations.csv": lambda path: read_annotations(path, ["a"]),
    "annotations.parquet": lambda path: read_annotations(path, ["a"]),
    "answers.jsonl": lambda path: read_batch_answers(path, ["a", "b"]),
    "matrix.csv": lambda path: parse_noise(f"custom:{path}"),
    "labels.csv": lambda path: parse_noise(f"labels:{path}"),
    "runs.csv": read_runs,
    "fix.csv": read_corrections,
    **{f"graph{end}": read_graph for end in (".npz", ".pt", ".gml", ".graphml", ".csv")},
}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
@pytest.mark.parametrize("name", READERS)
def test_a_file_without_an_end_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(qg.QuietgraphError):
        READERS[name](tmp_path / name)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_no_file_of_a_run_is_read_for_ever(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    for name in ("report.html", "evidence.jsonl", "suspects.csv", "run.json"):
        kept = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")
        with pytest.raises(qg.QuietgraphError):
            open_run(folder)
        (folder / name).unlink()
        (folder / name).write_bytes(kept)
    open_run(folder)
    for name in ("tensors.safetensors", "model.json"):
        (folder / "model" / name).unlink()
        (folder / "model" / name).symlink_to("/dev/zero")
        with pytest.raises(qg.QuietgraphError):
            qg.load_model(folder / "model")


@pytest.mark.parametrize("name", ["runs.csv", "matrix.csv", "labels.csv"])
def test_a_line_without_an_end_is_refused(name: str, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(2**29)  # a hole: it takes no room on disk
    with pytest.raises(qg.QuietgraphError, match="which no row of a table is"):
        READERS[name](tmp_path / name)


def test_a_clock_that_jumps_back_changes_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DecisionStore(tmp_path / "decisions.sqlite")
    store.add("n1", "Ada", "keep", "a")

    class Earlier(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Earlier":
            return cls(1971, 1, 1, tzinfo=tz)

    monkeypatch.setattr(decisions.datetime, "datetime", Earlier)
    store.add("n1", "Ada", "drop")
    assert latest_choices(store.after())["n1"]["Ada"].choice == "drop"
