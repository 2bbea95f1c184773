"""Losses on plain tensors: InfoNCE, prototypes, truncated nuclear norm."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from quietgraph.eigen import eigen
from quietgraph.embed.fused import energy_beyond
from quietgraph.types import Embeddings, Scalar

_BLOCK = 2048
_LEAST_NORM = 1e-6  # rows that are shorter count as zero: gradients of their direction explode


def info_nce(
    first: Embeddings,
    second: Embeddings,
    *,
    temperature: float,
    intra_view: bool = True,
    block_size: int = _BLOCK,
) -> Scalar:
    """Cost of not recognising each node's other view among all nodes.

    With s(a, b) = exp(cos(a, b) / temperature), the mean over nodes i and over both directions of
    -log s(a_i, b_i) / (sum_j s(a_i, b_j) + [intra_view] sum_{j != i} s(a_i, a_j)).

    Args:
        first: One row per node [nodes, dim].
        second: The same nodes seen in another view [nodes, dim].
        temperature: Smaller is sharper; above 0.
        intra_view: Whether the other nodes of the same view are negatives too.
        block_size: Anchors whose similarities are held at once; memory is block_size x nodes.
    """
    # Scaling the rows divides every similarity by the temperature at the cost of one pass.
    scale = temperature**-0.5
    first, second = (F.normalize(each, dim=1, eps=_LEAST_NORM) * scale for each in (first, second))
    if len(first) <= block_size:
        total = _all_costs(first, second, intra_view)
    else:  # similarities are recomputed in the backward pass instead of kept
        total = first.new_zeros(())
        for start in range(0, len(first), block_size):
            block = slice(start, start + block_size)
            for here, there in ((first, second), (second, first)):
                cost = checkpoint(_block_costs, here, there, block, intra_view, use_reentrant=False)
                total = total + cost
    return total / (2 * len(first))


def _all_costs(first: Tensor, second: Tensor, intra_view: bool) -> Tensor:
    """Both directions at once: the second reads the columns of what the first reads by rows."""
    across = first @ second.T
    positive = across.diagonal()
    costs = first.new_zeros(())
    for dim, own in ((1, first), (0, second)):
        normaliser = across.logsumexp(dim=dim)
        if intra_view:
            inside = (own @ own.T).fill_diagonal_(float("-inf"))
            normaliser = torch.logaddexp(normaliser, inside.logsumexp(dim=1))
        costs = costs + (normaliser - positive).sum()
    return costs


def _block_costs(here: Tensor, there: Tensor, block: slice, intra_view: bool) -> Tensor:
    """One direction for a block of anchors against all nodes."""
    anchors = here[block]
    normaliser = (anchors @ there.T).logsumexp(dim=1)
    if intra_view:
        inside = anchors @ here.T
        position = torch.arange(len(anchors), device=here.device)
        never = inside.new_full((), float("-inf"))
        inside = inside.index_put((position, position + block.start), never)
        normaliser = torch.logaddexp(normaliser, inside.logsumexp(dim=1))
    return (normaliser - (anchors * there[block]).sum(dim=1)).sum()


def prototype_loss(
    embeddings: Embeddings, prototypes: Tensor, assignments: Tensor, *, temperature: float
) -> Scalar:
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

    K and the small matrix H^T H share their non-zero eigenvalues, and with V the leading
    eigenvectors of the latter, held constant, |H|^2 - |H V|^2 has the value and the gradient of
    that sum, without differentiating an eigendecomposition.
    """
    gram = embeddings.detach().T @ embeddings.detach()
    leading = leading_eigenvectors(gram, rank)
    return energy_beyond(embeddings, leading)


def leading_eigenvectors(gram: Tensor, rank: int) -> Tensor:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix [dim, rank]."""
    return eigen(gram).vectors[:, max(0, gram.shape[0] - rank) :]
