import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed import View, negative_depth, normalised_adjacency
from quietgraph.embed.filtered_features import FilteredFeatures, filtered_features
from quietgraph.embed.negative_depth import ExactPower, PolynomialPower, TEDEncoder, power_of
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.methods.tedgcn import TEDGCN, DepthNetwork
from quietgraph.testing import small_problem


def graph_of(num_nodes: int = 30) -> Graph:
    return block_model(num_nodes, num_features=6, generator=np.random.default_rng(0)).graph


def lazy_walk_slow(graph: Graph) -> Tensor:
    """Q = (I + D^-1/2 A D^-1/2) / 2, degree 0 counted as 1."""
    adjacency = graph.adjacency.to_dense()
    scale = adjacency.sum(dim=1).clamp_min(1).rsqrt()
    return (torch.eye(graph.num_nodes) + scale[:, None] * adjacency * scale) / 2


def power_slow(graph: Graph, depth: float, floor: float = 1e-2) -> Tensor:
    values, vectors = torch.linalg.eigh(lazy_walk_slow(graph).double())
    return (vectors * values.clamp_min(floor) ** depth @ vectors.T).float()


@pytest.mark.parametrize("depth", [-2.0, -0.5, 0.0, 1.0, 2.5])
def test_the_exact_filter_equals_its_definition(depth: float) -> None:
    graph = graph_of()
    found = power_of(graph, exact_up_to=100)(torch.eye(30), torch.tensor(depth))
    torch.testing.assert_close(found, power_slow(graph, depth), atol=1e-3, rtol=1e-3)


