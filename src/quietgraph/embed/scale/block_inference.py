"""Embeddings of a large graph, layer by layer in blocks of rows.

Beside the features, which may be memory-mapped, two matrices [nodes, width] are held at most, and
nothing else that grows with the graph but a few numbers per node.
"""

import copy
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.contrast import encode
from quietgraph.embed.encoder import GCNEncoder
from quietgraph.embed.negative_depth import TEDEncoder
from quietgraph.embed.propagation import multiply, normalise_rows, normalised_adjacency, project
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.embed.views import View
from quietgraph.graph import CSR, Features, Graph
from quietgraph.types import Embeddings

BLOCK = 16_384  # rows at once: 16 MB a matrix at width 256
_COLUMNS = 32  # of a trainable-depth filter at once, which needs six matrices of them


class BlockOperator:
    """D^-1/2 (A + I) D^-1/2 of a graph, applied to a few rows at a time.

    Only D is stored: the values of a block are made when it is used.
    """

    def __init__(self, adjacency: CSR, *, block: int | None = None) -> None:
        self.adjacency, self.block = adjacency, block or BLOCK
        degree = torch.ones(adjacency.shape[0], device=adjacency.values.device)  # the self-loop
        for rows in self.blocks():
            part = _slice_rows(adjacency, rows)
            degree[rows].index_add_(0, part.rows, part.values)
        self.scale = degree.rsqrt()

    def blocks(self) -> Iterator[slice]:
        """Yield ranges of rows that cover all nodes."""
        return row_ranges(self.adjacency.shape[0], self.block)

    def apply(self, rows: slice, dense: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return some rows of the operator times a matrix [rows, dim].

        Args:
            rows: Which rows.
            dense: One row per node [nodes, dim].
            weight: Counts each row of `dense` by a factor [nodes].
        """
        scale = self.scale if weight is None else self.scale * weight
        part = _slice_rows(self.adjacency, rows)
        values = part.values * scale[part.columns.long()]
        around = multiply(part.with_values(values), dense) + scale[rows, None] * dense[rows]
        return self.scale[rows, None] * around

    def spread(self, dense: Tensor) -> Tensor:
        """Return the operator times a matrix, all rows [nodes, dim]."""
        return torch.cat([self.apply(rows, dense) for rows in self.blocks()])


def row_ranges(count: int, block: int | None = None) -> Iterator[slice]:
    """Yield ranges of `block` rows that cover `count` rows."""
    size = block or BLOCK
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def encode_in_blocks(
    encoder: nn.Module, graph: Graph, *, feature_norm: str, block: int | None = None
) -> Embeddings:
    """Return the embeddings of the graph as it is [nodes, dim].

    Equal to `encode` up to rounding; an encoder that is not known here is applied whole.

    Args:
        encoder: Trained.
        graph: Its features may be memory-mapped.
        feature_norm: Scaling of feature rows.
        block: Rows computed at once.
    """
    with torch.no_grad():
        if isinstance(encoder, GCNEncoder):
            return _encode_layers(encoder, graph, feature_norm, block)
        if isinstance(encoder, TEDEncoder):
            return _encode_columns(encoder, graph, feature_norm)
    return encode(encoder, graph, normalise_rows(graph.features, feature_norm))


def _encode_layers(encoder: GCNEncoder, graph: Graph, norm: str, block: int | None) -> Embeddings:
    operator, slope = BlockOperator(graph.adjacency, block=block), float(encoder.slope)
    hidden = convolve_in_blocks(
        operator,
        graph.features,
        encoder.first,
        norm=norm,
        activate=lambda rows: F.leaky_relu(rows + encoder.first_bias, slope),
    )
    embeddings = empty_matrix(graph.num_nodes, encoder.second.shape[1], like=hidden)
    for rows in operator.blocks():
        found = operator.apply(rows, hidden) @ encoder.second + encoder.second_bias
        embeddings[rows] = found.relu() if encoder.output == "relu" else found
    return embeddings


def convolve_in_blocks(
    operator: BlockOperator,
    features: Features,
    weight: Tensor,
    *,
    norm: str,
    activate: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return activate(A X W), the first layer of a graph convolution network [nodes, dim].

    Args:
        operator: The normalised adjacency A.
        features: X, read in blocks.
        weight: W [features, dim].
        norm: Scaling of the rows of X.
        activate: Applied to blocks of rows; adds the bias too.
    """
    hidden = empty_matrix(features.shape[0], weight.shape[1], like=weight)
    # The narrower side is propagated.
    if isinstance(features, Tensor) and features.shape[1] <= weight.shape[1]:
        lengths = None if norm == "none" else _inverse_lengths(features, norm, operator.block)
        for rows in operator.blocks():
            hidden[rows] = activate(operator.apply(rows, features, lengths) @ weight)
        return hidden
    projected = project_in_blocks(features, weight, norm=norm, block=operator.block)
    for rows in operator.blocks():
        hidden[rows] = activate(operator.apply(rows, projected))
    return hidden


def project_in_blocks(
    features: Features, weight: Tensor, *, norm: str, block: int | None = None
) -> Tensor:
    """Return the scaled feature rows times a matrix [nodes, dim]; features are read in blocks."""
    projected = empty_matrix(features.shape[0], weight.shape[1], like=weight)
    ranges = row_ranges(features.shape[0], block)
    for rows, part in zip(ranges, feature_blocks(features, block), strict=True):
        projected[rows] = project(normalise_rows(part, norm), weight)
    return projected


def feature_blocks(features: Features, block: int | None = None) -> Iterator[Features]:
    """Yield the feature rows, a block at a time."""
    for rows in row_ranges(features.shape[0], block):
        yield _slice_rows(features, rows) if isinstance(features, CSR) else features[rows]


def _encode_columns(encoder: TEDEncoder, graph: Graph, norm: str) -> Embeddings:
    """A filter acts on every column alone, so a few columns at a time are enough."""
    view = View(normalised_adjacency(graph))
    embeddings = empty_matrix(graph.num_nodes, encoder.weight.shape[1], like=encoder.weight)
    features = normalise_rows(graph.features, norm)
    narrow = copy.copy(encoder)
    narrow._parameters = dict(encoder._parameters)
    for start in range(0, encoder.weight.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        narrow.weight = nn.Parameter(encoder.weight[:, columns].contiguous())
        narrow.bias = nn.Parameter(encoder.bias[columns])
        embeddings[:, columns] = narrow(features, view)
    return embeddings


def _inverse_lengths(features: Tensor, norm: str, block: int) -> Tensor:
    """Return 1 / length of every feature row [nodes]."""
    power = {"l1": 1, "l2": 2}[norm]
    lengths = [
        torch.linalg.vector_norm(features[rows], ord=power, dim=1)
        for rows in row_ranges(len(features), block)
    ]
    return torch.cat(lengths).clamp_min(1e-12).reciprocal()


def _slice_rows(matrix: CSR, rows: slice) -> CSR:
    """Return some rows of a matrix without copying what it stores [rows, columns]."""
    first, last = int(matrix.row_pointer[rows.start]), int(matrix.row_pointer[rows.stop])
    pointer = matrix.row_pointer[rows.start : rows.stop + 1] - first
    shape = (rows.stop - rows.start, matrix.shape[1])
    return CSR(pointer, matrix.columns[first:last], matrix.values[first:last], shape)
