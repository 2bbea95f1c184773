"""`quietgraph bench`: what people type, what they see, and what they are told when it is wrong."""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import call, printed, refused
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record, canonical_json
from quietgraph.bench.store import Store
from quietgraph.errors import (
    InvalidParameterError,
    UnknownNameError,
    UnreadableFileError,
)
from records import record_of

BENEFIT = {"gcn": 0.0, "gcl-lrr": 0.05, "gcl-lr-attention": 0.08, "gcn:hidden=8": -0.02}


def record_for(method: str, noise: str, seed: int) -> Record:
    draws = np.random.default_rng([seed, len(noise)])
    value = 0.7 + BENEFIT[method] + draws.normal(0, 0.03)
    value += np.random.default_rng([seed, len(method)]).normal(0, 0.002)
    run = Run.parse("sbm", method, noise, seed)
    return record_of(run, test_accuracy=value, test_macro_f1=value - 0.01)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "results.sqlite"
    with Store(path) as opened:
        for method in BENEFIT:
            for noise in ("none", "symmetric:0.4"):
                for seed in range(5):
                    opened.add(record_for(method, noise, seed))
    return path


def test_run_writes_rows_and_says_so(tmp_path: Path) -> None:
    options = ["--datasets", "sbm", "--methods", "gcn:epochs=3", "--noise", "none", "--seeds", "2"]
    options += ["--store", tmp_path / "results.sqlite", "--no-cache"]
    assert printed("bench", "run", *options).startswith("2 runs done (0 failed), 0 were there")
    assert printed("bench", "run", *options).startswith("0 runs done (0 failed), 2 were there")


