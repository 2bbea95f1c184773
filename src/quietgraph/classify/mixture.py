"""Classes as soft spherical clusters, initialised by noisy labels and refined on all nodes."""

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
    observed = F.one_hot(labels[train], num_classes).to(rows.dtype)
    labelled = rows[train]
    means = F.normalize(observed.T @ labelled, dim=1)
    frequency = torch.full((num_classes,), 1 / num_classes, dtype=rows.dtype, device=rows.device)
    for _ in range(_ITERATIONS):
        probabilities = (concentration * rows @ means.T + frequency.log()).softmax(dim=1)
        trusted = _trust(probabilities[train], observed) if noisy else observed
        pull = trusted.T @ labelled / len(labelled)
        pull = pull + _UNLABELLED * probabilities.T @ rows / len(rows)
        means = F.normalize(pull, dim=1)
        frequency = probabilities.mean(dim=0).sqrt()
        frequency = (frequency / frequency.sum()).clamp_min(1e-12)
    return concentration * means.T, frequency.log()


def self_trained_ridge(rows: Embeddings, probabilities: Probabilities) -> tuple[Tensor, Tensor]:
    """Return weight [dim, classes] and intercept [classes] of ridge regression on all nodes.

    Soft labels are the targets and nodes count by their certainty. The intercept is not
    penalised, and how often a class occurs does not count: the mean row scores 0. Scores are
    rows @ weight + intercept.

    Args:
        rows: One row per node [nodes, dim].
        probabilities: Class probabilities from another classifier [nodes, classes].
    """
    weight = probabilities.max(dim=1).values[:, None]
    targets = probabilities - 1 / probabilities.shape[1]
    middle = (weight * rows).sum(dim=0) / weight.sum()
    centred = rows - middle
    gram = centred.T @ (weight * centred) / len(rows)
    size = gram.diagonal().mean().clamp_min(1e-12)  # rows without any attribute are all 0
    penalty = size * torch.eye(len(gram), dtype=rows.dtype, device=rows.device)
    right = centred.T @ (weight * targets) / len(rows)
    factor = torch.linalg.cholesky(gram + penalty)
    solution = torch.cholesky_solve(right, factor)
    return solution, -(middle @ solution)


def _trust(probabilities: Tensor, observed: Tensor) -> Tensor:
    """Return the posterior of each labelled node's class under symmetric noise."""
    num_classes = observed.shape[1]
    kept = (probabilities * observed).sum(dim=1).mean().clamp(1 / num_classes + 0.02, 0.98)
    flipped = (1 - kept) / (num_classes - 1)
    posterior = probabilities * torch.where(observed > 0, kept, flipped)
    return posterior / posterior.sum(dim=1, keepdim=True).clamp_min(1e-12)
