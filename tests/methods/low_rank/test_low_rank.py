"""GCL-LRR and GCL-LR-Attention: the paper's literal forms, and what the low-rank term does."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.bench.protocol import Run, execute
from quietgraph.classify import fit_ridge, is_heterophilous, low_rank_attention
from quietgraph.diagnose import gram_eigenvalues, kernel_complexity
from quietgraph.methods import EmbeddingCache, use_cache
from quietgraph.methods.low_rank.attribute_branch import branch_features
from quietgraph.testing import small_problem

QUICK = {"epochs": 20, "warm_up": 5, "hidden": 32, "dim": 24, "prototypes": 4, "fine_prototypes": 8}


def fit(name: str, **parameters):
    problem, labels, validation = small_problem(num_nodes=150)
    return qg.get_method(name)(**QUICK | parameters).fit(problem.graph, labels, validation)


def test_plain_attention_is_the_papers_formula() -> None:
    plain = {"attention": "plain", "centre": False, "smoothing": 0, "attribute_branch": False}
    model = fit("gcl-lr-attention", **plain)
    embeddings = torch.from_numpy(model.embeddings_).double()
    gram = embeddings @ embeddings.T
    attended = gram @ embeddings / torch.linalg.eigvalsh(gram)[-1]
    scores = attended @ model.state_["weight"].double() + model.state_["bias"].double()
    torch.testing.assert_close(model.scores_.double(), scores, atol=1e-3, rtol=1e-3)


def test_residual_attention_puts_both_side_by_side() -> None:
    model = fit("gcl-lr-attention")
    assert model.state_["weight"].shape == (48, 3)
    assert fit("gcl-lrr").state_["weight"].shape == (24, 3)


@pytest.mark.parametrize("name", ["gcl-lrr", "gcl-lr-attention"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"classifier": "gradient-descent"},
        {"rank_scale": "sum", "rank_weight": 1e-3},
        {"output": "relu"},
        {"node_drop": 0.1, "edge_add": 0.1},
        {"intra_view": True},
        {"smoothing": 3},
        {"anchors": 40},
        {"prototype_weight": 0.0, "rank_weight": 0.0},
        {"fine_prototypes": 0},
    ],
    ids=str,
)
def test_every_option_of_the_paper_works(name: str, parameters) -> None:
    model = fit(name, **parameters)
    assert np.isfinite(model.predict_proba()).all()
    default = fit(name)
    assert not np.array_equal(model.scores_, default.scores_)


@pytest.mark.parametrize(("scale", "weight"), [("mean", 3.0), ("sum", 1.0)])
def test_the_truncated_norm_lowers_the_tail_of_the_spectrum(scale: str, weight: float) -> None:
    def tail(rank_weight: float) -> float:
        model = fit("gcl-lrr", rank_weight=rank_weight, rank_scale=scale, epochs=60)
        values = gram_eigenvalues(torch.from_numpy(model.embeddings_))
        return float(values[5:].sum() / values.sum())

    assert tail(weight) < 0.9 * tail(0.0)


def test_attention_never_raises_the_kernel_complexity() -> None:
    model = fit("gcl-lrr")
    embeddings = torch.from_numpy(model.embeddings_)
    attended = low_rank_attention(embeddings)
    before, after = (
        kernel_complexity(
            gram_eigenvalues(each, scale="raw"), num_labelled=30, num_unlabelled=120
        ).value
        for each in (embeddings, attended)
    )
    assert after <= before


def test_history_names_every_loss_after_the_warm_up() -> None:
    history = fit("gcl-lrr").history_
    assert set(history[0]) == {"loss", "contrast", "seconds"}
    assert set(history[-1]) == {"loss", "contrast", "prototypes", "rank", "seconds"}
    assert len(history) == 20


def test_training_stops_when_the_loss_no_longer_falls() -> None:
    model = fit("gcl-lrr", learning_rate=0.0, patience=3, epochs=200)
    assert len(model.history_) < 60


def test_both_methods_share_their_embeddings_through_the_cache(tmp_path) -> None:
    with use_cache(EmbeddingCache(tmp_path)):
        first = fit("gcl-lrr")
        assert len(list(tmp_path.iterdir())) == 1
        second = fit("gcl-lr-attention")
        again = fit("gcl-lrr", classifier="gradient-descent")
        assert len(list(tmp_path.iterdir())) == 1
        fit("gcl-lrr", rank_weight=0.5)
        assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(first.embeddings_, second.embeddings_)
    np.testing.assert_array_equal(first.embeddings_, again.embeddings_)


def test_the_cache_changes_no_number_and_survives_damage(tmp_path) -> None:
    plain = fit("gcl-lr-attention")
    with use_cache(EmbeddingCache(tmp_path)):
        cold, warm = fit("gcl-lr-attention"), fit("gcl-lr-attention")
        (file,) = tmp_path.iterdir()
        file.write_bytes(b"broken")
        again = fit("gcl-lr-attention")
    for model in (cold, warm, again):
        np.testing.assert_array_equal(model.scores_, plain.scores_)
        assert model.history_[-1]["loss"] == plain.history_[-1]["loss"]


def test_new_nodes_are_classified_like_old_ones() -> None:
    problem, labels, validation = small_problem(num_nodes=300)
    model = qg.get_method("gcl-lr-attention")(**QUICK | {"epochs": 60})
    model.fit(problem.graph, labels, validation)
    truth = problem.classes[60:]
    assert (model.predict()[60:] == truth).mean() > 0.6
    assert (model.predict(problem.graph)[60:] == truth).mean() > 0.6


@pytest.mark.parametrize("name", ["gcl-lrr", "gcl-lr-attention"])
def test_the_filter_of_trainable_depth_learns_its_depth(name: str) -> None:
    model = fit(name, encoder="tedgcn", depth=-0.5)
    assert float(model.state_["encoder.moved"]) != 0
    assert model.notes_["depth"] != -0.5
    assert "encoder.first" not in model.state_
    assert torch.equal(torch.from_numpy(model.embeddings_), torch.from_numpy(again(model)))


def again(model):
    problem, _, _ = small_problem(num_nodes=150)
    return model.embed(problem.graph)


def heterophilous_problem():
    """A graph whose edges lead to other classes and whose attributes tell the class."""
    draws = np.random.default_rng(0)
    classes = np.arange(120) % 3
    features = np.eye(3)[classes] + 0.3 * draws.standard_normal((120, 3))
    ends = draws.integers(0, 120, (2, 900))
    edges = ends[:, classes[ends[0]] != classes[ends[1]]]
    graph = qg.Graph.from_arrays(np.abs(features), edges)
    return graph, np.where(np.arange(120) < 60, classes, -1), np.arange(120) % 2 == 0


def test_on_heterophilous_graphs_validation_labels_choose_encoder_and_start() -> None:
    graph, labels, validation = heterophilous_problem()
    chosen = qg.get_method("gcl-lr-attention")(**QUICK).fit(graph, labels, validation)
    candidates = chosen._candidates(chosen.task_)
    assert [(each.encoder, each.depth) for each in candidates] == [
        ("gcn", None), ("tedgcn", -1.0), ("tedgcn", 1.0), ("tedgcn", 7.0)
    ]  # fmt: skip
    accuracies = [
        each.fit(graph, labels, validation).notes_["validation_accuracy"] for each in candidates
    ]
    assert chosen.notes_["validation_accuracy"] == max(accuracies)
    assert int(chosen.state_["smoothing"]) == 0


def test_where_neighbours_are_alike_one_encoder_is_trained() -> None:
    model = fit("gcl-lr-attention")
    (only,) = model._candidates(model.task_)
    assert only.encoder == "gcn"
    assert int(model.state_["smoothing"]) == 10


def test_a_graph_is_heterophilous_only_if_labels_and_attributes_say_so() -> None:
    graph, labels, _ = heterophilous_problem()
    alike = qg.Graph.from_arrays(np.repeat(np.eye(6), 20, axis=0), graph.edge_index)
    blocks = np.arange(120) // 20
    inside = [(i, j) for i in range(120) for j in range(i) if blocks[i] == blocks[j]]
    homophilous = qg.Graph.from_arrays(np.repeat(np.eye(6), 20, axis=0), np.array(inside))
    assert is_heterophilous(graph, torch.from_numpy(labels))
    assert not is_heterophilous(homophilous, torch.from_numpy(labels))  # attributes agree
    assert not is_heterophilous(graph, torch.zeros(120, dtype=torch.int64))  # labels agree
    assert not is_heterophilous(alike, torch.full((120,), -1))  # nothing known


@pytest.mark.data
def test_on_texas_the_trainable_depth_is_far_ahead_of_graph_convolutions() -> None:
    accuracy = {
        encoder: execute(Run.parse("texas", f"gcl-lrr:encoder={encoder}", "none", 0)).metrics
        for encoder in ("gcn", "tedgcn")
    }
    assert accuracy["tedgcn"]["test_accuracy"] > accuracy["gcn"]["test_accuracy"] + 0.2


def ring(num_nodes: int, reach: int):
    """A graph in which every node has 2 x reach neighbours."""
    nodes = np.arange(num_nodes)
    edges = np.concatenate([[nodes, (nodes + step) % num_nodes] for step in range(1, 1 + reach)], 1)
    return qg.Graph.from_arrays(np.ones((num_nodes, 2)), edges)


def test_views_follow_the_degree_and_steps_the_size() -> None:
    model = qg.GCLLRR(edge_drop_1=0.3)
    sparse, dense = model.resolved(ring(100, 2)), model.resolved(ring(100, 8))
    assert (sparse.edge_drop_2, sparse.feature_mask_1, sparse.temperature) == (0.4, 0.3, 0.5)
    assert (dense.edge_drop_2, dense.feature_mask_1, dense.temperature) == (0.6, 0.1, 0.2)
    assert sparse.edge_drop_1 == dense.edge_drop_1 == 0.3  # what is set stays
    epochs = [model.resolved(ring(size, 2)).epochs for size in (100, 2700, 10800, 40000)]
    assert epochs == [60, 60, 120, 135]
    assert qg.GCLLRR(epochs=7).resolved(ring(40000, 2)).epochs == 7


def test_scores_are_the_mean_of_a_classifier_on_embeddings_and_one_on_attributes() -> None:
    both = fit("gcl-lr-attention", class_prior_adjustment=False)
    alone = fit("gcl-lr-attention", class_prior_adjustment=False, attribute_branch=False)
    features = branch_features(both, both.task_.graph, both.state_)
    task = both.task_
    own = fit_ridge(
        features, task.labels, train=task.train, validation=task.validation, num_classes=3
    )
    torch.testing.assert_close(both.scores_, (alone.scores_ + own.scores(features)) / 2)
    again = both._apply(task.graph, both.state_)[0]
    torch.testing.assert_close(again, both.scores_, atol=1e-4, rtol=1e-4)


def test_heterophilous_graphs_have_no_attribute_branch() -> None:
    graph, labels, validation = heterophilous_problem()
    with_branch, without = (
        qg.GCLLRAttention(**QUICK, encoder="gcn", attribute_branch=on).fit(
            graph, labels, validation
        )
        for on in (True, False)
    )
    np.testing.assert_array_equal(with_branch.scores_, without.scores_)


def test_class_priors_follow_validation_labels_where_asked_for() -> None:
    plain, adjusted = (fit("gcl-lrr", class_prior_adjustment=on) for on in (False, True))
    assert torch.equal(plain.state_["weight"], adjusted.state_["weight"])
    difference = adjusted.scores_ - plain.scores_
    torch.testing.assert_close(difference, difference[:1].expand_as(difference))
    labels, where = adjusted.task_.labels, adjusted.task_.validation
    hits = [
        float((one.scores_.argmax(1) == labels)[where].float().mean()) for one in (plain, adjusted)
    ]
    assert hits[1] >= hits[0] - 0.02


def test_kernel_complexity_is_that_of_the_features_that_are_classified() -> None:
    model = fit("gcl-lr-attention", class_prior_adjustment=False)
    features = model.classifier_features()
    weight = torch.cat([model.state_["weight"], model.state_["attribute_weight"]])
    torch.testing.assert_close(features @ weight + model.state_["bias"], model.scores_)
    found = model.diagnose()
    values = gram_eigenvalues(features)
    labelled = int(model.task_.train.sum())
    twin = kernel_complexity(values, num_labelled=labelled, num_unlabelled=150 - labelled)
    assert found.features_bound.complexity.value == pytest.approx(twin.value)
    assert found.features_bound.complexity.value > found.attended_bound.complexity.value
    assert "upper_bound" in found.to_dict()["features_bound"]
