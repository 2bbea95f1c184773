"""The letter of the paper: its encoder, losses and classifier against the printed formulas."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.bench.protocol import Run
from quietgraph.bench.variant import parse_variant
from quietgraph.embed import GCNEncoder, View, normalised_adjacency
from quietgraph.embed.clusters import cluster_means
from quietgraph.errors import InvalidParameterError
from quietgraph.methods.low_rank.encoder import new_encoder
from quietgraph.methods.low_rank.letter import letter_settings
from quietgraph.params import parameters
from quietgraph.rng import torch_generator
from quietgraph.testing import small_problem

QUICK = {"hidden": 24, "dim": 16, "epochs": 30}


def test_the_encoder_is_the_printed_one() -> None:
    graph = small_problem(num_nodes=40)[0].graph
    model = qg.GCLLRR.paper("cora", hidden=8, dim=6)
    encoder = new_encoder(model, graph.num_features, seed=0).eval()
    assert {name for name, _ in encoder.named_parameters()} == {"first", "second"}
    operator = normalised_adjacency(graph)
    dense, features = operator.to_dense(), graph.features
    slow = (dense @ (dense @ features @ encoder.first).relu() @ encoder.second).relu()
    torch.testing.assert_close(encoder(features, View(operator)), slow)
    torch.manual_seed(0)
    encoder.train()
    assert not torch.equal(encoder(features, View(operator)), slow)  # dropout


def test_one_switch_gives_the_published_rank_settings() -> None:
    for dataset, weight, ratio in (
        ("cora", 0.1, 0.2),
        ("pubmed", 0.1, 0.3),
        ("wiki-cs", 0.25, 0.2),
    ):
        model = parse_variant("gcl-lr-attention:preset=paper").estimator(dataset)
        assert (model.rank_weight, model.rank_ratio) == (weight, ratio)
        assert (model.attention, model.smoothing, model.rank_scale) == ("plain", 0, "sum")
        assert (model.epochs, model.patience, model.warm_up) == (500, 20, 0)
    assert parse_variant("gcl-lrr:preset=paper:dropout=0.3").estimator("cora").dropout == 0.3
    run = Run.parse("texas", "gcl-lrr:preset=paper", "none", 0)
    assert run.parameters()["encoder"] == "tedgcn"


def test_a_changed_default_does_not_change_the_letter() -> None:
    left = set(parameters(qg.GCLLRAttention)) - set(letter_settings("cora"))
    assert left == {
        *("attention", "attribute_branch"),  # set by `paper`
        "attention_weight",  # of the residual form alone
        "depth",  # of the filter on heterophilous graphs, which tries several
        *("partitions", "partitions_per_step", "partitioner"),
        *("seed", "device"),
    }
    model = qg.GCLLRAttention.paper("cora")
    assert (model.attention, model.attribute_branch) == ("plain", False)


def test_a_method_without_a_letter_says_so() -> None:
    with pytest.raises(InvalidParameterError, match="preset must be paper"):
        parse_variant("gcn:preset=paper")


@pytest.mark.parametrize("method", [qg.GCLLRR, qg.GCLLRAttention])
def test_the_letter_learns_and_stops_on_nodes_held_out(method) -> None:
    problem, labels, validation = small_problem(num_nodes=150)
    model = method.paper("cora", **QUICK).fit(problem.graph, labels, validation)
    assert "score" in model.history_[0]
    assert "prototypes" in model.history_[0]
    assert "rank" in model.history_[0]  # no warm-up
    assert not model.state_["bias"].any()
    assert (model.predict() == problem.classes).mean() > 0.4


def test_classifier_of_the_letter_sees_plain_attention() -> None:
    problem, labels, validation = small_problem(num_nodes=150)
    model = qg.GCLLRAttention.paper("cora", **QUICK).fit(problem.graph, labels, validation)
    rows = torch.from_numpy(model.embeddings_).double()
    gram = rows @ rows.T
    attended = gram @ rows / torch.linalg.eigvalsh(gram)[-1]
    scores = attended @ model.state_["weight"].double()
    torch.testing.assert_close(model.scores_.double(), scores, atol=1e-3, rtol=1e-3)


def test_cluster_means_are_the_means_of_the_nearest_rows() -> None:
    draws = np.random.default_rng(0)
    rows = torch.from_numpy(np.repeat([[0.0, 0], [9, 0], [0, 9]], 20, axis=0))
    rows += torch.from_numpy(draws.standard_normal((60, 2)))
    found = cluster_means(rows, 3, generator=torch_generator(0))
    for place in range(3):
        own = rows[found.assignments == place]
        torch.testing.assert_close(found.prototypes[place], own.mean(dim=0))
    assert torch.equal(found.assignments, torch.cdist(rows, found.prototypes).argmin(dim=1))


def test_a_relu_is_a_prelu_of_slope_zero() -> None:
    assert float(GCNEncoder(3, 4, 2, activation="relu", generator=torch_generator(0)).slope) == 0
