"""The run folder: checked first, written whole, and nothing that people decided is ever lost."""

import contextlib
import json
import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from quietgraph.data.annotations import one_annotator
from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.graph.io.corrections import Corrections, LabelDecision
from quietgraph.report import write_run as module
from quietgraph.report.corrected import corrected_table
from quietgraph.report.earlier import earlier_run, keep_decisions
from quietgraph.report.fit_run import FitRun
from quietgraph.report.run_files import DECISIONS_FILE, OWN_NAMES, VERIFIED_FILE
from quietgraph.report.write_run import check_folder, free_folder, write_run
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import read_decisions
from report_problem import CLASSES


def test_a_run_is_not_replaced_unless_it_is_said(run: FitRun, folder: Path) -> None:
    before = (folder / "suspects.csv").read_bytes()
    (folder / "suspects.csv").write_bytes(before + b"mine\n")
    with pytest.raises(UnwritablePathError, match="--overwrite"):
        write_run(run, folder)
    assert (folder / "suspects.csv").read_bytes() == before + b"mine\n"
    assert not list(folder.glob("earlier-*"))


def test_what_people_decided_is_kept_when_a_run_is_replaced(run: FitRun, folder: Path) -> None:
    for number, node in enumerate(("a", "b"), start=1):
        store = DecisionStore(folder / DECISIONS_FILE)
        store.add(node, "Ann", "other", "big, red")
        (folder / "suspects.csv").write_text(f"node,given,suggested,label\n{node}{node},x,y,cow\n")
        write_run(run, folder, overwrite=True)
        kept = earlier_run(folder)
        assert kept == folder / f"earlier-{number}"
        assert read_decisions(kept).labels == {f"{node}{node}": "cow", node: "big, red"}
        assert not (folder / DECISIONS_FILE).exists()
    assert read_decisions(folder / "earlier-1").labels["a"] == "big, red"


def test_a_store_without_decisions_does_not_block(run: FitRun, folder: Path) -> None:
    DecisionStore(folder / DECISIONS_FILE)
    write_run(run, folder, overwrite=True)
    assert not (folder / "earlier-1" / DECISIONS_FILE).exists()


def test_a_review_that_goes_on_loses_nothing_to_an_overwrite(tmp_path: Path) -> None:
    old, new = tmp_path / "run", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    store = DecisionStore(old / DECISIONS_FILE)
    store.add("a", "Ann", "keep", "cat")
    with keep_decisions(old, new):
        thread = threading.Thread(target=store.add, args=("b", "Ann", "keep", "cat"))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        old.rename(tmp_path / "away")
        new.rename(old)
    thread.join(30)
    assert [one.node for one in store.after()] == ["b"]
    kept = DecisionStore(old / "earlier-1" / DECISIONS_FILE)
    assert [one.node for one in kept.after()] == ["a"]


def test_the_first_decision_of_a_run_waits_for_an_overwrite_too(tmp_path: Path) -> None:
    old, new = tmp_path / "run", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    store = DecisionStore(old / DECISIONS_FILE)
    with keep_decisions(old, new):
        thread = threading.Thread(target=store.add, args=("b", "Ann", "keep", "cat"))
        thread.start()
        thread.join(0.5)
        old.rename(tmp_path / "away")
        new.rename(old)
    thread.join(30)
    assert [one.node for one in store.after()] == ["b"]


def test_an_overwrite_that_fails_leaves_the_store_open(tmp_path: Path) -> None:
    old, new = tmp_path / "run", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    store = DecisionStore(old / DECISIONS_FILE)
    store.add("a", "Ann", "keep", "cat")
    with pytest.raises(OSError, match="full"), keep_decisions(old, new):
        raise OSError("full")
    store.add("b", "Ann", "keep", "cat")
    assert [one.node for one in store.after()] == ["a", "b"]


