"""GCL-LRR and GCL-LR-Attention: low-rank contrastive embeddings, low-rank attention, ridge regression."""

import copy
from dataclasses import dataclass
from typing import Any, Final, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import attention_matrix, centre_rows, mean_direction
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.classify.linear import fit_ridge
from quietgraph.classify.smoothing import (
    count_columns,
    is_heterophilous,
    leading_directions,
    smooth_attributes,
    smooth_rows,
)
from quietgraph.embed.contrast import Contrast, train_contrast, usual_epochs
from quietgraph.embed.encoder import Encoder, TEDEncoder
from quietgraph.embed.train import History, Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

DEPTHS: Final = (-1.0, 1.0, 7.0)  # at which filters of trainable depth start: the loss is not convex in the depth
_FILTERED = 50_000  # most edges for which filters of trainable depth are tried
_DIRECTIONS = 256  # of the smoothed attributes
_BLOCK = 2**16  # rows that are scored at once


class Branch(nn.Module):
    """Scores [Z, w rn(Z Z^T Z / lambda_1)] W + b of rows Z; with w = 0 those of Z alone. rn: rows of unit length."""

    attention: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, dim: int, classes: int, attention_weight: float) -> None:
        super().__init__()
        self.attention_weight = attention_weight
        width = 2 * dim if attention_weight else dim
        for name, shape in {"attention": (dim, dim), "weight": (width, classes), "bias": (classes,)}.items():
            self.register_buffer(name, torch.zeros(shape))

    def features(self, rows: Tensor) -> Tensor:
        """Return what the linear classifier reads [nodes, width]."""
        if not self.attention_weight:
            return rows
        return torch.cat([rows, self.attention_weight * F.normalize(rows @ self.attention, dim=1)], dim=1)

    def forward(self, rows: Tensor) -> Scores:
        """Return the scores of all rows, in blocks [nodes, classes]."""
        return torch.cat([self.features(block) @ self.weight + self.bias for block in rows.split(_BLOCK)])


