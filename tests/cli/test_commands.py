"""Every command, as a newcomer types it."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quietgraph.cli.app import app, main


class Said:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    def call(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["quietgraph", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Said(code, *capfd.readouterr())

    return call


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A German export: semicolons, a BOM, decimal commas, dates, `k.A.` for unknown, Windows line ends."""
    draws, folder = np.random.default_rng(0), tmp_path / "laden"
    folder.mkdir()
    kinds = ["Garten", "Küche", "Bad"]
    true = draws.integers(3, size=90)
    seen = np.where(draws.random(90) < 0.15, (true + 1) % 3, true)
    rows = ["Nr;Name;Preis;seit;label"]
    for place in range(90):
        label = kinds[seen[place]] if place % 3 else "k.A."
        price = f"{10 + 5 * true[place] + draws.normal():.2f}".replace(".", ",")
        rows.append(
            f'P{place:02};"Ware; {kinds[true[place]][0]}{place}";{price};'
            f"{1 + place % 28:02}.0{1 + true[place]}.2024;{label}"
        )
    text = "\r\n".join(rows) + "\r\n"
    (folder / "nodes.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    pairs = {
        tuple(sorted(draws.choice(np.flatnonzero(true == code), 2, replace=False)))
        for code in range(3)
        for _ in range(90)
    }
    (folder / "edges.csv").write_text("von;nach\n" + "".join(f"P{a:02};P{b:02}\n" for a, b in sorted(pairs)))
    return folder


QUICK = ("--set", "epochs=5", "--set", "encoders=1")


def test_help_names_eleven_commands_and_each_has_help(run) -> None:
    said = run("--help")
    assert said.code == 0
    names = {"fit", "predict", "review", "next", "convert", "bench", "paper", "tune", "diagnose", "list"}
    assert all(name in said.out for name in names)
    assert {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups} == names
    for name in names:
        assert run(name, "--help").code == 0


def test_version_and_help_import_nothing_heavy() -> None:
    heavy = {"torch", "pandas", "sklearn", "duckdb"}
    code = f"import sys; from quietgraph.cli.app import app; print({heavy} & {{*sys.modules}})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_a_german_export_goes_all_the_way(run, shop: Path, tmp_path: Path) -> None:
    first = run("fit", shop, "--missing", "k.A.", "--out", tmp_path / "eins", *QUICK)
    assert first.code == 0, first.err
    assert "Nr" in first.err or "nodes.csv" in first.err
    before, after = (shop / "nodes.csv").read_bytes(), (tmp_path / "eins" / "nodes_corrected.csv").read_bytes()
    assert after.startswith(b"\xef\xbb\xbf")
    for old, new in zip(before.split(b"\r\n")[1:-1], after.split(b"\r\n")[1:-1], strict=True):
        assert new.startswith(old + b";")
    suspects = pd.read_csv(tmp_path / "eins" / "suspects.csv")
    assert {"id", "given", "suggested", "p_wrong", "Preis"} <= {*suspects.columns}
    chosen = suspects.iloc[0]
    other = "Bad" if chosen["given"] != "Bad" else "Garten"
    decided = tmp_path / "decided.csv"
    decided.write_text(f"node,label\n{chosen['id']},{other}\n")
    second = run("fit", shop, "--missing", "k.A.", "--verified", decided, "--out", tmp_path / "zwei", "--json", *QUICK)
    assert second.code == 0, second.err
    assert json.loads(second.out)["labels"] == 60
    predictions = pd.read_csv(tmp_path / "zwei" / "predictions.csv").set_index("id")
    assert predictions.loc[chosen["id"], "predicted"] == other
    assert predictions.loc[chosen["id"], "probability"] == 1
    grown = tmp_path / "neu"
    grown.mkdir()
    (grown / "nodes.csv").write_bytes((shop / "nodes.csv").read_bytes() + b"P90;Neu;20,10;01.02.2024;\r\n")
    (grown / "edges.csv").write_text((shop / "edges.csv").read_text() + "P90;P01\n")
    said = run("predict", tmp_path / "zwei", grown, "--out", tmp_path / "neu.csv")
    assert said.code == 0, said.err
    assert len(pd.read_csv(tmp_path / "neu.csv")) == 91


