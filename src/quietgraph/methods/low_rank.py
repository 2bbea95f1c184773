"""What GCL-LRR and GCL-LR-Attention share: the low-rank contrastive encoder and its parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from quietgraph.classify import (
    LinearFit,
    centre_rows,
    fit_linear,
    fit_ridge,
    mean_direction,
    smooth_rows,
)
from quietgraph.embed import (
    ContrastSettings,
    GCNEncoder,
    Schedule,
    TEDEncoder,
    ViewRates,
    encode,
    normalise_rows,
    normalised_adjacency,
    train_embeddings,
)
from quietgraph.graph import Graph
from quietgraph.methods.cache import Embedded
from quietgraph.methods.task import Task
from quietgraph.methods.two_stage import Decision, TwoStageClassifier
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

_CLASSIFIERS: dict[str, Callable[..., LinearFit]] = {
    "ridge": fit_ridge,
    "gradient-descent": fit_linear,
}
_ENCODER = "encoder."


@dataclass(kw_only=True, eq=False)
class LowRankContrast(TwoStageClassifier):
    """Contrastive embeddings of low rank, and a linear transductive classifier on them."""

    first_stage: ClassVar[str] = "low-rank contrast"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "texas": {"encoder": "tedgcn"},
        "chameleon": {"encoder": "tedgcn"},
    }

    encoder: str = param(
        "gcn",
        "two graph convolutions, or a filter of trainable depth for graphs of unlike neighbours",
        choices=("gcn", "tedgcn"),
    )
    depth: float = param(-1.0, "depth at which the tedgcn encoder starts", low=-5, high=20)
    hidden: int = param(256, "width of the gcn encoder's hidden layer", low=1)
    dim: int = param(256, "width of the embeddings (d)", low=1)
    output: str = param("linear", "activation of the output", choices=("linear", "relu"))
    feature_norm: str = param("l2", "scaling of feature rows", choices=("l2", "l1", "none"))
    temperature: float = param(0.5, "softness of the contrast between views", low=1e-3)
    intra_view: bool = param(False, "whether nodes of the same view are negatives too")
    anchors: int = param(700, "nodes contrasted in a step", low=2)
    prototypes: int = param(20, "number of coarse prototypes (K)", low=1)
    fine_prototypes: int = param(50, "number of fine prototypes, 0 for none", low=0)
    prototype_weight: float = param(0.5, "weight of the prototype loss", low=0)
    prototype_temperature: float = param(0.3, "softness of the prototype loss (tau)", low=1e-3)
    rank_weight: float = param(1.0, "weight of the truncated nuclear norm (tau)", low=0)
    rank_ratio: float = param(0.2, "share of directions left free (gamma)", low=0, high=1)
    rank_scale: str = param(
        "mean",
        "truncated norm per node of unit rows, or the sum as printed",
        choices=("mean", "sum"),
    )
    edge_drop_1: float = param(0.2, "share of edges dropped in view 1", low=0, high=1)
    edge_drop_2: float = param(0.4, "share of edges dropped in view 2", low=0, high=1)
    feature_mask_1: float = param(0.3, "share of feature columns masked in view 1", low=0, high=1)
    feature_mask_2: float = param(0.4, "share of feature columns masked in view 2", low=0, high=1)
    node_drop: float = param(0.0, "share of nodes dropped in each view", low=0, high=1)
    edge_add: float = param(0.0, "random edges added in each view, per edge", low=0, high=1)
    epochs: int = param(60, "most training epochs (t_max)", low=1)
    warm_up: int = param(15, "epochs before prototypes and rank count", low=0)
    patience: int | None = param(None, "epochs without a lower loss before stopping", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)
    centre: bool = param(True, "unit rows less their mean before classifying", after_embedding=True)
    smoothing: int = param(
        0, "propagations that average the features over neighbours", low=0, after_embedding=True
    )
    classifier: str = param(
        "ridge",
        "linear classifier: ridge, or the gradient descent of the paper",
        choices=tuple(_CLASSIFIERS),
        after_embedding=True,
    )

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        features = normalise_rows(graph.features, self.feature_norm)
        encoder = self._encoder(graph.num_features, seed).to(graph.device)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        history = train_embeddings(graph, features, encoder, self._settings(), schedule, seed=seed)
        weights = {_ENCODER + name: value for name, value in encoder.state_dict().items()}
        return Embedded(encode(encoder, graph, features), weights, history)

    def _decide(self, embeddings: Embeddings, task: Task) -> Decision:
        state = self._prepare(embeddings, task.graph)
        features = self._features(embeddings, task.graph, state)
        fit = _CLASSIFIERS[self.classifier](
            features,
            task.labels,
            train=task.train,
            validation=task.validation,
            num_classes=task.num_classes,
        )
        notes = {self.classifier: fit.chosen, "validation_accuracy": fit.validation_accuracy}
        return Decision(fit.scores(features), {**state, "weight": fit.weight}, notes)

    def _prepare(self, embeddings: Embeddings, graph: Graph) -> dict[str, Tensor]:  # noqa: ARG002
        """Return what the features need to know of all embeddings."""
        return {"mean": mean_direction(embeddings)}

    def _features(self, embeddings: Embeddings, graph: Graph, state: dict[str, Tensor]) -> Tensor:
        """Return what the classifier sees [nodes, features]."""
        return self._smooth(self._rows(embeddings, state), graph)

    def _rows(self, embeddings: Embeddings, state: dict[str, Tensor]) -> Embeddings:
        return centre_rows(embeddings, state["mean"]) if self.centre else embeddings

    def _smooth(self, rows: Embeddings, graph: Graph) -> Embeddings:
        if self.smoothing == 0:
            return rows
        return smooth_rows(normalised_adjacency(graph), rows, steps=self.smoothing)

    def embed_new(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        """Return what a trained encoder makes of a graph that it has not seen [nodes, dim]."""
        encoder = self._encoder(graph.num_features, seed=0).to(graph.device)
        encoder.load_state_dict(
            {
                name.removeprefix(_ENCODER): value
                for name, value in state.items()
                if name.startswith(_ENCODER)
            }
        )
        return encode(encoder, graph, normalise_rows(graph.features, self.feature_norm))

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = self.embed_new(graph, state)
        return self._features(embeddings, graph, state) @ state["weight"], embeddings

    def _encoder(self, num_features: int, seed: int) -> nn.Module:
        draws = torch_generator(seed, "encoder")
        if self.encoder == "tedgcn":
            return TEDEncoder(
                num_features, self.dim, output=self.output, depth=self.depth, generator=draws
            )
        return GCNEncoder(num_features, self.hidden, self.dim, output=self.output, generator=draws)

    def _settings(self) -> ContrastSettings:
        counts = tuple(count for count in (self.prototypes, self.fine_prototypes) if count)
        masks = (self.feature_mask_1, self.feature_mask_2)
        drops = (self.edge_drop_1, self.edge_drop_2)
        first, second = (
            ViewRates(drop, mask, self.node_drop, self.edge_add)
            for drop, mask in zip(drops, masks, strict=True)
        )
        return ContrastSettings(
            temperature=self.temperature,
            intra_view=self.intra_view,
            anchors=self.anchors,
            prototype_weight=self.prototype_weight,
            prototype_counts=counts,
            prototype_temperature=self.prototype_temperature,
            rank_weight=self.rank_weight,
            rank_ratio=self.rank_ratio,
            rank_scale=self.rank_scale,
            warm_up=self.warm_up,
            first_view=first,
            second_view=second,
        )
