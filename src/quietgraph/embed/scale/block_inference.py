"""Embeddings of a large graph, layer by layer in blocks of rows.

Beside the features, which may be memory-mapped, two matrices [nodes, width] are held at most, and
nothing else that grows with the graph but a few numbers per node. Several processes compute a range
of rows each (see `node_rows`).
"""

import copy
import hashlib
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.contrast import encode
from quietgraph.embed.encoder import GCNEncoder
from quietgraph.embed.negative_depth import TEDEncoder
from quietgraph.embed.propagation import multiply, normalise_rows, normalised_adjacency, project
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.embed.scale.node_rows import node_rows, row_ranges
from quietgraph.embed.views import View
from quietgraph.graph import CSR, Features, Graph
from quietgraph.types import Embeddings

_COLUMNS = 32  # of a trainable-depth filter at once, which needs six matrices of them


class BlockOperator:
    """D^-1/2 (A + I) D^-1/2 of a graph, applied to a few rows at a time.

    Only D is stored: the values of a block are made when it is used.
    """

    def __init__(self, adjacency: CSR, *, block: int | None = None) -> None:
        self.adjacency, self.nodes = adjacency, node_rows(adjacency.shape[0], block)
        self.scale = self.nodes.numbers(lambda rows: self._degree(rows).rsqrt())

    def _degree(self, rows: slice) -> Tensor:
        part = slice_rows(self.adjacency, rows)
        degree = torch.ones(part.shape[0], device=part.values.device)  # the self-loop
        return degree.index_add_(0, part.rows, part.values)

    def apply(self, rows: slice, dense: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return some rows of the operator times a matrix [rows, dim].

        Args:
            rows: Which rows.
            dense: One row per node [nodes, dim].
            weight: Counts each row of `dense` by a factor [nodes].
        """
        part = slice_rows(self.adjacency, rows)
        near = part.columns.long()
        scale, own = self.scale[near], self.scale[rows]
        if weight is not None:
            scale, own = scale * weight[near], own * weight[rows]
        around = multiply(part.with_values(part.values * scale), dense) + own[:, None] * dense[rows]
        return self.scale[rows, None] * around

    def spread(self, dense: Tensor) -> Tensor:
        """Return the operator times a matrix, all rows [nodes, dim]."""
        return self.nodes.fill("spread", lambda rows: self.apply(rows, dense))


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
    nodes = node_rows(graph.num_nodes, block)
    key = weights_key(encoder)
    with torch.no_grad():
        if isinstance(encoder, GCNEncoder):
            return nodes.once(
                "embeddings", key, lambda: _encode_layers(encoder, graph, feature_norm, block)
            )
        if isinstance(encoder, TEDEncoder):
            return nodes.from_first(
                "embeddings", lambda: _encode_columns(encoder, graph, feature_norm)
            )
    return nodes.from_first(
        "embeddings",
        lambda: encode(encoder, graph, normalise_rows(graph.features, feature_norm)),
    )


def weights_key(encoder: nn.Module) -> str:
    """Return a short text that is the same for the same weights alone."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in encoder.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _encode_layers(encoder: GCNEncoder, graph: Graph, norm: str, block: int | None) -> Embeddings:
    operator, slope = BlockOperator(graph.adjacency, block=block), float(encoder.slope)
    hidden = convolve_in_blocks(
        operator,
        graph.features,
        encoder.first,
        norm=norm,
        activate=lambda rows: F.leaky_relu(rows + encoder.first_bias, slope),
    )

    def second(rows: slice) -> Tensor:
        found = operator.apply(rows, hidden) @ encoder.second + encoder.second_bias
        return found.relu() if encoder.output == "relu" else found

    return operator.nodes.fill("embeddings", second)


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
    nodes = operator.nodes
    # The narrower side is propagated.
    if isinstance(features, Tensor) and features.shape[1] <= weight.shape[1]:
        lengths = None if norm == "none" else nodes.numbers(_inverse_lengths(features, norm))
        return nodes.fill(
            "hidden", lambda rows: activate(operator.apply(rows, features, lengths) @ weight)
        )
    projected = project_in_blocks(features, weight, norm=norm, block=nodes.block)
    return nodes.fill("hidden", lambda rows: activate(operator.apply(rows, projected)))


def project_in_blocks(
    features: Features, weight: Tensor, *, norm: str, block: int | None = None
) -> Tensor:
    """Return the scaled feature rows times a matrix [nodes, dim]; features are read in blocks."""
    return node_rows(features.shape[0], block).fill(
        "projected",
        lambda rows: project(normalise_rows(feature_rows(features, rows), norm), weight),
    )


def feature_rows(features: Features, rows: slice) -> Features:
    """Return a range of feature rows [rows, features]."""
    return slice_rows(features, rows) if isinstance(features, CSR) else features[rows]


def feature_blocks(features: Features, block: int | None = None) -> Iterator[Features]:
    """Yield the feature rows, a block at a time."""
    for rows in row_ranges(features.shape[0], block):
        yield feature_rows(features, rows)


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


def _inverse_lengths(features: Tensor, norm: str) -> Callable[[slice], Tensor]:
    """Return what gives 1 / length of the feature rows of a range [rows]."""
    power = {"l1": 1, "l2": 2}[norm]

    def compute(rows: slice) -> Tensor:
        lengths: Tensor = torch.linalg.vector_norm(features[rows], ord=power, dim=1)
        return lengths.clamp_min(1e-12).reciprocal()

    return compute


def slice_rows(matrix: CSR, rows: slice) -> CSR:
    """Return some rows of a matrix without copying what it stores [rows, columns]."""
    first, last = int(matrix.row_pointer[rows.start]), int(matrix.row_pointer[rows.stop])
    pointer = matrix.row_pointer[rows.start : rows.stop + 1] - first
    shape = (rows.stop - rows.start, matrix.shape[1])
    return CSR(pointer, matrix.columns[first:last], matrix.values[first:last], shape)
