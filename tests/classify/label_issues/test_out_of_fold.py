"""Out-of-fold probabilities: nobody judges a label that it has seen."""

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


def test_repeats_are_averages_of_folds_drawn_one_after_the_other() -> None:
    seen: list[Tensor] = []

    def count_seen(labels: Tensor) -> Tensor:
        seen.append(labels)
        return torch.stack([(labels >= 0).float(), torch.full((len(labels),), len(seen))], dim=1)

    draws = torch_generator(0, "folds")
    single = [out_of_fold(LABELS, count_seen, 2, generator=draws) for _ in range(3)]
    seen.clear()
    mean = out_of_fold(LABELS, count_seen, 2, generator=torch_generator(0, "folds"), repeats=3)
    assert len(seen) == 15
    torch.testing.assert_close(mean, torch.stack(single).mean(dim=0))


def test_mending_never_sees_the_label_that_is_judged() -> None:
    def flip(_: Tensor, labels: Tensor) -> Tensor:
        assert (labels == -1).sum() > (LABELS == -1).sum()
        return torch.where(labels < 0, labels, 1 - labels)

    learned: list[Tensor] = []

    def learn(labels: Tensor) -> Tensor:
        learned.append(labels)
        return remember(labels)

    found = out_of_fold(LABELS, learn, 2, generator=torch_generator(0, "folds"), mend=flip)
    assert len(learned) == 5 * (5 + 1)
    unseen = torch.tensor([0.1, 0.0]).double().softmax(dim=0)
    torch.testing.assert_close(found[LABELS >= 0], unseen.expand(10, 2), atol=1e-7, rtol=0)
    for mended in learned[5::6]:
        shown = mended >= 0
        assert (mended[shown] == 1 - LABELS[shown]).all()


def test_a_fold_that_leaves_one_label_is_left_out() -> None:
    labels = torch.tensor([0, 1, -1])
    found = out_of_fold(labels, remember, 2, generator=torch_generator(0, "folds"), count=2)
    assert (found == 0).all()
