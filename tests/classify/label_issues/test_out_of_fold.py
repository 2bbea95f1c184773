"""Out-of-fold probabilities: no classifier scores a label that it has seen."""

import torch
from torch import Tensor

from quietgraph.classify.label_issues.out_of_fold import out_of_fold
from quietgraph.rng import torch_generator

LABELS = torch.tensor([0, 1, -1, 0, 1, 0, 1, 0, 1, -1, 0, 1])


def remember(labels: Tensor) -> Tensor:
    """Score what was seen: the label itself where it was, class 0 slightly where it was not."""
    scores = torch.zeros(len(labels), 2)
    scores[:, 0] = 0.1
    scores[labels == 0, 0] = 50.0
    scores[labels == 1, 1] = 50.0
    return scores


def run(**options) -> Tensor:
    return out_of_fold(LABELS, remember, 2, generator=torch_generator(0, "folds"), **options)


def test_no_row_knows_its_own_label() -> None:
    unseen = torch.tensor([0.1, 0.0]).double().softmax(dim=0)
    found = run()
    torch.testing.assert_close(found[LABELS >= 0], unseen.expand(10, 2), atol=1e-7, rtol=0)
    assert (found[LABELS < 0] == 0).all()


def test_a_fold_that_leaves_one_label_is_left_out() -> None:
    labels = torch.tensor([0, 1, -1])
    found = out_of_fold(labels, remember, 2, generator=torch_generator(0, "folds"), count=2)
    assert (found == 0).all()
