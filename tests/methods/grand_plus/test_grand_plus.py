import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.graph import CSR, Features, Graph, block_model
from quietgraph.methods.grand_plus.grand_plus import GRANDPlus
from quietgraph.methods.grand_plus.propagated_perceptron import (
    PropagatedPerceptron,
    consistency_loss,
)
from quietgraph.methods.grand_plus.random_propagation import (
    NearestTerms,
    RandomPropagation,
    mix,
    step_weights,
    walk_matrix,
)

WEIGHTS = step_weights("ppr", 4, 0.2)


def graph_of(num_nodes: int = 25) -> Graph:
    return block_model(num_nodes, num_features=6, generator=np.random.default_rng(0)).graph


def words(num_nodes: int = 25) -> CSR:
    draws = np.random.default_rng(1).random((num_nodes, 80)) < 0.05
    features = Graph.from_arrays(draws, np.empty((2, 0), dtype=int)).features
    assert isinstance(features, CSR)
    return features


def mixture_slow(graph: Graph, weights: list[float]) -> Tensor:
    walk = graph.adjacency.to_dense() + torch.eye(graph.num_nodes)
    walk = walk / walk.sum(dim=1, keepdim=True)
    powers = [torch.linalg.matrix_power(walk, step) for step in range(len(weights))]
    return sum(weight * power for weight, power in zip(weights, powers, strict=True))


def terms_of(graph: Graph, *, count: int, threshold: float = 0.0) -> NearestTerms:
    nodes = torch.arange(graph.num_nodes)
    return NearestTerms(walk_matrix(graph), nodes, WEIGHTS, threshold=threshold, count=count)


@pytest.mark.parametrize("kind", ["ppr", "avg", "single"])
def test_the_weights_of_the_steps_sum_to_one(kind: str) -> None:
    assert sum(step_weights(kind, 5, 0.3)) == pytest.approx(1)


def test_the_mixture_equals_its_definition() -> None:
    graph = graph_of()
    found = mix(walk_matrix(graph), graph.features, WEIGHTS)
    torch.testing.assert_close(found, mixture_slow(graph, WEIGHTS) @ graph.features)


def test_all_terms_are_the_rows_of_the_mixture() -> None:
    graph = graph_of()
    terms = terms_of(graph, count=99)
    found = torch.zeros(25, 25).scatter(1, terms.nodes, terms.weights)
    torch.testing.assert_close(found, mixture_slow(graph, WEIGHTS))


def test_the_nearest_terms_are_the_largest() -> None:
    graph = graph_of()
    found = terms_of(graph, count=3).weights
    torch.testing.assert_close(found, mixture_slow(graph, WEIGHTS).topk(3, dim=1).values)


def test_a_threshold_only_takes_away() -> None:
    graph = graph_of()
    whole, cut = (terms_of(graph, count=99, threshold=rate).weights for rate in (0.0, 1e-2))
    assert (cut.sum(dim=1) <= whole.sum(dim=1) + 1e-6).all()
    assert cut.sum() < whole.sum()


@pytest.mark.parametrize("features", [graph_of().features, words()], ids=["dense", "sparse"])
def test_rows_without_drops_are_weighted_means(features: Features) -> None:
    graph = graph_of()
    found = RandomPropagation(features, terms_of(graph, count=99)).rows(torch.tensor([3, 8]), 0.0)
    expected = (mixture_slow(graph, WEIGHTS) @ features.to_dense())[[3, 8]]
    torch.testing.assert_close(found.to_dense(), expected)


@pytest.mark.parametrize("features", [graph_of().features, words()], ids=["dense", "sparse"])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("node_norm", [False, True])
def test_whole_propagation_equals_the_perceptron_on_it(
    features: Features, batch_norm: bool, node_norm: bool
) -> None:
    graph = graph_of()
    sizes = [features.shape[1], 5, 3]
    module = PropagatedPerceptron(
        sizes, dropouts=(0.5, 0.5), batch_norm=batch_norm, node_norm=node_norm
    )
    rows = mixture_slow(graph, WEIGHTS) @ features.to_dense()
    module(rows)  # moves the statistics of the batch norm
    module.eval()
    scores, hidden = module.on_mixture(graph, features, WEIGHTS)
    torch.testing.assert_close(scores, module(rows), atol=1e-5, rtol=1e-4)
    assert hidden.shape == (25, 5)


def consistency_slow(probabilities: Tensor, sharpening: float) -> Tensor:
    costs = []
    for rows in zip(*probabilities, strict=True):
        mean = sum(row.exp() for row in rows) / len(rows)
        if mean.max() > 2 / len(mean):
            wanted = mean ** (1 / sharpening) / (mean ** (1 / sharpening)).sum()
            costs += [(row.exp() - wanted).square().sum() for row in rows]
    return torch.stack(costs).mean()


def test_the_consistency_equals_its_definition() -> None:
    draws = torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(0))
    probabilities = (2 * draws).log_softmax(dim=2)
    found = consistency_loss(probabilities, sharpening=0.3, distance="l2")
    torch.testing.assert_close(found, consistency_slow(probabilities, 0.3))


@pytest.mark.parametrize("distance", ["l2", "kl"])
def test_nothing_confident_costs_nothing(distance: str) -> None:
    even = torch.zeros(2, 5, 4).log_softmax(dim=2)
    assert float(consistency_loss(even, sharpening=0.1, distance=distance)) == 0


def test_of_two_classes_some_nodes_are_confident() -> None:
    draws = torch.tensor([[[0.0, 3.0], [3.0, 2.5]]]).repeat(2, 1, 1).log_softmax(dim=2)
    sure, unsure = draws.split(1, dim=1)
    assert float(consistency_loss(sure, sharpening=0.5, distance="kl")) > 0
    assert float(consistency_loss(unsure, sharpening=0.5, distance="kl")) == 0


def test_it_fits_where_every_node_has_a_label() -> None:
    drawn = block_model(40, num_classes=2, num_features=6, generator=np.random.default_rng(0))
    model = GRANDPlus(steps=4).fit(drawn.graph, drawn.classes)
    assert np.isfinite(model.predict_proba()).all()