@pytest.fixture
def components(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Three parts and three nodes alone, in mixed order; blocks of five nodes or more."""
    monkeypatch.setattr(negative_depth, "_GROUP", 5)
    edges = np.array([[0, 2, 4, 6, 8, 10, 1, 3, 5, 7], [2, 4, 6, 8, 10, 0, 3, 5, 1, 9]])
    draws = np.random.default_rng(0)
    return Graph.from_arrays(draws.random((14, 6)), edges)


@pytest.mark.parametrize("depth", [-2.0, 0.0, 1.0, 2.5])
def test_components_are_filtered_apart(components: Graph, depth: float) -> None:
    power = power_of(components, exact_up_to=100)
    assert isinstance(power, ExactPower)
    assert [len(nodes) for nodes in power.blocks] == [6, 5, 3]
    found, slow = power(torch.eye(14), torch.tensor(depth)), power_slow(components, depth)
    torch.testing.assert_close(found, slow, atol=1e-4, rtol=1e-4)
    for wanted in (torch.tensor([13, 0, 7, 2, 1]), torch.arange(14) % 3 == 0):
        some = power.at(wanted)(torch.eye(14), torch.tensor(depth))
        torch.testing.assert_close(some, slow[wanted], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("num_features", [3, 60])
def test_filtered_features_of_components(
    components: Graph, num_features: int, sparse: bool
) -> None:
    power, wanted = power_of(components, exact_up_to=100), torch.tensor([3, 0, 12])
    features = torch.randn(14, num_features, generator=torch.Generator().manual_seed(0)).relu()
    given = CSR.from_scipy(features.numpy()) if sparse else features
    weight, depth = torch.randn(num_features, 4), torch.tensor(0.5)
    found = filtered_features(power, given).at(wanted)(weight, depth)
    slow = power_slow(components, 0.5) @ features @ weight
    torch.testing.assert_close(found, slow[wanted], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_depth_one_is_one_propagation(exact_up_to: int) -> None:
    graph = graph_of()
    power = power_of(graph, floor=1e-8, exact_up_to=exact_up_to)
    found = power(torch.eye(30), torch.tensor(1.0))
    torch.testing.assert_close(found, lazy_walk_slow(graph), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_depth_zero_is_a_perceptron(exact_up_to: int) -> None:
    graph = graph_of()
    module = DepthNetwork(6, 5, 3, dropout=0.0, depth=0.0)
    power = power_of(graph, exact_up_to=exact_up_to)
    found = module(filtered_features(power, graph.features))
    plain = module.head((graph.features @ module.weight + module.bias).relu())
    torch.testing.assert_close(found, plain, atol=1e-5, rtol=1e-4)


def test_a_negative_depth_undoes_a_positive_one() -> None:
    graph = graph_of()
    power = power_of(graph, floor=1e-8, exact_up_to=100)
    there = power(graph.features, torch.tensor(1.5))
    back = power(there, torch.tensor(-1.5))
    torch.testing.assert_close(back, graph.features, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("depth", [-1.0, 0.5, 7.0, 20.0])
def test_the_polynomial_is_near_the_exact_filter(depth: float) -> None:
    operator = normalised_adjacency(graph_of(200))
    vector = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    exact, near = (
        kind(operator)(vector, torch.tensor(depth)) for kind in (ExactPower, PolynomialPower)
    )
    assert float((near - exact).norm() / exact.norm()) < 0.03


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_some_rows_are_those_of_all(exact_up_to: int) -> None:
    graph = graph_of()
    power, wanted = power_of(graph, exact_up_to=exact_up_to), torch.arange(30) % 4 == 0
    depth = torch.tensor(-0.5)
    found = power.at(wanted)(graph.features, depth)
    torch.testing.assert_close(found, power(graph.features, depth)[wanted])


def test_gradients_of_the_polynomial_are_those_of_differences() -> None:
    operator = normalised_adjacency(graph_of(8))
    power = PolynomialPower(operator, degree=5)
    dense = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    depth = torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(power, (dense, depth))


def test_a_node_without_neighbours_is_halved_at_each_step() -> None:
    graph = Graph.from_arrays(np.ones((3, 1)), [[0], [1]])
    found = power_of(graph, exact_up_to=3)(graph.features, torch.tensor(2.0))
    assert float(found[2]) == pytest.approx(0.25)


def test_a_step_of_zero_holds_the_depth() -> None:
    problem, labels, validation = small_problem()
    model = TEDGCN(initial_depth=3.0, depth_step=0.0, epochs=5)
    assert model.fit(problem.graph, labels, validation).notes_["depth"] == 3.0


def test_the_depth_is_learned() -> None:
    problem, labels, validation = small_problem()
    model = TEDGCN(initial_depth=3.0, epochs=5).fit(problem.graph, labels, validation)
    assert model.notes_["depth"] != 3.0


def test_the_encoder_does_not_see_masked_columns() -> None:
    graph = graph_of()
    encoder = TEDEncoder(6, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([1.0, 0, 1, 1, 1, 1])
    view = View(normalised_adjacency(graph), mask)
    other = graph.features.clone()
    other[:, 1] += 5
    torch.testing.assert_close(encoder(graph.features, view), encoder(other, view))


def test_the_gradient_reaches_the_depth_of_the_encoder() -> None:
    graph = graph_of()
    encoder = TEDEncoder(6, 3, generator=torch.Generator().manual_seed(0))
    encoder(graph.features, View(normalised_adjacency(graph))).square().sum().backward()
    assert float(encoder.moved.grad) != 0


def test_the_encoder_is_the_filter_of_the_graph_without_self_loops() -> None:
    graph = graph_of()
    encoder = TEDEncoder(6, 3, depth=2.0, generator=torch.Generator().manual_seed(0))
    found = encoder(graph.features, View(normalised_adjacency(graph)))
    power = power_of(graph, exact_up_to=100)
    slow = power(graph.features @ encoder.weight, torch.tensor(2.0)) + encoder.bias
    torch.testing.assert_close(found, slow, atol=1e-4, rtol=1e-4)


def test_sixty_steps_can_move_the_depth_by_more_than_a_third() -> None:
    encoder = TEDEncoder(6, 3, depth=1.0, generator=torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    for _ in range(60):
        optimiser.zero_grad()
        (encoder.depth - 5).square().backward()
        optimiser.step()
    assert float(encoder.depth.detach()) > 1.33


def filtered_of(graph: Graph, *, exact_up_to: int) -> FilteredFeatures:
    return filtered_features(power_of(graph, exact_up_to=exact_up_to), graph.features)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("num_features", [3, 60])
def test_filtered_features_equal_the_filter_of_their_product(
    num_features: int, sparse: bool
) -> None:
    power = power_of(graph_of(), exact_up_to=100)
    features = torch.randn(30, num_features, generator=torch.Generator().manual_seed(0)).relu()
    given = CSR.from_scipy(features.numpy()) if sparse else features
    weight, depth = torch.randn(num_features, 4), torch.tensor(0.5)
    found = filtered_features(power, given)(weight, depth)
    torch.testing.assert_close(found, power(features @ weight, depth), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_what_was_scored_serves_the_next_step_and_no_other(exact_up_to: int) -> None:
    filtered, plain = (filtered_of(graph_of(), exact_up_to=exact_up_to) for _ in range(2))
    weight, depth = torch.randn(6, 4, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    seen, held_out = filtered.at(torch.arange(5)), filtered.at(torch.arange(5, 9))
    for _ in range(3):
        with torch.no_grad():
            torch.testing.assert_close(held_out(weight, depth), plain(weight, depth)[5:9])
        for _ in range(2):  # a second backward needs a graph of its own
            found = torch.autograd.grad(seen(weight, depth).square().sum(), [weight, depth])
            wanted = plain(weight, depth)[:5].square().sum()
            torch.testing.assert_close(found, torch.autograd.grad(wanted, [weight, depth]))
        with torch.no_grad():
            weight.sub_(0.1)
            depth.add_(0.1)
