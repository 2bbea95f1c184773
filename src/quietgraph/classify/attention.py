"""Low-rank attention: every node attends to all others through the Gram matrix, in linear time."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.linalg import eigen
from quietgraph.types import Embeddings


def low_rank_attention(embeddings: Embeddings) -> Embeddings:
    """Return F = K H / lambda_1 with K = H H^T and its largest eigenvalue lambda_1 [nodes, dim].

    K H = H (H^T H), so nothing larger than dim x dim is formed. The singular values of the result are cubed relative to
    the largest: weak directions fade.
    """
    return embeddings @ attention_matrix(embeddings)


def attention_matrix(embeddings: Embeddings) -> Tensor:
    """Return H^T H / lambda_1, which turns embeddings into attended ones [dim, dim]."""
    gram = embeddings.T @ embeddings
    return gram / eigen(gram).values[-1].clamp_min(torch.finfo(gram.dtype).tiny)


def centre_rows(embeddings: Embeddings, mean: Tensor) -> Embeddings:
    """Return unit-length rows of the unit-length embeddings less their mean [nodes, dim].

    Without this the first direction of K is the mean embedding, which tells no class.
    """
    rows = F.normalize(embeddings, dim=1).sub_(mean)
    return rows.div_(rows.norm(dim=1, keepdim=True).clamp_min_(1e-12))


def mean_direction(embeddings: Embeddings) -> Tensor:
    """Return the mean of the unit-length embeddings [dim]."""
    return F.normalize(embeddings, dim=1).mean(dim=0)
