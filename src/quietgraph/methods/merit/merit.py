"""MERIT: two networks that recognise each other's nodes in two views, without a label."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from quietgraph.embed import Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import ContrastiveClassifier, named_weights, weights_of
from quietgraph.methods.merit.siamese import ENCODER, PRESETS, Siamese, SiameseParameters, encode
from quietgraph.types import Embeddings


@final
@dataclass(kw_only=True, eq=False)
class MERIT(SiameseParameters, ContrastiveClassifier):
    """Multi-scale contrastive siamese networks, then a probe (MERIT, Jin et al., 2021).

    View 1 exchanges edges, view 2 is a PageRank diffusion; both mask features. The sizes are a
    profile for one CPU: the published ones are dim=512, hidden=4096, sample=2000 and 600 epochs
    of four steps at a learning rate of 3e-4. A step contrasts a sample of the nodes, each in its
    whole neighbourhood: the published windows of 2000 nodes lose most edges of larger graphs.
    """

    first_stage: ClassVar[str] = "merit"
    presets: ClassVar[dict[str, dict[str, Any]]] = PRESETS

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        siamese = Siamese(graph, self, seed=seed)

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            return {"loss": siamese.loss(siamese.look(siamese.draw_nodes()))}

        schedule = Schedule(self.epochs, self.learning_rate)
        history = train(
            siamese.network,
            losses,
            schedule,
            after_step=siamese.follow,
            what="learning embeddings",
        )
        with torch.no_grad():
            embeddings = siamese.embed()
        return Embedded(embeddings, named_weights(siamese.network.encoder, ENCODER), history)

    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        return encode(self, graph, weights_of(state, ENCODER))
