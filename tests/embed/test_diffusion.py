"""PageRank diffusion: what the power iteration gives against the inverse it replaces."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed import normalised_adjacency
from quietgraph.embed.diffusion import DiffusedFeatures, diffuse, num_steps
from quietgraph.graph import CSR, Graph, block_model


@pytest.fixture
def graph() -> Graph:
    return block_model(40, num_features=6, generator=np.random.default_rng(0)).graph


def diffusion_matrix(operator: CSR, teleport: float) -> Tensor:
    adjacency = operator.to_dense().double()
    identity = torch.eye(len(adjacency), dtype=torch.float64)
    return teleport * torch.linalg.inv(identity - (1 - teleport) * adjacency)


def test_diffusion_equals_the_inverse_up_to_the_rest_of_the_walk(graph: Graph) -> None:
    operator = normalised_adjacency(graph)
    wanted = diffusion_matrix(operator, 0.2) @ graph.features.double()
    found = diffuse(operator, graph.features, 0.2).double()
    assert (found - wanted).norm() < 0.03 * wanted.norm()


def test_diffusion_with_sure_return_changes_nothing(graph: Graph) -> None:
    operator = normalised_adjacency(graph)
    assert num_steps(1.0) == 0
    torch.testing.assert_close(diffuse(operator, graph.features, 1.0), graph.features)


def test_diffused_features_are_the_same_kept_or_computed_at_every_call(graph: Graph) -> None:
    operator, weight = normalised_adjacency(graph), torch.randn(6, 3)
    nodes = torch.tensor([5, 0, 17])
    kept = DiffusedFeatures(operator, graph.features, 0.1)
    fresh = DiffusedFeatures(operator, graph.features, 0.1, most_kept=0)
    assert kept.kept is not None
    assert fresh.kept is None
    torch.testing.assert_close(kept.project(weight, nodes), fresh.project(weight, nodes))


def test_the_gradient_of_diffused_features_is_the_same_either_way(graph: Graph) -> None:
    operator, gradients = normalised_adjacency(graph), []
    for most_kept in (10**6, 0):
        weight = torch.ones(6, 3, requires_grad=True)
        diffused = DiffusedFeatures(operator, graph.features, 0.1, most_kept=most_kept)
        diffused.project(weight, slice(4, 9)).square().sum().backward()
        gradients.append(weight.grad)
    torch.testing.assert_close(gradients[0], gradients[1])
