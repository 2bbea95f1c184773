"""Ten ways in which a result on one's own data could mislead, each with a test.

What a model says of itself on a graph that nobody has clean labels of: the numbers are measured on
labels that no fit has seen, decisions of people are not lost, mistakes end in one sentence.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

import quietgraph as qg
from command_line import run_main
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, QuietgraphError
from quietgraph.graph import LabelledGraph
from quietgraph.testing import quick_parameters

S2GC = ("--method", "s2gc")


def model_of(name: str) -> qg.NodeClassifier:
    method = qg.get_method(name)
    return method(**quick_parameters(method))


def pure_noise(num_classes: int) -> tuple[qg.Graph, np.ndarray]:
    draws = np.random.default_rng(num_classes)
    features = draws.standard_normal((300, 16)).astype(np.float32)
    graph = qg.Graph.from_arrays(features, draws.integers(300, size=(2, 900)))
    return graph, np.where(np.arange(300) < 240, draws.integers(num_classes, size=300), -1)


def noisy_problem(
    rate: float = 0.0, *, seed: int = 0, **settings: float
) -> tuple[LabelledGraph, np.ndarray]:
    """Return a graph of 400 nodes and labels of the first 200, some of them wrong."""
    draws = np.random.default_rng(seed)
    drawn = qg.block_model(400, num_classes=4, num_features=24, generator=draws, **settings)
    wrong = draws.random(400) < rate
    labels = np.where(wrong, (drawn.classes + draws.integers(1, 4, 400)) % 4, drawn.classes)
    return drawn, np.where(np.arange(400) < 200, labels, -1)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tables of a shop: a fifth of the 200 labels is wrong."""
    drawn, labels = noisy_problem(0.2, homophily=0.85, signal=1.5)
    names = np.array(["tea", "wine", "oil", "salt"])
    table = pd.DataFrame({"id": [f"item {place}" for place in range(400)]})
    table["title"] = [f"Fine {names[code]} from the south" for code in drawn.classes]
    table["weight"] = np.asarray(drawn.graph.features)[:, 0]
    table["label"] = [names[code] if code >= 0 else "" for code in labels]
    folder = tmp_path_factory.mktemp("shop") / "shop"
    folder.mkdir()
    table.to_csv(folder / "nodes.csv", index=False)
    pairs = pd.DataFrame(drawn.graph.edge_index.numpy().T, columns=["source", "target"])
    pairs.map(lambda place: f"item {place}").to_csv(folder / "edges.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def run(shop: Path) -> Path:
    folder = shop.parent / "run"
    assert run_main("fit", shop, *S2GC, "--out", folder) == 0
    return folder


@pytest.mark.parametrize(("method", "classes"), [("quiet", 3), ("quiet", 10), ("s2gc", 10)])
def test_01_agreement_on_pure_noise_is_what_chance_gives(method: str, classes: int) -> None:
    found = model_of(method).fit(*pure_noise(classes)).quality()
    assert found.accuracy == pytest.approx(1 / classes, abs=0.1)
    assert found.p_value > 0.01
    assert found.verdict != "trust"


def test_01_report_run_file_and_python_say_the_same_agreement(run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    page = (run / "report.html").read_text()
    assert facts["quality"]["accuracy"] == facts["comparison"][0]["out_of_fold_accuracy"]
    assert page.count(facts["quality"]["sentences"][1].split(";")[0]) == 1
    assert f"{100 * facts['quality']['accuracy']:.1f} %" in page
    assert "Agreement with labels that were not seen" not in page  # said once


def test_02_a_fix_without_out_leaves_the_decisions_where_they_are(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_main("fit", shop, *S2GC) == 0
    (first,) = (tmp_path / "runs").iterdir()
    decided = pd.read_csv(first / "suspects.csv").assign(decision="")
    decided.loc[:11, "decision"] = "keep"
    decided.to_csv(first / "suspects.csv", index=False)
    before = (first / "suspects.csv").read_bytes()
    assert run_main("fit", shop, *S2GC, "--fix", first / "suspects.csv") == 0
    assert (first / "suspects.csv").read_bytes() == before
    assert len(list((tmp_path / "runs").iterdir())) == 2
    assert run_main("fit", shop, *S2GC, "--out", first) == 2  # not without --overwrite


@pytest.mark.parametrize("method", ["quiet", "s2gc"])
def test_03_where_nothing_is_known_no_label_is_called_wrong(method: str) -> None:
    model = model_of(method).fit(*pure_noise(3))
    table = model.suspects()
    assert model.quality().verdict == "do not trust"
    assert not table["is_issue"].any()
    assert "Compare other methods" in table.attrs["notice"]


@pytest.mark.parametrize(
    "model", [model_of("quiet"), model_of("s2gc"), qg.GCN(epochs=100)], ids=["quiet", "s2gc", "gcn"]
)
def test_04_probabilities_are_as_large_as_the_fraction_that_is_right(
    model: qg.NodeClassifier,
) -> None:
    drawn, labels = noisy_problem(0.2, homophily=0.7, signal=1.0)
    model.fit(drawn.graph, labels)
    model.quality()
    right = (model.predict() == drawn.classes)[200:].mean()
    assert model.predict_proba()[200:].max(axis=1).mean() == pytest.approx(right, abs=0.1)


def test_05_a_label_that_was_kept_is_not_asked_for_again(
    shop: Path, run: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(run / "suspects.csv")
    kept = table["node"][:5].tolist()
    rows = [f"{node},{table['given'][place]},keep" for place, node in enumerate(kept)]
    (tmp_path / "verified.csv").write_text("\n".join(["node,label,decision", *rows]))
    verified = ("--verified", tmp_path / "verified.csv", "--out", tmp_path / "again")
    assert run_main("fit", shop, *S2GC, *verified) == 0
    assert not set(kept) & set(pd.read_csv(tmp_path / "again" / "suspects.csv")["node"])


def test_06_a_reviewer_sees_the_node_and_can_name_any_label(run: Path) -> None:
    seen = json.loads((run / "evidence.jsonl").read_text().splitlines()[0])
    columns = dict(seen["columns"])
    assert columns["title"].startswith("Fine ")
    assert "weight" in columns
    near = seen["neighbours"][0]
    assert near["title"].startswith("Fine ")
    assert {"id", "label", "predicted"} <= near.keys()
    page = (run / "report.html").read_text()
    for choice in ("accept", "keep", "other", "drop", "unsure"):
        assert f'data-choice="{choice}"' in page


@pytest.mark.parametrize("method", ["quiet", "s2gc"])
def test_07_score_probability_flag_and_suggestion_agree(method: str) -> None:
    drawn, labels = noisy_problem(0.4, homophily=0.85, signal=1.5)
    table = model_of(method).fit(drawn.graph, labels).suspects()
    flagged = table["is_issue"]
    assert flagged.any()
    assert ((table["score"] > 0) == flagged).all()
    assert ((table["suggested"] != table["given"]) == flagged).all()
    assert (table["p_wrong"][flagged] > 0.5).all()


def test_08_large_numbers_decimal_commas_and_dates_do_no_harm(tmp_path: Path) -> None:
    drawn, labels = noisy_problem(homophily=0.9, signal=2.0)
    draws = np.random.default_rng(1)
    nodes = pd.DataFrame(np.asarray(drawn.graph.features)).add_prefix("f")
    nodes.insert(0, "id", np.arange(400))
    nodes["label"] = pd.Series(labels).where(labels >= 0)
    nodes["words"] = draws.integers(10_000, 900_000, 400)
    nodes["price"] = [f"{price:.2f}".replace(".", ",") for price in draws.uniform(1, 99, 400)]
    nodes["made"] = draws.permutation(pd.date_range("2020-01-01", periods=400).astype(str))
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges = pd.DataFrame(drawn.graph.edge_index.numpy().T, columns=["source", "target"])
    right = {}
    for kind in ("scaled", "number"):  # the second is how it was once read
        read = qg.load(nodes=tmp_path / "nodes.csv", edges=edges, columns={"words": kind})
        assert read.graph.num_features == 27  # no date or price became words
        right[kind] = (model_of("s2gc").fit(read).predict() == drawn.classes)[200:].mean()
    usual = qg.load(nodes=tmp_path / "nodes.csv", edges=edges)
    assert "words: scaled" in usual.understood.columns
    assert right["scaled"] > right["number"] + 0.25


def test_09_suspects_of_a_heterophilous_graph_are_not_behind_cleanlab() -> None:
    rank = pytest.importorskip("cleanlab.rank")
    ours, theirs = [], []
    for seed in range(4):
        drawn, labels = noisy_problem(0.3, seed=seed, homophily=0.15, signal=2.0)
        table = model_of("s2gc").fit(drawn.graph, labels).suspects().sort_values("node")
        wrong = (labels != drawn.classes)[:200]
        features = np.asarray(drawn.graph.features)[:200]
        chances = cross_val_predict(
            LogisticRegression(max_iter=300), features, labels[:200], method="predict_proba"
        )
        ours.append(roc_auc_score(wrong, table["score"]))
        theirs.append(roc_auc_score(wrong, -rank.get_label_quality_scores(labels[:200], chances)))
    assert np.mean(ours) > np.mean(theirs)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--out", "{run}"), "holds a run already"),
        (("--set", "device=cuda"), "device must be one that this machine has, got 'cuda'"),
        (("--edges", "more.csv"), "give either a source, or --nodes and --edges, not both"),
        (("--set", "device=warp"), "device must be one that this machine has, got 'warp'"),
    ],
)
def test_10_what_cannot_work_is_said_before_anything_is_read(
    shop: Path, run: Path, capsys: pytest.CaptureFixture[str], arguments, sentence: str
) -> None:
    if torch.cuda.is_available() and "device=cuda" in arguments:
        pytest.skip("this machine has a GPU")
    assert run_main("fit", shop, *S2GC, *(one.format(run=run) for one in arguments)) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert sentence in told
    assert "400 nodes" not in told


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_10_a_device_that_is_not_there_is_refused_in_python() -> None:
    drawn, labels = noisy_problem()
    with pytest.raises(InvalidParameterError, match="device must be one that this machine has"):
        qg.get_method("s2gc")(device="cuda").fit(drawn.graph, labels)


def test_10_several_labels_per_node_are_one_sentence() -> None:
    drawn, _ = noisy_problem()
    data = drawn.graph.to_pyg()
    data.train_mask = torch.arange(400) < 200
    data.y = torch.eye(4)[torch.from_numpy(drawn.classes)]
    with pytest.raises(InvalidLabelsError, match=r"got shape \(400, 4\)\. Of one-hot rows take"):
        model_of("s2gc").fit(data)
    with pytest.raises(InvalidLabelsError, match="one entry per node"):
        model_of("s2gc").fit(drawn.graph, data.y)
    data.y = torch.from_numpy(drawn.classes)[:, None]  # one column is one label per node
    assert len(model_of("s2gc").fit(data).predict()) == 400


def test_10_a_table_in_the_place_of_a_graph_is_one_sentence() -> None:
    with pytest.raises(QuietgraphError, match="nodes=DataFrame, edges=DataFrame"):
        qg.load(pd.DataFrame({"label": [1, 2]}))


def test_10_a_table_is_no_graph_to_fit() -> None:
    with pytest.raises(InvalidLabelsError, match="got DataFrame"):
        model_of("s2gc").fit(pd.DataFrame({"label": [1, 2]}))


def test_10_tables_in_the_place_of_a_graph_and_its_labels_are_one_sentence() -> None:
    nodes, edges = pd.DataFrame({"id": [1, 2]}), pd.DataFrame({"source": [1], "target": [2]})
    with pytest.raises(QuietgraphError, match=r"a graph is needed, got DataFrame\."):
        model_of("s2gc").fit(nodes, edges)
    with pytest.raises(QuietgraphError, match=r"Use Graph\.from_pandas"):
        qg.Graph(nodes, edges)
    with pytest.raises(QuietgraphError, match="give them beside the nodes with --edges FILE"):
        qg.load(nodes=nodes)


@pytest.mark.parametrize("threshold", ["high", 1.5, None])
def test_10_abstaining_takes_a_probability(threshold: object) -> None:
    drawn, labels = noisy_problem(homophily=0.9)
    model = model_of("s2gc").fit(drawn.graph, labels)
    if threshold is None:
        assert len(model.predict(abstain=threshold)) == 400
        return
    with pytest.raises(InvalidParameterError, match="abstain must lie between 0 and 1"):
        model.predict(abstain=threshold)


def test_10_edges_alone_say_how_labels_are_given(tmp_path: Path) -> None:
    drawn, labels = noisy_problem(homophily=0.9)
    ends = drawn.graph.edge_index.numpy()
    edges = pd.DataFrame({"source": ends[0], "target": ends[1]})
    with pytest.raises(QuietgraphError, match=r"edges alone.*--annotations FILE"):
        qg.load(edges=edges)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    with pytest.raises(QuietgraphError, match="edges alone, and so no labels"):
        qg.load(tmp_path)
    answers = pd.DataFrame({"node": np.arange(100), "label": labels[:100]})
    there = answers[answers["node"].isin(np.unique(ends)) & (answers["label"] >= 0)]
    there.to_csv(tmp_path / "labels.csv", index=False)
    data = qg.load(edges=tmp_path / "edges.csv", annotations=tmp_path / "labels.csv")
    assert int(data.known.sum()) == len(there)


def test_10_a_networkx_graph_is_fitted_as_it_is() -> None:
    networkx = pytest.importorskip("networkx")
    drawn, labels = noisy_problem(homophily=0.9)
    network = networkx.from_edgelist(drawn.graph.edge_index.numpy().T.tolist())
    for node in range(400):
        known = {"label": f"class {labels[node]}"} if labels[node] >= 0 else {}
        network.add_node(node, size=float(node % 7), **known)
    found = model_of("s2gc").fit(network)
    assert found.classes_.tolist() == [f"class {code}" for code in range(4)]
    given = [network.nodes[node].get("label") for node in network]
    assert (model_of("s2gc").fit(network, given).predict() == found.predict()).all()


def test_10_vectors_of_a_parquet_file_are_features(tmp_path: Path) -> None:
    drawn, labels = noisy_problem(signal=1.5)
    vectors = np.asarray(drawn.graph.features).tolist()
    table = pd.DataFrame({"id": np.arange(400), "vector": vectors})
    table.assign(label=pd.Series(labels).where(labels >= 0)).to_parquet(tmp_path / "nodes.parquet")
    edges = pd.DataFrame(drawn.graph.edge_index.numpy().T, columns=["source", "target"])
    edges.to_parquet(tmp_path / "edges.parquet")
    assert qg.load(tmp_path).graph.num_features == 24


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("method", ["quiet", "gcl-lr-attention", "s2gc", "gcn"])
def test_10_constant_features_are_fitted_and_not_trusted(method: str, value: float) -> None:
    drawn, labels = noisy_problem()
    graph = qg.Graph.from_arrays(np.full((400, 1), value, np.float32), drawn.graph.edge_index)
    model = model_of(method).fit(graph, labels)
    assert np.isfinite(model.predict_proba()).all()
    assert np.isfinite(model.suspects()["score"]).all()


@pytest.mark.parametrize("value", ["0", "1"])
def test_10_a_table_of_constant_features_has_a_report(
    shop: Path, tmp_path: Path, value: str
) -> None:
    nodes = pd.read_csv(shop / "nodes.csv", dtype=str, keep_default_na=False)
    folder = tmp_path / "flat"
    folder.mkdir()
    nodes[["id", "label"]].assign(flag=value).to_csv(folder / "nodes.csv", index=False)
    (folder / "edges.csv").write_bytes((shop / "edges.csv").read_bytes())
    as_number = ("--column", "flag=number", "--out", tmp_path / "run")
    assert run_main("fit", folder, "--method", "gcn", "--set", "epochs=5", *as_number) == 0
    assert "Verdict" in (tmp_path / "run" / "report.html").read_text()
