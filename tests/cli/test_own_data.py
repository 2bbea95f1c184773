"""Own data from the command line: fit, review, correct, fit again, predict a grown graph."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from command_line import run_main
from quietgraph.errors import QuietgraphError
from quietgraph.testing import small_problem

QUICK = ["--method", "gcl-lr-attention", "--set", "epochs=3", "--set", "warm_up=1"]
QUICK += ["--set", "hidden=8", "--set", "dim=8"]
NAMES = np.array(["bird", "cat", "dog"])


def write_graph(folder: Path, *, extra: int = 0) -> Path:
    """Write 120 nodes called <n0>, <n1>, ..., 60 with a label, and `extra` new ones.

    Every sixth label is wrong.
    """
    folder.mkdir(exist_ok=True)
    problem, labels, _ = small_problem()
    features = np.asarray(problem.graph.features)
    table = pd.DataFrame(features[:, :3], columns=["a", "b", "c"])
    table.insert(0, "id", [f"<n{place}>" for place in range(120)])
    table["colour"] = np.array(["red", "green", "blue"])[problem.classes]
    given = np.flatnonzero(np.asarray(labels) >= 0)[::6]
    labels[given] = (labels[given] + 1) % len(NAMES)
    table["label"] = [NAMES[label] if label >= 0 else "" for label in labels]
    new = pd.DataFrame({"id": [f"new{k}" for k in range(extra)], "a": 0.0, "colour": "red"})
    pd.concat([table, new]).to_csv(folder / "nodes.csv", index=False)
    rows, columns = problem.graph.edge_index.numpy()
    pairs = [(f"<n{a}>", f"<n{b}>") for a, b in zip(rows, columns, strict=True)]
    pairs += [(f"new{k}", "<n7>") for k in range(extra)]
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def graph_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graph(tmp_path_factory.mktemp("own") / "pets")


@pytest.fixture(scope="module")
def run_folder(graph_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "run"
    beside = ["--beside", "gcn"]
    assert run_main("fit", str(graph_folder), *QUICK, *beside, "--out", str(folder)) == 0
    return folder


def facts_of(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


def test_tables_carry_the_users_ids_and_labels(run_folder: Path) -> None:
    predictions = pd.read_csv(run_folder / "predictions.csv")
    assert predictions["node"].tolist() == [f"<n{place}>" for place in range(120)]
    assert set(predictions["predicted"]) <= set(NAMES)
    suspects = pd.read_csv(run_folder / "suspects.csv")
    assert sorted(suspects["node"]) == sorted(f"<n{place}>" for place in range(60))
    assert {"given", "suggested", "neighbours_given", "nearest_suggested", "is_issue"} <= set(
        suspects.columns
    )


def test_no_number_pretends_to_know_the_right_labels(run_folder: Path) -> None:
    facts = facts_of(run_folder)
    assert facts["metrics"] == {}
    assert "accuracy" in facts["quality"]  # out of fold
    assert facts["data"]["understood"]["labelled"] == 60
    assert facts["labels"]["given"] == 60
    page = (run_folder / "report.html").read_text()
    assert "test accuracy" not in page
    assert "clean labels" not in page
    for words in ("out-of-fold agreement", "What was understood", "Spectrum of K"):
        assert words in page
    assert "&lt;n" in page
    assert "<n1" not in page


def test_it_says_what_it_understood_before_it_trains(
    graph_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fix.csv").write_text("node,label\n<n0>,horse\n")  # ends it before it trains
    assert run_main("fit", str(graph_folder), "--fix", str(tmp_path / "fix.csv")) == 2
    told = capsys.readouterr().err
    assert "60 of 120 nodes (50.0 %) in label, 3 classes" in told
    assert "a: scaled, b: scaled, c: scaled, colour: category (3 values)" in told
    assert "homophily among labelled nodes 0." in told
    assert "'horse'. Known: bird, cat, dog." in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fix", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["--verified", "nowhere"], "nowhere cannot be read"),
        (["--verified", "{run}"], "holds no decisions about labels"),
        (["--out", "{run}"], "--overwrite"),
        (["--out", "{graph}/nodes.csv"], "Choose another one with --out"),
        (["--out", "{graph}/nodes.csv/run"], "cannot be written"),
    ],
)
def test_what_cannot_be_read_or_written_is_said_before_anything_else(
    run_folder: Path,
    graph_folder: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    filled = [one.format(run=run_folder, graph=graph_folder) for one in arguments]
    assert run_main("fit", str(graph_folder), *filled) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert sentence in told
    assert "labels:" not in told  # the graph was not read yet


def test_suspects_edited_by_hand_come_back_as_labels(
    run_folder: Path, graph_folder: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(run_folder / "suspects.csv")
    table["decision"] = ""
    table.loc[:2, "decision"] = ["accept", "keep", "drop"]
    table["label"] = ""
    table.loc[3, "label"] = next(name for name in NAMES if name != table["given"][3])
    table.to_csv(tmp_path / "reviewed.csv", index=False)
    arguments = ["--fix", str(tmp_path / "reviewed.csv"), "--out", str(tmp_path / "again")]
    assert run_main("fit", str(graph_folder), *QUICK, *arguments) == 0
    again = pd.read_csv(tmp_path / "again" / "suspects.csv")
    assert len(again) == 56  # what was decided is not asked again
    assert not set(table["node"][:4]) & set(again["node"])
    nodes = pd.read_csv(tmp_path / "again" / "nodes_corrected.csv", keep_default_na=False)
    labels = nodes.set_index("id")["label"]
    wanted = [table["suggested"][0], table["given"][1], "", table["label"][3]]
    assert labels[table["node"][:4]].tolist() == wanted
    accepted = int(table["suggested"][0] != table["given"][0])
    changes = facts_of(tmp_path / "again")["labels"]["changes"]
    words = f"{1 + accepted} labels? corrected, {2 - accepted} kept, 1 dropped"
    assert re.match(words, changes[0])
    assert facts_of(tmp_path / "again")["labels"]["verified"] == 3


def test_decisions_travel_from_run_to_run(
    run_folder: Path, graph_folder: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(run_folder / "suspects.csv")
    nodes = table["node"].tolist()
    rows = [f"{nodes[0]},{table['given'][0]},keep", f"{nodes[1]},,drop", f"{nodes[2]},,unsure"]
    (tmp_path / "fix.csv").write_text("\n".join(["node,label,decision", *rows, "gone,cat,keep"]))
    fit = ["fit", str(graph_folder), *QUICK]
    assert run_main(*fit, "--fix", str(tmp_path / "fix.csv"), "--out", str(tmp_path / "1")) == 0
    second = ["--verified", str(tmp_path / "1"), "--out", str(tmp_path / "2")]
    assert run_main(*fit, *second) == 0
    third = ["--verified", str(tmp_path / "2" / "verified.csv"), "--out", str(tmp_path / "3")]
    assert run_main(*fit, *third) == 0
    texts = [(tmp_path / name / "verified.csv").read_text() for name in "123"]
    assert texts[0] == texts[1] == texts[2]
    assert "gone,cat,keep" in texts[0]
    last = set(pd.read_csv(tmp_path / "3" / "suspects.csv")["node"])
    assert not {nodes[0], nodes[1]} & last
    assert nodes[2] in last  # nobody was sure, so it is still open


def test_fixing_without_out_leaves_the_run_that_is_fixed_alone(
    run_folder: Path, graph_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_main("fit", str(graph_folder), *QUICK) == 0
    run = tmp_path / "runs" / "pets-gcl-lr-attention-0"
    table = pd.read_csv(run / "suspects.csv").assign(decision="keep")
    table.to_csv(run / "suspects.csv", index=False)
    before = (run / "suspects.csv").read_bytes()
    assert run_main("fit", str(graph_folder), *QUICK, "--fix", str(run / "suspects.csv")) == 0
    assert (run / "suspects.csv").read_bytes() == before
    again = run.with_name(f"{run.name}-2")
    assert len(pd.read_csv(again / "suspects.csv")) == 0
    assert len(pd.read_csv(again / "verified.csv")) == 60


def test_a_corrected_table_goes_back_in_as_nodes(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_bytes((run_folder / "nodes_corrected.csv").read_bytes())
    (tmp_path / "edges.csv").write_text("source,target\n<n0>,<n1>\n")
    read = qg.load(tmp_path)
    assert read.graph.num_nodes == 120
    assert "quietgraph_why" not in " ".join(read.understood.columns)


def test_dropped_suspects_are_forgotten(graph_folder: Path, tmp_path: Path) -> None:
    nodes = pd.read_csv(graph_folder / "nodes.csv", keep_default_na=False)
    known = nodes.index[nodes["label"] != ""]
    wrong = known[::6]
    swap = {"bird": "cat", "cat": "dog", "dog": "bird"}
    nodes.loc[wrong, "label"] = nodes.loc[wrong, "label"].map(swap)
    (tmp_path / "g").mkdir()
    nodes.to_csv(tmp_path / "g" / "nodes.csv", index=False)
    (tmp_path / "g" / "edges.csv").write_bytes((graph_folder / "edges.csv").read_bytes())
    arguments = [*QUICK, "--drop-suspects", "4", "--out", str(tmp_path / "run")]
    assert run_main("fit", str(tmp_path / "g"), *arguments) == 0
    facts = facts_of(tmp_path / "run")
    assert facts["labels"]["changes"] == ["4 of 4 suspicious labels dropped"]
    assert facts["labels"]["given"] == 56


def test_predict_answers_for_a_grown_graph(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = write_graph(tmp_path / "grown", extra=3)
    assert run_main("predict", str(run_folder), str(grown), "--out", str(tmp_path / "p")) == 0
    captured = capsys.readouterr()
    assert "123 predictions" in captured.out
    assert "123 nodes" in captured.err
    found = pd.read_csv(tmp_path / "p" / "predictions.csv").set_index("node")
    assert list(found.index[-3:]) == ["new0", "new1", "new2"]
    before = pd.read_csv(run_folder / "predictions.csv").set_index("node")
    same = found["predicted"].loc[before.index] == before["predicted"]
    assert same.mean() > 0.95


def test_predict_refuses_a_graph_without_the_columns(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = write_graph(tmp_path / "grown")
    pd.read_csv(grown / "nodes.csv").drop(columns="b").to_csv(grown / "nodes.csv", index=False)
    assert run_main("predict", str(run_folder), str(grown), "--out", str(tmp_path / "p")) == 2
    assert "must have the column 'b'" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--noise", "symmetric:0.4"], "--noise needs clean labels"),
        (["--column", "label"], "--column takes key=value, got 'label'"),
        (["--column", "label=ignore"], "has no labels: nothing in it is called label"),
        (["--column", "colour=lable"], "Did you mean 'label'?"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(
    graph_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments, sentence: str
) -> None:
    out = tmp_path / "run"
    assert run_main("fit", str(graph_folder), *arguments, "--out", str(out)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert "Traceback" not in captured.err
    assert not out.exists()


def test_a_broken_table_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (write_graph(tmp_path / "g") / "edges.csv").write_text("source,target\n<n1>,nobody\n")
    assert run_main("fit", "g") == 2
    assert "line 2 names the target 'nobody'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


def test_load_takes_paths_and_names(graph_folder: Path) -> None:
    data = qg.load(str(graph_folder))
    assert isinstance(data, qg.Observation)
    assert (data.graph.num_nodes, data.graph.num_features) == (120, 6)
    assert int(data.split.validation.sum()) == 12
    assert int(data.split.train.sum()) == 48
    assert not data.split.test.any()
    model = qg.get_method("gcn")(epochs=2, hidden=4)
    model.fit(data.graph, data.labels, validation=data.split.validation)
    assert set(model.predict()) <= set(NAMES)
    assert isinstance(qg.load(graph_folder), qg.Observation)
    assert isinstance(qg.load("sbm"), qg.Observation)
    with pytest.raises(QuietgraphError, match="there is no file or folder"):
        qg.load("no/such/folder")


def test_a_file_with_masks_keeps_its_own_validation(tmp_path: Path) -> None:
    problem, labels, validation = small_problem()
    train = (labels >= 0) & ~validation
    arrays = {"x": problem.graph.features, "edges": problem.graph.edge_index, "y": labels}
    np.savez(tmp_path / "g.npz", **arrays, train_mask=train, val_mask=validation)
    data = qg.load(tmp_path / "g.npz")
    assert data.split.validation.tolist() == validation.tolist()
    assert data.split.train.tolist() == train.tolist()


def test_datasets_by_name_can_be_corrected_but_not_where_they_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = qg.load("sbm")
    seen, hidden = (int(mask.nonzero()[0]) for mask in (data.split.train, data.split.test))
    fix, out = tmp_path / "fix.csv", tmp_path / "run"
    fix.write_text(f"node,label\n{hidden},1\n")
    arguments = ["fit", "sbm", *QUICK, "--fix", str(fix), "--out", str(out)]
    arguments += ["--noise", "symmetric:0.3"]  # so that there is something to suspect
    assert run_main(*arguments) == 2
    assert (
        f"gives a label to the node {hidden}, which is a test node of sbm"
        in capsys.readouterr().err
    )
    fix.write_text(f"node,label\n{seen},{(int(data.labels[seen]) + 1) % 4}\n")
    assert run_main(*arguments, "--drop-suspects", "2") == 0
    facts = facts_of(out)
    assert facts["labels"]["changes"][0].startswith("1 label corrected by")
    assert facts["labels"]["given"] == 197  # less two dropped and one verified
    assert "test_accuracy" in facts["metrics"]


def test_where_neighbours_are_unlike_it_names_better_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two classes, and every edge joins one of each.
    nodes = [f"n{index},{index % 2},{'ab'[index % 2]}" for index in range(60)]
    edges = [f"n{index},n{(index + step) % 60}" for index in range(60) for step in (1, 3)]
    (tmp_path / "nodes.csv").write_text("id,value,label\n" + "\n".join(nodes))
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(edges))
    (tmp_path / "fix.csv").write_text("node,label\nn0,c\n")
    wrong_fix = ("--fix", str(tmp_path / "fix.csv"))  # ends it before it trains
    assert run_main("fit", str(tmp_path), *wrong_fix) == 2
    assert "0% of edges join equal labels, 50% would by chance" in capsys.readouterr().err
    assert run_main("fit", str(tmp_path), "--method", "tedgcn", *wrong_fix) == 2
    assert "by chance" not in capsys.readouterr().err


def test_separate_tables_words_for_unknown_and_dangling_edges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_graph(tmp_path / "g")
    nodes = pd.read_csv(folder / "nodes.csv", keep_default_na=False)
    nodes["label"] = nodes["label"].replace("", "?")
    nodes.to_csv(tmp_path / "people.csv", index=False)
    links = (folder / "edges.csv").read_text() + "<n1>,nobody\n"
    (tmp_path / "links.csv").write_text(links)
    tables = ["--nodes", str(tmp_path / "people.csv"), "--edges", str(tmp_path / "links.csv")]
    options = [*tables, "--unknown", "?", "--drop-dangling", "--limit", "1GB"]
    assert run_main("fit", *options, *QUICK, "--out", str(tmp_path / "run")) == 0
    told = capsys.readouterr().err
    assert "people.csv and links.csv: 120 nodes" in told
    assert "60 of 120 nodes (50.0 %) in label" in told
    assert "1 edges to ids that are no nodes left out" in told
    assert run_main("convert", str(tmp_path / "mapped"), *options) == 0
    assert qg.load(tmp_path / "mapped").graph.num_nodes == 120
    answers = ["--out", str(tmp_path / "p")]
    assert run_main("predict", str(tmp_path / "run"), *options, *answers) == 0
    assert run_main("fit", *tables, *QUICK, "--limit", "1kB") == 2
    assert "raise the limit: --limit" in capsys.readouterr().err
