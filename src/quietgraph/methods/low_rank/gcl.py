"""GCL-LRR and GCL-LR-Attention: low-rank contrastive embeddings, low-rank attention, ridge regression."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import centre_rows, mean_direction
from quietgraph.classify.smoothing import (
    count_columns,
    is_heterophilous,
    leading_directions,
    smooth_attributes,
    smooth_rows,
)
from quietgraph.embed.contrast import Contrast, train_contrast, usual_epochs
from quietgraph.embed.encoder import Encoder, TEDEncoder
from quietgraph.embed.train import Epoch, History, Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.low_rank.head import Head, fit_head
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

DEPTHS: Final = (-1.0, 1.0, 7.0)  # at which filters of trainable depth start: the loss is not convex in the depth
_FILTERED = 50_000  # most edges for which filters of trainable depth are tried
_DIRECTIONS = 256  # of the smoothed attributes


class Rows(nn.Module):
    """An encoder, and the rows that classifiers read of its embeddings and of the attributes."""

    mean: Tensor
    attribute_mean: Tensor
    directions: Tensor

    def __init__(self, encoder: nn.Module, dim: int, *, smooth: bool, columns: int, rank: int) -> None:
        super().__init__()
        self.encoder, self.smooth, self.columns, self.rank = encoder, smooth, columns, rank
        for name, shape in {"mean": (dim,), "attribute_mean": (columns,), "directions": (columns, rank)}.items():
            self.register_buffer(name, torch.zeros(shape))

    def survey(self, graph: Graph, embeddings: Embeddings, *, seed: int) -> list[Tensor]:
        """Keep means and directions of the graph of fit; return its rows."""
        self.mean, attributes = mean_direction(embeddings), None
        if self.columns:
            attributes, draws = smooth_attributes(graph, self.columns), torch_generator(seed, "attribute directions")
            self.attribute_mean, self.directions = leading_directions(attributes, self.rank, generator=draws)
        return self.of(graph, embeddings, attributes)

    def of(self, graph: Graph, embeddings: Embeddings, attributes: Tensor | None = None) -> list[Tensor]:
        """Return unit rows of the centred (and smoothed) embeddings, and of the smoothed attributes."""
        rows = centre_rows(embeddings, self.mean)
        found = [smooth_rows(graph, rows, out=rows) if self.smooth else rows]
        if self.columns:
            attributes = smooth_attributes(graph, self.columns) if attributes is None else attributes
            found.append(F.normalize((attributes - self.attribute_mean) @ self.directions, dim=1))
        return found


class LowRankNetwork(nn.Module):
    """Scores by a head on the rows of an encoder's embeddings and of the attributes.

    Attributes:
        sizes: What `_network` needs beside the numbers of features and classes to build it again.
    """

    def __init__(self, rows: Rows, head: Head, depth: float | None) -> None:
        super().__init__()
        self.rows, self.head = rows, head
        self.sizes = {"depth": depth, "smooth": rows.smooth, "columns": rows.columns, "rank": rows.rank}

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of every node [nodes, classes], [nodes, dim]."""
        embeddings = self.rows.encoder(graph)
        return self.head(self.rows.of(graph, embeddings)), embeddings


