import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.cli.fit import Fit
from quietgraph.data.decisions import Decision, add_decisions, read_decisions
from quietgraph.errors import QuietgraphError, UnwritablePathError
from quietgraph.report.folder import check_folder, next_command, read_facts
from report.problem import CLASSES, LABELLED, Fitted, fit


def read(path: Path, separator: str = ",") -> pd.DataFrame:
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig").set_index("id")


def page_data(folder: Path) -> dict:
    text = (folder / "report.html").read_text(encoding="utf-8")
    return json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def check_agreement(folder: Path) -> None:
    """Check that all files of a run say the same of every node."""
    predictions, suspects = read(folder / "predictions.csv"), read(folder / "suspects.csv")
    corrected, page, facts = read(folder / "nodes_corrected.csv", ";"), page_data(folder), read_facts(folder)
    flagged = suspects.index[suspects["is_suspect"] == "True"]
    assert (predictions.loc[suspects.index, "predicted"] == suspects["suggested"]).all()
    assert (corrected.loc[flagged, "quietgraph_label"] == suspects.loc[flagged, "suggested"]).all()
    machine = corrected.index[corrected["quietgraph_why"].str.contains("not reviewed")]
    assert set(machine) == set(flagged)
    assert len(flagged) == facts.assessment["suspects"]
    likeliest = predictions[list(page["classes"])].astype(float).idxmax(axis=1)
    assert (likeliest == predictions["predicted"]).all()
    points, rows = page["points"], page["suspects"]
    assert [page["classes"][code] for code in points["predicted"]] == predictions.loc[
        points["id"], "predicted"
    ].tolist()
    shown = points["id"][: len(rows["p_wrong"])]
    assert shown == suspects.index[: len(shown)].tolist()
    assert [bool(one) for one in rows["flagged"]] == (suspects.loc[shown, "is_suspect"] == "True").tolist()
    held = corrected["quietgraph_label"].where(corrected["quietgraph_label"] != "", corrected["label"])
    reviewed = (
        corrected["quietgraph_why"].str.contains("a reviewer")
        & (held != "")
        & ~corrected["quietgraph_why"].str.contains("dropped")
    )
    assert (predictions.loc[reviewed, "predicted"] == held[reviewed]).all()
    assert not set(corrected.index[reviewed]) & set(suspects.index)
    assert qg.load_model(folder / "model").classes_.tolist() == facts.assessment["classes"]


def test_no_two_files_disagree_about_a_node(fitted: Fitted, tmp_path: Path) -> None:
    check_agreement(fitted.write(tmp_path / "run"))


def test_no_two_files_disagree_after_a_review(fitted: Fitted, tables: Path, tmp_path: Path) -> None:
    first = fitted.write(tmp_path / "run")
    suspects = read(first / "suspects.csv")
    choices = ["accept", "keep", "drop", "unsure", "accept", "keep"]
    made = []
    for (node, row), choice in zip(suspects.head(6).iterrows(), choices, strict=True):
        label = {"accept": row["suggested"], "keep": row["given"]}.get(choice, "")
        made.append(Decision(str(node), choice, label, "Ann", "2026-01-01", row["given"]))
    add_decisions(first / "decisions.sqlite", made)
    decisions = read_decisions(first)
    second = fit(tables, verified=first).write(tmp_path / "second", decisions=decisions)
    check_agreement(second)
    why = read(second / "nodes_corrected.csv", ";")["quietgraph_why"][suspects.index[:4]].tolist()
    assert [words.split(" by ")[0] for words in why[:3]] == ["corrected", "kept", "dropped"]
    assert read_decisions(second).by_node == decisions.by_node


def test_the_flagged_come_first_then_the_uncertain(fitted: Fitted, tmp_path: Path) -> None:
    table = read(fitted.write(tmp_path / "run") / "suspects.csv")
    flagged, odds = table["is_suspect"] == "True", table["p_wrong"].astype(float)
    assert flagged.iloc[: flagged.sum()].all()
    assert flagged.any()
    assert odds[flagged].is_monotonic_decreasing
    assert odds[~flagged].is_monotonic_decreasing
    assert table["name"].str.strip().str.startswith("Some name").all()
    assert len(table) == LABELLED


def test_no_file_holds_a_path_of_this_machine(fitted: Fitted, tables: Path, tmp_path: Path) -> None:
    run = fitted.write(tmp_path / "run", options={"source": str(tables), "verified": [str(tmp_path / "v.csv")]})
    text = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert str(tables).encode() not in text
    assert str(tmp_path).encode() not in text