def test_the_printed_next_command_runs_from_another_folder(run, shop: Path, tmp_path: Path, monkeypatch) -> None:
    run("fit", shop, "--missing", "k.A.", "--method", "gcn", "--set", "epochs=3", "--out", tmp_path / "a run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    from quietgraph.report.folder import next_command

    (tmp_path / "v.csv").write_text("node,label\nP01,Bad\n")
    words = next(
        csv.reader([next_command(tmp_path / "a run", verified=Path("../v.csv"))], delimiter=" ", quotechar="'")
    )
    said = run(*words[1:], "--out", tmp_path / "b")
    assert said.code == 0, said.err


def test_tables_are_found_where_we_are(run, shop: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(shop)
    said = run("fit", "--method", "gcn", "--set", "epochs=3", "--missing", "k.A.", "--out", tmp_path / "here")
    assert said.code == 0, said.err
    assert "90 nodes" in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fit", "no_such_folder/"), "there is no file or folder"),
        (("fit", "coraa"), "cora"),
        (("fit", "digits", "--method", "gnc"), "gcn"),
        (("fit", "digits", "--set", "epochs=-1"), "epochs"),
        (("fit", "digits", "--set", "epochs"), "key=value"),
        (("fit", "digits", "--seed", "-4"), "seed"),
        (("fit", "digits", "--noise", "symetric:0.4"), "symmetric"),
        (("predict", "nowhere", "digits"), "nowhere"),
        (("review", "nowhere"), "nowhere"),
        (("next", "nowhere"), "nowhere"),
        (("bench", "show", "nowhere.jsonl"), "nowhere"),
        (("paper", "tabel"), "there is no table"),
        (("list", "gnc"), "gcn"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    run, words: tuple[str, ...], sentence: str, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(*words)
    assert said.code == 2
    assert sentence in said.err
    assert "Traceback" not in said.err
    assert not list(tmp_path.iterdir())


def test_next_lists_nodes_to_label(run, tmp_path: Path) -> None:
    run("fit", "sbm", "--noise", "symmetric:0.2", "--method", "gcn", "--set", "epochs=5", "--out", tmp_path / "run")
    said = run("next", tmp_path / "run", "--budget", "5", "--out", tmp_path / "next.csv")
    assert said.code == 0, said.err
    assert len(pd.read_csv(tmp_path / "next.csv")) == 5


def test_convert_writes_a_folder_that_fit_takes(run, shop: Path, tmp_path: Path) -> None:
    assert run("convert", shop, tmp_path / "mapped", "--missing", "k.A.").code == 0
    said = run("fit", tmp_path / "mapped", "--method", "gcn", "--set", "epochs=3", "--out", tmp_path / "run")
    assert said.code == 0, said.err


def test_a_benchmark_runs_shows_and_goes_on(run, tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    words = ("bench", "run", "--datasets", "sbm", "--methods", "gcn:epochs=3,s2gc", "--seeds", "0-1", "--store", store)
    assert "gcn:epochs=3" in run(*words).out
    assert len(store.read_text().splitlines()) == 4
    run(*words)
    assert len(store.read_text().splitlines()) == 4
    compared = run("bench", "show", store, "--as", "compare", "--baseline", "s2gc", "--json")
    assert json.loads(compared.out)["rows"][0]["baseline"] == "s2gc"
    assert run("bench", "show", store, "--as", "curves", "--out", tmp_path / "curves.svg").code == 0


def test_lists_and_the_diagnosis_print_tables(run, tmp_path: Path) -> None:
    assert "gcl-lr-attention" in run("list").out
    assert "cora" in run("list", "datasets").out
    assert "learning_rate" in run("list", "gcn").out
    assert "classification" in run("paper", "list").out
    said = run("diagnose", "sbm", "--method", "gcn:epochs=3", "--out", tmp_path / "figures")
    assert "kernel complexity" in said.out
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"projections.svg", "spectrum.svg", "bound.svg"}


def test_tune_goes_on_from_its_journal(run, tmp_path: Path) -> None:
    words = (
        "tune",
        "sbm",
        "--method",
        "gcn:epochs=3",
        "--param",
        "hidden=4,8",
        "--seeds",
        "0",
        "--store",
        tmp_path / "t",
    )
    assert "hidden" in run(*words, "--trials", "2").out
    assert len(json.loads(run(*words, "--trials", "3", "--json").out)["trials"]) == 3
