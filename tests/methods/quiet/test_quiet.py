"""The pieces of `quiet` against their formulas, and what the pool is for."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import quietgraph as qg
from quietgraph.classify import (
    cluster_projection,
    fit_mixture,
    leading_directions,
    neighbour_similarity,
    smooth_rows,
    smoothing,
)
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.embed import Propagation, normalised_adjacency
from quietgraph.graph import CSR
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.candidates import Candidate, Layer
from quietgraph.methods.quiet.ensemble import Ensemble, correct_labels
from quietgraph.methods.quiet.evaluation import Evaluation, class_permutations, permuted
from quietgraph.rng import torch_generator
from quietgraph.testing import small_problem


def test_smoothing_equals_the_dense_recursion() -> None:
    graph = small_problem()[0].graph
    operator, rows = normalised_adjacency(graph), torch.randn(120, 5, generator=torch_generator(0))
    slow = rows
    for _ in range(10):
        slow = 0.9 * operator.to_dense() @ slow + 0.1 * rows
    torch.testing.assert_close(smooth_rows(operator, rows), F.normalize(slow, dim=1))


def test_smoothed_attributes_keep_the_angles_of_the_dense_formula() -> None:
    graph = small_problem()[0].graph
    operator = normalised_adjacency(graph)
    unit, total = F.normalize(graph.features, dim=1), torch.zeros(120, 12)
    for hop in range(1, 9):
        total += torch.linalg.matrix_power(operator.to_dense(), hop) @ unit / 8
    rows = F.normalize(0.05 * unit + 0.95 * total, dim=1)
    fast = smoothing.attributes_of(graph, seed=0)[1]
    torch.testing.assert_close(fast @ fast.T, rows @ rows.T, atol=1e-3, rtol=1e-3)
    sparse = graph.with_features(CSR.from_scipy(graph.features.numpy()))
    same = smoothing.attributes_of(sparse, seed=0)[1]
    torch.testing.assert_close(same @ same.T, fast @ fast.T, atol=1e-3, rtol=1e-3)


def test_leading_directions_are_those_of_the_svd() -> None:
    matrix = torch.randn(60, 30, generator=torch_generator(0), dtype=torch.float64)
    matrix = matrix @ torch.diag(0.7 ** torch.arange(30, dtype=torch.float64))
    left, values, _ = torch.linalg.svd(matrix, full_matrices=False)
    exact = (left * values)[:, :4]
    fast = matrix @ leading_directions(matrix, 4, generator=torch_generator(1))
    torch.testing.assert_close(fast @ fast.T, exact @ exact.T, atol=1e-6, rtol=1e-6)


def test_the_cluster_projection_is_finite_for_columns_that_are_nearly_zero() -> None:
    rows = torch.randn(60, 40, generator=torch_generator(0))
    rows[:, 3:] *= 1e-24
    flat = rows @ cluster_projection(rows, 20)
    assert flat.isfinite().all()
    torch.testing.assert_close(
        flat[:, -3:].T @ flat[:, -3:], torch.diag(torch.linalg.svdvals(rows)[:3].flip(0))
    )


def test_the_cluster_projection_square_roots_the_singular_values() -> None:
    rows = torch.randn(50, 6, generator=torch_generator(0), dtype=torch.float64)
    left, values, _ = torch.linalg.svd(rows, full_matrices=False)
    exact = F.normalize((left * values.sqrt())[:, :3], dim=1)
    fast = F.normalize(rows @ cluster_projection(rows, 3), dim=1)
    torch.testing.assert_close(fast @ fast.T, exact @ exact.T, atol=1e-8, rtol=1e-8)


def test_clusters_find_the_classes_though_labels_are_wrong() -> None:
    draws = torch_generator(0)
    classes = torch.arange(300) % 3
    rows = torch.eye(8)[classes] + 0.35 * torch.randn(300, 8, generator=draws)
    rows = F.normalize(rows, dim=1)
    wrong = torch.rand(300, generator=draws) < 0.4
    shift = torch.randint(1, 3, (300,), generator=draws)
    labels = torch.where(wrong, (classes + shift) % 3, classes)
    train = torch.arange(300) < 60
    for noisy in (False, True):
        weight, bias = fit_mixture(rows, labels, train, 3, concentration=10.0, noisy=noisy)
        assert float(((rows @ weight + bias).argmax(dim=1) == classes).float().mean()) > 0.9


def fit_arguments():
    problem, labels, validation = small_problem()
    return problem.graph, labels, validation


def quiet(**parameters):
    return qg.get_method("quiet")(epochs=5, **parameters).fit(*fit_arguments())


def test_ensemble_weights_follow_validation_accuracy_and_are_noted() -> None:
    weights = list(quiet().notes_.values())
    assert sum(weights) == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    best_only = list(quiet(ensemble_temperature=0).notes_.values())
    assert len(best_only) < len(weights)
    assert len(set(best_only)) == 1  # the best, or those level with it


FAMILY_WORDS = {
    "ridge": "ridge ",
    "logistic": "logistic w",
    "clusters": "clusters ",
    "perceptron": "perceptron ",
}


@pytest.mark.parametrize("family", FAMILY_WORDS)
def test_a_pool_of_one_family_has_no_other(family: str) -> None:
    names, others = pool_names(family), pool_names(f"no-{family}")
    assert any(FAMILY_WORDS[family] in name for name in names)
    assert names | others == pool_names("all")
    assert not names & others


def pool_names(families: str) -> set[str]:
    """Return all candidates: at an infinite temperature every one has a weight."""
    return set(quiet(families=families, ensemble_temperature=1e6, correction_rounds=0).notes_)


def test_own_attributes_and_neighbours_apart_are_candidates_only_under_heterophily() -> None:
    for alike in (False, True):
        graph, labels, validation, _ = drawn_neighbours(alike=alike)
        model = qg.Quiet(epochs=5, ensemble_temperature=1e6, correction_rounds=0).fit(
            graph, labels, validation
        )
        for kind in ("own", "neighbours", "hops"):
            assert any(f"logistic {kind}" in name for name in model.notes_) != alike
    assert all("own" in name for name in pool_names("own"))


def test_attributes_of_neighbours_lead_where_a_node_says_nothing_of_its_own_class() -> None:
    """Every node has the attributes of its class's opposite, and neighbours of that class only."""
    draws = np.random.default_rng(1)
    classes = np.arange(400) % 4
    other = (classes + 2) % 4
    features = 3 * draws.standard_normal((400, 20)) + np.eye(20)[classes] * 4
    sources = np.repeat(np.arange(400), 4)
    targets = np.array([draws.choice(np.flatnonzero(classes == other[one])) for one in sources])
    graph = qg.Graph.from_arrays(features, np.vstack([sources, targets]))
    order = draws.permutation(400)
    labels = np.where(np.isin(np.arange(400), order[:160]), classes, -1)

    def hits(families: str) -> float:
        model = qg.Quiet(epochs=5, families=families).fit(graph, labels)
        return float((model.predict() == classes)[labels < 0].mean())

    assert hits("hops") > hits("own") + 0.1


