"""Graph attention over given neighbourhoods: plain GAT, and what GFSA and HONGAT build on.

Every sum over neighbours is a sparse product, so that forward and backward are linear in the
number of neighbours and nothing [neighbours, width] is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import Propagation, multiply, project
from quietgraph.embed.weighted import entry_products
from quietgraph.graph import CSR, Features, Graph
from quietgraph.graph.sparse import MatrixContext
from quietgraph.methods.base.supervised import drop_features
from quietgraph.types import Context, Embeddings, Scores

_LEAK = 0.2


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Whom each node attends to: row i lists them, values weigh them before they are scored."""

    matrix: CSR

    @classmethod
    def of(cls, graph: Graph) -> "Neighbourhoods":
        """Return the direct neighbours and the node itself, all alike."""
        weights = Propagation.of(graph).weights
        return cls(weights.with_values(torch.ones_like(weights.values)))

    @cached_property
    def targets(self) -> CSR:
        """The node that attends, of each entry, as a matrix [entries, nodes]."""
        return self._picker(self.matrix.rows.to(self.matrix.columns.dtype))

    @cached_property
    def sources(self) -> CSR:
        """The node attended to, of each entry, as a matrix [entries, nodes]."""
        return self._picker(self.matrix.columns)

    @cached_property
    def sums(self) -> CSR:
        """What adds up the entries of each attending node [nodes, entries]."""
        return self.targets.transposed()

    @cached_property
    def offsets(self) -> Tensor:
        """Where the entries of each attending node begin, and their number [nodes + 1] int64."""
        return self.matrix.row_pointer.long()

    def softmax(self, scores: Tensor) -> Tensor:
        """Return the weights of each node's neighbours [entries, heads]; they sum to 1."""
        return _Softmax.apply(scores, self)  # type: ignore[no-any-return,no-untyped-call]

    def _picker(self, nodes: Tensor) -> CSR:
        pointer = torch.arange(len(nodes) + 1, dtype=nodes.dtype, device=nodes.device)
        shape = (len(nodes), self.matrix.shape[0])
        return CSR(pointer, nodes, torch.ones_like(self.matrix.values), shape)


def attend(neighbourhoods: Neighbourhoods, weights: Tensor, values: Tensor) -> Tensor:
    """Return each node's neighbours' values, summed by weights [nodes, heads, dim].

    Args:
        neighbourhoods: Whom each node attends to.
        weights: Weight of each entry in each head [entries, heads]; gets a gradient.
        values: What each node shows to each head [nodes, heads, dim]; gets a gradient.
    """
    return _WeightedSums.apply(weights, values, neighbourhoods.matrix)  # type: ignore[no-any-return,no-untyped-call]


class AttentionLayer(nn.Module):
    """Heads of attention, side by side, or averaged in an output layer."""

    def __init__(
        self, inputs: int, dim: int, *, heads: int, dropout: float, average: bool = False
    ) -> None:
        super().__init__()
        self.shape, self.dropout, self.average = (heads, dim), dropout, average
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, heads * dim)))
        self.towards = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, dim)))
        self.of = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, dim)))
        self.bias = nn.Parameter(torch.zeros(dim if average else heads * dim))

    def forward(self, neighbourhoods: Neighbourhoods, features: Features) -> Tensor:
        """Return one row per node [nodes, heads * dim], or [nodes, dim] when averaged."""
        dropped = drop_features(features, self.dropout, training=self.training)
        values = project(dropped, self.weight).view(-1, *self.shape)
        scores = multiply(neighbourhoods.targets, (values * self.towards).sum(dim=2))
        scores = scores + multiply(neighbourhoods.sources, (values * self.of).sum(dim=2))
        weights = neighbourhoods.softmax(F.leaky_relu(scores, _LEAK))
        weights = F.dropout(weights, self.dropout, self.training)
        outputs = self.aggregate(neighbourhoods, weights, values)
        return (outputs.mean(dim=1) if self.average else outputs.flatten(1)) + self.bias

    def aggregate(self, neighbourhoods: Neighbourhoods, weights: Tensor, values: Tensor) -> Tensor:
        """Return what each head makes of its neighbours' values [nodes, heads, dim]."""
        return attend(neighbourhoods, weights, values)


MakeLayer: TypeAlias = Callable[..., AttentionLayer]


