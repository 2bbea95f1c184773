"""Losses on plain tensors: InfoNCE, prototypes, truncated nuclear norm."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from quietgraph.linalg import eigen
from quietgraph.types import Embeddings, Labels, Scalar

_BLOCK = 4096  # anchors whose similarities are held at once: memory is block x nodes
_LEAST_NORM = 1e-6  # rows that are shorter count as zero: gradients of their direction explode


def info_nce(first: Embeddings, second: Embeddings, *, temperature: float, intra_view: bool = False) -> Scalar:
    """InfoNCE loss between two views of the same nodes.

    With s(a, b) = exp(cos(a, b) / temperature), the mean over nodes i and over both directions of
    -log s(a_i, b_i) / (sum_j s(a_i, b_j) + [intra_view] sum_{j != i} s(a_i, a_j)).

    Args:
        first: One row per node, of any length [nodes, dim].
        second: The same nodes seen in another view [nodes, dim].
        temperature: Smaller is sharper; above 0.
        intra_view: Whether the other nodes of the same view are negatives too.
    """
    # Scaling the rows divides every similarity by the temperature at the cost of one pass.
    first, second = (F.normalize(each, dim=1, eps=_LEAST_NORM) * temperature**-0.5 for each in (first, second))
    if len(first) <= _BLOCK:
        across = first @ second.T
        total = -2 * across.diagonal().sum()
        for dim, own in ((1, first), (0, second)):  # the second direction reads the columns
            total = total + _negatives(across.logsumexp(dim=dim), own, own, 0, intra_view).sum()
        return total / (2 * len(first))
    total = first.new_zeros(())
    for here, there in ((first, second), (second, first)):
        for start in range(0, len(first), _BLOCK):  # similarities are recomputed in the backward pass
            total = total + checkpoint(_costs, here, there, start, intra_view, use_reentrant=False)
    return total / (2 * len(first))


def _costs(here: Tensor, there: Tensor, start: int, intra_view: bool) -> Tensor:
    """Return the summed costs of a block of anchors against all nodes, in one direction."""
    anchors = here[start : start + _BLOCK]
    normaliser = _negatives((anchors @ there.T).logsumexp(dim=1), anchors, here, start, intra_view)
    return (normaliser - (anchors * there[start : start + _BLOCK]).sum(dim=1)).sum()


def _negatives(normaliser: Tensor, anchors: Tensor, own: Tensor, start: int, intra_view: bool) -> Tensor:
    """Return the normaliser of anchors with the other nodes of their own view in it, if these count [anchors]."""
    if not intra_view:
        return normaliser
    places = torch.arange(len(anchors), device=own.device)
    inside = (anchors @ own.T).index_put((places, places + start), own.new_full((), float("-inf")))
    return torch.logaddexp(normaliser, inside.logsumexp(dim=1))


def prototype_loss(embeddings: Embeddings, prototypes: Tensor, assignments: Labels, *, temperature: float) -> Scalar:
    """Cost of lying far from the own cluster's prototype.

    Mean over nodes i of -log softmax_k(h_i . c_k / temperature) at the node's cluster.

    Args:
        embeddings: One row per node [nodes, dim].
        prototypes: One row per cluster [clusters, dim].
        assignments: Cluster of each node [nodes] int64.
        temperature: Smaller is sharper; above 0.
    """
    return F.cross_entropy(embeddings @ prototypes.T / temperature, assignments)


def truncated_nuclear_norm(embeddings: Embeddings, rank: int) -> Scalar:
    """Sum of the eigenvalues of K = H H^T beyond the `rank` largest.

    K and the small matrix H^T H share their non-zero eigenvalues, and with V the leading eigenvectors of the latter,
    held constant, |H|^2 - |H V|^2 has the value and the gradient of that sum.
    """
    fixed = embeddings.detach()
    vectors = eigen(fixed.T @ fixed).vectors
    leading = vectors[:, max(0, vectors.shape[1] - rank) :]
    return embeddings.square().sum() - (embeddings @ leading).square().sum()