def test_own_attributes_lead_where_edges_say_nothing() -> None:
    graph, labels, validation, classes = drawn_neighbours(alike=False)

    def hits(families: str) -> float:
        model = qg.Quiet(epochs=5, families=families).fit(graph, labels, validation)
        return float((model.predict() == classes)[labels < 0].mean())

    assert hits("all") > 0.95
    assert hits("all") > hits("logistic") + 0.1


def drawn_neighbours(*, alike: bool):
    """Return a graph whose attributes tell the class, and whose edges tell it too or nothing."""
    draws = np.random.default_rng(0)
    classes = np.arange(300) % 3
    features = np.eye(30)[classes] + 0.3 * draws.standard_normal((300, 30))
    edges = draws.integers(300, size=(2, 3000))
    if alike:
        edges = edges[:, classes[edges[0]] == classes[edges[1]]]
    graph = qg.Graph.from_arrays(features.astype(np.float32), edges)
    labels = np.where(np.arange(300) < 160, classes, -1)
    return graph, labels, (np.arange(300) >= 60) & (labels >= 0), classes


def test_similarity_of_neighbours_is_their_mean_cosine_less_the_mean_row() -> None:
    graph = small_problem()[0].graph
    rows = graph.features - graph.features.mean(dim=0)
    cosines = F.normalize(rows, dim=1) @ F.normalize(rows, dim=1).T
    slow = float(cosines[graph.adjacency.to_dense() > 0].mean())
    draws = torch_generator(0)
    assert neighbour_similarity(graph.edge_index, graph.features, generator=draws) == pytest.approx(
        slow, abs=1e-5
    )
    few = [
        neighbour_similarity(graph.edge_index, graph.features, most_edges=50, generator=draws)
        for _ in range(200)
    ]
    assert np.mean(few) == pytest.approx(slow, abs=0.02)
    nothing = torch.zeros(2, 0, dtype=torch.int64)
    assert neighbour_similarity(nothing, graph.features, generator=draws) == 0


