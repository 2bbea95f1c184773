"""GCN: the equation, and labels that weigh."""

import numpy as np
import torch

from quietgraph.embed.operator import normalised_adjacency, scale_rows
from quietgraph.methods.gcn import GCN, GCNNetwork
from quietgraph.testing import small_data

DATA = small_data()


def test_the_network_is_two_graph_convolutions() -> None:
    network = GCNNetwork(9, 6, 3, dropout=0.5, norm="l1").eval()
    operator, features = normalised_adjacency(DATA.graph).to_dense(), scale_rows(DATA.graph.features, "l1")
    hidden = (operator @ features @ network.first.weight + network.first.bias).relu()
    scores, embeddings = network(DATA.graph)
    torch.testing.assert_close(embeddings, hidden)
    torch.testing.assert_close(scores, operator @ hidden @ network.second.weight + network.second.bias)


def test_it_learns_from_training_labels_and_validation_chooses_the_epoch() -> None:
    model = GCN(epochs=60).fit(DATA)
    observed, scores = model.observed_, model.fitted_.scores
    assert (model.predict()[observed.train] == DATA.classes[DATA.codes[observed.train]]).mean() > 0.8
    assert observed.score(scores) == max(epoch["score"] for epoch in model.fitted_.history)


def test_labels_that_weigh_nothing_teach_nothing() -> None:
    data, nodes = small_data(), torch.arange(40)
    silent = (nodes < 6).numpy()
    wrong = torch.where(torch.from_numpy(silent), (data.codes + 1) % 3, data.codes)
    labels = np.where(nodes < 27, wrong, -1)
    plain = np.where(nodes < 27, data.codes, -1)
    weights = np.where(silent, 0.0, 1.0)
    first, second = (
        GCN(epochs=10).fit(data.graph, one, data.split.validation, sample_weight=weights).predict_proba()
        for one in (labels, plain)
    )
    np.testing.assert_array_equal(first, second)
