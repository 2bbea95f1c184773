"""The command line: results to stdout, the rest to stderr, mistakes in one sentence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from command_line import run_main

QUICK = ["--method", "gcl-lr-attention", "--set", "epochs=3", "--set", "warm_up=1"]
QUICK += ["--set", "hidden=8", "--set", "dim=8"]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        code = run_main(*arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "run"
    arguments = ["fit", "sbm", *QUICK, "--noise", "symmetric:0.4", "--beside", "gcl-lrr"]
    assert run_main(*arguments, "--out", folder) == 0
    return folder


def test_fit_writes_the_whole_run_folder(run_folder: Path) -> None:
    names = {path.name for path in run_folder.iterdir()}
    assert names == {
        "predictions.csv",
        "suspects.csv",
        "nodes_corrected.csv",
        "evidence.jsonl",
        "embeddings.npy",
        "model",
        "run.json",
        "report.html",
    }
    predictions = pd.read_csv(run_folder / "predictions.csv")
    assert len(predictions) == 1000
    assert predictions.filter(like="p_").sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-4)
    assert len(pd.read_csv(run_folder / "suspects.csv")) == 200
    assert np.load(run_folder / "embeddings.npy").shape == (1000, 8)
    facts = json.loads((run_folder / "run.json").read_text())
    assert facts["noise"] == "symmetric:0.4"
    assert facts["parameters"]["epochs"] == 3
    assert {"torch", "quietgraph"} <= facts["versions"].keys()
    assert facts["data"]["fingerprint"] == qg.load("sbm").graph.fingerprint
    assert [row["method"] for row in facts["comparison"]] == ["gcl-lr-attention", "gcl-lrr"]


def test_the_report_stands_alone_and_shows_what_it_should(run_folder: Path) -> None:
    page = (run_folder / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "<script src" not in page
    for words in (
        "Accuracy against the clean labels",
        "Training",
        "Spectrum of K",
        "probably wrong",
    ):
        assert words in page
    assert page.count("<svg") == 8
    assert len(page) < 3_000_000


def test_predict_answers_for_a_graph(call, run_folder: Path, tmp_path: Path) -> None:
    code, out, _ = call("predict", str(run_folder), "sbm", "--out", str(tmp_path / "p"))
    assert code == 0
    assert "1,000 predictions" in out
    again = pd.read_csv(tmp_path / "p" / "predictions.csv")
    first = pd.read_csv(run_folder / "predictions.csv")
    assert (again["predicted"] == first["predicted"]).mean() > 0.999
    code, out, _ = call("predict", str(run_folder), "sbm", "--out", str(tmp_path / "q"), "--json")
    assert code == 0
    rows = json.loads(out)["predictions"]
    assert [row["predicted"] for row in rows] == again["predicted"].tolist()


def test_diagnose_reads_a_run_and_writes_figures(call, run_folder: Path, tmp_path: Path) -> None:
    code, out, _ = call("diagnose", str(run_folder), "--out", str(tmp_path / "d"))
    assert code == 0
    assert "kernel complexity" in out
    assert (tmp_path / "d" / "projection.svg").exists()
    assert json.loads((tmp_path / "d" / "diagnosis.json").read_text())["dim"] == 8


def test_diagnose_takes_any_matrix(call, tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).standard_normal((1000, 4)))
    code, out, _ = call("diagnose", "sbm", "--embeddings", str(tmp_path / "mine.npy"), "--json")
    assert code == 0
    assert json.loads(out)["dim"] == 4


def test_json_is_one_object_on_stdout(call) -> None:
    code, out, err = call("fit", "sbm", *QUICK, "--json")
    assert code == 0
    assert json.loads(out)["method"] == "gcl-lr-attention"
    assert "1,000 nodes" in err


def test_fit_uses_published_settings_and_says_so(call, monkeypatch: pytest.MonkeyPatch) -> None:
    published = {"sbm": {"hidden": 5, "epochs": 90}}
    monkeypatch.setattr(qg.GCN, "presets", published)
    out = call("fit", "sbm", "--method", "gcn", "--set", "epochs=2", "--beside", "gcn", "--json")[1]
    facts = json.loads(out)
    words = "published settings for sbm"
    assert (facts["parameters"]["hidden"], facts["parameters"]["epochs"]) == (5, 2)
    assert facts["settings"] == f"{words}, epochs=2"
    assert [row["settings"] for row in facts["comparison"]] == [f"{words}, epochs=2", words]


def test_the_default_is_quiet_at_every_size_and_in_partitions(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ["fit", "sbm", "--set", "epochs=2", "--json"]

    def method(*more: str) -> str:
        return json.loads(call(*quick, *more)[1])["method"]

    assert method() == "quiet"
    assert method("--partitions", "2") == "quiet"
    for module in ("embed.scale.partitions", "classify.smoothing", "methods.low_rank.encoder"):
        monkeypatch.setattr(f"quietgraph.{module}.WHOLE_UP_TO", 300)
    assert method() == "quiet"


def test_listings_name_methods_datasets_and_version(call) -> None:
    assert "gcl-lr-attention" in call("methods")[1]
    code, out, _ = call("methods", "gcl-lrr", "--json")
    assert code == 0
    assert {row["name"] for row in json.loads(out)["parameters"]} >= {"rank_ratio", "rank_weight"}
    names = {row["name"] for row in json.loads(call("datasets", "--json")[1])}
    assert {"digits", "cora", "ogbn-arxiv"} <= names
    assert call("--version")[1].strip() == f"quietgraph {qg.__version__}"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "digitz"), "there is no dataset 'digitz'. Did you mean 'digits'?"),
        (("fit", "--method", "gcm"), "there is no method 'gcm'. Did you mean 'gcn'?"),
        (("fit", "--noise", "symetric:0.4"), "Did you mean 'symmetric'?"),
        (("fit", "--noise", "symmetric:1.4"), "1.4"),
        (("fit", "--set", "epochs"), "--set takes key=value, got 'epochs'"),
        (("fit", "--set", "epoch=3"), "Did you mean 'epochs'?"),
        (
            ("fit", "--method", "gcl-lrr", "--set", "epochs=many"),
            "epochs must be int | None, got 'many'",
        ),
        (
            ("fit", "--method", "gcl-lrr", "--set", "rank_ratio=2"),
            "rank_ratio must be between 0 and 1",
        ),
        (("predict", "nowhere", "sbm"), "nowhere is no readable model"),
        (("diagnose", "sbm", "--embeddings", "none.npy"), "none.npy holds no readable matrix"),
        (("diagnose", "sbm", "--scale", "big"), "--scale must be unit or raw"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(call, arguments, sentence: str) -> None:
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


def test_fit_replaces_no_foreign_folder(call, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    code, _, err = call("fit", "sbm", *QUICK, "--out", "mine")
    assert code == 2
    assert "holds other files" in err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"


def test_a_failed_write_leaves_the_old_run(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("fit", "sbm", *QUICK, "--out", "run")[0] == 0
    before = (tmp_path / "run" / "run.json").read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    code, _, err = call("fit", "sbm", *QUICK, "--seed", "1", "--out", "run", "--overwrite")
    assert code == 2
    assert "No space left" in err
    assert (tmp_path / "run" / "run.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_ctrl_c_during_a_fit_writes_nothing_and_exits_130(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quietgraph.methods.low_rank.encoder.train_embeddings", interrupted)
    code, out, err = call("fit", "sbm", *QUICK, "--out", "run")
    assert code == 130
    assert out == ""
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_fit_without_an_encoder_says_so(call) -> None:
    quick = ["--method", "quiet", "--set", "families=ridge", "--set", "encoder=false"]
    code, _, err = call("fit", "sbm", *quick, "--out", "run")
    assert code == 0
    assert "no encoder is trained: smoothed attributes are used alone" in err
    assert "training on the whole graph" not in err