def test_clean_validation_labels_are_a_setting_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    options = ["--datasets", "sbm", "--methods", "gcn:epochs=3", "--seeds", "1", "--store", path]
    printed("bench", "run", *options, "--noise", "none,symmetric:0.4", "--clean-validation")
    with Store(path) as opened:
        noises = {record.key.noise for record in opened.records()}
    assert noises == {"none", "symmetric:0.4+clean-validation"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--datasets", "smb"], "Did you mean 'sbm'?"),
        (["--methods", "gnc"], "Did you mean 'gcn'?"),
        (["--noise", "symetric:0.4"], "Did you mean 'symmetric'?"),
        (["--engine", "locl"], "Did you mean 'local'?"),
        (["--seeds", "ten"], "seeds must be a count"),
        (["--split", "public"], "split of sbm 'public'"),
        (["--address", "here:1"], "--address is for --engine ray"),
        (["--engine", "ray", "--memory-limit", "100"], "--memory-limit is for --engine local"),
    ],
)
def test_a_mistake_makes_no_store(options: list[str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    assert words in str(refused("bench", "run", "--datasets", "sbm", "--store", path, *options))
    assert not path.exists()


def test_table_is_markdown_with_the_baseline_first(store: Path) -> None:
    text = printed("bench", "table", "--store", store, "--baseline", "gcn")
    lines = text.splitlines()
    assert lines[0] == "| method | sbm, none | sbm, symmetric:0.4 |"
    assert lines[2].startswith("| gcn |")
    assert "↑" in text
    assert "n = 5" in text


@pytest.mark.parametrize(
    ("kind", "start"),
    [("latex", "% needs"), ("html", "<table"), ("csv", "method,dataset,noise")],
)
def test_table_has_other_formats(store: Path, kind: str, start: str) -> None:
    assert printed("bench", "table", "--store", store, "--format", kind).startswith(start)


def test_table_and_comparison_are_json_on_request(store: Path) -> None:
    cells = json.loads(printed("bench", "table", "--store", store, "--json"))
    assert {"method", "dataset", "mean", "n"} <= set(cells[0])
    rows = json.loads(printed("bench", "compare", "--store", store, "--json"))
    assert {"against", "method"} <= set(rows[0])


def test_table_shows_another_metric_and_only_what_is_asked_for(store: Path) -> None:
    text = printed("bench",
        "table", "--store", store, "--metric", "test_macro_f1", "--methods", "gcn,gcl-lrr",
        "--noise", "uniform:0.40",
    )  # fmt: skip
    assert text.splitlines()[0] == "| method | sbm, symmetric:0.4 |"
    assert "gcl-lr-attention" not in text
    assert "macro-F1" in text


def test_table_shows_only_the_draws_asked_for(store: Path) -> None:
    assert "n = 2" in printed("bench", "table", "--store", store, "--seeds", "1-2")
    assert "none of its 40 runs" in str(
        refused("bench", "table", "--store", store, "--seeds", "7-9")
    )


def test_table_is_written_to_a_file_on_request(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "table.md"
    assert printed("bench", "table", "--store", store, "--out", out) == f"written: {out}\n"
    assert out.read_text().startswith("| method ")


def test_runs_of_former_defaults_can_be_left_out(store: Path) -> None:
    fresh = record_for("gcn", "none", 0)
    key = replace(fresh.key, parameters=canonical_json({"hidden": 1}))
    with Store(store) as opened:
        opened.add(replace(fresh, key=key))
    assert "has several runs" in str(refused("bench", "table", "--store", store))
    assert "| gcn |" in printed("bench", "table", "--store", store, "--current")


def test_comparison_tests_against_the_baseline_and_the_best_one(store: Path) -> None:
    text = printed("bench", "compare", "--store", store)
    assert "Against gcn:" in text
    assert "Against the best of gcn, gcn:hidden=8:" in text
    assert "Mean ranks over 10 (dataset, noise, seed)" in text
    assert "gcl-lr-attention 1.00, gcl-lrr 2.00" in text
    assert "Critical difference (Nemenyi, level 0.05)" in text


def test_comparison_as_csv_says_which_baseline_a_row_is_about(store: Path) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(printed("bench", "compare", "--store", store, "--format", "csv"))
        )
    )
    assert {row["against"] for row in rows} == {"baseline", "best baseline"}
    better = [row for row in rows if row["method"] == "gcl-lr-attention"]
    assert len(better) == 4
    assert all(float(row["t_holm"]) < 0.05 for row in better)


def test_figures_are_written_as_svg(store: Path, tmp_path: Path) -> None:
    for command in ("curves", "ranks"):
        out = tmp_path / f"{command}.svg"
        assert str(out) in printed("bench", command, "--store", store, "--out", out)
        assert "<svg" in out.read_text()


def test_export_has_a_line_for_every_run(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs.csv"
    assert printed("bench", "export", "--store", store, "--out", out) == f"40 runs: {out}\n"
    assert len(out.read_text().splitlines()) == 41


def test_exported_runs_come_back_by_import_once(store: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "runs.csv", tmp_path / "other.sqlite"
    printed("bench", "export", "--store", store, "--out", out)
    assert printed("bench", "import", out, "--store", other) == f"40 of 40 runs were new: {other}\n"
    assert printed("bench", "import", out, "--store", other) == f"0 of 40 runs were new: {other}\n"
    with Store(store, read_only=True) as first, Store(other, read_only=True) as second:
        assert first.records() == second.records()


def test_a_run_that_does_not_fit_its_digest_imports_nothing(store: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "runs.csv", tmp_path / "other.sqlite"
    printed("bench", "export", "--store", store, "--out", out)
    lines = out.read_text().splitlines()
    out.write_text("\n".join([*lines[:-1], lines[-1].replace("sbm", "cora")]))
    outcome = call("bench", "import", out, "--store", other)
    assert isinstance(outcome.exception, UnreadableFileError)
    assert "line 41" in str(outcome.exception)
    assert not other.exists()


def test_a_file_that_holds_no_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    outcome = call("bench", "import", tmp_path / "other.csv", "--store", tmp_path / "new.sqlite")
    assert isinstance(outcome.exception, UnreadableFileError)
    assert "bench export" in str(outcome.exception)


@pytest.mark.parametrize("command", ["table", "compare", "curves", "ranks", "export"])
def test_a_store_that_is_missing_is_named(command: str, tmp_path: Path) -> None:
    error = refused("bench", command, "--store", tmp_path / "none.sqlite")
    assert isinstance(error, UnreadableFileError)
    assert "none.sqlite" in str(error)


def test_a_store_without_runs_is_told(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    Store(path).close()
    assert "it has no runs" in str(refused("bench", "table", "--store", path))


def test_a_store_of_another_version_is_refused(store: Path) -> None:
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "has version 99" in str(refused("bench", "table", "--store", store))


def test_filters_that_leave_nothing_are_told(store: Path) -> None:
    error = refused("bench", "table", "--store", store, "--datasets", "cora")
    assert isinstance(error, InvalidParameterError)
    assert "none of its 40 runs passes the filters" in str(error)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["table", "--format", "latx"], "Did you mean 'latex'?"),
        (["table", "--metric", "test_acuracy"], "Did you mean 'test_accuracy'?"),
        (["table", "--baseline", "gnc"], "Did you mean 'gcn'?"),
        (["compare", "--baseline", "gnc"], "Did you mean 'gcn'?"),
        (["compare", "--format", "html"], "there is no format of comparisons 'html'"),
    ],
)
def test_a_wrong_name_offers_the_nearest(store: Path, words: list[str], hint: str) -> None:
    error = refused("bench", *words, "--store", store)
    assert isinstance(error, UnknownNameError)
    assert hint in str(error)