def test_without_the_encoder_embeddings_play_no_part() -> None:
    short, long = (
        quiet(encoder=False).scores_,
        qg.get_method("quiet")(epochs=9, encoder=False).fit(*fit_arguments()).scores_,
    )
    torch.testing.assert_close(short, long, atol=0, rtol=0)


def test_a_dense_graph_is_fitted_without_an_encoder_and_predicts_for_new_nodes() -> None:
    draws = np.random.default_rng(3)
    drawn = qg.block_model(
        300, num_classes=3, num_features=20, mean_degree=20, signal=3.0, generator=draws
    )
    labels = np.where(draws.random(300) < 0.5, drawn.classes, -1)
    assert not smoothing.neighbours_differ(drawn.graph)
    dense = qg.Quiet(seed=0).fit(drawn.graph, labels)
    asked = qg.Quiet(seed=0, encoder=False).fit(drawn.graph, labels)
    np.testing.assert_array_equal(dense.scores_, asked.scores_)
    assert not dense.history_
    assert not any("wide" in name for name in dense.notes_)

    again = dense.encoder_(drawn.graph.features, drawn.graph.edge_index)
    np.testing.assert_allclose(again.numpy(), dense.embeddings_, atol=1e-5)
    assert (dense.predict(drawn.graph) == dense.predict()).all()
    learned = qg.Quiet(seed=0, encoder=True, epochs=2).fit(drawn.graph, labels)
    assert learned.history_


@pytest.mark.parametrize(("drawn_by", "by_embeddings"), [(5, True), (3, False)])
def test_validation_labels_decide_on_embeddings_of_dense_graphs_whose_neighbours_differ(
    drawn_by: int, by_embeddings: bool
) -> None:
    draws = np.random.default_rng(drawn_by)
    drawn = qg.block_model(
        300,
        num_classes=3,
        num_features=20,
        mean_degree=20,
        signal=0.05,
        homophily=0.8,
        generator=draws,
    )
    labels = np.where(draws.random(300) < 0.5, drawn.classes, -1)
    assert smoothing.neighbours_differ(drawn.graph)
    fitted = {
        encoder: qg.Quiet(seed=0, epochs=4, encoder=encoder).fit(drawn.graph, labels)
        for encoder in (None, True, False)
    }
    np.testing.assert_array_equal(fitted[None].scores_, fitted[by_embeddings].scores_)
    assert not np.array_equal(fitted[True].scores_, fitted[False].scores_)
    assert (fitted[None].predict(drawn.graph) == fitted[None].predict()).all()
    assert fitted[None].history_  # the encoder was trained either way


