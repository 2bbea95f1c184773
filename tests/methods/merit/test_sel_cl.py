"""Sel-CL's selection of labels and pairs, and its losses, on tiny sets."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.errors import InvalidParameterError
from quietgraph.graph import block_model
from quietgraph.methods.base.cache import EmbeddingCache, use_cache
from quietgraph.methods.merit.confident_pairs import (
    Confident,
    confident_nodes,
    confident_pairs,
    pair_contrast,
)
from quietgraph.methods.merit.sel_cl import SelCL, similarity_cost


@pytest.fixture
def clusters() -> tuple[Tensor, Tensor, Tensor]:
    """Three clusters of 20 unit rows, their classes, and labels of which 40 % are wrong."""
    draws = torch.Generator().manual_seed(0)
    classes = torch.arange(60) % 3
    rows = torch.eye(8)[classes] + 0.25 * torch.randn(60, 8, generator=draws)
    wrong = torch.rand(60, generator=draws) < 0.4
    shift = torch.randint(1, 3, (60,), generator=draws)
    return F.normalize(rows, dim=1), classes, torch.where(wrong, (classes + shift) % 3, classes)


def select(unit: Tensor, labels: Tensor, certain: Tensor | None = None) -> Confident:
    return confident_pairs(
        unit,
        labels,
        certain=torch.zeros(len(labels), dtype=torch.bool) if certain is None else certain,
        neighbours=10,
        confident_quantile=0.5,
        pair_quantile=0.25,
    )


def test_certain_labels_are_trusted(clusters: tuple[Tensor, Tensor, Tensor]) -> None:
    unit, classes, labels = clusters
    wrong = labels != classes
    assert not select(unit, labels).nodes[wrong].all()
    assert select(unit, labels, wrong).nodes[wrong].all()


def confident_nodes_slow(similarity: Tensor, labels: list[int], k: int, share: float) -> list[int]:
    """The selection as its authors print it, with loops; ties by the first vote, then order."""
    count, classes = len(labels), sorted(set(labels))
    near = [
        sorted((j for j in range(count) if j != i), key=lambda j, i=i: -similarity[i, j])[:k]
        for i in range(count)
    ]

    def vote(labels_now: list[int]) -> list[dict[int, float]]:
        return [
            {c: sum(labels_now[j] == c for j in near[i]) / k for c in classes} for i in range(count)
        ]

    first = vote(labels)
    second = vote([max(classes, key=lambda c, i=i: first[i][c]) for i in range(count)])
    agreeing = [
        sum(max(classes, key=second[i].get) == labels[i] == c for i in range(count))
        for c in classes
    ]
    quota = max(1, int(np.quantile(agreeing, share)))
    chosen = []
    for c in classes:
        own = [i for i in range(count) if labels[i] == c]
        own.sort(key=lambda i: (-min(0.99, max(0.01, second[i][labels[i]])), -first[i][labels[i]]))
        chosen += own[:quota]
    return sorted(chosen)


def test_confident_nodes_equal_their_definition(clusters: tuple[Tensor, Tensor, Tensor]) -> None:
    unit, _, labels = clusters
    similarity = unit @ unit.T
    found = confident_nodes(similarity, labels, 10, 0.5).nonzero().squeeze(1).tolist()
    assert found == confident_nodes_slow(similarity, labels.tolist(), 10, 0.5)


def test_confident_labels_are_right_far_more_often(
    clusters: tuple[Tensor, Tensor, Tensor],
) -> None:
    unit, classes, labels = clusters
    chosen = select(unit, labels).nodes
    right = (labels == classes).float()
    assert right.mean() < 0.7
    assert right[chosen].mean() > 0.85


def test_the_confident_set_is_balanced(clusters: tuple[Tensor, Tensor, Tensor]) -> None:
    unit, _, labels = clusters
    sizes = torch.bincount(labels[select(unit, labels).nodes])
    assert sizes.min() == sizes.max()


def test_nobody_votes_for_himself() -> None:
    # One node of class 1 amid class 0: with a vote of its own it would keep some support.
    similarity = torch.full((6, 6), 0.9)
    labels = torch.tensor([0, 0, 0, 0, 0, 1])
    similarity.fill_diagonal_(1.0)
    chosen = confident_nodes(similarity, labels, 1, 0.0)
    assert int(chosen.sum()) == 2  # a quota of one a class, never none


def test_pairs_have_equal_labels_and_no_node_pairs_with_itself(
    clusters: tuple[Tensor, Tensor, Tensor],
) -> None:
    unit, _, labels = clusters
    chosen = select(unit, labels)
    assert torch.equal(chosen.pairs, chosen.pairs.T)
    assert not chosen.pairs.diagonal().any()
    rows, columns = chosen.pairs.nonzero().T
    assert torch.equal(labels[rows], labels[columns])
    inside = chosen.nodes[:, None] & chosen.nodes[None, :] & (labels[:, None] == labels)
    assert bool((chosen.pairs | ~inside.fill_diagonal_(False)).all())


def test_pairs_outside_the_confident_set_are_similar(
    clusters: tuple[Tensor, Tensor, Tensor],
) -> None:
    unit, _, labels = clusters
    chosen, similarity = select(unit, labels), unit @ unit.T
    inside = chosen.nodes[:, None] & chosen.nodes[None, :]
    bound = similarity[chosen.pairs & inside].quantile(0.2)
    assert (similarity[chosen.pairs & ~inside] >= bound).all()


def pair_contrast_slow(first: Tensor, second: Tensor, pairs: Tensor, temperature: float) -> Tensor:
    rows, count = F.normalize(torch.cat([first, second]), dim=1), len(first)
    costs = []
    for i in range(2 * count):
        others = [j for j in range(2 * count) if j != i]
        logits = torch.stack([rows[i] @ rows[j] / temperature for j in others]).log_softmax(0)
        positive = [
            logits[place]
            for place, j in enumerate(others)
            if j % count == i % count or pairs[i % count, j % count]
        ]
        costs.append(-torch.stack(positive).mean())
    return torch.stack(costs).mean()


def test_the_contrast_of_pairs_equals_its_definition() -> None:
    first, second = torch.randn(2, 6, 4)
    pairs = torch.zeros(6, 6, dtype=torch.bool)
    pairs[0, 1] = pairs[1, 0] = pairs[2, 5] = pairs[5, 2] = True
    found = pair_contrast(first, second, pairs, temperature=0.5)
    torch.testing.assert_close(found, pair_contrast_slow(first, second, pairs, 0.5))


def test_the_contrast_of_pairs_has_a_finite_gradient() -> None:
    first = torch.randn(4, 3, requires_grad=True)
    pairs = torch.zeros(4, 4, dtype=torch.bool)
    pair_contrast(first, torch.randn(4, 3), pairs, temperature=0.1).backward()
    assert first.grad is not None
    assert first.grad.isfinite().all()


def test_similarity_costs_least_where_selected_pairs_share_a_class() -> None:
    pairs = torch.tensor([[False, True, False], [True, False, False], [False, False, False]])
    fitting = torch.tensor([[0.98, 0.02], [0.98, 0.02], [0.02, 0.98]])
    opposed = fitting[[0, 2, 1]]
    assert similarity_cost((fitting, fitting), pairs) < 0.1
    assert similarity_cost((opposed, opposed), pairs) > 1


def test_embeddings_that_use_labels_are_not_shared(tmp_path: object) -> None:
    drawn = block_model(60, num_classes=3, num_features=6, generator=np.random.default_rng(0))
    quick = {"epochs": 6, "warm_up": 2, "dim": 8, "hidden": 8}
    with use_cache(EmbeddingCache(tmp_path)):  # type: ignore[arg-type]
        first = SelCL(**quick).fit(drawn.graph, drawn.classes)
        second = SelCL(**quick).fit(drawn.graph, (drawn.classes + np.arange(60)) % 3)
    assert not np.array_equal(first.embeddings_, second.embeddings_)


@pytest.mark.parametrize("predict_from", ["head", "probe"])
def test_predictions_come_from_where_they_are_asked(predict_from: str) -> None:
    drawn = block_model(60, num_classes=3, num_features=6, generator=np.random.default_rng(0))
    model = SelCL(epochs=6, warm_up=2, dim=8, hidden=8, predict_from=predict_from)
    model.fit(drawn.graph, drawn.classes)
    assert bool(model.state_["from_head"]) is (predict_from == "head")
    wanted = model.notes_[f"{predict_from}_validation_accuracy"]
    assert model.notes_["validation_accuracy"] == wanted


def test_a_warm_up_that_leaves_no_epoch_for_labels_is_refused() -> None:
    drawn = block_model(60, num_classes=3, num_features=6, generator=np.random.default_rng(0))
    with pytest.raises(InvalidParameterError, match="warm_up must be below epochs"):
        SelCL(epochs=5, warm_up=5).fit(drawn.graph, drawn.classes)