@dataclass(kw_only=True, eq=False, repr=False)
class LowRank(NodeClassifier):
    """Low-rank contrastive embeddings and a linear classifier on them: what both methods share."""

    takes_weights = True
    encoder: str = param(
        "auto",
        "two graph convolutions (gcn), a filter of trainable depth (tedgcn), or on small heterophilous graphs the one "
        "that validation labels prefer (auto)",
        choices=("auto", "gcn", "tedgcn"),
    )
    hidden: int = param(256, "width of the hidden layer (gcn encoder)", low=1)
    dim: int = param(256, "width of the embeddings (d)", low=1)
    prototype_weight: float = param(0.5, "weight of the prototype loss", low=0)
    rank_weight: float = param(1.0, "weight of the truncated nuclear norm (tau)", low=0)
    rank_ratio: float = param(0.2, "fraction of directions left free (gamma)", low=0, high=1)
    epochs: int | None = param(None, "training epochs; none: 60, up to 135 for large graphs", low=1)
    warm_up: int = param(15, "epochs before prototypes and rank count", low=0)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)

    def _attention(self) -> float:
        """Return the weight of attended features; 0: the embeddings alone, neither smoothed nor with attributes."""
        return 0.0

    def _encoder(self, features: int, depth: float | None) -> nn.Module:
        draws = torch_generator(self.seed, "encoder")
        if depth is None:
            return Encoder(features, self.hidden, self.dim, generator=draws)
        return TEDEncoder(features, self.dim, depth=depth, generator=draws)

    def _network(
        self,
        features: int,
        classes: int,
        *,
        depth: float | None = None,
        smooth: bool = False,
        columns: int = 0,
        rank: int = 0,
    ) -> LowRankNetwork:
        reader = Rows(self._encoder(features, depth), self.dim, smooth=smooth, columns=columns, rank=rank)
        head = Head([self.dim, rank] if columns else [self.dim], classes, self._attention())
        return LowRankNetwork(reader, head, depth)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        @cache
        def embed(depth: float | None) -> tuple[nn.Module, History, Embeddings]:
            return self._embed(graph, depth, observed.on_epoch)

        @cache
        def read(depth: float | None, smooth: bool) -> tuple[Rows, list[Tensor]]:
            encoder, _, embeddings = embed(depth)
            columns = count_columns(graph) if smooth else 0
            sizes = {"columns": columns, "rank": min(_DIRECTIONS, columns, graph.num_nodes)}
            reader = Rows(encoder, self.dim, smooth=smooth, **sizes).to(graph.device)
            return reader, reader.survey(graph, embeddings, seed=self.seed)

        def learn(labels: Observed) -> Fitted:
            mixed = is_heterophilous(graph, labels.codes)  # averages over neighbours of other classes carry nothing
            depths: tuple[float | None, ...] = DEPTHS if self.encoder == "tedgcn" else (None,)
            if self.encoder == "auto" and mixed and graph.num_edges <= _FILTERED:
                depths = (None, *DEPTHS)
            heads = {}
            for depth in depths:
                _, rows = read(depth, self._attention() > 0 and not mixed)
                heads[depth] = fit_head(rows, labels, attention_weight=self._attention(), seed=self.seed)
            depth = max(heads, key=lambda one: heads[one].notes["validation_accuracy"])
            reader, rows = read(depth, self._attention() > 0 and not mixed)
            _, history, embeddings = embed(depth)
            notes = heads[depth].notes
            if isinstance(reader.encoder, TEDEncoder):
                notes["depth"] = float(reader.encoder.depth.detach())
            network = LowRankNetwork(reader, heads[depth], depth)
            return Fitted(network.head(rows), embeddings, network, learn, history, notes)

        return learn(observed)

    def _embed(
        self, graph: Graph, depth: float | None, on_epoch: Callable[[Epoch], None] | None
    ) -> tuple[nn.Module, History, Embeddings]:
        """Return a trained encoder, its history, and the embeddings."""
        encoder = self._encoder(graph.num_features, depth).to(graph.device)
        how = Contrast(
            prototype_weight=self.prototype_weight,
            rank_weight=self.rank_weight,
            rank_ratio=self.rank_ratio,
            warm_up=self.warm_up,
        ).on(graph)
        schedule = Schedule(self.epochs or usual_epochs(graph), self.learning_rate, self.weight_decay)
        history = train_contrast(graph, encoder, how, schedule, seed=self.seed, on_epoch=on_epoch)
        with torch.no_grad():
            return encoder, history, encoder(graph)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GCLLRR(LowRank):
    """Low-rank contrastive embeddings, ridge regression."""


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GCLLRAttention(LowRank):
    """Low-rank contrastive embeddings and smoothed attributes, low-rank attention, ridge regression.

    Not the paper to its letter, which is `PaperGCL`: linear output, PReLU, prototypes of two sizes on the views, the
    norm of unit rows per node, a warm-up, centred and smoothed rows, ridge regression, class prior, attributes.
    """

    attention_weight: float = param(2.0, "weight of attended features beside the embeddings", low=0)

    def _attention(self) -> float:
        return self.attention_weight
