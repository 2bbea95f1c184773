"""The consensus of annotators and graph: better than votes, known quality, kept with the model."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from command_line import printed
from quietgraph.annotators.consensus import find_consensus
from quietgraph.annotators.tables import annotator_table, consensus_table, disagreement_table
from quietgraph.data.annotations import one_annotator
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation, Reference


@pytest.fixture(scope="module")
def crowd() -> tuple[Observation, Reference]:
    clean, reference = load_benchmark("digits", seed=3)
    return apply_noise(clean, parse_noise("annotators:3"), seed=3, reference=reference), reference


def test_the_graph_makes_the_consensus_better_than_votes(
    crowd: tuple[Observation, Reference],
) -> None:
    observed, reference = crowd
    consensus = find_consensus(observed, seed=0)
    known = observed.known
    hits = {
        "votes": (observed.codes == reference.codes)[known].double().mean(),
        "answers": (find_consensus(observed, seed=0, rounds=0).labels == reference.codes)[known]
        .double()
        .mean(),
        "graph": (consensus.labels == reference.codes)[known].double().mean(),
    }
    assert hits["graph"] > hits["answers"] + 0.05 > hits["votes"] + 0.1


def test_accuracies_are_estimated_and_the_spammer_is_found(
    crowd: tuple[Observation, Reference],
) -> None:
    observed, reference = crowd
    answers = observed.annotations
    assert answers is not None
    table = annotator_table(find_consensus(observed, seed=0)).set_index("annotator")
    right = answers.labels == reference.codes.numpy()[answers.nodes]
    for who, name in enumerate(answers.names):
        assert table["accuracy"][name] == pytest.approx(
            right[answers.annotators == who].mean(), abs=0.05
        )
    assert table.index[table["is_random"]].tolist() == ["5 (spammer)"]
    assert (table["accuracy_low"] < table["accuracy"]).all()
    assert (table["accuracy"] < table["accuracy_high"]).all()


def test_verified_labels_are_certain(crowd: tuple[Observation, Reference]) -> None:
    observed, _ = crowd
    node = int(observed.known.nonzero()[0])
    codes, verified = observed.codes.clone(), observed.verified.clone()
    codes[node], verified[node] = (codes[node] + 1) % 10, True
    consensus = find_consensus(replace(observed, codes=codes, verified=verified), seed=0)
    assert consensus.labels[node] == codes[node]
    assert consensus.posterior[node].max() == pytest.approx(1)


def test_tables_say_who_disagrees_where() -> None:
    matrix = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [1, np.nan, 0]])
    answers = qg.read_annotations(matrix, range(4))
    table = disagreement_table(answers)
    assert table.iloc[0].tolist()[:3] == ["annotator 0", "annotator 2", 4]
    assert table["disagree"].tolist() == pytest.approx([3 / 4, 1 / 3, 1 / 3])
    assert table["most_often"][0] == "0 / 1"
    graph = qg.Graph.from_arrays(np.eye(4), [[0, 1], [1, 2]])
    model = qg.S2GC(epochs=2).fit(graph, annotations=matrix)
    assert model.consensus_ is not None
    rows = consensus_table(model.consensus_, ["a", "b", "c", "d"]).set_index("node")
    assert rows["given"]["d"] == "annotator 0: 1; annotator 2: 0"
    assert rows["answers"].to_dict() == {"a": 3, "b": 3, "c": 3, "d": 2}


def test_a_model_learns_from_annotations_and_keeps_them(
    crowd: tuple[Observation, Reference], tmp_path: Path
) -> None:
    observed, reference = crowd
    assert observed.annotations is not None
    table = observed.annotations.to_frame(observed.node_ids)
    model = qg.S2GC(seed=0).fit(observed.graph, annotations=table)
    test = observed.split.test.numpy()
    votes = qg.S2GC(seed=0).fit(observed.graph, observed.labels)
    accuracy = [(one.predict() == reference.codes.numpy())[test].mean() for one in (model, votes)]
    assert accuracy[0] > accuracy[1]
    model.save(tmp_path / "model")
    again = qg.load_model(tmp_path / "model")
    pd.testing.assert_frame_equal(again.annotators(), model.annotators())
    pd.testing.assert_frame_equal(again.disagreements(), model.disagreements())
    pd.testing.assert_frame_equal(again.consensus(), model.consensus())
    assert model.consensus()["probability"].is_monotonic_increasing


def test_consensus_labels_count_by_their_probability(crowd: tuple[Observation, Reference]) -> None:
    observed, _ = crowd
    model = qg.S2GC(epochs=2).fit(observed)
    assert model.consensus_ is not None
    weights = model.task_.train_weights
    assert weights is not None
    expected = torch.from_numpy(model.consensus_.posterior.max(axis=1) ** 4)[model.task_.train]
    torch.testing.assert_close(weights, (expected / expected.mean()).float())
    own = qg.S2GC(epochs=2).fit(observed, sample_weight=np.ones(len(observed.codes)))
    assert own.task_.train_weights is not None
    assert (own.task_.train_weights == 1).all()


def test_answers_on_test_nodes_of_a_benchmark_are_not_used() -> None:
    clean, _ = load_benchmark("digits", seed=0)
    tested = int(clean.split.test.nonzero()[0])
    free = int(clean.split.train.nonzero()[0])
    clean = replace(clean, split=replace(clean.split, train=torch.zeros_like(clean.known)))
    table = pd.DataFrame({"node": [tested, free], "annotator": "ann", "label": [3, 4]})
    observed = clean.annotate(table)
    assert observed.known.nonzero().squeeze(1).tolist() == [free]
    with pytest.raises(qg.InvalidLabelsError, match="every answer is about a test node"):
        clean.annotate(table[:1])


def test_a_model_of_plain_labels_has_no_annotators(crowd: tuple[Observation, Reference]) -> None:
    observed, _ = crowd
    model = qg.S2GC(epochs=2).fit(observed.graph, observed.labels)
    with pytest.raises(qg.NotFittedError, match=r"Call fit\(graph, annotations"):
        model.annotators()


def test_own_labels_count_as_an_annotator_and_own_graphs_need_none(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": range(40), "x": np.arange(40) % 7, "label": ["a", "b"] * 20})
    edges = pd.DataFrame({"source": range(38), "target": range(2, 40)})
    answers = pd.DataFrame({"node": range(0, 40, 3), "annotator": "ann", "label": ["a", "b"] * 7})
    both = qg.load(nodes=nodes, edges=edges, annotations=answers)
    assert both.annotations is not None
    assert both.annotations.names == ("observed", "ann")
    alone = qg.load(nodes=nodes[["id", "x"]], edges=edges, annotations=answers)
    assert int(alone.known.sum()) == len(answers)


def test_the_command_line_takes_annotations_and_writes_tables(
    crowd: tuple[Observation, Reference], tmp_path: Path
) -> None:
    observed, _ = crowd
    assert observed.annotations is not None
    observed.annotations.to_frame(observed.node_ids).to_csv(tmp_path / "crowd.csv", index=False)
    out = tmp_path / "run"
    words = ("fit", "digits", "--method", "s2gc", "--seed", "3", "--annotations")
    said = printed(*words, tmp_path / "crowd.csv", "--out", out)
    assert re.search(r"5 \(spammer\).*random", said)
    assert "5 (spammer)" in (out / "report.html").read_text()
    annotators = pd.read_csv(out / "annotators.csv")
    assert len(annotators) == 6
    consensus = pd.read_csv(out / "consensus.csv")
    assert len(consensus) == int(observed.known.sum())
    assert {"disagreements.csv", "annotations.csv"} <= {path.name for path in out.iterdir()}
    again = printed(*words, out, "--out", tmp_path / "again")
    assert "5 (spammer)" in again


def test_seeds_repeat(crowd: tuple[Observation, Reference]) -> None:
    observed, _ = crowd
    first, second = (find_consensus(observed, seed=1).posterior for _ in range(2))
    assert torch.equal(torch.from_numpy(first), torch.from_numpy(second))


def test_a_single_annotator_keeps_its_labels_until_a_person_verifies_some() -> None:
    clean, reference = load_benchmark("digits", seed=0)
    setting = parse_noise("annotators:1:reader0.7")
    observed = apply_noise(clean, setting, seed=0, reference=reference)
    known = observed.known

    def accuracy(one: Observation) -> float:
        found = find_consensus(one, seed=0).labels
        return float((found == reference.codes)[known].double().mean())

    before = float((observed.codes == reference.codes)[known].double().mean())
    assert accuracy(observed) > before - 0.02
    codes, verified = observed.codes.clone(), torch.zeros_like(known)
    verified[known.nonzero().squeeze(1)[::4]] = True
    codes[verified] = reference.codes[verified]
    checked = replace(observed, codes=codes, verified=verified)
    share = float((codes == reference.codes)[known].double().mean())
    assert accuracy(checked) > share + 0.03


def test_verified_labels_show_a_mistake_that_an_annotator_always_makes() -> None:
    clean, reference = load_benchmark("digits", seed=0)
    known, true = clean.known, reference.codes
    said = torch.where(true == 3, torch.tensor(5), true)  # every three is called a five
    answers = one_annotator(said.masked_fill(~known, -1), clean.classes, "rule")
    observed = replace(clean, codes=answers.majority(), annotations=answers)
    threes = known & (true == 3)
    assert (find_consensus(observed, seed=0).labels[threes] == 5).all()
    verified = torch.zeros_like(known)
    verified[known.nonzero().squeeze(1)[::5]] = True
    codes = torch.where(verified, true, observed.codes)
    checked = replace(observed, codes=codes, verified=verified)
    found = find_consensus(checked, seed=0).labels
    assert (found == true)[threes & ~verified].double().mean() > 0.9
    assert (found == true)[known & ~threes].double().mean() > 0.95


def test_nothing_is_said_of_an_annotator_whom_nobody_checks() -> None:
    clean, reference = load_benchmark("digits", seed=0)
    setting = parse_noise("annotators:1:reader0.7")
    observed = apply_noise(clean, setting, seed=0, reference=reference)
    row = annotator_table(find_consensus(observed, seed=0)).iloc[0]
    assert row["checked"] == 0
    assert np.isnan(row["accuracy"])
    assert not row["is_random"]
    codes, verified = observed.codes.clone(), torch.zeros_like(observed.known)
    verified[observed.known.nonzero().squeeze(1)[::3]] = True
    codes[verified] = reference.codes[verified]
    row = annotator_table(
        find_consensus(replace(observed, codes=codes, verified=verified), seed=0)
    ).iloc[0]
    assert row["checked"] == int(verified.sum())
    assert row["accuracy_low"] < 0.7 < row["accuracy_high"]