def test_refit_uses_validation_labels_too() -> None:
    plain, again = quiet(), quiet(refit=True)
    assert plain.notes_ == again.notes_
    assert not np.array_equal(plain.scores_, again.scores_)


def test_the_same_nodes_in_a_new_graph_get_the_same_classes() -> None:
    model = quiet()
    torch.testing.assert_close(
        torch.from_numpy(model.predict_proba(fit_arguments()[0])),
        torch.from_numpy(model.predict_proba()),
        atol=1e-4,
        rtol=1e-4,
    )


def pair_noise(swapped: bool):
    """Three classes in a plane; 40 % of class 0 are called 1, or most training labels of it."""
    draws = torch_generator(3)
    classes = torch.arange(600) % 3
    rows = F.normalize(torch.eye(3)[classes] + 0.2 * torch.randn(600, 3, generator=draws), dim=1)
    train = torch.arange(600) < 60
    chance = torch.where(train & torch.tensor(swapped), 0.8, 0.4)
    flipped = (classes == 0) & (torch.rand(600, generator=draws) < chance)
    labels = torch.where(flipped, 1, classes)
    task = Task(small_problem()[0].graph, labels, train, ~train, 3, seed=0)
    return rows, classes, task


def test_corrected_labels_are_nearer_the_truth() -> None:
    rows, classes, task = pair_noise(swapped=False)
    observed, corrected = (
        float((labels == classes)[task.train].float().mean())
        for labels in (task.labels, correct_labels(20 * rows, task))
    )
    assert observed < 0.9
    assert corrected == 1.0


def test_verified_labels_are_not_corrected() -> None:
    rows, classes, task = pair_noise(swapped=False)
    wrong = task.train & (task.labels != classes)
    corrected = correct_labels(20 * rows, replace(task, verified=wrong))
    assert wrong.any()
    assert torch.equal(corrected[wrong], task.labels[wrong])


def test_swapped_classes_are_permuted_back() -> None:
    rows, _, task = pair_noise(swapped=True)
    wrong = Candidate("rows", torch.eye(3)[:, [1, 0, 2]], torch.zeros(3))
    right = Candidate("rows", torch.eye(3), torch.zeros(3))
    features = {"rows": rows}
    pool = {"wrong": wrong, "right": right}
    orders = class_permutations(pool, Evaluation(features, task))
    assert list(orders) == ["wrong"]
    found = permuted({"wrong": wrong}, orders)["wrong, classes permuted"]
    torch.testing.assert_close(found.scores(features), right.scores(features))


def test_few_validation_labels_do_not_rename_most_classes() -> None:
    codes = torch.arange(120) % 4
    order = torch.tensor([1, 2, 3, 0])
    swap = torch.tensor([1, 0, 2, 3])
    pool = {
        name: Candidate("rows", torch.eye(4)[:, wrong], torch.zeros(4))
        for name, wrong in (("all", order), ("two", swap))
    }
    features = {"rows": torch.nn.functional.one_hot(codes, 4).float()}
    for few, found in ((True, ["two"]), (False, ["all", "two"])):
        held_out = torch.arange(120) < (24 if few else 60)
        task = Task(small_problem()[0].graph, codes, ~held_out, held_out, 4, seed=0)
        assert list(class_permutations(pool, Evaluation(features, task))) == found


def test_label_correction_helps_where_one_class_is_taken_for_another() -> None:
    problem, labels, validation = small_problem()
    codes = np.asarray(labels).copy()
    known = np.flatnonzero(codes >= 0)
    flipped = known[(codes[known] == 0) & (np.arange(len(known)) % 5 < 2)]
    codes[flipped] = 1
    fits = [
        qg.get_method("quiet")(epochs=5, correction_rounds=rounds).fit(
            problem.graph, codes, validation
        )
        for rounds in (0, 2)
    ]
    hits = [float((model.predict() == problem.classes).mean()) for model in fits]
    assert hits[1] >= hits[0]
    assert not any("corrected" in name for name in fits[0].notes_)