@dataclass(frozen=True)
class AttentionSizes:
    """Shape of an attention network."""

    layers: int
    heads: int
    dim: int  # width of a head
    output_heads: int
    dropout: float
    deep: bool = False  # batch norm and residual connections, for more layers

    @property
    def width(self) -> int:
        """Width of a hidden layer."""
        return self.heads * self.dim


class AttentionNetwork(nn.Module):
    """GAT: attention layers with an ELU between, the heads of the last one averaged."""

    def __init__(
        self,
        num_features: int,
        num_classes: int,
        sizes: AttentionSizes,
        *,
        layer: MakeLayer = AttentionLayer,
    ) -> None:
        super().__init__()
        hidden, inputs = [], num_features
        for _ in range(sizes.layers - 1):
            hidden.append(layer(inputs, sizes.dim, heads=sizes.heads, dropout=sizes.dropout))
            inputs = sizes.width
        self.layers = nn.ModuleList(hidden)
        self.norms = nn.ModuleList(nn.BatchNorm1d(sizes.width) for _ in hidden if sizes.deep)
        self.last = layer(
            inputs, num_classes, heads=sizes.output_heads, dropout=sizes.dropout, average=True
        )

    def hidden(self, neighbourhoods: Neighbourhoods, features: Features) -> Embeddings:
        """Return the last hidden layer, the embeddings of this model [nodes, width]."""
        current: Any = features
        for index, layer in enumerate(self.layers):
            outputs = layer(neighbourhoods, current)
            if len(self.norms):
                outputs = self.norms[index](outputs)
                outputs = outputs + current if index > 0 else outputs
            current = F.elu(outputs)
        embeddings: Embeddings = current
        return embeddings

    def forward(self, neighbourhoods: Neighbourhoods, features: Features) -> Scores:
        """Return class scores [nodes, classes]."""
        scores: Scores = self.last(neighbourhoods, self.hidden(neighbourhoods, features))
        return scores


class _Kept(Context, Protocol):
    near: Neighbourhoods


class _Softmax(torch.autograd.Function):
    """Softmax over the entries of each row; one function, so that few [entries, heads] are made."""

    @staticmethod
    def forward(ctx: _Kept, scores: Tensor, near: Neighbourhoods) -> Tensor:
        rows, sums = near.matrix.rows, near.sums
        scores = scores + near.matrix.values.log()[:, None]
        highest = torch.segment_reduce(scores, "max", offsets=near.offsets, unsafe=True)
        grown = scores.sub_(highest.index_select(0, rows)).exp_()
        weights = grown.div_(multiply(sums, grown).index_select(0, rows))
        ctx.near = near
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: _Kept, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        weighted = gradient * weights
        means = multiply(ctx.near.sums, weighted).index_select(0, ctx.near.matrix.rows)
        return weighted.sub_(means.mul_(weights)), None


class _WeightedSums(torch.autograd.Function):
    """Rows of `values` summed over neighbours by weights, head by head, gradients to both."""

    @staticmethod
    def forward(ctx: MatrixContext, weights: Tensor, values: Tensor, structure: CSR) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.matrix = structure
        return _multiply_heads(structure, weights, values)

    @staticmethod
    def backward(ctx: MatrixContext, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weights, values = ctx.saved_tensors
        to_weights = to_values = None
        if ctx.needs_input_grad[0]:
            pairs = zip(_heads_first(gradient), _heads_first(values), strict=True)
            products = [entry_products(ctx.matrix, left, right) for left, right in pairs]
            to_weights = torch.stack(products, dim=1)
        if ctx.needs_input_grad[1]:
            to_values = _multiply_heads(ctx.matrix, weights, gradient, transpose=True)
        return to_weights, to_values, None


def _multiply_heads(
    structure: CSR, weights: Tensor, dense: Tensor, *, transpose: bool = False
) -> Tensor:
    """Return the product of each head's matrix, or of its transpose [rows, heads, dim]."""
    products = []
    for values, columns in zip(weights.T.contiguous(), _heads_first(dense), strict=True):
        matrix = structure.with_values(values)
        products.append(multiply(matrix.transposed() if transpose else matrix, columns))
    return torch.stack(products, dim=1)


def _heads_first(dense: Tensor) -> Tensor:
    return dense.transpose(0, 1).contiguous()
