"""ARIEL: contrast on sampled subgraphs, with an adversarial view and a bound on similarity."""

from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch
from torch import Tensor, nn

from quietgraph.embed import Schedule, info_nce, normalise_rows
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import ContrastiveClassifier
from quietgraph.methods.grace.adversarial import (
    AttackSettings,
    attack,
    entry_size,
    normalise_dense,
    similarity_excess,
)
from quietgraph.methods.grace.encoder import (
    ACTIVATIONS,
    GraceEncoder,
    ProjectionHead,
    edge_drop_param,
    embed_again,
    feature_mask_param,
    train_grace,
    view_rates,
)
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_LIMIT, _EDGE_FRACTION = 0.04, 0.2
_WIDE = {"hidden": 512, "dim": 256, "head": 256}
_HARD = {"attack_weight": 1.0, "edge_step": 50.0}
_SMOOTH: Final[Settings] = {"learning_rate": 1e-3, "activation": "prelu"}
_OTHERS: Final[Settings] = {
    **_WIDE,
    **_SMOOTH,
    **_HARD,
    "feature_step": 0.001,
    **view_rates((0.3, 0.4), (0.1, 0.0)),
}


@final
@dataclass(kw_only=True, eq=False)
class ARIEL(ContrastiveClassifier):
    """Contrast of subgraphs with an adversarial view (ARIEL, Feng et al., 2022).

    Epochs are the published 300 on Cora and 200 on CiteSeer; elsewhere 300 instead of 1000 to
    2000, for the time they take without a GPU. The attack on features is scaled by the size of
    their entries.
    """

    citation: ClassVar[str] = (
        "Feng et al.: Adversarial graph contrastive learning with information "
        "regularization. WWW 2022."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 115
    first_stage: ClassVar[str] = "ariel"
    presets: ClassVar[Presets] = {
        "citeseer": {
            **view_rates((0.2, 0.0), (0.3, 0.2)),
            **_WIDE,
            **_SMOOTH,
            **_HARD,
            "temperature": 0.9,
            "epochs": 200,
        },
        "amazon-computers": {
            **view_rates((0.6, 0.3), (0.2, 0.3)),
            **_HARD,
            "learning_rate": 1e-2,
            "activation": "rrelu",
            "temperature": 0.2,
        },
        "amazon-photo": {
            **view_rates((0.3, 0.5), (0.1, 0.1)),
            "learning_rate": 0.1,
            "hidden": 512,
            "dim": 256,
            "head": 64,
            "temperature": 0.3,
        },
        "coauthor-cs": {
            **view_rates((0.3, 0.2), (0.3, 0.4)),
            **_WIDE,
            **_HARD,
            "activation": "rrelu",
            "attack_weight": 2.0,
            "feature_step": 0.001,
            "excess_weight": 2.0,
        },
        **dict.fromkeys(("pubmed", "wiki-cs", "texas", "chameleon"), _OTHERS),
        "ogbn-arxiv": {**_OTHERS, "sample": 3000},
    }

    hidden: int = param(256, "width of the hidden layer", low=1)
    dim: int = param(128, "width of the embeddings", low=1)
    head: int = param(128, "width inside the projection head", low=1)
    activation: str = param("relu", "activation of both layers", choices=ACTIVATIONS)
    feature_norm: str = param("none", "scaling of feature rows", choices=("l2", "l1", "none"))
    sample: int = param(500, "nodes of the subgraph of a step", low=2)
    temperature: float = param(0.4, "temperature of the contrast between views", low=1e-3)
    edge_drop_1: float = edge_drop_param(0.2, view=1)
    edge_drop_2: float = edge_drop_param(0.4, view=2)
    feature_mask_1: float = feature_mask_param(0.3, view=1)
    feature_mask_2: float = feature_mask_param(0.4, view=2)
    attack_weight: float = param(0.5, "weight of the adversarial view (epsilon)", low=0)
    attack_steps: int = param(5, "steps of the attack", low=1)
    edge_step: float = param(200.0, "step size of the attack on edges (alpha)", low=0)
    feature_step: float = param(0.01, "step size of the attack on features (beta)", low=0)
    excess_weight: float = param(0.0, "weight of the information regulariser (lambda)", low=0)
    epochs: int = param(300, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-4, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        encoder = self._encoder(graph.num_features, seed).to(graph.device)
        draws = torch_generator(seed, "head")
        head = ProjectionHead(self.dim, self.head, generator=draws).to(graph.device)
        trainer = _Trainer(self, graph, nn.ModuleList([encoder, head]), seed)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        state, history = train_grace(trainer.networks, trainer.losses, schedule)
        return Embedded(self._encode(graph, state), state, history)

    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        encoder = self._encoder(graph.num_features, seed=0)
        return embed_again(encoder, graph, state, self.feature_norm)

    def _encoder(self, num_features: int, seed: int) -> GraceEncoder:
        return GraceEncoder(
            num_features,
            self.hidden,
            self.dim,
            activation=self.activation,
            generator=torch_generator(seed, "encoder"),
        )


class _Trainer:
    """What an epoch needs and keeps: the graph in slices, random streams, encoder and head."""

    def __init__(self, method: ARIEL, graph: Graph, networks: nn.ModuleList, seed: int) -> None:
        self.method, self.networks, self.device = method, networks, graph.device
        self.features = normalise_rows(graph.features, method.feature_norm)
        self.adjacency = graph.adjacency.to_scipy()
        self.sample_draws = torch_generator(seed, "subgraphs")
        self.view_draws = torch_generator(seed, "views")
        self.attack_draws = torch_generator(seed, "attack")
        unit = entry_size(self.features)  # the published steps are meant for words of size 1
        self.limits = AttackSettings(
            steps=method.attack_steps,
            edge_step=method.edge_step,
            edge_fraction=_EDGE_FRACTION,
            feature_step=method.feature_step * unit,
            feature_limit=_LIMIT * unit,
        )

    def losses(self, epoch: int) -> dict[str, Tensor]:  # noqa: ARG002
        method = self.method
        features, adjacency = self._draw_subgraph()
        first = self._view(features, adjacency, method.edge_drop_1, method.feature_mask_1)
        second = self._view(features, adjacency, method.edge_drop_2, method.feature_mask_2)
        contrast = info_nce(first, second, temperature=method.temperature)
        values = {"loss": contrast, "contrast": contrast}
        if method.excess_weight > 0:
            clean = self._project(features, normalise_dense(adjacency))
            values["excess"] = similarity_excess(
                first, second, clean, temperature=method.temperature
            )
            values["loss"] = values["loss"] + method.excess_weight * values["excess"]
        if method.attack_weight > 0:
            values |= self._adversarial(features, adjacency, first)
            values["loss"] = values["loss"] + method.attack_weight * values["adversarial"]
        return values

    def _adversarial(self, features: Tensor, adjacency: Tensor, first: Tensor) -> dict[str, Tensor]:
        """Contrast of view 1 with a graph changed against it, the model frozen in the change."""
        fixed = first.detach()

        def cost(rows: Tensor, operator: Tensor) -> Tensor:
            seen = self._project(rows, operator)
            return info_nce(fixed, seen, temperature=self.method.temperature)

        self.networks.eval().requires_grad_(False)
        found = attack(features, adjacency, cost, self.limits, generator=self.attack_draws)
        self.networks.train().requires_grad_(True)
        seen = self._project(found.features, normalise_dense(found.adjacency))
        return {
            "adversarial": info_nce(first, seen, temperature=self.method.temperature),
            "attack_gain": first.new_tensor(found.cost_after - found.cost_before),
        }

    def _draw_subgraph(self) -> tuple[Tensor, Tensor]:
        """Return dense features and adjacency among a random choice of nodes."""
        count = self.adjacency.shape[0]
        nodes = torch.randperm(count, generator=self.sample_draws)[: self.method.sample]
        picks = nodes.numpy()
        adjacency = torch.from_numpy(self.adjacency[picks][:, picks].toarray())
        features = self.features
        rows = (
            features.take_rows(nodes).to_dense() if isinstance(features, CSR) else features[nodes]
        )
        return rows.to(self.device), adjacency.to(rows).to(self.device)

    def _view(self, features: Tensor, adjacency: Tensor, drop: float, mask: float) -> Tensor:
        kept = torch.rand(adjacency.shape, generator=self.view_draws) >= drop
        kept = torch.triu(kept, diagonal=1)
        shown = torch.rand(features.shape[1], generator=self.view_draws) >= mask
        operator = normalise_dense(adjacency * (kept | kept.T).to(adjacency))
        return self._project(features, operator, shown.to(features))

    def _project(self, features: Tensor, operator: Tensor, mask: Tensor | None = None) -> Tensor:
        encoder, head = self.networks
        projected: Tensor = head(encoder(features, operator, mask))
        return projected