class LowRankNetwork(nn.Module):
    """An encoder, the rows that classifiers read of its embeddings and of the attributes, the mean of their scores.

    Attributes:
        sizes: What `_network` needs beside the numbers of features and classes to build it again.
    """

    mean: Tensor
    attribute_mean: Tensor
    directions: Tensor

    def __init__(self, encoder: nn.Module, dim: int, classes: int, attention_weight: float, **sizes: Any) -> None:
        super().__init__()
        self.encoder, self.sizes = encoder, sizes
        columns, rank = sizes["columns"], sizes["rank"]
        shapes = {"mean": (dim,), "attribute_mean": (columns,), "directions": (columns, rank)}
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))
        widths = (dim, rank) if columns else (dim,)
        self.branches = nn.ModuleList(Branch(width, classes, attention_weight) for width in widths)

    @torch.no_grad()
    def survey(self, graph: Graph, *, seed: int) -> tuple[Embeddings, list[Tensor]]:
        """Keep means, directions and attention of the graph of fit; return its embeddings and rows."""
        embeddings = self.encoder(graph)
        self.mean = mean_direction(embeddings)
        if self.sizes["columns"]:
            attributes, draws = smooth_attributes(graph, self.sizes["columns"]), torch_generator(seed, _DRAWS)
            self.attribute_mean, self.directions = leading_directions(attributes, self.sizes["rank"], generator=draws)
        rows = self.rows(graph, embeddings)
        for branch, own in zip(self.branches, rows, strict=True):
            branch.attention = attention_matrix(own)
        return embeddings, rows

    def rows(self, graph: Graph, embeddings: Embeddings) -> list[Tensor]:
        """Return unit rows of the centred (and smoothed) embeddings, and of the smoothed attributes."""
        rows = centre_rows(embeddings, self.mean)
        found = [smooth_rows(graph, rows) if self.sizes["smooth"] else rows]
        if self.sizes["columns"]:
            attributes = smooth_attributes(graph, self.sizes["columns"])
            found.append(F.normalize((attributes - self.attribute_mean) @ self.directions, dim=1))
        return found

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of every node [nodes, classes], [nodes, dim]."""
        embeddings = self.encoder(graph)
        return mean_scores(self.branches, self.rows(graph, embeddings)), embeddings


_DRAWS = "attribute directions"


def mean_scores(branches: nn.ModuleList, rows: list[Tensor]) -> Scores:
    """Return the mean of the scores of several classifiers [nodes, classes]."""
    return sum(branch(own) for branch, own in zip(branches, rows, strict=True)) / len(rows)


@torch.no_grad()
def fit_branches(
    branches: nn.ModuleList, rows: list[Tensor], observed: Observed, *, seed: int
) -> tuple[nn.ModuleList, dict[str, float]]:
    """Return branches fitted by ridge regressions, whose mean is adjusted to the class prior, and their choices."""
    fitted, notes = copy.deepcopy(branches), {}
    known = observed.train | observed.validation
    labels = observed.at(known)
    for branch, own, name in zip(fitted, rows, ("ridge", "ridge on attributes"), strict=False):
        fit = fit_ridge(
            branch.features(own[known]),
            labels.codes,
            train=labels.train,
            validation=labels.validation,
            num_classes=labels.num_classes,
            weights=labels.weights,
        )
        branch.weight, branch.bias, notes[name] = fit.weight, fit.bias, fit.chosen
    held_out = mean_scores(fitted, [own[observed.validation] for own in rows])
    wanted = observed.codes[observed.validation]
    if observed.weights is None:  # frequencies of classes are the caller's own where labels have weights
        draws = torch_generator(seed, "class prior")
        adjustment = class_adjustment(held_out, wanted, observed.codes[observed.train], generator=draws)
        for branch in fitted:
            branch.bias = branch.bias + adjustment
    return fitted, {**notes, "validation_accuracy": float((held_out.argmax(dim=1) == wanted).float().mean())}


@dataclass(kw_only=True, eq=False, repr=False)
class LowRank(NodeClassifier):
    """Low-rank contrastive embeddings and a linear classifier on all nodes; parameters of both methods."""

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
        """Return the weight of attended features; 0 reads the embeddings alone, unsmoothed, without attributes."""
        return 0.0

    def _network(self, features: int, classes: int, **sizes: Any) -> LowRankNetwork:
        draws, depth = torch_generator(self.seed, "encoder"), sizes["depth"]
        if depth is None:
            encoder: nn.Module = Encoder(features, self.hidden, self.dim, generator=draws)
        else:
            encoder = TEDEncoder(features, self.dim, depth=depth, generator=draws)
        return LowRankNetwork(encoder, self.dim, classes, self._attention(), **sizes)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        mixed = is_heterophilous(graph, observed.codes)  # averages over neighbours of other classes carry nothing
        smooth = self._attention() > 0 and not mixed
        columns = count_columns(graph) if smooth else 0
        rank = min(_DIRECTIONS, columns, graph.num_nodes)
        depths: tuple[float | None, ...] = DEPTHS if self.encoder == "tedgcn" else (None,)
        if self.encoder == "auto" and mixed and graph.num_edges <= _FILTERED:
            depths = (None, *DEPTHS)
        made = []
        for depth in depths:
            sizes = {"smooth": smooth, "columns": columns, "rank": rank, "depth": depth}
            network = self._network(graph.num_features, observed.num_classes, **sizes).to(graph.device)
            history = self._train(graph, network, observed)
            made.append((network, history, *network.survey(graph, seed=self.seed)))
        return _learn(made, observed, seed=self.seed)

    def _train(self, graph: Graph, network: LowRankNetwork, observed: Observed) -> History:
        how = Contrast(
            prototype_weight=self.prototype_weight,
            rank_weight=self.rank_weight,
            rank_ratio=self.rank_ratio,
            warm_up=self.warm_up,
        ).on(graph)
        schedule = Schedule(self.epochs or usual_epochs(graph), self.learning_rate, self.weight_decay)
        return train_contrast(graph, network.encoder, how, schedule, seed=self.seed, on_epoch=observed.on_epoch)


def _learn(
    made: list[tuple[LowRankNetwork, History, Embeddings, list[Tensor]]], observed: Observed, *, seed: int
) -> Fitted:
    """Return what the encoder answers whose classifier validation labels prefer; other labels refit classifiers alone."""
    fits = [fit_branches(network.branches, rows, observed, seed=seed) for network, _, _, rows in made]
    best = max(range(len(fits)), key=lambda index: fits[index][1]["validation_accuracy"])
    (network, history, embeddings, rows), (branches, notes) = made[best], fits[best]
    if isinstance(network.encoder, TEDEncoder):
        notes["depth"] = float(network.encoder.depth.detach())
    network = copy.deepcopy(network)
    network.branches = branches
    scores = mean_scores(branches, rows)
    return Fitted(scores, embeddings, network, lambda labels: _learn(made, labels, seed=seed), history, notes)


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