def test_a_damaged_store_is_not_thrown_away(run: FitRun, folder: Path) -> None:
    (folder / DECISIONS_FILE).write_bytes(b"no database at all" * 100)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(UnreadableFileError, match=r"is damaged .* Move that file away"):
        check_folder(folder, overwrite=True)
    with pytest.raises(UnreadableFileError, match="is damaged"):
        write_run(run, folder, overwrite=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_store_whose_middle_is_damaged_is_not_thrown_away(run: FitRun, folder: Path) -> None:
    store = DecisionStore(folder / DECISIONS_FILE)
    for number in range(300):
        store.add(f"node {number}" * 20, "Ann", "keep", "cat")
    with contextlib.closing(sqlite3.connect(folder / DECISIONS_FILE)) as whole:
        whole.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = bytearray((folder / DECISIONS_FILE).read_bytes())
    pages[4096 * 5 : 4096 * 7] = b"\xff" * 8192
    (folder / DECISIONS_FILE).write_bytes(pages)
    with pytest.raises(UnreadableFileError, match="is damaged"):
        write_run(run, folder, overwrite=True)
    assert (folder / DECISIONS_FILE).read_bytes() == pages


def test_what_people_put_beside_a_run_outlives_an_overwrite(run: FitRun, folder: Path) -> None:
    (folder / "next_labels.csv").write_text("node,label\nn1,given by hand\n")
    (folder / "notes").mkdir()
    (folder / "notes" / "today.txt").write_text("look again")
    (folder / "link").symlink_to("notes")
    for _ in range(2):
        write_run(run, folder, overwrite=True)
    assert "given by hand" in (folder / "next_labels.csv").read_text()
    assert (folder / "notes" / "today.txt").read_text() == "look again"
    assert (folder / "link").is_symlink()
    written = {path.name for path in folder.iterdir()} - {"next_labels.csv", "notes", "link"}
    assert {name for name in written if not name.startswith("earlier-")} <= OWN_NAMES


def test_a_model_that_is_not_trusted_corrects_nothing(run: FitRun) -> None:
    table = run.suspects_with_ids().assign(is_issue=False)
    node, kept = table["node"][0], table["node"][1]
    decided = {kept: LabelDecision(kept, "other", CLASSES[0], "Ann")}
    found = corrected_table(run.evidence, decided, table, method="gcn", is_trusted=False)
    rows = found.set_index("id")
    assert rows.loc[node, "label"] == table["given"][0] != table["suggested"][0]
    assert rows.loc[node, "quietgraph_why"] == "not corrected: the verdict on gcn is 'do not trust'"
    assert rows.loc[kept, "label"] == CLASSES[0]
    assert not rows["quietgraph_why"].str.contains("corrected by gcn").any()


def test_a_new_folder_gets_a_number_where_the_name_is_taken(tmp_path: Path) -> None:
    assert free_folder(tmp_path / "a") == tmp_path / "a"
    (tmp_path / "a").mkdir()
    (tmp_path / "a-2").mkdir()
    assert free_folder(tmp_path / "a") == tmp_path / "a-3"


def test_other_files_and_files_in_the_way_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UnwritablePathError, match="holds other files"):
        check_folder(tmp_path, overwrite=True)
    with pytest.raises(UnwritablePathError, match="--out"):
        check_folder(tmp_path / "notes.txt", overwrite=True)
    with pytest.raises(UnwritablePathError, match="cannot be written"):
        check_folder(tmp_path / "notes.txt" / "run", overwrite=False)


def test_a_disk_without_room_is_said_before_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil._ntuple_diskusage(10**9, 10**9 - 10**8, 10**8)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage)
    check_folder(tmp_path / "run", overwrite=False, nodes=1000)
    with pytest.raises(UnwritablePathError, match="has room for 100 MB"):
        check_folder(tmp_path / "run", overwrite=False, nodes=10**6, classes=10)


