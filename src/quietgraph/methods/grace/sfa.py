"""SFA: contrast between views whose leading directions are weakened at random."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from quietgraph.embed import (
    Propagation,
    Schedule,
    ViewRates,
    draw_view,
    info_nce,
    normalise_rows,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import ContrastiveClassifier
from quietgraph.methods.grace.encoder import (
    GraceEncoder,
    ProjectionHead,
    draw_anchors,
    edge_drop_param,
    embed_again,
    feature_mask_param,
    train_grace,
    view_rates,
)
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_WIDE = {"hidden": 512, "dim": 512, **view_rates((0.0, 0.1), (0.5, 0.5))}


def weaken_leading(
    embeddings: Embeddings, anchors: Tensor | slice, *, steps: int, generator: torch.Generator
) -> Embeddings:
    """Return rows without their part along one random direction that leans to the leading ones.

    With r ~ N(0, I) and `steps` times r <- H^T H r: H - H r r^T / |r|^2, at the anchors. The
    direction is a constant to the gradient.

    Args:
        embeddings: All rows, which decide on the direction [nodes, dim].
        anchors: The rows that come back.
        steps: Power iterations; 0 changes nothing.
        generator: Source of r.
    """
    rows = embeddings[anchors]
    if steps == 0:
        return rows
    direction = torch.randn(embeddings.shape[1], generator=generator).to(embeddings)
    fixed = embeddings.detach()
    for _ in range(steps):
        direction = fixed.T @ (fixed @ direction)
        direction = direction / direction.norm().clamp_min(1e-12)
    return rows - (rows @ direction)[:, None] * direction


@final
@dataclass(kw_only=True, eq=False)
class SFA(ContrastiveClassifier):
    """Contrast with spectral feature augmentation (Zhang et al., 2023).

    Its published settings are not available; widths, rates and temperatures are those of the
    authors' sibling COSTA, with both feature masks as printed there, and step size, number of
    epochs and the temperature on CiteSeer are ours.
    """

    citation: ClassVar[str] = (
        "Zhang et al.: Spectral feature augmentation for graph contrastive learning and "
        "beyond. AAAI 2023."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 45
    first_stage: ClassVar[str] = "sfa"
    presets: ClassVar[Presets] = {
        "citeseer": {**view_rates((0.2, 0.0), (0.3, 0.2)), "temperature": 0.7},
        "wiki-cs": {**_WIDE, "temperature": 0.2},
        "amazon-photo": {**_WIDE, "temperature": 0.3},
        "amazon-computers": {**_WIDE, "temperature": 1.0},
        "coauthor-cs": {**_WIDE, "temperature": 0.4},
    }

    hidden: int = param(256, "width of the hidden layers", low=1)
    dim: int = param(256, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    power_steps: int = param(1, "power iterations of the augmentation, 0 for none (GRACE)", low=0)
    temperature: float = param(0.4, "temperature of the contrast between views", low=1e-3)
    anchors: int = param(700, "nodes contrasted in a step", low=2)
    edge_drop_1: float = edge_drop_param(0.2, view=1)
    edge_drop_2: float = edge_drop_param(0.4, view=2)
    feature_mask_1: float = feature_mask_param(0.3, view=1)
    feature_mask_2: float = feature_mask_param(0.4, view=2)
    epochs: int = param(200, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-4, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        features = normalise_rows(graph.features, self.feature_norm)
        structure = Propagation.of(graph)
        encoder = self._encoder(graph.num_features, seed).to(graph.device)
        draws = torch_generator(seed, "head")
        head = ProjectionHead(self.dim, self.hidden, generator=draws).to(graph.device)
        rates = (
            ViewRates(self.edge_drop_1, self.feature_mask_1),
            ViewRates(self.edge_drop_2, self.feature_mask_2),
        )
        view_draws, anchor_draws, spectral_draws = (
            torch_generator(seed, purpose) for purpose in ("views", "anchors", "spectral")
        )

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            anchors = draw_anchors(graph.num_nodes, self.anchors, generator=anchor_draws)
            seen = []
            for rate in rates:
                view = draw_view(structure, graph.num_features, rate, generator=view_draws)
                rows = encoder(features, view.operator, view.feature_mask)
                rows = weaken_leading(
                    rows, anchors, steps=self.power_steps, generator=spectral_draws
                )
                seen.append(head(rows))
            return {"loss": info_nce(*seen, temperature=self.temperature, intra_view=False)}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        state, history = train_grace(nn.ModuleList([encoder, head]), losses, schedule)
        return Embedded(self._encode(graph, state), state, history)

    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        encoder = self._encoder(graph.num_features, seed=0)
        return embed_again(encoder, graph, state, self.feature_norm)

    def _encoder(self, num_features: int, seed: int) -> GraceEncoder:
        draws = torch_generator(seed, "encoder")
        return GraceEncoder(num_features, self.hidden, self.dim, generator=draws)
