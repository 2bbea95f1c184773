"""What GFSA and HONGAT share: layers of graph attention (GAT) over given neighbourhoods, and their training."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.operator import drop_entries, scaled
from quietgraph.embed.sparse import project, propagate_weighted
from quietgraph.embed.train import Schedule
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.supervised import fit_network
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores

_LEAK = 0.2


class AttentionLayer(nn.Module):
    """Heads of attention side by side, or averaged in an output layer.

    A head sums W x_j over the neighbours j of node i with weights that sum to 1 and are proportional to
    s_ij exp(leaky_relu(a . W x_i + b . W x_j)), where s_ij is the value of the neighbourhood.
    """

    def __init__(self, inputs: int, dim: int, *, heads: int, dropout: float, average: bool = False) -> None:
        super().__init__()
        self.shape, self.dropout, self.average = (heads, dim), dropout, average
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, heads * dim)))
        self.towards = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, dim)))
        self.of = nn.Parameter(nn.init.xavier_uniform_(torch.empty(heads, dim)))
        self.bias = nn.Parameter(torch.zeros(dim if average else heads * dim))

    def forward(self, near: CSR, features: Features) -> Tensor:
        """Return one row per node [nodes, heads * dim], or [nodes, dim] when averaged."""
        from torch_geometric.utils import softmax

        dropped = drop_entries(features, self.dropout, training=self.training)
        values = project(dropped, self.weight).view(-1, *self.shape)
        towards, of = (values * self.towards).sum(dim=2), (values * self.of).sum(dim=2)
        scores = F.leaky_relu(towards.index_select(0, near.rows) + of.index_select(0, near.columns), _LEAK)
        weights = softmax(scores + near.values.log()[:, None], ptr=near.row_pointer.long())
        outputs = self.aggregate(near, F.dropout(weights, self.dropout, self.training), values)
        return (outputs.mean(dim=1) if self.average else outputs.flatten(1)) + self.bias

    def aggregate(self, near: CSR, weights: Tensor, values: Tensor) -> Tensor:
        """Return what each head makes of values [nodes, heads, dim] by weights of its neighbours [entries, heads]."""
        heads = zip(weights.T.contiguous(), values.transpose(0, 1).contiguous(), strict=True)
        return torch.stack([propagate_weighted(near.with_values(one), rows) for one, rows in heads], dim=1)


class AttentionNetwork(nn.Module):
    """Attention layers with an ELU between, the heads of the last one averaged; the last hidden layer embeds."""

    def __init__(self, features: int, classes: int, method: "AttentionClassifier") -> None:
        super().__init__()
        layer, self.neighbours = method._parts()
        widths = [features] + [method.heads * method.dim] * (method.layers - 1)
        hidden = (layer(width, method.dim, heads=method.heads, dropout=method.dropout) for width in widths[:-1])
        self.layers = nn.ModuleList(hidden)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:] if method.deep)
        self.last = layer(widths[-1], classes, heads=method.output_heads, dropout=method.dropout, average=True)
        self.norm = method.feature_norm

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and hidden rows of every node [nodes, classes], [nodes, heads * dim]."""
        near = self.neighbours(graph)
        current: Any = scaled(graph, self.norm)
        for index, layer in enumerate(self.layers):
            outputs = layer(near, current)
            if len(self.norms):
                outputs = self.norms[index](outputs)
                outputs = outputs + current if index > 0 else outputs
            current = F.elu(outputs)
        return self.last(near, current), current


@dataclass(kw_only=True, eq=False, repr=False)
class AttentionClassifier(NodeClassifier):
    """Layers of graph attention, trained on observed labels by the recipe of GAT (Velickovic et al., ICLR 2018)."""

    takes_weights = True
    layers: int = param(2, "layers of attention", low=2)
    heads: int = param(8, "attention heads of a hidden layer", low=1)
    dim: int = param(8, "width of a head", low=1)
    output_heads: int = param(1, "attention heads of the last layer, averaged", low=1)
    deep: bool = param(False, "batch norm and residual connections")
    dropout: float = param(0.6, "fraction of inputs and of attention dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(1000, "most training epochs", low=1)
    patience: int | None = param(100, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(5e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    @abstractmethod
    def _parts(self) -> tuple[Callable[..., AttentionLayer], Callable[[Graph], CSR]]:
        """Return what makes a layer, and whom each node of a graph attends to [nodes, nodes], all values above 0."""

    def _network(self, features: int, classes: int) -> AttentionNetwork:
        return AttentionNetwork(features, classes, self)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        trained = dict(network.named_parameters())
        filters = [trained.pop(name) for name in list(trained) if name.endswith("power_weight")]
        groups: list[dict[str, Any]] = [{"params": list(trained.values())}, {"params": filters, "weight_decay": 0.0}]

        def losses(_: int) -> dict[str, Tensor]:
            return {"loss": observed.cost(network(graph)[0])}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        fitted = fit_network(network, losses, schedule, graph, observed, parameters=groups)
        notes = {f"wk_{layer}": float(weights.detach().mean()) for layer, weights in enumerate(filters, start=1)}
        notes["neighbours"] = network.neighbours(graph).num_entries / graph.num_nodes - 1
        return replace(fitted, notes=notes)