def test_the_corrected_table_says_why(run: FitRun, tmp_path: Path) -> None:
    table = run.suspects_with_ids()
    issues = table[table["is_issue"]]["node"].tolist()
    sure = table[~table["is_issue"]]["node"].tolist()
    decided = [
        LabelDecision(issues[0], "keep", table["given"][0], "Ann", "2026-01-02T03:04"),
        LabelDecision(issues[1], "other", "big, red", "=Bob", "2026-01-02"),
        LabelDecision(sure[0], "drop", "", "Ann"),
        LabelDecision(sure[1], "unsure", "", "Ann"),
        LabelDecision("gone", "keep", "x"),
    ]
    decisions = Corrections(Path(), {one.node: one for one in decided})
    folder = write_run(replace(run, decisions=decisions), tmp_path / "run")
    found = pd.read_csv(folder / "nodes_corrected.csv", dtype=str, keep_default_na=False)
    assert found.columns.tolist() == ["id", "a", "b", "c", "label", "quietgraph_why"]
    assert len(found) == 120
    rows = found.set_index("id")
    given = dict(zip(table["node"], table["given"], strict=True))
    assert rows.loc[issues[0]].tolist()[3:] == [given[issues[0]], "kept by Ann on 2026-01-02"]
    assert rows.loc[issues[1], "label"] == "big, red"
    assert "by =Bob on 2026-01-02; it was" in rows.loc[issues[1], "quietgraph_why"]
    assert rows.loc[issues[2], "quietgraph_why"].startswith("corrected by gcn, not reviewed; ")
    assert rows.loc[issues[2], "label"] == table.set_index("node")["suggested"][issues[2]]
    assert rows.loc[sure[0], "label"] == ""
    assert rows.loc[sure[1]].tolist()[3:] == [given[sure[1]], "unsure by Ann"]
    assert rows.loc[sure[2]].tolist()[3:] == [given[sure[2]], ""]
    assert list(read_decisions(folder / VERIFIED_FILE).decisions.values()) == decided


def test_the_method_corrects_neither_what_a_person_was_unsure_of_nor_rare_classes(
    run: FitRun,
) -> None:
    table = run.suspects_with_ids()
    issues = table[table["is_issue"]].reset_index(drop=True)
    unsure, rare = issues["node"][0], issues["node"][1]
    decided = {unsure: LabelDecision(unsure, "unsure", "", "Ann")}
    codes = run.observation.codes.clone()
    row = int((run.observation.node_ids == rare).argmax())
    few = (codes == codes[row]).nonzero().flatten()
    codes[few[few != row][2:]] = -1
    evidence = replace(run.evidence, observation=replace(run.observation, codes=codes))
    found = corrected_table(evidence, decided, table, method="gcn").set_index("id")
    assert found.loc[unsure].tolist()[3:] == [issues["given"][0], "unsure by Ann"]
    assert found.loc[rare, "label"] == issues["given"][1] != issues["suggested"][1]
    assert "3 labels have this class, too few for gcn" in found.loc[rare, "quietgraph_why"]
    few_labels = replace(run, observation=evidence.observation)
    assert (
        "with fewer than 5 labels, of which the model knows little"
        in few_labels.suspects_sentence()
    )
    assert "fewer than" not in run.suspects_sentence()


def test_nodes_that_no_label_reaches_are_named_in_the_corrected_table(run: FitRun) -> None:
    node = run.observation.node_ids[-1]
    table = run.suspects_with_ids()
    found = corrected_table(run.evidence, {}, table, method="gcn", unreached=[node])
    assert found.iloc[-1].tolist()[4:] == ["", "no label: no path leads here from a labelled node"]
    assert found["quietgraph_why"].str.contains("no path").sum() == 1


def test_consensus_labels_are_in_the_corrected_table_with_what_was_said(run: FitRun) -> None:
    said = run.observation
    held = said.codes.clone()
    held[0] = (said.codes[0] + 1) % 3
    answers = one_annotator(said.codes, said.classes, "ann")
    evidence = replace(run.evidence, observation=replace(said, codes=held, annotations=answers))
    none = run.suspects_with_ids().assign(is_issue=False)
    found = corrected_table(evidence, {}, none, method="gcn")
    was, now = (str(said.classes[codes[0]]) for codes in (said.codes, held))
    reason = f"consensus of the annotators and the graph; most said {was}; it was {was}"
    assert found.loc[0].tolist()[4:] == [now, reason]
    assert (found["quietgraph_why"] != "").sum() == 1


def test_evidence_holds_columns_and_neighbours(run: FitRun, written: Path) -> None:
    lines = (written / "evidence.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    node = int(run.queue["node"].iloc[0])
    assert first["node"] == run.observation.node_ids[node]
    assert [name for name, _ in first["columns"]] == ["a", "b", "c"]
    assert first["degree"] == int(run.observation.graph.adjacency.row_counts[node])
    linked = run.observation.graph.edge_index
    near = {*linked[1][linked[0] == node].tolist(), *linked[0][linked[1] == node].tolist()}
    ids = run.observation.node_ids
    assert {one["id"] for one in first["neighbours"]} <= {ids[place] for place in near}
    labels = dict(zip(ids, run.observation.labels, strict=True))
    assert all(one["label"] == labels[one["id"]] for one in first["neighbours"])
