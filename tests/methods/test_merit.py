"""MERIT's networks and views, Sel-CL's selection, Jo-SRC's targets, and the label-free stage that they share."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import roc_auc_score
from torch import Tensor

from quietgraph.embed.operator import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.merit.jo_src import (
    JoSRC,
    agreement,
    choose_targets,
    label_cost,
    smooth_labels,
    symmetric_divergence,
)
from quietgraph.methods.merit.merit import MERIT
from quietgraph.methods.merit.sel_cl import (
    SelCL,
    confident_nodes,
    confident_pairs,
    pair_contrast,
    similarity_cost,
)
from quietgraph.methods.merit.siamese import ForwardPass, Siamese, edge_view
from quietgraph.testing import small_data

DATA = small_data()
SMALL = {"dim": 8, "hidden": 8, "sample": 20, "epochs": 4}


@pytest.fixture
def siamese() -> Siamese:
    torch.manual_seed(0)
    return Siamese(DATA.graph, MERIT(**SMALL))


def test_the_loss_equals_its_definition() -> None:
    first, second, *far = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(0))
    costs = []
    for here, there, target in ((first, second, far[1]), (second, first, far[0])):
        for i, row in enumerate(here):
            alike = [
                torch.stack([F.cosine_similarity(row, one, dim=0) for one in rows]) for rows in (there, here, target)
            ]
            views = torch.cat([alike[0], alike[1][torch.arange(6) != i]]).logsumexp(0) - alike[0][i]
            costs.append(0.3 * views + 0.7 * (alike[2].logsumexp(0) - alike[2][i]))
    passed = ForwardPass((first, second), (first, second), (far[0], far[1]), (far[0], far[1]))
    torch.testing.assert_close(passed.loss(0.3), torch.stack(costs).mean())
    torch.testing.assert_close(passed.loss(0.3, torch.ones(6, dtype=torch.bool)), passed.loss(0.3))


def test_the_target_never_receives_gradients_and_moves_by_its_momentum(siamese: Siamese) -> None:
    network = siamese.network
    siamese.forward(siamese.draw_nodes()).loss(0.5).backward()
    targets, online = (network.target_encoder, network.target_projector), (network.encoder, network.predictor)
    assert all(each.grad is None for part in targets for each in part.parameters())
    assert all(each.grad is not None for part in online for each in part.parameters())
    before = copy.deepcopy(network.target_encoder.weight)
    assert torch.equal(network.encoder.weight, before)  # it starts as a copy
    with torch.no_grad():
        network.encoder.weight.add_(1)
    network.follow()
    torch.testing.assert_close(network.target_encoder.weight, before + 0.2)


@pytest.mark.parametrize("sparse", [True, False])
def test_some_nodes_see_what_they_see_among_all(sparse: bool) -> None:
    words = (np.random.default_rng(0).random((30, 80)) < 0.05).astype(np.float32)
    graph, mask = Graph.from_arrays(words, np.random.default_rng(1).integers(30, size=(2, 50))), torch.arange(80) % 3
    operator, weight, nodes = normalised_adjacency(graph), torch.randn(80, 4), torch.tensor([7, 3, 29])
    features = graph.features if sparse else torch.from_numpy(words)
    slow = operator.to_dense() @ (torch.from_numpy(words) * mask) @ weight
    torch.testing.assert_close(edge_view(features, operator, nodes, mask.float())(weight), slow[nodes])


def test_rows_of_some_nodes_are_those_of_the_encoder(siamese: Siamese) -> None:
    nodes = torch.tensor([5, 0, 33])
    found, every = siamese.embed(nodes), siamese.network.encoder(DATA.graph)
    torch.testing.assert_close(found, every[nodes])


def test_a_step_holds_the_wanted_nodes_first_and_no_node_twice(siamese: Siamese) -> None:
    nodes = siamese.draw_nodes(torch.tensor([4, 39, 8]))
    assert nodes[:3].tolist() == [4, 39, 8]
    assert len(nodes) == len(nodes.unique()) == 23
    assert len(siamese.draw_nodes()) == 20


@pytest.mark.parametrize("method", [SelCL, JoSRC])
def test_other_labels_keep_the_stage_without_labels_and_equal_ones_teach_the_same(method: type) -> None:
    model = method(**SMALL, warm_up=3).fit(DATA)
    fitted, observed = model.fitted_, model.observed_
    again = fitted.relearn(observed)
    assert torch.equal(again.scores, fitted.scores)
    other = replace(observed, codes=torch.where(observed.train, (observed.codes + 1) % 3, observed.codes))
    changed, afresh = fitted.relearn(other), model.learn(DATA.graph, other)
    assert torch.equal(changed.scores, afresh.scores)
    assert not torch.equal(changed.embeddings, fitted.embeddings)
    assert [row["loss"] for row in changed.history[:3]] == [row["loss"] for row in fitted.history[:3]]


def test_the_embeddings_of_merit_see_no_label() -> None:
    first = MERIT(**SMALL).fit(DATA)
    second = MERIT(**SMALL, classifier="ridge").fit(DATA.graph, np.arange(40) % 3)
    np.testing.assert_array_equal(first.embed(), second.embed())


@pytest.fixture(scope="module")
def clusters() -> tuple[Tensor, Tensor, Tensor]:
    """The similarity of three clusters of 20 nodes, their classes, and labels of which 40 % are wrong."""
    draws, classes = torch.Generator().manual_seed(0), torch.arange(60) % 3
    rows = F.normalize(torch.eye(8)[classes] + 0.25 * torch.randn(60, 8, generator=draws), dim=1)
    wrong = torch.rand(60, generator=draws) < 0.4
    shift = torch.randint(1, 3, (60,), generator=draws)
    return rows @ rows.T, classes, torch.where(wrong, (classes + shift) % 3, classes)


def confident_nodes_slow(similarity: Tensor, labels: list[int], k: int, share: float) -> list[int]:
    """The selection as its authors print it, with loops; ties by the first vote, then order."""
    nodes, classes = range(len(labels)), sorted(set(labels))
    near = [sorted((j for j in nodes if j != i), key=lambda j, i=i: -similarity[i, j])[:k] for i in nodes]

    def vote(now: list[int]) -> list[dict[int, float]]:
        return [{c: sum(now[j] == c for j in near[i]) / k for c in classes} for i in nodes]

    first = vote(labels)
    second = vote([max(classes, key=one.__getitem__) for one in first])
    agreeing = [sum(max(classes, key=second[i].__getitem__) == labels[i] == c for i in nodes) for c in classes]
    quota, chosen = max(1, int(np.quantile(agreeing, share))), []
    for c in classes:
        own = [i for i in nodes if labels[i] == c]
        own.sort(key=lambda i: (-min(0.99, max(0.01, second[i][labels[i]])), -first[i][labels[i]]))
        chosen += own[:quota]
    return sorted(chosen)


def test_confident_nodes_equal_their_definition(clusters: tuple[Tensor, Tensor, Tensor]) -> None:
    similarity, classes, labels = clusters
    found = confident_nodes(similarity, labels, 10, 0.5)
    assert found.nonzero().squeeze(1).tolist() == confident_nodes_slow(similarity, labels.tolist(), 10, 0.5)
    right = (labels == classes).float()
    assert right.mean() < 0.7
    assert right[found].mean() > 0.85
    assert len(torch.bincount(labels[found]).unique()) == 1  # as many of each class


def test_pairs_share_a_label_and_are_confident_or_similar(clusters: tuple[Tensor, Tensor, Tensor]) -> None:
    similarity, _, labels = clusters
    confident = confident_nodes(similarity, labels, 10, 0.5)
    pairs, inside = confident_pairs(similarity, labels, confident, 0.25), confident[:, None] & confident
    assert torch.equal(pairs, pairs.T)
    assert not pairs.diagonal().any()
    assert not (pairs & (labels[:, None] != labels)).any()
    assert bool((pairs | ~(inside & (labels[:, None] == labels)).fill_diagonal_(False)).all())
    assert (similarity[pairs & ~inside] >= similarity[pairs & inside].quantile(0.2)).all()


def test_verified_labels_are_trusted() -> None:
    wrong = torch.zeros(40, dtype=torch.bool)
    wrong[:3] = True  # training nodes
    verified = replace(DATA, verified=wrong)
    share, plain = (SelCL(**SMALL, warm_up=2).fit(one).fitted_.notes["trusted_labels"] for one in (verified, DATA))
    assert share >= plain
    assert share >= 3 / 18


def test_the_contrast_of_pairs_equals_its_definition() -> None:
    first, second = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    pairs, rows, costs = torch.zeros(6, 6, dtype=torch.bool), F.normalize(torch.cat([first, second]), dim=1), []
    pairs[0, 1] = pairs[1, 0] = pairs[2, 5] = pairs[5, 2] = True
    for i in range(12):
        others = [j for j in range(12) if j != i]
        logits = torch.stack([rows[i] @ rows[j] / 0.5 for j in others]).log_softmax(0)
        wanted = [one for one, j in zip(logits, others, strict=True) if j % 6 == i % 6 or pairs[i % 6, j % 6]]
        costs.append(-torch.stack(wanted).mean())
    torch.testing.assert_close(pair_contrast(first, second, pairs, temperature=0.5), torch.stack(costs).mean())
    first.requires_grad_()
    pair_contrast(first, second, torch.zeros_like(pairs), temperature=0.1).backward()
    assert first.grad is not None
    assert first.grad.isfinite().all()


def test_similarity_costs_least_where_selected_pairs_share_a_class() -> None:
    pairs = torch.zeros(3, 3, dtype=torch.bool)
    pairs[0, 1] = pairs[1, 0] = True
    fitting = torch.tensor([[0.98, 0.02], [0.98, 0.02], [0.02, 0.98]])
    opposed = fitting[[0, 2, 1]]
    assert similarity_cost(fitting, fitting, pairs) < 0.1
    assert similarity_cost(opposed, opposed, pairs) > 1


def test_agreement_is_one_less_the_jensen_shannon_divergence() -> None:
    first, second = torch.rand(2, 6, 5).softmax(dim=2)
    wanted = 1 - jensenshannon(first.numpy(), second.numpy(), base=2, axis=1) ** 2
    torch.testing.assert_close(agreement(first, second), torch.from_numpy(wanted).float())
    torch.testing.assert_close(smooth_labels(torch.tensor([2]), 4, 0.3), torch.tensor([[0.1, 0.1, 0.7, 0.1]]))


def test_targets_are_labels_teachers_or_nearly_uniform() -> None:
    given, taught = (
        smooth_labels(torch.zeros(3, dtype=torch.int64), 3, 0.1),
        torch.tensor([[0.1, 0.8, 0.1]]).repeat(3, 1),
    )
    targets = choose_targets(given, taught, torch.tensor([True, False, False]), torch.tensor([False, True, False]))
    torch.testing.assert_close(targets[:2], torch.stack([given[0], taught[1]]))
    assert (targets[2] - 1 / 3).abs().max() < 0.03


def test_costs_of_labels_and_views_equal_those_of_torch() -> None:
    first, second = torch.randn(2, 5, 4).log_softmax(dim=2)
    labels = torch.tensor([0, 1, 2, 3, 0])
    one_hot = F.one_hot(labels, 4).float()
    torch.testing.assert_close(label_cost(first, one_hot), F.nll_loss(first, labels))
    assert label_cost(first, one_hot, torch.zeros(5, dtype=torch.bool)) == 0
    both = [F.kl_div(*each, log_target=True, reduction="batchmean") for each in ((first, second), (second, first))]
    torch.testing.assert_close(symmetric_divergence(first, second), both[0] + both[1])


def test_flipped_labels_agree_less_with_the_predictions() -> None:
    draws = np.random.default_rng(0)
    drawn = block_model(200, num_classes=3, num_features=16, signal=2.0, generator=draws)
    flipped = draws.random(200) < 0.3
    labels = np.where(flipped, (drawn.classes + 1) % 3, drawn.classes)
    model = JoSRC(dim=32, hidden=32, epochs=40, warm_up=20).fit(drawn.graph, labels)
    train = model.observed_.train
    given = smooth_labels(model.observed_.codes[train], 3, 0.1)
    score = agreement(model.fitted_.scores.softmax(dim=1)[train], given).numpy()
    assert roc_auc_score(~flipped[train.numpy()], score) > 0.75
