import pytest
import torch

from quietgraph.diagnose import label_projection, noise_projection, project
from quietgraph.errors import InvalidLabelsError

# Two classes of three nodes; the embedding knows the classes and nothing else.
CLASSES = torch.tensor([0, 0, 0, 1, 1, 1])
PERFECT = torch.eye(2)[CLASSES] * torch.tensor([1.0, 0.9])


def test_labels_that_are_directions_of_the_kernel_are_held_completely() -> None:
    found = label_projection(PERFECT, CLASSES)
    assert found.concentration.tolist() == pytest.approx([0.5, 1.0])
    assert found.beyond == pytest.approx(0)


def test_noise_orthogonal_to_the_embedding_lies_beyond_its_rank() -> None:
    labels = torch.tensor([1, 0, 0, 0, 1, 1])
    found = noise_projection(PERFECT, labels, CLASSES)
    assert found is not None
    # N^(0) = (-1, 0, 0, 1, 0, 0): 1/6 of its energy on each class direction
    assert found.scores.tolist() == pytest.approx([1 / 6, 1 / 6])
    assert found.beyond == pytest.approx(2 / 3)


def test_the_null_space_is_filled_linearly() -> None:
    labels = torch.tensor([1, 0, 0, 0, 1, 1])
    found = noise_projection(PERFECT, labels, CLASSES)
    assert found is not None
    shares = [found.concentration_at(rank) for rank in (0, 1, 2, 4, 6, 9)]
    assert shares == pytest.approx([0, 1 / 6, 1 / 3, 2 / 3, 1, 1])


def test_the_rank_that_holds_a_share_is_the_first_that_does() -> None:
    found = label_projection(PERFECT, CLASSES)
    assert (found.rank_holding(0.4), found.rank_holding(0.8)) == (1, 2)


def test_no_rank_holds_what_lies_beyond_the_kernel() -> None:
    labels = torch.tensor([1, 0, 0, 0, 1, 1])
    found = noise_projection(PERFECT, labels, CLASSES)
    assert found is not None
    assert found.rank_holding(0.8) is None


def test_nodes_with_unknown_labels_are_left_out_with_their_rows() -> None:
    labels = torch.cat([CLASSES, torch.tensor([-1, -1])])
    rows = torch.cat([PERFECT, torch.randn(2, 2, generator=torch.Generator().manual_seed(0))])
    found = label_projection(rows, labels)
    torch.testing.assert_close(found.by_class, label_projection(PERFECT, CLASSES).by_class)
    assert found.num_nodes == 6


def test_labels_without_noise_have_no_noise_projection() -> None:
    assert noise_projection(PERFECT, CLASSES, CLASSES) is None


def test_a_class_without_nodes_is_left_out() -> None:
    assert label_projection(PERFECT, CLASSES * 2).classes == (0, 2)


def test_single_precision_embeddings_are_projected_like_double() -> None:
    rows = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(40) % 3
    double, single = label_projection(rows, labels), label_projection(rows.float(), labels)
    torch.testing.assert_close(single.scores, double.scores, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("labels", [CLASSES[:5], CLASSES.float(), CLASSES - 2, CLASSES * 0 - 1])
def test_labels_that_do_not_fit_are_refused(labels: torch.Tensor) -> None:
    with pytest.raises(InvalidLabelsError, match="labels must"):
        label_projection(PERFECT, labels)


def test_a_signal_of_zeros_is_refused() -> None:
    with pytest.raises(InvalidLabelsError, match="zero for every class"):
        project(PERFECT, torch.zeros(6, 2))
