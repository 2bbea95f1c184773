"""`encoder_` gives the embeddings of `fit`, answers for other graphs, and can be trained on."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.testing import quick_parameters, small_problem

INDUCTIVE = [name for name, method in qg.METHODS.items() if method.is_inductive()]


def fitted(name: str, seed: int = 0) -> tuple[qg.NodeClassifier, object]:
    problem, labels, validation = small_problem(seed)
    method = qg.METHODS[name]
    model = method(**quick_parameters(method)).fit(problem.graph, labels, validation)
    return model, problem.graph.to_pyg()


@pytest.mark.parametrize("name", INDUCTIVE)
def test_the_encoder_repeats_the_embeddings(name: str) -> None:
    model, data = fitted(name)
    encoder = model.encoder_
    assert isinstance(encoder, torch.nn.Module)
    found = encoder(data.x, data.edge_index).detach().numpy()
    np.testing.assert_allclose(found, model.embeddings_, atol=1e-5)
    other = small_problem(seed=1, num_nodes=150)[0].graph
    there = encoder(other.to_pyg().x, other.edge_index).detach().numpy()
    np.testing.assert_allclose(there, model.embed(other), atol=1e-5)


@pytest.mark.parametrize("name", ["gcn", "gcl-lrr", "gcl-lr-attention", "quiet"])
def test_the_network_can_be_trained_further_and_stored(name: str, tmp_path) -> None:
    model, data = fitted(name)
    encoder = model.encoder_
    encoder(data.x, data.edge_index).square().sum().backward()
    gradients = [one.grad for one in encoder.parameters() if one.grad is not None]
    assert gradients
    assert any(bool(one.abs().sum() > 0) for one in gradients)
    torch.save(encoder.state_dict(), tmp_path / "encoder.pt")
    again = fitted(name)[0].encoder_
    again.load_state_dict(torch.load(tmp_path / "encoder.pt"))


def test_edge_weights_count() -> None:
    problem, labels, _ = small_problem()
    edges = problem.graph.edge_index
    weights = torch.rand(edges.shape[1], generator=torch.Generator().manual_seed(0)) + 0.1
    graph = qg.Graph.from_arrays(problem.graph.features, edges, weights=weights)
    model = qg.GCN(epochs=5, hidden=8).fit(graph, labels)
    found = model.encoder_(graph.features, edges, weights).detach().numpy()
    np.testing.assert_allclose(found, model.embeddings_, atol=1e-5)


def test_a_model_without_encoder_says_so() -> None:
    with pytest.raises(qg.NotFittedError):
        _ = qg.GCN().encoder_
    (name,) = [name for name in qg.METHODS if name not in INDUCTIVE][:1]
    model = fitted(name)[0]
    assert not hasattr(model, "encoder_")
    with pytest.raises(qg.NotInductiveError, match="embeddings_"):
        _ = model.encoder_