def test_the_next_command_runs_from_anywhere(
    fitted: Fitted, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"source": os.path.relpath(tables), "method": "gcn", "set": {"epochs": "30"}, "missing": ["?"], "seed": 3}
    run = fitted.write(tmp_path / "run", options={**options, "overwrite": True, "drop_dangling": True, "out": "run"})
    (tmp_path / "elsewhere").mkdir()
    for place in (tmp_path, tmp_path / "elsewhere"):
        monkeypatch.chdir(place)
        words = shlex.split(next_command(Path(os.path.relpath(run)), verified=Path("v.csv")))
        assert words[:2] == ["quietgraph", "fit"]
        assert Path(words[2]).resolve() == tables
        rest = " ".join(words[3:])
        assert rest == "--method gcn --set epochs=30 --missing ? --seed 3 --drop-dangling --verified v.csv"
        assert {word[2:].replace("-", "_") for word in words if word.startswith("--")} <= set(Fit.model_fields)


def test_a_noise_file_is_named_from_where_we_are(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted.write(tmp_path / "run", options={"noise": f"labels:{tmp_path / 'gpt.csv'}"})
    assert read_facts(run).options["noise"] == "labels:../gpt.csv"
    monkeypatch.chdir(tmp_path)
    assert "--noise labels:gpt.csv" in next_command(run, verified=run)


def test_a_folder_is_checked_before_the_fit(fitted: Fitted, tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "deep" / "run", overwrite=False)
    assert list(tmp_path.iterdir()) == []
    other = tmp_path / "other"
    other.mkdir()
    check_folder(other, overwrite=False)
    (other / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    run = fitted.write(tmp_path / "run")
    for folder, overwrite in (
        (other, True),
        (tmp_path / "file", True),
        (run, False),
        (tmp_path / "file" / "run", True),
    ):
        with pytest.raises(UnwritablePathError):
            check_folder(folder, overwrite=overwrite)
    check_folder(run, overwrite=True)


def test_a_run_is_written_whole_or_not_at_all(fitted: Fitted, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fitted.write(tmp_path / "run", seconds=lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []
    run = fitted.write(tmp_path / "run")
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    with pytest.raises(ZeroDivisionError):
        fitted.write(run, seconds=lambda: 1 / 0, overwrite=True)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_no_decision_is_lost_where_a_run_is_replaced(fitted: Fitted, tmp_path: Path) -> None:
    run = fitted.write(tmp_path / "run")
    fitted.write(run, overwrite=True)
    assert not list(run.glob("earlier-*"))  # nobody had touched it
    node = read(run / "suspects.csv").index[0]
    add_decisions(run / "decisions.sqlite", [Decision(node, "drop", by="Ann")])
    fitted.write(run, overwrite=True)
    assert node in read_decisions(run / "earlier-1").by_node
    text = (run / "suspects.csv").read_text(encoding="utf-8").replace("True,,", "True,accept,", 1)
    (run / "suspects.csv").write_text(text, encoding="utf-8")
    (run / "notes.txt").write_text("mine")
    fitted.write(run, overwrite=True)
    assert sorted(path.name for path in run.glob("**/earlier-*")) == ["earlier-1", "earlier-2"]
    assert len(read_decisions(run / "earlier-2" / "suspects.csv")) == 1
    assert (run / "earlier-2" / "notes.txt").read_text() == "mine"
    with pytest.raises(QuietgraphError):
        read_decisions(run)


def test_columns_of_the_user_are_not_taken_for_decisions(fitted: Fitted, tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    kinds = np.array(["tea", "pot"])[draws.integers(2, size=40)]
    nodes = pd.DataFrame(
        {"key": range(40), "kind": kinds, "label": "blue", "quietgraph_label": "old", "size": draws.random(40)}
    )
    edges = pd.DataFrame({"source": range(39), "target": range(1, 40)})
    columns = {"key": "id", "kind": "label"}
    run = fit(None, nodes=nodes, edges=edges, columns=columns).write(tmp_path / "run")
    table = read(run / "suspects.csv")
    assert {"own_label", "own_quietgraph_label", "size"} <= {*table.columns}
    assert len(read_decisions(run / "suspects.csv")) == 0


def test_the_seconds_are_those_of_the_whole_command(fitted: Fitted, tmp_path: Path) -> None:
    run = fitted.write(tmp_path / "run", seconds=lambda: 12.34)
    assert read_facts(run).seconds == 12.3
    assert "12.3 seconds in all" in (run / "report.html").read_text(encoding="utf-8")


def test_classes_that_nobody_is_sure_of_are_not_flagged(fitted: Fitted, tmp_path: Path) -> None:
    verdict = replace(fitted.assessment.verdict, level="do not trust", sentence="Do not trust these predictions.")
    unknown = np.zeros_like(fitted.assessment.is_suspect)
    distrusted = replace(fitted.assessment, verdict=verdict, is_suspect=unknown)
    run = Fitted(fitted.model, distrusted).write(tmp_path / "run")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "No label is called wrong" in page
    assert "What is called what" not in page
    assert CLASSES[1] in page
