"""Evidence counts as far as it predicts the observed labels."""

import torch
import torch.nn.functional as F

from quietgraph.classify.label_issues.pooling import pool_evidence


def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (300,), generator=draws)
    good = (2 * F.one_hot(labels, 3) + torch.randn(300, 3, generator=draws)).softmax(dim=1)
    bad = torch.randn(300, 3, generator=draws).softmax(dim=1)
    return labels, good, bad


def test_informative_evidence_counts_and_noise_does_not() -> None:
    labels, good, bad = problem()
    found = pool_evidence({"good": good, "bad": bad}, labels)
    assert found.weights["good"] > 5 * found.weights["bad"]
    torch.testing.assert_close(found.probabilities.sum(dim=1), torch.ones(300).double())


def test_rows_that_say_nothing_leave_the_class_frequencies() -> None:
    labels, good, _ = problem()
    good[:10] = torch.nan
    good[10:20] = 0
    found = pool_evidence({"good": good}, labels).probabilities
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found[0], found[15])


def test_nodes_without_a_label_have_no_row() -> None:
    labels, good, _ = problem()
    labels[::2] = -1
    assert (pool_evidence({"good": good}, labels).probabilities[::2] == 0).all()


def test_two_labels_are_enough_for_an_answer() -> None:
    labels = torch.tensor([0, 1, -1])
    found = pool_evidence({"one": torch.full((3, 2), 0.5)}, labels).probabilities
    assert torch.isfinite(found).all()
