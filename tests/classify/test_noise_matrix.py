"""The noise matrix is found from clusters; its formulas equal slow twins."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.special import gammaln
from torch import Tensor

import quietgraph as qg
from quietgraph.classify.noise_matrix import Channel, cluster_counts, fit_channel, symmetric_channel


def groups(seed: int, sizes: list[int], dim: int = 12, spread: float = 0.25) -> tuple[Tensor, Tensor]:
    """Return unit rows around one direction for each class, in three bunches each, and the classes."""
    draws = torch.Generator().manual_seed(seed)
    classes = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    bunches = torch.randn(len(sizes), 3, dim, generator=draws)
    bunch = torch.randint(3, (len(classes),), generator=draws)
    rows = bunches[classes, bunch] + spread * torch.randn(len(classes), dim, generator=draws)
    return F.normalize(rows, dim=1), classes


def corrupted(classes: Tensor, matrix: Tensor, seed: int) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.multinomial(matrix[classes].float(), 1, generator=draws)[:, 0]


def pair_matrix(count: int, rate: float) -> Tensor:
    eye = torch.eye(count, dtype=torch.float64)
    return (1 - rate) * eye + rate * eye.roll(-1, dims=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["clean", "symmetric", "pair"])
def test_the_noise_matrix_is_recovered_without_clean_labels(kind: str, seed: int) -> None:
    rows, classes = groups(seed, [90, 70, 50, 60])
    true = {
        "clean": torch.eye(4, dtype=torch.float64),
        "symmetric": symmetric_channel(torch.tensor([0.4]), 4)[0],
        "pair": pair_matrix(4, 0.4),
    }[kind]
    labels = corrupted(classes, true, seed)
    drawn = np.array([np.bincount(labels[classes == c].numpy(), minlength=4) for c in range(4)])
    drawn = drawn / drawn.sum(axis=1, keepdims=True)
    found = qg.noise_matrix(rows, labels, seed=seed)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found - drawn).max() < 0.12


def test_label_values_may_be_words_and_unknown() -> None:
    rows, classes = groups(0, [40, 40])
    words = np.array(["tea", "ale"], dtype=object)[classes.numpy()]
    words[::5] = None
    found = qg.noise_matrix([rows, rows], words)
    assert found.shape == (2, 2)
    assert found.diagonal().min() > 0.8
    np.testing.assert_array_equal(found, qg.noise_matrix([rows, rows], words))


def test_counts_hold_every_label_once_a_clustering() -> None:
    rows, classes = groups(1, [30, 20, 10])
    reads = F.one_hot(classes, 3).double()
    counts = cluster_counts(rows, reads, 3, runs=4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(counts.sum(dim=0), 12 * reads.sum(dim=0))  # three sizes of clusters
    assert bool((counts.sum(dim=1) > 0).all())


KAPPAS = [10.0, 20.0, 40.0, 80.0, 200.0]


def em_slow(counts: np.ndarray, weight: float, noise: np.ndarray, *, kappa: float, steps: int):
    """Return matrix and kappa after so many steps, written as in the docs: one cluster, one class at a time."""
    clusters, count = counts.shape
    usual = counts.sum(0) / counts.sum()
    shares = usual.copy()
    for step in range(steps):
        posterior = np.empty((clusters, count))
        for j, c in itertools.product(range(clusters), range(count)):
            posterior[j, c] = shares[c] * np.prod(noise[c] ** counts[j])
        posterior /= posterior.sum(1, keepdims=True)
        totals = weight * posterior.T @ counts
        rate = np.clip(1 - np.trace(totals) / totals.sum(), 0.005, 0.95 * (count - 1) / count)
        prior = np.where(np.eye(count) == 1, 1 - rate, rate / (count - 1))
        if step >= 5:
            found = []
            for k in KAPPAS:
                value = 0.0
                for c in range(count):
                    value += gammaln(k) - gammaln(k + totals[c].sum())
                    value += (gammaln(k * prior[c] + totals[c]) - gammaln(k * prior[c])).sum()
                found.append(value)
            kappa = (kappa + KAPPAS[int(np.argmax(found))]) / 2
        noise = totals + kappa * prior
        noise /= noise.sum(1, keepdims=True)
        of_class = (posterior * counts.sum(1, keepdims=True)).sum(0)
        shares = of_class / of_class.sum() * weight * clusters + 50 * usual
        shares /= shares.sum()
    return noise, kappa


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_em_ends_where_its_slow_twin_stays(rate: float) -> None:
    rows, classes = groups(3, [50, 40, 60], spread=0.35)
    reads = F.one_hot(corrupted(classes, pair_matrix(3, rate), 3), 3).double()
    draws = torch.Generator().manual_seed(0)
    counts = cluster_counts(rows, reads, 3, runs=2, generator=draws)
    found = fit_channel(counts, 1 / 6, generator=draws)
    slow, kappa = em_slow(counts.numpy(), 1 / 6, found.matrix.numpy(), kappa=float(found.kappa), steps=40)
    np.testing.assert_allclose(found.matrix, slow, atol=5e-3)
    assert kappa == pytest.approx(float(found.kappa), abs=0.1)


def test_verified_labels_tell_the_class_of_a_cluster() -> None:
    """Two classes whose labels are swapped more often than not: only verified labels can tell."""
    counts = torch.tensor([[2.0, 8.0], [8.0, 2.0]], dtype=torch.float64).repeat(10, 1)
    told = torch.tensor([[0.0, -8.0], [-8.0, 0.0]], dtype=torch.float64).repeat(10, 1)
    draws = torch.Generator().manual_seed(0)
    assert fit_channel(counts, 1.0, generator=draws).matrix.diagonal().min() > 0.5
    assert fit_channel(counts, 1.0, told, generator=draws).matrix.diagonal().max() < 0.5


def test_a_class_with_many_labels_is_not_named_after_one_with_hardly_a_node() -> None:
    """Half the labels of the second class carry the name of the first, whose own nodes lie scattered."""
    counts = torch.tensor([[41.0, 32.0, 2.0], [16.0, 27.0, 20.0], [1.0, 2.0, 70.0]], dtype=torch.float64)
    channel = Channel(F.normalize(counts, p=1, dim=1), torch.tensor(10.0), counts, counts, torch.tensor(0.0))
    labels, nobody = counts.sum(dim=0), torch.zeros(20, 3, dtype=torch.float64)
    scattered = torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64).repeat(20, 1)
    alike = (labels / labels.sum()).repeat(20, 1)
    assert channel.order(alike, labels, nobody).tolist() == [0, 1, 2]
    more = torch.tensor([60.0, 110.0, 92.0], dtype=torch.float64)
    assert channel.order(scattered, more, nobody).tolist() == [1, 0, 2]