def test_the_adjustment_finds_that_classes_are_not_equally_frequent() -> None:
    draws = torch_generator(3)
    classes = (torch.rand(400, generator=draws) < 0.9).long()
    scores = 0.5 * F.one_hot(classes, 2) + 0.5 * torch.randn(400, 2, generator=draws)
    wrong = torch.rand(400, generator=draws) < 0.2
    labels = torch.where(wrong, 1 - classes, classes)
    adjustment = class_adjustment(scores, labels, labels, generator=torch_generator(0))
    assert adjustment[1] > adjustment[0]
    before, after = (
        (each.argmax(dim=1) == classes).float().mean() for each in (scores, scores + adjustment)
    )
    assert after > before + 0.05


def test_scores_that_are_right_get_no_adjustment() -> None:
    labels = torch.arange(60) % 3
    scores = F.one_hot(labels, 3).float()
    assert not class_adjustment(scores, labels, labels, generator=torch_generator(0)).any()


def test_the_adjustment_is_an_option_that_changes_answers_for_new_graphs_too() -> None:
    graph = fit_arguments()[0]
    plain, adjusted = quiet(class_prior_adjustment=False), quiet()
    assert not plain.state_["ensemble.class_adjustment"].any()
    assert adjusted.state_["ensemble.class_adjustment"].shape == (len(adjusted.classes_),)
    np.testing.assert_allclose(adjusted.predict_proba(graph), adjusted.predict_proba(), atol=1e-4)


def test_an_ensemble_survives_its_tensors_bit_for_bit() -> None:
    draws = torch_generator(0)
    features = {"own": torch.randn(20, 3, generator=draws), "wide": torch.randn(20, 5)}
    members = tuple(
        Candidate(kind, torch.randn(features[kind].shape[1], 4, generator=draws), torch.rand(4))
        for kind in ("wide", "own", "wide")
    )
    hidden = Layer(torch.randn(5, 3, generator=draws), torch.rand(3))
    layered = Candidate("wide", torch.randn(3, 4, generator=draws), torch.rand(4), hidden=hidden)
    members = (members[0], layered, *members[1:])
    ensemble = Ensemble(
        members, torch.tensor([0.4, 0.1, 0.3, 0.2]), torch.tensor([0.0, 0.1, 0.0, 0.2])
    )
    again = Ensemble.from_tensors(ensemble.to_tensors())
    assert [each.kind for each in again.members] == ["wide", "wide", "own", "wide"]
    assert torch.equal(again.scores(features), ensemble.scores(features))


def test_the_scores_of_an_ensemble_are_its_formula() -> None:
    features = {"own": torch.eye(3), "both": torch.ones(3, 1)}
    first = Candidate("own", torch.eye(3), torch.zeros(3))
    second = Candidate("both", torch.zeros(1, 3), torch.tensor([1.0, 0.0, 0.0]))
    shift = torch.tensor([0.0, 0.5, 0.0])
    found = Ensemble((first, second), torch.tensor([0.75, 0.25]), shift).scores(features)
    mean = 0.75 * torch.eye(3).softmax(dim=1) + 0.25 * torch.tensor([1.0, 0.0, 0.0]).softmax(dim=0)
    torch.testing.assert_close(found, mean.log() + shift)


def test_a_fit_with_suspects_builds_one_operator_and_smooths_the_attributes_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built, smoothed = [], []
    build, smooth = Propagation._build, smoothing.smoothed_attributes
    monkeypatch.setattr(Propagation, "_build", lambda *given: built.append(given) or build(*given))
    monkeypatch.setattr(
        smoothing, "smoothed_attributes", lambda *given: smoothed.append(given) or smooth(*given)
    )
    data, labels, _ = small_problem()
    qg.Quiet(epochs=2).fit(data.graph, labels).suspects(columns="evidence")
    assert (len(built), len(smoothed)) == (1, 1)
