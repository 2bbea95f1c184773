"""The kernel K = H H^T of an embedding, reached through matrices no larger than d x d.

One normalisation is fixed, because every number here depends on the scale of H: `scale="unit"` gives each row length
1, so K_ii = 1 and the trace of K is the number of nodes (rows of zeros stay zero); `scale="raw"` takes H as it is. All
sums run in float64 over blocks of rows, on the CPU.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.types import UNKNOWN, Embeddings, Labels

Scale: TypeAlias = Literal["unit", "raw"]

ZERO = 1e-10  # eigenvalues below this fraction of the largest count as zero: in float32 they are mostly rounding
_BLOCK_ENTRIES = 2**22  # 32 MB of float64 at a time


def row_blocks(embeddings: Embeddings, scale: Scale) -> Iterator[Tensor]:
    """Yield the scaled rows in float64, a block [block, dim] at a time."""
    for block in embeddings.detach().split(max(1, _BLOCK_ENTRIES // embeddings.shape[1])):
        rows = block.to(device="cpu", dtype=torch.float64)
        yield F.normalize(rows, dim=1) if scale == "unit" else rows


def eigenbasis(embeddings: Embeddings, *, scale: Scale = "unit") -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of K that can differ from zero [rank], largest first, and right singular vectors of H.

    The eigenvectors of K are H v / sqrt(value) for the columns v [dim, rank], so a product u^T Y needs only H^T Y.
    """
    triangle = torch.zeros(0, embeddings.shape[1], dtype=torch.float64)
    # Not through H^T H: squaring H costs the weak directions half of their digits. The triangle of a QR
    # decomposition has the same singular values and vectors.
    for rows in row_blocks(embeddings, scale):
        triangle = torch.linalg.qr(torch.cat([triangle, rows]), mode="r").R
    _, singular, vectors = torch.linalg.svd(triangle, full_matrices=False)
    return singular.square(), vectors.T


def cross_product(embeddings: Embeddings, targets: Tensor, *, scale: Scale = "unit") -> Tensor:
    """Return H^T Y [dim, columns] for targets Y [nodes, columns], in float64."""
    blocks = list(row_blocks(embeddings, scale))
    parts = targets.double().split([len(rows) for rows in blocks])
    return torch.stack([rows.T @ part for rows, part in zip(blocks, parts, strict=True)]).sum(dim=0)


def attended_embeddings(embeddings: Embeddings, *, scale: Scale = "unit") -> Embeddings:
    """Return F = K H / lambda_1 of the scaled rows [nodes, dim], the low-rank attention.

    Its kernel has the eigenvectors of K and the eigenvalues value^3 / lambda_1^2, so it is diagnosed with
    `scale="raw"`.
    """
    values, basis = eigenbasis(embeddings, scale=scale)
    weights = values / values[0]
    blocks = [(rows @ basis * weights @ basis.T).to(embeddings.dtype) for rows in row_blocks(embeddings, scale)]
    return torch.cat(blocks)


def one_hot(labels: Labels, num_classes: int) -> Tensor:
    """Return one column per class [nodes, classes] in float64; unknown nodes are rows of zeros."""
    return (labels[:, None] == torch.arange(num_classes)).double()


def check_problem(embeddings: Embeddings, *labels: Labels) -> None:
    """Raise where no kernel can be made of the embeddings, or labels do not belong to them."""
    if embeddings.dim() != 2 or not embeddings.is_floating_point() or not bool(embeddings.isfinite().all()):
        raise InvalidParameterError(
            f"embeddings must be finite floating-point numbers [nodes, dim], got {embeddings.dtype} of shape "
            f"{list(embeddings.shape)}."
        )
    if not bool(embeddings.any()):
        raise InvalidParameterError(
            "embeddings must not be zero everywhere: K would be zero. Give the nodes features that differ from 0."
        )
    for each in labels:
        if each.shape != embeddings.shape[:1] or each.is_floating_point() or bool((each < UNKNOWN).any()):
            raise InvalidLabelsError(
                f"labels must be one class code per node ({len(embeddings)}), -1 where unknown, got {each.dtype} of "
                f"shape {list(each.shape)}."
            )
        if not bool((each != UNKNOWN).any()):
            raise InvalidLabelsError("labels must be known (not -1) for at least one node.")
