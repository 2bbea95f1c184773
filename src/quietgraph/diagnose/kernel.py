"""The kernel K = H H^T of an embedding, reached through matrices no larger than d x d.

One normalisation is fixed, because every number of this stage depends on the scale of H:
`scale="unit"` gives each row length 1, so K_ii = 1 and the trace of K is the number of nodes
(rows of zeros stay zero); `scale="raw"` takes H as it is. All sums run in float64 over blocks of
rows, on the CPU.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.attention import low_rank_attention
from quietgraph.errors import InvalidParameterError
from quietgraph.types import Embeddings

Scale: TypeAlias = Literal["unit", "raw"]

# Eigenvalues below this fraction of the largest count as zero: in float32 they are mostly rounding.
ZERO_SHARE = 1e-10

_BLOCK_ENTRIES = 2**22  # 32 MB of float64 at a time


def check_embeddings(embeddings: Embeddings, *, scale: Scale) -> None:
    """Raise where no kernel can be made of the embeddings.

    Args:
        embeddings: One row per node [nodes, dim].
        scale: The normalisation asked for.
    """
    if scale not in ("unit", "raw"):
        raise InvalidParameterError(f"scale must be 'unit' or 'raw', got {scale!r}.")
    if not isinstance(embeddings, Tensor) or not embeddings.is_floating_point():
        kind = embeddings.dtype if isinstance(embeddings, Tensor) else type(embeddings).__name__
        raise InvalidParameterError(
            f"embeddings must be a tensor of floats, got {kind}. "
            "Convert an array with torch.from_numpy(array).float()."
        )
    if embeddings.dim() != 2 or embeddings.numel() == 0:
        raise InvalidParameterError(
            f"embeddings must have the shape [nodes, dim], got {list(embeddings.shape)}."
        )
    if not bool(torch.isfinite(embeddings).all()):
        raise InvalidParameterError("embeddings must be finite, but some entries are NaN or inf.")
    if not bool(embeddings.any()):
        raise InvalidParameterError(
            "embeddings must not be zero everywhere: K would be zero. Give the nodes features that "
            "differ from 0."
        )


def row_blocks(embeddings: Embeddings, *, scale: Scale) -> Iterator[Tensor]:
    """Yield the scaled rows in float64, a block [block, dim] at a time."""
    size = _block_rows(embeddings)
    for start in range(0, len(embeddings), size):
        block = embeddings[start : start + size].detach()
        rows = block.to(device="cpu", dtype=torch.float64)
        yield F.normalize(rows, dim=1) if scale == "unit" else rows


def _block_rows(embeddings: Embeddings) -> int:
    return max(1, _BLOCK_ENTRIES // embeddings.shape[1])


def gram_matrix(embeddings: Embeddings, *, scale: Scale = "unit") -> Tensor:
    """Return H^T H of the scaled rows [dim, dim], in float64."""
    dim = embeddings.shape[1]
    gram = torch.zeros(dim, dim, dtype=torch.float64)
    for rows in row_blocks(embeddings, scale=scale):
        gram.addmm_(rows.T, rows)
    return gram


def gram_eigenvalues(embeddings: Embeddings, *, scale: Scale = "unit") -> Tensor:
    """Return the eigenvalues of K that can differ from zero [min(nodes, dim)], largest first.

    Args:
        embeddings: One row per node [nodes, dim].
        scale: "unit" for rows of length 1, "raw" for the rows as they are.

    Returns:
        Non-negative float64 values; the other eigenvalues of K are zero.
    """
    check_embeddings(embeddings, scale=scale)
    values: Tensor = torch.linalg.eigvalsh(_smaller_gram(embeddings, scale))
    return values.flip(0).clamp(min=0)


def eigenbasis(embeddings: Embeddings, *, scale: Scale = "unit") -> tuple[Tensor, Tensor]:
    """Return the non-zero eigenvalues of K [rank] and the right singular vectors [dim, rank].

    The eigenvectors of K are H v / sqrt(value), so a product u^T Y needs only H^T Y.
    """
    check_embeddings(embeddings, scale=scale)
    triangle = torch.zeros(0, embeddings.shape[1], dtype=torch.float64)
    # Not through H^T H: squaring H costs the weak directions half of their digits, and then
    # their u is no longer of length 1. The triangle of a QR has the same singular vectors.
    for rows in row_blocks(embeddings, scale=scale):
        triangle = torch.linalg.qr(torch.cat([triangle, rows]), mode="r").R
    _, singular, vectors = torch.linalg.svd(triangle, full_matrices=False)
    values = singular.square()
    kept = values > ZERO_SHARE * values[0]
    return values[kept], vectors[kept].T


def narrowed(embeddings: Embeddings) -> Embeddings:
    """Return the rows in an orthonormal basis of their span, where nodes are fewer than dimensions.

    The kernel and all that follows from it stay: hashed words of a small table have thousands of
    dimensions, whose Gram matrix would cost more than the fit.
    """
    if len(embeddings) >= embeddings.shape[1]:
        return embeddings
    rows = embeddings.detach().to(device="cpu", dtype=torch.float64)
    triangle: Tensor = torch.linalg.qr(rows.T, mode="r").R
    return triangle.T.to(embeddings.dtype)


def cross_product(embeddings: Embeddings, targets: Tensor, *, scale: Scale = "unit") -> Tensor:
    """Return H^T Y [dim, columns] for targets Y [nodes, columns], in float64."""
    total = torch.zeros(embeddings.shape[1], targets.shape[1], dtype=torch.float64)
    start = 0
    for rows in row_blocks(embeddings, scale=scale):
        total.addmm_(rows.T, targets[start : start + len(rows)])
        start += len(rows)
    return total


def attended_embeddings(embeddings: Embeddings, *, scale: Scale = "unit") -> Embeddings:
    """Return F = K H / lambda_1 of the scaled rows [nodes, dim], the low-rank attention.

    Its kernel has the eigenvectors of K and the eigenvalues of `attended_eigenvalues`, so it
    must be diagnosed with `scale="raw"`.
    """
    check_embeddings(embeddings, scale=scale)
    blocks = row_blocks(embeddings, scale=scale)
    if embeddings.numel() <= _BLOCK_ENTRIES:
        return low_rank_attention(torch.cat([rows.to(embeddings.dtype) for rows in blocks]))
    gram = gram_matrix(embeddings, scale=scale)
    matrix = gram / torch.linalg.eigvalsh(gram)[-1]
    attended = torch.empty(embeddings.shape, dtype=embeddings.dtype)
    for part, rows in zip(torch.split(attended, _block_rows(embeddings)), blocks, strict=True):
        part.copy_(rows @ matrix)
    return attended


def _smaller_gram(embeddings: Embeddings, scale: Scale) -> Tensor:
    # Few nodes in many dimensions: K itself is the smaller of the two.
    if len(embeddings) < embeddings.shape[1]:
        rows = torch.cat(list(row_blocks(embeddings, scale=scale)))
        return rows @ rows.T
    return gram_matrix(embeddings, scale=scale)
