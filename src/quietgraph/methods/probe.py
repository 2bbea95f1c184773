"""The probe that methods with a label-free first stage share: a classifier on fixed embeddings."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import centre_rows, mean_direction
from quietgraph.classify.linear import LinearFit, fit_descent, fit_logistic, fit_ridge
from quietgraph.embed.train import History, Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, Observed
from quietgraph.methods.gcn import GCNNetwork
from quietgraph.params import param
from quietgraph.rng import isolated_stream
from quietgraph.types import Embeddings, Scores

_LINEAR: dict[str, Callable[..., LinearFit]] = {
    "inductive": fit_logistic,
    "transductive": fit_descent,
    "ridge": fit_ridge,
}


def probe_param() -> str:
    """Declare what classifies the embeddings."""
    kinds = "logistic regression (inductive), the paper's gradient descent (transductive), ridge regression"
    return param("inductive", f"what classifies the embeddings: {kinds}, or a two-layer GCN", choices=(*_LINEAR, "gcn"))


class Probe(nn.Module):
    """Scores of embeddings: a linear classifier on unit rows (less their mean, but for "inductive"), or a GCN."""

    mean: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, kind: str, dim: int, classes: int) -> None:
        super().__init__()
        self.kind = kind
        self.notes: dict[str, float] = {}
        if kind == "gcn":
            self.gcn = GCNNetwork(dim, 64, classes, dropout=0.5, norm="none")
            return
        for name, shape in {"mean": (dim,), "weight": (dim, classes), "bias": (classes,)}.items():
            self.register_buffer(name, torch.zeros(shape))

    def forward(self, graph: Graph, embeddings: Embeddings) -> Scores:
        """Return the scores of all nodes [nodes, classes]."""
        if self.kind == "gcn":
            return self.gcn(graph.with_features(F.normalize(embeddings, dim=1)))[0]
        return self.features(embeddings) @ self.weight + self.bias

    def features(self, embeddings: Embeddings) -> Tensor:
        """Return what a linear classifier reads [nodes, dim]."""
        return F.normalize(embeddings, dim=1) if self.kind == "inductive" else centre_rows(embeddings, self.mean)


class ProbedEncoder(nn.Module):
    """A graph's embeddings by an encoder (graph -> embeddings), and their scores by a probe."""

    def __init__(self, encoder: nn.Module, probe: Probe) -> None:
        super().__init__()
        self.encoder, self.probe = encoder, probe

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of every node [nodes, classes], [nodes, dim]."""
        embeddings = self.encoder(graph)
        return self.probe(graph, embeddings), embeddings


def fit_probe(kind: str, embeddings: Embeddings, graph: Graph, observed: Observed, *, seed: int) -> Probe:
    """Return a probe fitted to embeddings; choices by the (noisy) validation labels, edges and seed for a GCN alone."""
    with isolated_stream(seed, "probe"):
        probe = Probe(kind, embeddings.shape[1], observed.num_classes).to(embeddings.device)
        if kind == "gcn":
            around = graph.with_features(F.normalize(embeddings, dim=1))
            train(
                probe.gcn,
                lambda _: {"loss": observed.cost(probe.gcn(around)[0])},
                Schedule(epochs=200, learning_rate=0.01, weight_decay=5e-4),
                score=lambda: observed.score(probe.gcn(around)[0]),
            )
            return probe
    probe.mean = mean_direction(embeddings)
    fit = _LINEAR[kind](
        probe.features(embeddings),
        observed.codes,
        train=observed.train,
        validation=observed.validation,
        num_classes=observed.num_classes,
        weights=observed.weights,
    )
    probe.weight, probe.bias = fit.weight, fit.bias
    probe.notes = {kind: fit.chosen, "validation_accuracy": fit.validation_accuracy}
    return probe


def fit_on_embeddings(
    network: ProbedEncoder, graph: Graph, observed: Observed, *, seed: int, history: History
) -> Fitted:
    """Return what a trained encoder and a probe fitted to its embeddings answer; other labels refit the probe alone.

    The probe of `network` is replaced by the fitted one; `history` is that of the encoder's training.
    """
    encoder, kind = network.encoder.eval(), network.probe.kind
    with torch.no_grad():
        embeddings = encoder(graph)

    def learn(labels: Observed) -> Fitted:
        probe = fit_probe(kind, embeddings, graph, labels, seed=seed)
        with torch.no_grad():
            scores = probe(graph, embeddings)
        return Fitted(scores, embeddings, ProbedEncoder(encoder, probe), learn, history, probe.notes)

    return learn(observed)
