"""Classes as soft spherical clusters, initialised by noisy labels and refined on all nodes."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.types import Embeddings, Labels, Mask

_ITERATIONS = 5
_UNLABELLED = 0.2  # weight of all nodes beside the labelled ones in a class mean


class MixtureSetting(NamedTuple):
    """How concentrated the clusters are (kappa), and whether wrong labels are modelled."""

    concentration: float
    noisy: bool


def fit_mixture(
    rows: Embeddings,
    labels: Labels,
    train: Mask,
    num_classes: int,
    *,
    concentration: float,
    noisy: bool,
) -> tuple[Tensor, Tensor]:
    """Return weight [dim, classes] and bias [classes] of a mixture of spherical clusters.

    One cluster per class; scores are rows @ weight + bias. Five rounds of
    expectation and maximisation from the class means of the noisy labels. A node's
    own label never decides its class; with `noisy`, observed labels count by how probable they are
    under a symmetric noise whose rate is estimated along the way.

    Args:
        rows: Unit rows, one per node [nodes, dim].
        labels: Class codes [nodes].
        train: The labelled nodes to learn from [nodes].
        num_classes: Number of classes.
        concentration: How concentrated the clusters are (kappa).
        noisy: Whether to model wrong labels.
    """
    settings = [MixtureSetting(concentration, noisy)]
    return fit_mixtures(rows, labels, train, num_classes, settings)[0]


def fit_mixtures(
    rows: Embeddings,
    labels: Labels,
    train: Mask,
    num_classes: int,
    settings: Sequence[MixtureSetting],
) -> list[tuple[Tensor, Tensor]]:
    """Return weight [dim, classes] and bias [classes] of `fit_mixture` for every setting.

    All share the products with the rows of all nodes. Probabilities are [settings, classes,
    nodes], along whose last axis a softmax over few classes is fast.
    """
    observed = F.one_hot(labels[train], num_classes).to(rows.dtype).T  # [classes, labelled]
    labelled, nodes = rows[train], train.nonzero().squeeze(1)
    concentration = rows.new_tensor([each.concentration for each in settings])[:, None, None]
    noisy = [number for number, each in enumerate(settings) if each.noisy]
    means = F.normalize(observed @ labelled, dim=1).expand(len(settings), -1, -1)
    frequency = rows.new_full((len(settings), num_classes), 1 / num_classes)
    for _ in range(_ITERATIONS):
        probabilities = cluster_probabilities(rows, concentration * means, frequency.log())
        trusted = observed.expand(len(settings), -1, -1)
        if noisy:
            trusted = trusted.clone()
            trusted[noisy] = _trust(probabilities[noisy][:, :, nodes], observed)
        everywhere = (probabilities.flatten(0, 1) @ rows).view(means.shape)
        means = F.normalize(
            trusted @ labelled / len(labelled) + _UNLABELLED * everywhere / len(rows), dim=2
        )
        frequency = probabilities.mean(dim=2).sqrt()
        frequency = (frequency / frequency.sum(dim=1, keepdim=True)).clamp_min(1e-12)
    weights = (concentration * means).transpose(1, 2)
    return list(zip(weights, frequency.log(), strict=True))


def cluster_probabilities(rows: Embeddings, weights: Tensor, biases: Tensor) -> Tensor:
    """Return the class probabilities of several mixtures [settings, classes, nodes].

    Args:
        rows: One row per node [nodes, dim].
        weights: Of the classes [settings, classes, dim].
        biases: Of the classes [settings, classes].
    """
    scores = (weights.flatten(0, 1) @ rows.T).view(*biases.shape, len(rows))
    return (scores + biases[:, :, None]).softmax(dim=1)


def _trust(probabilities: Tensor, observed: Tensor) -> Tensor:
    """Return the posterior of each labelled node's class under symmetric noise.

    Args:
        probabilities: Of the mixtures [settings, classes, labelled].
        observed: Labels as indicators [classes, labelled].
    """
    num_classes = len(observed)
    kept = (probabilities * observed).sum(dim=1).mean(dim=1).clamp(1 / num_classes + 0.02, 0.98)
    kept = kept[:, None, None]
    flipped = (1 - kept) / (num_classes - 1)
    posterior = probabilities * torch.where(observed > 0, kept, flipped)
    return posterior / posterior.sum(dim=1, keepdim=True).clamp_min(1e-12)
