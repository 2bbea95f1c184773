"""Suspicious labels: their order, who votes, how many, and cleanlab's habits."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from quietgraph.classify.label_issues import suspects
from quietgraph.classify.label_issues.suspects import (
    VOTERS,
    cleanlab_columns,
    nearest_label_fractions,
    neighbour_label_fractions,
    suspect_table,
)
from quietgraph.errors import UnknownNameError
from quietgraph.graph import Graph
from quietgraph.methods import NodeClassifier, get_method, load_model
from quietgraph.rng import torch_generator
from quietgraph.testing import quick_parameters, small_problem

VOTES = [f"{voters}_{label}" for voters in VOTERS for label in ("given", "suggested")]


@pytest.fixture(scope="module")
def model() -> NodeClassifier:
    problem, labels, validation = small_problem()
    names = np.array(["red", "green", "blue"])
    texts = [names[label] if label >= 0 else None for label in labels]
    method = get_method("gcl-lrr")
    return method(**quick_parameters(method)).fit(problem.graph, texts, validation)


def nearest_shares_slow(embeddings: Tensor, labels: Tensor, nearest: int) -> Tensor:
    shares = torch.full((len(labels), 3), torch.nan, dtype=torch.float64)
    known = [node for node in range(len(labels)) if labels[node] >= 0]
    for node in known:
        others = [other for other in known if other != node]
        similarity = [torch.cosine_similarity(embeddings[node], embeddings[o], 0) for o in others]
        best = sorted(range(len(others)), key=lambda k: -similarity[k])[:nearest]
        votes = torch.tensor([int(labels[others[k]]) for k in best])
        shares[node] = votes.bincount(minlength=3).double() / len(best)
    return shares


def random_case(num_nodes: int = 30) -> tuple[Tensor, Tensor]:
    draws = torch.Generator().manual_seed(0)
    embeddings = torch.randn(num_nodes, 4, generator=draws)
    return embeddings, torch.randint(-1, 3, (num_nodes,), generator=draws)


def test_votes_of_the_nearest_equal_their_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "_BLOCK", 7)
    embeddings, labels = random_case()
    fast = nearest_label_fractions(embeddings, labels, 3, generator=torch_generator(0), nearest=5)
    torch.testing.assert_close(fast, nearest_shares_slow(embeddings, labels, 5), equal_nan=True)


def test_too_many_voters_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings, labels = random_case()
    monkeypatch.setattr(suspects, "_MOST_VOTERS", 12)
    shares = nearest_label_fractions(embeddings, labels, 3, generator=torch_generator(0))
    known = labels >= 0
    torch.testing.assert_close(shares[known].sum(dim=1), torch.ones(int(known.sum())).double())
    assert shares[~known].isnan().all()


def test_one_labelled_node_has_nobody_near() -> None:
    labels = torch.tensor([-1, 2, -1])
    assert (
        nearest_label_fractions(torch.eye(3), labels, 3, generator=torch_generator(0)).isnan().all()
    )


def test_neighbours_vote_by_the_weight_of_their_edge() -> None:
    edges, weights = np.array([[0, 0, 0, 4], [1, 2, 3, 3]]), [1, 2, 1, 1]
    graph = Graph.from_arrays(np.ones((5, 1)), edges, weights=weights)
    shares = neighbour_label_fractions(graph.adjacency, torch.tensor([0, 0, 1, -1, 1]), 2)
    torch.testing.assert_close(shares[0], torch.tensor([1 / 3, 2 / 3]).double())
    assert shares[3].tolist() == [0.5, 0.5]
    assert shares[4].isnan().all()


def test_one_posterior_decides_flag_score_and_suggestion() -> None:
    posterior = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    labels, classes = torch.tensor([1, 1, 1, 1]), np.array(["a", "b"])
    table = suspect_table(posterior, labels, classes)
    assert table["is_issue"].tolist() == [True] * 3 + [False]
    assert (table["is_issue"] == (table["score"] > 0)).all()
    assert (table["is_issue"] == (table["suggested"] != table["given"])).all()
    assert (table["p_wrong"][table["is_issue"]] > 0.5).all()
    assert not suspect_table(posterior, labels, classes, flag=False)["is_issue"].any()


def test_evidence_adds_votes_that_are_shares(model: NodeClassifier) -> None:
    table = model.suspects(columns="evidence")
    pd.testing.assert_frame_equal(table.drop(columns=VOTES), model.suspects())
    shares = table[VOTES].to_numpy()
    known = ~np.isnan(shares)
    assert ((shares[known] >= 0) & (shares[known] <= 1)).all()
    row = table.iloc[0]
    rows, columns = model.task_.graph.edge_index
    friends = columns[rows == row["node"]]
    codes = model.task_.labels[friends]
    given = codes[codes >= 0] == list(model.classes_).index(row["given"])
    assert row["neighbours_given"] == pytest.approx(float(given.double().mean()))


def test_another_set_of_columns_does_not_exist(model: NodeClassifier) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cleanlab'"):
        model.suspects(columns="clean_lab")


def test_cleanlab_columns_are_in_the_order_of_the_nodes(model: NodeClassifier) -> None:
    table, plain = model.suspects(columns="cleanlab"), model.suspects()
    assert list(table.columns) == [
        "is_label_issue",
        "label_quality",
        "given_label",
        "predicted_label",
    ]
    assert table.index.tolist() == list(range(60))
    assert table["label_quality"].idxmin() == plain["node"][0]
    assert table["label_quality"].between(0, 1).all()


def test_the_real_cleanlab_takes_our_probabilities(model: NodeClassifier) -> None:
    rank = pytest.importorskip("cleanlab.rank", reason="cleanlab is not installed")
    from cleanlab.filter import find_label_issues

    known = model.task_.labels.numpy() >= 0
    codes = model.task_.labels.numpy()[known]
    found = find_label_issues(codes, model.predict_proba()[known], n_jobs=1)
    assert found.shape == (60,)
    probabilities = model.out_of_fold_[known]
    quality = rank.get_label_quality_scores(codes, probabilities, method="normalized_margin")
    table = suspect_table(torch.from_numpy(probabilities), torch.from_numpy(codes), model.classes_)
    np.testing.assert_allclose(quality, cleanlab_columns(table)["label_quality"])


def test_a_loaded_model_has_the_same_evidence(model: NodeClassifier, tmp_path) -> None:
    first = model.suspects(columns="evidence")
    again = load_model(model.save(tmp_path / "model")).suspects(columns="evidence")
    pd.testing.assert_frame_equal(again, first)
