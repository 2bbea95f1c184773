"""What GCL-LRR and GCL-LR-Attention share: the low-rank contrastive encoder and its parameters."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from quietgraph.classify import is_heterophilous
from quietgraph.embed import TEDEncoder
from quietgraph.embed.negative_depth import DEPTH_STARTS, HIGHEST_DEPTH, LOWEST_DEPTH
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.partitions import PARTITIONER_HELP, PARTITIONERS, PARTITIONS_HELP
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.encoder_module import Forward
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.base.two_stage import Decision, fit_two_stages
from quietgraph.methods.low_rank.classifier_rows import (
    asked_rows,
    classifier_rows,
    count_propagations,
    linear_scores,
    mean_row,
)
from quietgraph.methods.low_rank.encoder import (
    encode_graph,
    forward_graph,
    restored_encoder,
    stored_weights,
    train_encoder,
    unless_partitioned,
)
from quietgraph.methods.low_rank.graph_settings import EPOCHS, graph_settings
from quietgraph.methods.low_rank.large_features import is_large
from quietgraph.methods.low_rank.letter import letter_settings
from quietgraph.methods.low_rank.linear_decision import (
    CLASSIFIERS,
    fit_classifier,
    prior_adjustment,
)
from quietgraph.params import ParameterValue, Settings, make, param, parameters
from quietgraph.types import Embeddings, Scores

_FILTERED = 50_000  # most edges for which filters of trainable depth are tried unasked


@dataclass(kw_only=True, eq=False)
class LowRankContrast(NodeClassifier):
    """Contrastive embeddings of low rank, and a linear transductive classifier on them."""

    first_stage: ClassVar[str] = "low-rank contrast"
    takes_weights: ClassVar[bool] = True
    cora_epochs: ClassVar[int | None] = EPOCHS

    encoder: str = param(
        "auto",
        "two graph convolutions (gcn), a filter of trainable depth (tedgcn), or on heterophilous "
        "graphs what validation labels prefer (auto)",
        choices=("auto", "gcn", "tedgcn"),
    )
    depth: float | None = param(
        None,
        "depth at which the tedgcn encoder starts; none tries -1, 1 and 7",
        low=LOWEST_DEPTH,
        high=HIGHEST_DEPTH,
    )
    hidden: int = param(256, "width of the gcn encoder's hidden layer", low=1)
    dim: int = param(256, "width of the embeddings (d)", low=1)
    activation: str = param(
        "prelu", "activation of the hidden layer (gcn encoder)", choices=("prelu", "relu")
    )
    bias: bool = param(True, "whether the layers have biases (gcn encoder)")
    dropout: float = param(
        0.0, "fraction of hidden entries dropped in training (gcn encoder)", low=0, high=0.99
    )
    output: str = param("linear", "activation of the output", choices=("linear", "relu"))
    feature_norm: str = param("l2", "scaling of feature rows", choices=("l2", "l1", "none"))
    temperature: float | None = param(
        None, "temperature of the contrast between views; none: 0.5, on dense graphs 0.2", low=1e-3
    )
    intra_view: bool = param(False, "whether nodes of the same view are negatives too")
    anchors: int = param(700, "nodes contrasted in a step", low=2)
    prototypes: int = param(20, "number of coarse prototypes (K)", low=1)
    fine_prototypes: int = param(50, "number of fine prototypes, 0 for none", low=0)
    prototype_weight: float = param(0.5, "weight of the prototype loss", low=0)
    prototype_target: str = param(
        "views",
        "what the prototype loss pulls: unit rows of the views to prototypes that move slowly, or "
        "the embeddings to means of a k-means of every epoch, as printed",
        choices=("views", "embeddings"),
    )
    prototype_temperature: float = param(0.3, "temperature of the prototype loss (tau)", low=1e-3)
    rank_weight: float = param(1.0, "weight of the truncated nuclear norm (tau)", low=0)
    rank_ratio: float = param(0.2, "fraction of directions left free (gamma)", low=0, high=1)
    rank_scale: str = param(
        "mean",
        "truncated norm per node of unit rows, or the sum as printed",
        choices=("mean", "sum"),
    )
    edge_drop_1: float | None = param(
        None, "fraction of edges dropped in view 1; none: 0.2, on dense graphs 0.5", low=0, high=1
    )
    edge_drop_2: float | None = param(
        None, "fraction of edges dropped in view 2; none: 0.4, on dense graphs 0.6", low=0, high=1
    )
    feature_mask_1: float | None = param(
        None,
        "fraction of feature columns masked in view 1; none: 0.3, on dense graphs 0.1",
        low=0,
        high=1,
    )
    feature_mask_2: float | None = param(
        None,
        "fraction of feature columns masked in view 2; none: 0.4, on dense graphs 0.1",
        low=0,
        high=1,
    )
    node_drop: float = param(0.0, "fraction of nodes dropped in each view", low=0, high=1)
    edge_add: float = param(0.0, "random edges added in each view, per edge", low=0, high=1)
    epochs: int | None = param(
        None,
        "most training epochs (t_max), in partitions as many steps; none: 60, up to 135 for large "
        "graphs",
        low=1,
    )
    warm_up: int = param(15, "epochs before prototypes and rank count; in partitions, steps", low=0)
    patience: int | None = param(None, "epochs without a lower loss before stopping", low=1)
    held_out: float = param(
        0.0,
        "fraction of nodes left out of the contrast, whose loss decides when to stop; 0: the "
        "training loss does",
        low=0,
        high=0.9,
    )
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)
    partitions: int = param(0, PARTITIONS_HELP, low=0, old_name="parts")
    partitions_per_step: int = param(
        1, "partitions that one step trains on", low=1, old_name="parts_per_step"
    )
    partitioner: str = param("auto", PARTITIONER_HELP, choices=PARTITIONERS)
    centre: bool = param(True, "unit rows less their mean before classifying", after_embedding=True)
    smoothing: int | None = param(
        0,
        "propagations that average the features over neighbours; none: 10, on heterophilous "
        "graphs 0",
        low=0,
        after_embedding=True,
    )
    class_prior_adjustment: bool = param(
        True,
        "adjust the score of each class to the class frequencies of the validation labels",
        after_embedding=True,
    )
    classifier: str = param(
        "ridge",
        "linear classifier: ridge, or the gradient descent of the paper",
        choices=tuple(CLASSIFIERS),
        after_embedding=True,
    )
    step_size: str = param(
        "labelled",
        "gradient descent: 0.99 / lambda_1 of the labelled Gram matrix over their number, or of "
        "the Gram matrix of all nodes (printed)",
        choices=("labelled", "printed"),
        after_embedding=True,
    )

    def first_stage_parameters(self) -> Settings:
        """Return what the embeddings depend on; partitions chosen by size follow from the graph.

        Where validation labels may choose the encoder, those of a graph convolution network are
        learned in any case.
        """
        own = unless_partitioned(super().first_stage_parameters() or {})
        return {**own, "encoder": "gcn"} if self.encoder == "auto" else own

    def resolved(self, graph: Graph) -> Self:
        """Return this estimator with the settings that follow from the graph filled in."""
        usual = graph_settings(graph)
        missing = {name: one for name, one in usual.items() if getattr(self, name) is None}
        return make(partial(replace, self), missing)

    @classmethod
    def paper(cls, dataset: str | None = None, **values: ParameterValue) -> Self:
        """Return the estimator by the letter of the paper, which leaves out what measured better.

        Args:
            dataset: Whose published rank weight and rank ratio to take.
            values: Parameters that are set otherwise.
        """
        own: Settings = (
            {"attention": "plain", "attribute_branch": False}
            if "attention" in parameters(cls)
            else {}
        )
        return make(cls, {**letter_settings(dataset), **own, **values})

    def _fit(self, task: Task) -> Fitted:
        """Fit with every encoder in question and return what validation labels prefer."""
        fits = [fit_two_stages(each, task) for each in self._candidates(task)]
        best = max(fits, key=lambda fitted: fitted.notes["validation_accuracy"])
        encoder = restored_encoder(self, best.state, task.graph.num_features)
        if not isinstance(encoder, TEDEncoder):
            return best
        return replace(best, notes={**best.notes, "depth": float(encoder.depth.detach())})

    def _candidates(self, task: Task) -> list[Self]:
        """Return copies of this estimator, one for each encoder in question."""
        plain = replace(self, encoder="gcn", depth=None)
        starts = DEPTH_STARTS if self.depth is None else (self.depth,)
        filters = [replace(self, encoder="tedgcn", depth=start) for start in starts]
        if self.encoder == "tedgcn":  # several processes share the rows of one fit alone
            return filters if current_world().size == 1 else filters[:1]
        small = task.graph.num_edges <= _FILTERED and current_world().size == 1
        if self.encoder == "auto" and small and is_heterophilous(task.graph, task.labels):
            return [plain, *filters]
        return [plain]

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        encoder, history = train_encoder(self, graph, seed)
        embeddings = encode_graph(encoder, graph, self.feature_norm)
        return Embedded(embeddings, stored_weights(encoder), history)

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        embeddings, steps = embedded.embeddings, count_propagations(self.smoothing, task)
        mean = embedded.once("mean row", lambda: mean_row(embeddings))
        rows = embedded.once(
            f"rows after {steps} propagations",
            lambda: classifier_rows(embeddings, task.graph, mean, steps=steps, centre=self.centre),
        )
        survey = embedded.once(f"survey of {steps}", lambda: self._survey(rows))
        state = {"mean": mean, "smoothing": torch.tensor(steps), **survey}
        # Of a large graph only labelled nodes get their features at once, all others in blocks.
        large = is_large(embeddings)
        seen = task.train | task.validation if large else slice(None)
        features = self._features(rows[seen], state)
        fit = fit_classifier(self, features, task, seen)
        held_out = fit.scores(features[task.validation[seen]])
        bias = fit.bias + prior_adjustment(self, held_out, task)
        # All processes score by the classifier of the first one, whatever their rounding.
        state = current_world().agree({**state, "weight": fit.weight, "bias": bias})
        name, made = "fold scores" if task.is_fold else "scores", None if large else features
        scores = linear_scores(asked_rows(rows, task), self._features, state, name, made)
        notes = {self.classifier: fit.chosen, "validation_accuracy": fit.validation_accuracy}
        return Decision(scores, state, notes)

    def classifier_features(self) -> Tensor | None:
        """Return what the linear classifier saw of every node of `fit` [nodes, features].

        None for a loaded model, whose graph is not here, and for graphs too large to copy.
        """
        self._check_fitted()
        embeddings = torch.from_numpy(self.embeddings_)
        if self.loaded_ or is_large(embeddings):
            return None
        return self._features(self._rows(embeddings, self.task_.graph, self.state_), self.state_)

    def _rows(self, embeddings: Embeddings, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        steps = int(state["smoothing"])
        return classifier_rows(embeddings, graph, state["mean"], steps=steps, centre=self.centre)

    def _survey(self, rows: Embeddings) -> dict[str, Tensor]:  # noqa: ARG002
        """Return what the features need to know of all rows."""
        return {}

    def _features(self, rows: Embeddings, state: dict[str, Tensor]) -> Tensor:  # noqa: ARG002
        """Return what the classifier sees of some nodes [nodes, features]."""
        return rows

    def embed_new(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        """Return what a trained encoder makes of a graph that it has not seen [nodes, dim]."""
        encoder = restored_encoder(self, state, graph.num_features).to(graph.device)
        return encode_graph(encoder, graph, self.feature_norm)

    def _trained_network(self) -> tuple[nn.Module, Forward]:
        return self.network_of(self.state_)

    def network_of(self, state: dict[str, Tensor]) -> tuple[nn.Module, Forward]:
        """Return the encoder of a fitted state, and what computes embeddings with it."""
        encoder = restored_encoder(self, state, int(state["num_features"]))
        return encoder, partial(forward_graph, feature_norm=self.feature_norm)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = self.embed_new(graph, state)
        rows = self._rows(embeddings, graph, state)
        return linear_scores(rows, self._features, state), embeddings
