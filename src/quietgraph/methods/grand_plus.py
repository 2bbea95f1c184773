"""GRAND+: random feature propagation, a small perceptron, and consistent predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.operator import drop_entries, scale_rows, scaled, walk_matrix
from quietgraph.embed.sparse import multiply, project
from quietgraph.embed.train import Schedule, train
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scalar, Scores

_DRAWS = 2  # random propagations per step
_STEPS = 10  # of an epoch, after which validation labels choose
_MOST_UNLABELLED = 10_000  # nodes that the unlabelled of a step are drawn from
_BLOCK = 2**20  # entries of the dense block in which walks spread: what stays in a cache


class PropagatedPerceptron(nn.Module):
    """A perceptron on the rows of sum_n w_n P^n X, P = D^-1 (A + I), with the last hidden layer as embeddings.

    Before each layer: unit rows and batch norm, if wanted, and dropout; between layers a ReLU.
    """

    def __init__(self, features: int, classes: int, how: "GRANDPlus") -> None:
        super().__init__()
        sizes = [features, *[how.hidden] * (how.layers - 1), classes]
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[:-1] if how.batch_norm)
        self.feature_norm, self.node_norm = how.feature_norm, how.node_norm
        self.weights, self.dropouts = how.step_weights(), (how.input_dropout, how.hidden_dropout)

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of every node by its whole propagation [nodes, classes], [nodes, hidden]."""
        features = scaled(graph, self.feature_norm)
        dense = features.to_dense() if isinstance(features, CSR) else features
        blocks = [mix(walk_matrix(graph), block, self.weights) for block in dense.split(256, dim=1)]
        return self.read(torch.cat(blocks, dim=1))

    def read(self, rows: Features) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of propagated rows."""
        outputs = hidden = self._layer(0, rows)
        for index in range(1, len(self.layers)):
            hidden = outputs.relu()
            outputs = self._layer(index, hidden)
        return outputs, hidden

    def _layer(self, index: int, rows: Features) -> Tensor:
        if self.node_norm:
            rows = scale_rows(rows, "l2")
        if len(self.norms):
            rows = self.norms[index](rows.to_dense())
        layer = cast("nn.Linear", self.layers[index])
        dropped = drop_entries(rows, self.dropouts[index > 0], training=self.training)
        return project(dropped, layer.weight.T) + layer.bias


def mix(walk: CSR, dense: Tensor, weights: Sequence[float]) -> Tensor:
    """Return sum_n weights_n P^n dense [nodes, dim]."""
    total = weights[0] * dense
    for weight in weights[1:]:
        dense = multiply(walk, dense)
        total.add_(dense, alpha=weight)
    return total


def nearest_terms(
    walk: CSR, nodes: Tensor, weights: Sequence[float], *, threshold: float, count: int
) -> tuple[Tensor, Tensor]:
    """Return nodes and weights of the largest terms of some rows of sum_n weights_n P^n [rows, count].

    Walks spread from a block of nodes at a time; the part of a walk at a node where less than `threshold` times the
    degree is left stops there, as in the push of GRAND+.
    """
    backward, enough, found = walk.transposed(), threshold * walk.row_counts[:, None], []
    for block in nodes.split(max(32, _BLOCK // walk.shape[0])):
        walkers = torch.zeros(walk.shape[0], len(block), device=nodes.device)
        walkers[block, torch.arange(len(block), device=nodes.device)] = 1
        total = weights[0] * walkers
        for weight in weights[1:]:
            walkers = multiply(backward, walkers * (walkers >= enough))
            total.add_(walkers, alpha=weight)
        found.append(total.T.contiguous().topk(min(count, walk.shape[0]), dim=1))
    return torch.cat([terms.indices for terms in found]), torch.cat([terms.values for terms in found])


def random_rows(features: Features, nodes: Tensor, weights: Tensor, *, drop: float) -> Features:
    """Return weighted means of features over terms (nodes and weights [rows, terms]) less random ones [rows, features].

    Means of sparse features are sparse: each holds the words of some dozen nodes.
    """
    weights = F.dropout(weights, drop)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp_min(1e-12)
    if isinstance(features, Tensor):
        return F.embedding_bag(nodes, features, per_sample_weights=weights, mode="sum")
    kept = weights > 0
    pointer = F.pad(kept.sum(dim=1).cumsum(0), (1, 0)).int()
    picked = CSR(pointer, nodes[kept].int(), weights[kept], (len(nodes), features.shape[0])).to_scipy()
    mixed = (picked @ features.to_scipy()).tocsc().tocsr()  # sorts columns faster than a sort
    return CSR.from_scipy(mixed).to(weights.device)


def consistency_loss(log_probabilities: Tensor, *, sharpening: float, distance: str) -> Scalar:
    """Return the cost of predictions [draws, nodes, classes] that differ from their sharpened mean, if it is confident.

    The distance is squared ("l2") or a cross-entropy ("kl"); a small temperature `sharpening` makes the mean sharp.
    """
    mean, classes = log_probabilities.detach().exp().mean(dim=0), log_probabilities.shape[2]
    wanted = (mean.clamp_min(1e-12).log() / sharpening).softmax(dim=1)
    # Twice the uniform probability is the published rule; of two classes none could reach it.
    confident = (mean.max(dim=1).values > (2 / classes if classes > 2 else 0.75)).to(mean)
    costs = (log_probabilities.exp() - wanted).square() if distance == "l2" else -wanted * log_probabilities
    return (costs.sum(dim=2).mean(dim=0) * confident).sum() / confident.sum().clamp_min(1)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GRANDPlus(NodeClassifier):
    """Random propagation with consistent predictions on unlabelled nodes (Feng et al., WWW 2022).

    All nodes outside training and validation, or 10,000 of them, are the unlabelled ones; ours is the confidence that
    two classes need. Validation labels choose among the epochs of ten steps each.
    """

    revision = 2
    propagation_steps: int = param(20, "most steps of the propagation", low=0)
    teleport: float = param(0.2, "probability that a walk stops at a step", low=0.001, high=1)
    neighbours: int = param(32, "terms kept of a node's propagation", low=1)
    threshold: float = param(1e-7, "probability mass, per degree, below which a walk is cut", low=0)
    layers: int = param(2, "layers of the perceptron", low=1)
    hidden: int = param(64, "width of the hidden layers", low=1)
    input_dropout: float = param(0.5, "fraction of inputs dropped", low=0, high=0.99)
    hidden_dropout: float = param(0.7, "fraction of hidden entries dropped", low=0, high=0.99)
    node_dropout: float = param(0.5, "fraction of terms dropped in a propagation", low=0, high=0.99)
    batch_norm: bool = param(False, "batch norm before each layer")
    node_norm: bool = param(False, "unit rows before each layer")
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    consistency: str = param("l2", "distance between predictions", choices=("l2", "kl"))
    consistency_weight: float = param(1.5, "weight of consistency after warm-up", low=0)
    sharpening: float = param(0.1, "temperature of the common prediction", low=0.01, high=1)
    warm_up: int = param(1000, "steps over which the consistency weight grows", low=0)
    batch: int = param(50, "labelled nodes in a step", low=1)
    unlabelled_batch: int = param(100, "unlabelled nodes in a step", low=1)
    epochs: int = param(500, "most training epochs of ten steps each", low=1)
    patience: int | None = param(200, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(1e-3, "weight decay of Adam", low=0)

    def _network(self, features: int, classes: int) -> PropagatedPerceptron:
        return PropagatedPerceptron(features, classes, self)

    def step_weights(self) -> list[float]:
        """Return the weight of each number of steps; they fall by 1 - teleport a step and sum to 1."""
        falling = [(1 - self.teleport) ** step for step in range(self.propagation_steps + 1)]
        return [weight / sum(falling) for weight in falling]

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        draws, features = torch_generator(self.seed, "batches"), scaled(graph, self.feature_norm)
        groups = (observed.train, observed.validation, ~(observed.train | observed.validation))
        train_nodes, held_out, others = (group.nonzero().squeeze(1) for group in groups)
        picks = torch.randperm(len(others), generator=draws)[:_MOST_UNLABELLED]
        nodes = torch.cat([train_nodes, held_out, others[picks.to(others.device)]])
        walk, steps = walk_matrix(graph), network.weights
        near, weights = nearest_terms(walk, nodes, steps, threshold=self.threshold, count=self.neighbours)
        num_train, num_labelled = len(train_nodes), len(train_nodes) + len(held_out)
        held_out_rows = random_rows(features, near[num_train:num_labelled], weights[num_train:num_labelled], drop=0.0)
        # With every node labelled there is still something to agree on: all nodes.
        unlabelled = torch.arange(num_labelled if len(picks) else 0, len(nodes))
        waiting = torch.empty(0, dtype=torch.int64)

        def losses(step: int) -> dict[str, Tensor]:
            nonlocal waiting
            waiting = waiting if len(waiting) else torch.randperm(num_train, generator=draws)
            labelled, waiting = waiting.tensor_split([self.batch])
            shown = unlabelled[torch.randperm(len(unlabelled), generator=draws)[: self.unlabelled_batch]]
            which = torch.cat([labelled, shown]).repeat(_DRAWS).to(graph.device)
            rows = random_rows(features, near[which], weights[which], drop=self.node_dropout)
            log_probabilities = network.read(rows)[0].log_softmax(dim=1).view(_DRAWS, len(which) // _DRAWS, -1)
            known, agreeing = log_probabilities.tensor_split([len(labelled)], dim=1)
            labels = F.nll_loss(known.flatten(0, 1), observed.codes[train_nodes][labelled].repeat(_DRAWS))
            agreed = consistency_loss(agreeing, sharpening=self.sharpening, distance=self.consistency)
            grown = self.consistency_weight * min(1.0, step / max(1, self.warm_up))
            return {"loss": labels + grown * agreed, "labels": labels, "consistency": agreed}

        chosen_by = observed.at(held_out)

        def score() -> float:
            return chosen_by.score(network.read(held_out_rows)[0])

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience, _STEPS)
        history = train(network, losses, schedule, score=score, on_epoch=observed.on_epoch)
        with torch.no_grad():
            scores, embeddings = network(graph)
        return Fitted(scores, embeddings, network, history=history)
