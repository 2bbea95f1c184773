"""MERIT: two networks that recognise each other's nodes in two views, without a label."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from quietgraph.embed import Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.contrastive import (
    fit_probe,
    named_weights,
    probe_param,
    probe_scores,
    weights_of,
)
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.merit.backbone import SiameseBackbone
from quietgraph.methods.merit.siamese import ENCODER, Siamese, encode
from quietgraph.params import Settings
from quietgraph.types import Embeddings, Scores


@final
@dataclass(kw_only=True, eq=False)
class MERIT(SiameseBackbone):
    """Multi-scale contrastive siamese networks, then a probe (MERIT, Jin et al., 2021).

    View 1 exchanges edges, view 2 is a PageRank diffusion; both mask features. The sizes are a
    profile for one CPU: the published ones are dim=512, hidden=4096, sample=2000 and 600 epochs
    of four steps at a learning rate of 3e-4. A step contrasts a sample of the nodes, each in its
    whole neighbourhood: the published windows of 2000 nodes lose most edges of larger graphs.
    """

    citation: ClassVar[str] = (
        "Jin et al.: Multi-scale contrastive siamese networks for self-supervised graph "
        "representation learning. IJCAI 2021."
    )
    takes_weights: ClassVar[bool] = True
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 66
    first_stage: ClassVar[str] = "merit"

    classifier: str = probe_param()

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        siamese = Siamese(graph, self, seed=seed)

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            return {"loss": siamese.loss(siamese.forward(siamese.draw_nodes()))}

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

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        return fit_probe(self.classifier, embedded.embeddings, task)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = encode(self, graph, weights_of(state, ENCODER))
        return probe_scores(self.classifier, embeddings, graph, state), embeddings
