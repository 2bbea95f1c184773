"""GraphCL for nodes: every node against the summaries of two augmented graphs."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import (
    Schedule,
    ViewRates,
    info_nce,
    normalise_rows,
    normalised_adjacency,
    project,
    propagate,
    train,
)
from quietgraph.embed.encoder import glorot, leaky
from quietgraph.embed.scale.block_inference import BlockOperator, convolve_in_blocks
from quietgraph.embed.scale.each_partition import PartitionLosses, plan_partitions
from quietgraph.embed.scale.partitions import PARTITIONS_HELP, WHOLE_UP_TO
from quietgraph.embed.views import view_structure
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import ContrastiveClassifier, named_weights, weights_of
from quietgraph.methods.grace.encoder import ENCODER, ProjectionHead, draw_anchors
from quietgraph.methods.graphcl.augmentations import AUGMENTATIONS, Augmented, augment
from quietgraph.params import Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings


class OneLayerEncoder(nn.Module):
    """H = PReLU(A X W + b)."""

    def __init__(self, num_features: int, dim: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = glorot(num_features, dim, generator=generator)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.slope = nn.Parameter(torch.full((1,), 0.25))

    def forward(self, features: Features, operator: CSR) -> Embeddings:
        """Return one embedding per node [nodes, dim]."""
        return self.spread(project(features, self.weight), operator)

    def spread(self, projected: Tensor, operator: CSR) -> Embeddings:
        """Return the embeddings of features that were multiplied by W already [nodes, dim]."""
        return leaky(propagate(operator, projected) + self.bias, self.slope)


class Discriminator(nn.Module):
    """How well a node fits a summary: the bilinear score h B c + b."""

    def __init__(self, dim: int, *, generator: torch.Generator) -> None:
        super().__init__()
        table = torch.empty(1, dim, dim)
        self.weight = nn.Parameter(nn.init.xavier_uniform_(table, generator=generator))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, rows: Embeddings, summaries: list[Tensor]) -> Tensor:
        """Return the sum of the scores with all summaries [nodes]."""
        # The score is linear in the summary, so one product serves them all.
        total = torch.stack(summaries).sum(dim=0)
        return rows @ (self.weight[0] @ total) + len(summaries) * self.bias


@final
@dataclass(kw_only=True, eq=False)
class GraphCL(ContrastiveClassifier):
    """Nodes against summaries of two changed graphs (GraphCL for nodes, You et al., 2020)."""

    citation: ClassVar[str] = (
        "You et al.: Graph contrastive learning with augmentations. NeurIPS 2020."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "dim": 16}
    cora_seconds: ClassVar[float] = 130
    first_stage: ClassVar[str] = "graphcl"

    dim: int = param(512, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    augmentation: str = param("edge", "what changes in a view", choices=AUGMENTATIONS)
    rate: float = param(0.2, "how much of it changes", low=0, high=0.9)
    resample: bool = param(False, "views drawn anew in every epoch, not once")
    loss: str = param(
        "summary",
        "nodes against summaries of the views (summary), or node against node (ntxent)",
        choices=("summary", "ntxent"),
    )
    temperature: float = param(0.5, "temperature of ntxent", low=1e-3)
    anchors: int = param(700, "nodes contrasted in a step of ntxent", low=2)
    epochs: int = param(1000, "most training epochs, a step each", low=1)
    patience: int | None = param(20, "epochs without a lower loss before stopping", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(0.0, "weight decay of Adam", low=0)
    partitions: int = param(0, PARTITIONS_HELP, low=0, old_name="parts")

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        encoder = self._encoder(graph.num_features, seed).to(graph.device)
        head = self._head(seed).to(graph.device)
        modules = nn.ModuleList([encoder, head])
        plan = plan_partitions(graph, self.partitions, seed=seed)
        losses = PartitionLosses(
            graph, plan, lambda part, _, own: _Trainer(self, part, encoder, head, own).losses
        )
        schedule = Schedule(
            self.epochs, self.learning_rate, self.weight_decay, self.patience, plan.steps
        )
        # The score keeps the epoch of the lowest training loss.
        what = "learning embeddings"
        history = train(modules, losses, schedule, score=losses.score, what=what)
        state = named_weights(encoder, ENCODER)
        return Embedded(self._encode(graph, state), state, history)

    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        encoder = self._encoder(graph.num_features, seed=0).to(graph.device)
        encoder.load_state_dict(weights_of(state, ENCODER))
        with torch.no_grad():
            if graph.num_nodes > WHOLE_UP_TO:
                return convolve_in_blocks(
                    BlockOperator(graph.adjacency),
                    graph.features,
                    encoder.weight,
                    norm=self.feature_norm,
                    activate=lambda rows: leaky(rows + encoder.bias, encoder.slope),
                )
            features = normalise_rows(graph.features, self.feature_norm)
            embeddings: Embeddings = encoder(features, normalised_adjacency(graph))
        return embeddings

    def _encoder(self, num_features: int, seed: int) -> OneLayerEncoder:
        return OneLayerEncoder(num_features, self.dim, generator=torch_generator(seed, "encoder"))

    def _head(self, seed: int) -> nn.Module:
        draws = torch_generator(seed, "head")
        if self.loss == "summary":
            return Discriminator(self.dim, generator=draws)
        return ProjectionHead(self.dim, self.dim, generator=draws)


class _Trainer:
    """What an epoch needs and keeps: the structure, the views, random streams."""

    def __init__(
        self,
        method: GraphCL,
        graph: Graph,
        encoder: OneLayerEncoder,
        head: nn.Module,
        seed: int,
    ) -> None:
        self.method, self.encoder, self.head = method, encoder, head
        self.features = normalise_rows(graph.features, method.feature_norm)
        added = ViewRates(edge_add=method.rate / 2 if method.augmentation == "edge" else 0.0)
        self.structure = view_structure(graph, [added], torch_generator(seed, "spare pairs"))
        self.whole = self.structure.operator()
        self.view_draws = torch_generator(seed, "views")
        self.draws = torch_generator(seed, "nodes")
        self.views: list[Augmented] = []

    def losses(self, epoch: int) -> dict[str, Tensor]:  # noqa: ARG002
        if self.method.resample or not self.views:
            kind, rate = self.method.augmentation, self.method.rate
            self.views = [
                augment(self.structure, kind, rate, generator=self.view_draws) for _ in range(2)
            ]
        projected = project(self.features, self.encoder.weight)
        by_summary = self.method.loss == "summary"
        loss = self._summary_loss(projected) if by_summary else self._pair_loss(projected)
        return {"loss": loss}

    def _summary_loss(self, projected: Tensor) -> Tensor:
        summaries = [self._summary(projected, view) for view in self.views]
        order = torch.randperm(len(projected), generator=self.draws).to(projected.device)
        real = self.encoder.spread(projected, self.whole)
        fake = self.encoder.spread(projected.index_select(0, order), self.whole)
        cost = F.softplus(-self.head(real, summaries)) + F.softplus(self.head(fake, summaries))
        return cost.mean() / 2

    def _summary(self, projected: Tensor, view: Augmented) -> Tensor:
        rows = self._encode(projected, view)
        return (view.nodes @ rows / view.nodes.sum().clamp_min(1)).sigmoid()

    def _pair_loss(self, projected: Tensor) -> Tensor:
        anchors = draw_anchors(len(projected), self.method.anchors, generator=self.draws)
        first, second = (self.head(self._encode(projected, view)[anchors]) for view in self.views)
        return info_nce(first, second, temperature=self.method.temperature)

    def _encode(self, projected: Tensor, view: Augmented) -> Tensor:
        if view.shown is not None:  # a hidden feature row is a projected row of zeros
            projected = projected * view.shown[:, None]
        return self.encoder.spread(projected, view.operator)
