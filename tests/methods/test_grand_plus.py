"""GRAND+: the mixture, its largest terms, random rows and the consistency, against dense matrices."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed.operator import walk_matrix
from quietgraph.graph import CSR, Features, Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.grand_plus import (
    GRANDPlus,
    PropagatedPerceptron,
    consistency_loss,
    mix,
    nearest_terms,
    random_rows,
)

WEIGHTS = [0.3, 0.25, 0.2, 0.15, 0.1]
GRAPH = block_model(25, num_features=6, generator=np.random.default_rng(0)).graph
WORDS = Graph.from_arrays(np.random.default_rng(1).random((25, 80)) < 0.05, GRAPH.edge_index)


def mixture_slow(graph: Graph) -> Tensor:
    walk = graph.adjacency.to_dense() + torch.eye(graph.num_nodes)
    walk = walk / walk.sum(dim=1, keepdim=True)
    return torch.stack([weight * torch.linalg.matrix_power(walk, step) for step, weight in enumerate(WEIGHTS)]).sum(0)


def terms_of(count: int, threshold: float = 0.0) -> tuple[Tensor, Tensor]:
    return nearest_terms(walk_matrix(GRAPH), torch.arange(25), WEIGHTS, threshold=threshold, count=count)


def test_the_mixture_equals_its_definition() -> None:
    torch.testing.assert_close(mix(walk_matrix(GRAPH), GRAPH.features, WEIGHTS), mixture_slow(GRAPH) @ GRAPH.features)


def test_the_nearest_terms_are_the_largest_of_the_mixture() -> None:
    nodes, weights = terms_of(99)
    torch.testing.assert_close(torch.zeros(25, 25).scatter(1, nodes, weights), mixture_slow(GRAPH))
    torch.testing.assert_close(terms_of(3)[1], mixture_slow(GRAPH).topk(3, dim=1).values)


def test_a_threshold_only_takes_away() -> None:
    whole, cut = (terms_of(99, threshold)[1].sum(dim=1) for threshold in (0.0, 1e-2))
    assert (cut <= whole + 1e-6).all()
    assert cut.sum() < whole.sum()


@pytest.mark.parametrize("features", [GRAPH.features, WORDS.features], ids=["dense", "sparse"])
def test_rows_without_drops_are_weighted_means(features: Features) -> None:
    nodes, weights = terms_of(99)
    found, which = random_rows(features, nodes[[3, 8]], weights[[3, 8]], drop=0.0), torch.tensor([3, 8])
    torch.testing.assert_close(found.to_dense(), (mixture_slow(GRAPH) @ features.to_dense())[which])


@pytest.mark.parametrize("graph", [GRAPH, WORDS], ids=["dense", "sparse"])
@pytest.mark.parametrize("norm", [False, True])
def test_all_nodes_are_read_by_their_whole_propagation(graph: Graph, norm: bool) -> None:
    how = GRANDPlus(hidden=5, feature_norm="none", node_norm=norm, batch_norm=norm)
    network = PropagatedPerceptron(graph.num_features, 3, how)
    network.weights = WEIGHTS
    rows = mixture_slow(graph) @ graph.features.to_dense()
    network.read(rows)  # moves the statistics of the batch norm
    scores, hidden = network.eval()(graph)
    torch.testing.assert_close(scores, network.read(rows)[0], atol=1e-5, rtol=1e-4)
    assert hidden.shape == (25, 5)
    assert isinstance(WORDS.features, CSR)


def test_the_consistency_equals_its_definition() -> None:
    log_chances = (2 * torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(0))).log_softmax(dim=2)
    costs = []
    for rows in log_chances.exp().transpose(0, 1):
        sharp = rows.mean(dim=0) ** (1 / 0.3)
        costs += [(row - sharp / sharp.sum()).square().sum() for row in rows if rows.mean(dim=0).max() > 2 / 4]
    found = consistency_loss(log_chances, sharpening=0.3, distance="l2")
    torch.testing.assert_close(found, torch.stack(costs).mean())


@pytest.mark.parametrize("distance", ["l2", "kl"])
def test_nothing_confident_costs_nothing(distance: str) -> None:
    assert float(consistency_loss(torch.zeros(2, 5, 4).log_softmax(2), sharpening=0.1, distance=distance)) == 0


def test_of_two_classes_some_nodes_are_confident() -> None:
    draws = torch.tensor([[[0.0, 3.0], [3.0, 2.5]]]).repeat(2, 1, 1).log_softmax(dim=2)
    sure, unsure = (consistency_loss(one, sharpening=0.5, distance="kl") for one in draws.split(1, dim=1))
    assert float(sure) > 0
    assert float(unsure) == 0


def test_it_fits_where_every_node_has_a_label() -> None:
    model = GRANDPlus(epochs=1).fit(GRAPH, np.arange(25) % 2)
    assert np.isfinite(model.predict_proba()).all()
