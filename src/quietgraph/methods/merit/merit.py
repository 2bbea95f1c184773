"""MERIT: two networks that recognise each other's nodes in two views, without a label."""

from dataclasses import dataclass
from typing import final

from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, Observed
from quietgraph.methods.merit.siamese import SiameseClassifier, SiameseEncoder
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_on_embeddings, probe_param
from quietgraph.params import param


@final
@dataclass(kw_only=True, eq=False, repr=False)
class MERIT(SiameseClassifier):
    """Multi-scale contrastive siamese networks, then a probe (MERIT, Jin et al., IJCAI 2021).

    View 1 exchanges edges, view 2 is a PageRank diffusion; both mask features. The sizes are for one CPU: published are
    dim=512, hidden=4096, sample=2000 and 600 epochs of four steps at a learning rate of 3e-4. A step contrasts a sample
    of the nodes, each in its whole neighbourhood, instead of a window of nodes with the edges among them.
    """

    takes_weights = True
    epochs: int = param(500, "training epochs of one step each", low=1)
    classifier: str = probe_param()

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        return ProbedEncoder(SiameseEncoder(features, self), Probe(self.classifier, self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        siamese, history = self._contrast(graph, self.epochs, observed)
        network = ProbedEncoder(siamese.network.encoder, Probe(self.classifier, self.dim, observed.num_classes))
        return fit_on_embeddings(network, graph, observed, seed=self.seed, history=history)
