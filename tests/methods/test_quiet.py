"""Quiet: what it learns from wrong, verified and rule-made labels, and what it says of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.data.data import Data
from quietgraph.data.splits import Split, no_node
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import Observed
from quietgraph.methods.quiet import SPACES, Quiet, choose_space

QUICK: dict[str, Any] = {"hidden": 32, "dim": 24, "epochs": 25}
NODES, LABELLED = 500, 300


def drawn(homophily: float = 0.8, signal: float = 2.0) -> tuple[Graph, torch.Tensor]:
    found = block_model(NODES, num_features=24, homophily=homophily, signal=signal, generator=np.random.default_rng(0))
    return found.graph, torch.from_numpy(found.classes)


GRAPH, CLASSES = drawn()


def labelled(codes: torch.Tensor, graph: Graph = GRAPH, *, validation: int = 0) -> Data:
    """Return the data of the first labels, some of them marked for validation."""
    place = torch.arange(NODES)
    split = Split((place >= validation) & (place < LABELLED), place < validation, no_node(codes))
    return Data("drawn", graph, codes.masked_fill(place >= LABELLED, -1), np.arange(4), split)


def pair_flipped(rate: float, seed: int = 0) -> torch.Tensor:
    flips = torch.rand(NODES, generator=torch.Generator().manual_seed(seed)) < rate
    return torch.where(flips, (CLASSES - 1) % 4, CLASSES)


def accuracy(model: Quiet) -> float:
    return float((model.predict() == CLASSES.numpy())[LABELLED:].mean())


@pytest.fixture(scope="module")
def fitted() -> Quiet:
    return Quiet(**QUICK).fit(labelled(pair_flipped(0.4)))


def test_labels_wrong_by_class_are_explained(fitted: Quiet) -> None:
    network: Any = fitted.fitted_.network
    wanted = 0.6 * torch.eye(4) + 0.4 * torch.eye(4).roll(-1, dims=1)
    assert accuracy(fitted) > 0.9
    assert float((network.noise_matrix - wanted).abs().max()) < 0.2
    assert fitted.fitted_.notes["kappa"] < 30
    assert fitted.fitted_.notes["noise_rate"] == pytest.approx(0.4, abs=0.08)


def test_scores_are_log_probabilities(fitted: Quiet) -> None:
    torch.testing.assert_close(fitted.fitted_.scores.exp().sum(dim=1), torch.ones(NODES))
    np.testing.assert_allclose(fitted.predict_proba(), fitted.fitted_.scores.exp(), atol=1e-6)


def test_another_graph_is_answered_as_that_of_fit(fitted: Quiet) -> None:
    again = Graph.from_arrays(GRAPH.features, GRAPH.edge_index)
    np.testing.assert_allclose(fitted.predict_proba(again), fitted.predict_proba(), atol=1e-5)


def test_validation_labels_teach_as_all_others_do(fitted: Quiet) -> None:
    marked = Quiet(**QUICK).fit(labelled(pair_flipped(0.4), validation=100))
    torch.testing.assert_close(marked.fitted_.scores, fitted.fitted_.scores)


def test_other_labels_teach_without_a_new_encoder(fitted: Quiet) -> None:
    codes = CLASSES.masked_fill(torch.arange(NODES) >= LABELLED, -1)
    again = fitted.fitted_.relearn(replace(fitted.observed_, codes=codes))  # type: ignore[misc]
    assert float((again.scores.argmax(dim=1) == CLASSES)[LABELLED:].float().mean()) > 0.95
    torch.testing.assert_close(again.embeddings, fitted.fitted_.embeddings)
    assert again.notes["noise_rate"] < 0.1


def test_verified_labels_tell_names_that_labels_cannot() -> None:
    """Two classes whose labels are swapped more often than not look like each other, but for verified labels."""
    draws = torch.Generator().manual_seed(1)
    swapped = torch.tensor([1, 0, 2, 3])[CLASSES]
    codes = torch.where(torch.rand(NODES, generator=draws) < 0.8, swapped, CLASSES)
    data = labelled(codes)
    verified = torch.arange(NODES) < 60
    told = replace(data, codes=torch.where(verified, CLASSES, data.codes), verified=verified)
    blind, told_of = Quiet(**QUICK).fit(data), Quiet(**QUICK).fit(told)
    assert accuracy(told_of) > accuracy(blind) + 0.2
    assert (told_of.predict() == CLASSES.numpy())[:60].all()


def test_where_neighbours_differ_own_attributes_are_read() -> None:
    graph, classes = drawn(homophily=0.05, signal=3.0)
    model = Quiet(**QUICK).fit(labelled(classes, graph))
    assert list(SPACES)[int(model.fitted_.notes["space"])] == "own"
    assert float((model.predict() == classes.numpy())[LABELLED:].mean()) > 0.9


@pytest.mark.parametrize(("homophilous", "wanted"), [(True, "embedding"), (False, "own")])
def test_own_attributes_that_make_the_labels_are_not_read_where_linked_nodes_share_classes(
    homophilous: bool, wanted: str
) -> None:
    """A word decides the label of a third of the nodes, whatever their class is."""
    draws = torch.Generator().manual_seed(2)
    has = torch.rand(NODES, generator=draws) < 0.4
    codes = torch.where(has, 0, CLASSES)
    classes = F.one_hot(CLASSES, 4).float()
    rows = {
        name: [F.normalize(torch.cat([2 * classes, word * has[:, None]], dim=1) + spread, dim=1)]
        for name, word, scale in (("embedding", 0.0, 0.5), ("around", 0.5, 0.5), ("own", 3.0, 1.0))
        for spread in [scale * torch.randn(NODES, 5, generator=draws)]
    }
    observed = Observed(codes, codes >= 0, codes < 0, 4)
    reading = torch.full((4, 4), 0.1).fill_diagonal_(0.7)[:, codes].T
    assert choose_space(rows, observed, reading, homophilous=homophilous, seed=0) == wanted


def test_labels_that_weigh_nothing_teach_nothing() -> None:
    codes, place = CLASSES.clone(), torch.arange(NODES)
    junk = torch.where(place < 100, (CLASSES + 2) % 4, codes)
    weights = (place >= 100).float().numpy()
    without = Quiet(**QUICK).fit(labelled(junk), sample_weight=weights)
    assert accuracy(without) > 0.95


def test_embeddings_are_those_of_both_encoders(fitted: Quiet) -> None:
    network: Any = fitted.fitted_.network
    found = [encoder(GRAPH) for encoder in network.views.encoders]
    for place, (rows, mean) in enumerate(zip(found, network.views.means, strict=True)):
        wanted = F.normalize(F.normalize(rows, dim=1) - mean, dim=1).detach().numpy()
        np.testing.assert_allclose(fitted.embed()[:, 24 * place : 24 * place + 24], wanted, atol=1e-5)
