"""SUGRL: margins between nodes, their neighbourhoods and negatives, without augmentation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import (
    Propagation,
    Schedule,
    multiply,
    normalise_rows,
    normalised_adjacency,
    train,
)
from quietgraph.embed.scale.block_inference import BlockOperator, feature_blocks
from quietgraph.embed.scale.each_partition import PartitionLosses, plan_partitions
from quietgraph.embed.scale.partitions import PARTITIONS_HELP, WHOLE_UP_TO
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import ContrastiveClassifier, named_weights, weights_of
from quietgraph.methods.base.supervised import drop_features
from quietgraph.methods.grace.encoder import ENCODER
from quietgraph.methods.sugrl.margins import DenseEncoder, margin_losses, sample_neighbours
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_POSITIVE_DROPOUT = 0.2  # on the rows that make up a structural positive
_NEIGHBOURS = 5  # sampled for a neighbour positive

_PUBMED = {
    "learning_rate": 1e-2,
    "epochs": 1000,
    "dropout": 0.4,
    "margin": 0.5,
    "slack": 0.5,
    "structure_weight": 20.0,
    "neighbour_weight": 20.0,
    "negatives": 3,
    "weight_decay": 1e-4,
}
_AMAZON = {
    **_PUBMED,
    "dropout": 0.1,
    "structure_weight": 100.0,
    "neighbour_weight": 100.0,
}


@final
@dataclass(kw_only=True, eq=False)
class SUGRL(ContrastiveClassifier):
    """Margins to propagated and neighbouring nodes, no augmentation (SUGRL, Mo et al., 2022)."""

    citation: ClassVar[str] = (
        "Mo et al.: Simple unsupervised graph representation learning. AAAI 2022."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 30
    first_stage: ClassVar[str] = "sugrl"
    presets: ClassVar[Presets] = {
        "citeseer": {
            "epochs": 100,
            "hidden": 0,
            "dropout": 0.1,
            "slack": 0.4,
            "structure_weight": 5.0,
            "neighbour_weight": 5.0,
            "negatives": 5,
            "weight_decay": 1e-4,
        },
        "pubmed": _PUBMED,
        "coauthor-cs": _PUBMED,
        "wiki-cs": _PUBMED,
        "amazon-photo": {**_AMAZON, "margin": 0.9, "slack": 0.9, "negatives": 1},
        "amazon-computers": {
            **_AMAZON,
            "margin": 0.4,
            "slack": 0.6,
            "negatives": 5,
            "bound_weight": 2.0,
        },
        "ogbn-arxiv": {
            "learning_rate": 1e-2,
            "epochs": 100,
            "dropout": 0.2,
            "margin": 0.9,
            "slack": 0.9,
            "negatives": 1,
            "feature_norm": "l2",
            "propagation": "row",
            "smooth_features": True,
            "bound": "mean",
        },
    }

    hidden: int = param(512, "width of the hidden layer, 0 for none", low=0)
    dim: int = param(128, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    smooth_features: bool = param(False, "features averaged over neighbours beforehand")
    propagation: str = param(
        "symmetric", "normalisation of the adjacency", choices=("symmetric", "row")
    )
    dropout: float = param(0.3, "fraction of feature entries dropped", low=0, high=0.99)
    margin: float = param(0.8, "how much nearer positives must be (alpha)", low=0)
    slack: float = param(0.2, "how much farther negatives may be (beta)", low=0)
    negatives: int = param(4, "negative nodes per node and step", low=1)
    structure_weight: float = param(10.0, "weight of the propagated positive (w1)", low=0)
    neighbour_weight: float = param(10.0, "weight of the neighbours (w2)", low=0)
    bound_weight: float = param(1.0, "weight of the upper bound (w3)", low=0)
    bound: str = param("sum", "upper bound over nodes", choices=("sum", "mean"))
    epochs: int = param(500, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-5, "weight decay of Adam", low=0)
    partitions: int = param(0, PARTITIONS_HELP, low=0, old_name="parts")

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        encoder = self._encoder(graph.num_features, seed).to(graph.device)
        plan = plan_partitions(graph, self.partitions, seed=seed)
        losses = PartitionLosses(
            graph, plan, lambda part, _, own: self._graph_losses(encoder, part, own)
        )
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, steps=plan.steps)
        history = train(encoder, losses, schedule, what="learning embeddings")
        state = named_weights(encoder, ENCODER)
        return Embedded(self._encode(graph, state), state, history)

    def _graph_losses(
        self, encoder: DenseEncoder, graph: Graph, seed: int
    ) -> Callable[[int], dict[str, Tensor]]:
        operator = self._operator(graph)
        return self._losses(encoder, self._features(graph, operator), operator, seed)

    def _losses(
        self, encoder: DenseEncoder, features: Features, operator: CSR, seed: int
    ) -> Callable[[int], dict[str, Tensor]]:
        neighbour_draws = torch_generator(seed, "neighbours")
        negative_draws = torch_generator(seed, "strangers")
        num_nodes, device = operator.shape[0], operator.values.device
        bound_weight = self.bound_weight * (num_nodes if self.bound == "sum" else 1)

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            anchors = encoder(drop_features(features, self.dropout, training=True))
            structural = multiply(operator, F.dropout(anchors, _POSITIVE_DROPOUT))
            sampled = sample_neighbours(operator, _NEIGHBOURS, generator=neighbour_draws)
            negatives = [
                torch.randperm(num_nodes, generator=negative_draws).to(device)
                for _ in range(self.negatives)
            ]
            costs = margin_losses(
                anchors,
                structural,
                multiply(sampled, anchors),
                negatives,
                margin=self.margin,
                slack=self.slack,
            )
            total = self.structure_weight * costs["structure"]
            total = total + self.neighbour_weight * costs["neighbours"]
            return {"loss": total + bound_weight * costs["bound"], **costs}

        return losses

    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        encoder = self._encoder(graph.num_features, seed=0).to(graph.device)
        encoder.load_state_dict(weights_of(state, ENCODER))
        simple = self.propagation == "symmetric" and not self.smooth_features
        if simple and graph.num_nodes > WHOLE_UP_TO:
            with torch.no_grad():
                blocks = (
                    normalise_rows(one, self.feature_norm) for one in feature_blocks(graph.features)
                )
                own = torch.cat([encoder(one) for one in blocks])
                return F.normalize(BlockOperator(graph.adjacency).spread(own), dim=1)
        operator = self._operator(graph)
        with torch.no_grad():
            structural = multiply(operator, encoder(self._features(graph, operator)))
        return F.normalize(structural, dim=1)

    def _encoder(self, num_features: int, seed: int) -> DenseEncoder:
        draws = torch_generator(seed, "encoder")
        return DenseEncoder(num_features, self.hidden, self.dim, generator=draws)

    def _operator(self, graph: Graph) -> CSR:
        if self.propagation == "symmetric":
            return normalised_adjacency(graph)
        weights = Propagation.of(graph).weights
        return normalise_rows(weights, "l1")  # type: ignore[return-value]

    def _features(self, graph: Graph, operator: CSR) -> Features:
        features = normalise_rows(graph.features, self.feature_norm)
        if not self.smooth_features:
            return features
        return multiply(operator, features.to_dense() if isinstance(features, CSR) else features)
