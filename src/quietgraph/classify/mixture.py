"""Classes as soft spherical clusters, seeded by noisy labels and mended by all nodes."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.types import Embeddings, Labels, Mask, Probabilities

_ITERATIONS = 5
_UNLABELLED = 0.2  # weight of all nodes beside the labelled ones in a class mean


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
    own label never decides its class; with `noisy`, given labels count by how likely they are
    under a symmetric noise whose rate is estimated along the way.

    Args:
        rows: Unit rows, one per node [nodes, dim].
        labels: Class codes [nodes].
        train: The labelled nodes to learn from [nodes].
        num_classes: Number of classes.
        concentration: How concentrated the clusters are (kappa).
        noisy: Whether to model wrong labels.
    """
    given = F.one_hot(labels[train], num_classes).to(rows.dtype)
    labelled = rows[train]
    means = F.normalize(given.T @ labelled, dim=1)
    shares = torch.full((num_classes,), 1 / num_classes, dtype=rows.dtype, device=rows.device)
    for _ in range(_ITERATIONS):
        chances = (concentration * rows @ means.T + shares.log()).softmax(dim=1)
        trusted = _trust(chances[train], given) if noisy else given
        pull = trusted.T @ labelled / len(labelled) + _UNLABELLED * chances.T @ rows / len(rows)
        means = F.normalize(pull, dim=1)
        shares = chances.mean(dim=0).sqrt()
        shares = (shares / shares.sum()).clamp_min(1e-12)
    return concentration * means.T, shares.log()


def self_trained_ridge(rows: Embeddings, chances: Probabilities) -> tuple[Tensor, Tensor]:
    """Return weight [dim, classes] and intercept [classes] of ridge regression on all nodes.

    Soft labels are the targets and nodes count by their certainty. The intercept is not
    penalised, and how often a class occurs does not count: the mean row scores 0. Scores are
    rows @ weight + intercept.

    Args:
        rows: One row per node [nodes, dim].
        chances: Class probabilities from another classifier [nodes, classes].
    """
    weight = chances.max(dim=1).values[:, None]
    targets = chances - 1 / chances.shape[1]
    middle = (weight * rows).sum(dim=0) / weight.sum()
    centred = rows - middle
    gram = centred.T @ (weight * centred) / len(rows)
    size = gram.diagonal().mean().clamp_min(1e-12)  # rows without any attribute are all 0
    penalty = size * torch.eye(len(gram), dtype=rows.dtype, device=rows.device)
    right = centred.T @ (weight * targets) / len(rows)
    solution: Tensor = torch.linalg.solve(gram + penalty, right)
    return solution, -(middle @ solution)


def _trust(chances: Tensor, given: Tensor) -> Tensor:
    """Return the class of each labelled node given its label and symmetric noise, softly."""
    num_classes = given.shape[1]
    kept = (chances * given).sum(dim=1).mean().clamp(1 / num_classes + 0.02, 0.98)
    flipped = (1 - kept) / (num_classes - 1)
    posterior = chances * torch.where(given > 0, kept, flipped)
    return posterior / posterior.sum(dim=1, keepdim=True).clamp_min(1e-12)
