"""Jo-SRC's score of labels, its targets and its costs."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import roc_auc_score

from quietgraph.graph import block_model
from quietgraph.methods.base.cache import EmbeddingCache, use_cache
from quietgraph.methods.merit.jo_src import (
    JoSRC,
    agreement,
    choose_targets,
    label_cost,
    smooth_labels,
    symmetric_divergence,
)

LABEL = torch.zeros(1, dtype=torch.int64)


def test_smoothed_labels_sum_to_one_and_keep_their_share() -> None:
    given = smooth_labels(torch.tensor([2, 0]), 4, 0.3)
    torch.testing.assert_close(given[0], torch.tensor([0.1, 0.1, 0.7, 0.1]))
    torch.testing.assert_close(given.sum(dim=1), torch.ones(2))


def test_agreement_is_one_less_the_jensen_shannon_divergence() -> None:
    probabilities, given = torch.rand(2, 6, 5).softmax(dim=2)
    wanted = 1 - jensenshannon(probabilities.numpy(), given.numpy(), base=2, axis=1) ** 2
    torch.testing.assert_close(agreement(probabilities, given), torch.from_numpy(wanted).float())


@pytest.mark.parametrize(("smoothing", "fitted", "wrong"), [(0.1, 0.95, 0.06), (0.3, 0.83, 0.15)])
def test_agreement_of_sure_predictions_is_as_computed_by_hand(
    smoothing: float, fitted: float, wrong: float
) -> None:
    given = smooth_labels(LABEL, 7, smoothing)
    right, other = F.one_hot(torch.tensor([0, 3]), 7).float().split(1)
    assert agreement(right, given).item() == pytest.approx(fitted, abs=0.005)
    assert agreement(other, given).item() == pytest.approx(wrong, abs=0.005)


def test_targets_are_labels_teachers_or_nearly_uniform() -> None:
    given = smooth_labels(torch.tensor([0, 0, 0]), 3, 0.1)
    taught = torch.tensor([[0.1, 0.8, 0.1]]).repeat(3, 1)
    clean, agree = torch.tensor([True, False, False]), torch.tensor([False, True, False])
    targets = choose_targets(given, taught, clean, agree)
    torch.testing.assert_close(targets[0], given[0])
    torch.testing.assert_close(targets[1], taught[1])
    assert (targets[2] - 1 / 3).abs().max() < 0.03


def test_label_cost_over_no_row_is_zero() -> None:
    log_chances = torch.randn(3, 4).log_softmax(dim=1)
    nobody = torch.zeros(3, dtype=torch.bool)
    assert label_cost(log_chances, torch.full((3, 4), 0.25), nobody) == 0


def test_label_cost_with_one_hot_targets_is_cross_entropy() -> None:
    scores, labels = torch.randn(5, 4), torch.tensor([0, 1, 2, 3, 0])
    found = label_cost(scores.log_softmax(dim=1), F.one_hot(labels, 4).float())
    torch.testing.assert_close(found, F.cross_entropy(scores, labels))


def test_symmetric_divergence_is_the_sum_of_both_directions() -> None:
    first, second = torch.randn(2, 5, 4).log_softmax(dim=2)
    wanted = F.kl_div(first, second, log_target=True, reduction="batchmean") + F.kl_div(
        second, first, log_target=True, reduction="batchmean"
    )
    torch.testing.assert_close(symmetric_divergence(first, second), wanted)
    assert symmetric_divergence(first, first) == 0


def test_flipped_labels_agree_less_with_the_predictions() -> None:
    draws = np.random.default_rng(0)
    drawn = block_model(200, num_classes=3, num_features=16, signal=2.0, generator=draws)
    flipped = draws.random(200) < 0.3
    labels = np.where(flipped, (drawn.classes + 1) % 3, drawn.classes)
    model = JoSRC(dim=32, hidden=32, epochs=60, warm_up=20).fit(drawn.graph, labels)
    train = model.task_.train
    given = smooth_labels(model.task_.labels[train], 3, 0.1)
    score = agreement(model.scores_.softmax(dim=1)[train], given).numpy()
    assert roc_auc_score(~flipped[train.numpy()], score) > 0.75


def test_embeddings_that_use_labels_are_not_shared(tmp_path: object) -> None:
    drawn = block_model(60, num_classes=3, num_features=6, generator=np.random.default_rng(0))
    quick = {"epochs": 6, "warm_up": 2, "dim": 8, "hidden": 8}
    with use_cache(EmbeddingCache(tmp_path)):  # type: ignore[arg-type]
        first = JoSRC(**quick).fit(drawn.graph, drawn.classes)
        second = JoSRC(**quick).fit(drawn.graph, (drawn.classes + np.arange(60)) % 3)
    assert not np.array_equal(first.embeddings_, second.embeddings_)
