import pytest
import torch

from quietgraph.graph import CSR
from quietgraph.methods.linked.sample_selection import (
    label_costs,
    neighbour_divergence,
    peer_divergence,
    select_labels,
    selection_cost,
)

NONE = torch.zeros(40, dtype=torch.bool)


def peer_scores(seed: int, count: int = 40) -> torch.Tensor:
    return 3 * torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def labels() -> torch.Tensor:
    return torch.randint(4, (40,), generator=torch.Generator().manual_seed(2))


def test_all_labels_are_clean_at_first(labels: torch.Tensor) -> None:
    selected = select_labels(peer_scores(0), peer_scores(1), labels, certain=NONE, progress=0.0)
    assert selected.clean.all()
    assert not selected.correctable.any()


def test_the_clean_labels_are_those_that_cost_least(labels: torch.Tensor) -> None:
    first, second = peer_scores(0), peer_scores(1)
    selected = select_labels(first, second, labels, certain=NONE, progress=1.0)
    costs = label_costs(first, second, labels)
    assert costs[selected.clean].max() <= costs[~selected.clean].min()
    below = int((costs < costs.mean()).sum())
    assert int(selected.clean.sum()) == max(20, below)


def test_correctable_labels_are_those_both_peers_would_change_alike(labels: torch.Tensor) -> None:
    scores = peer_scores(0)
    selected = select_labels(
        scores, scores + 0.1 * peer_scores(1), labels, certain=NONE, progress=0.8
    )
    assert selected.correctable.any()
    found = selected.correctable
    assert not (found & selected.clean).any()
    assert (selected.corrected[found] == scores.argmax(dim=1)[found]).all()
    assert (selected.corrected[found] != labels[found]).all()


def test_certain_labels_are_clean_whatever_they_cost(labels: torch.Tensor) -> None:
    scores = peer_scores(0)
    selected = select_labels(scores, scores, labels, certain=~NONE, progress=0.8)
    assert selected.clean.all()
    assert not selected.correctable.any()


def test_every_label_is_of_one_kind(labels: torch.Tensor) -> None:
    selected = select_labels(peer_scores(0), peer_scores(0), labels, certain=NONE, progress=0.7)
    kinds = torch.stack([selected.clean, selected.correctable, selected.uncertain]).sum(dim=0)
    assert (kinds == 1).all()


def test_the_selection_cost_equals_its_definition(labels: torch.Tensor) -> None:
    first, second = peer_scores(0), peer_scores(0) + 0.1 * peer_scores(1)
    selected = select_labels(first, second, labels, certain=NONE, progress=0.7)
    slow = 0.0
    for i in range(40):
        row = slice(i, i + 1)
        given = float(label_costs(first[row], second[row], labels[row]))
        corrected_cost = float(label_costs(first[row], second[row], selected.corrected[row]))
        if selected.clean[i]:
            slow += given
        elif selected.correctable[i]:
            slow += float(selected.trust[i]) * corrected_cost
        else:
            slow += 0.1 * given
    cost = selection_cost(first, second, labels, selected, uncertain_weight=0.1)
    assert float(cost) == pytest.approx(slow / 40, rel=1e-5)


def test_peers_that_agree_do_not_diverge() -> None:
    assert float(peer_divergence(peer_scores(0), peer_scores(0) + 5)) == pytest.approx(0, abs=1e-5)
    assert float(peer_divergence(peer_scores(0), peer_scores(1))) > 0


def test_neighbour_divergence_sums_over_single_edges() -> None:
    scores = peer_scores(0, count=5).requires_grad_()
    weights = torch.rand(5, 5, generator=torch.Generator().manual_seed(3))
    total = neighbour_divergence(CSR.from_scipy(weights.numpy()), scores)
    total.backward()
    twin = scores.detach().clone().requires_grad_()
    logs = twin.log_softmax(dim=1)
    slow = torch.zeros(())
    for i in range(5):
        for j in range(5):
            fixed = logs[j].detach()
            slow = slow + weights[i, j] * (fixed.exp() * (fixed - logs[i])).sum()
    slow.backward()
    torch.testing.assert_close(total, slow)
    torch.testing.assert_close(scores.grad, twin.grad)
