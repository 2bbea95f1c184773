"""What Sel-CL and Jo-SRC share: MERIT's networks with a linear head, trained on labels that they select."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.train import Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, Observed
from quietgraph.methods.merit.siamese import Siamese, SiameseClassifier, SiameseEncoder
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_probe
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Mask, Scores

_MOST_LABELLED = 1024  # training nodes of a step
_LENGTH = 4.0  # of the embeddings that the head sees


class Head(nn.Linear):
    """Class scores, linear in embeddings of one length.

    The length is a compromise: from the tiny embeddings of row-normalised features a head learns nothing, and with long
    ones it memorises all labels before samples are selected.
    """

    def forward(self, embeddings: Embeddings) -> Scores:
        """Return class scores [nodes, classes]."""
        return super().forward(F.normalize(embeddings, dim=1) * _LENGTH)

    @torch.no_grad()
    def become(self, probe: Probe) -> None:
        """Give the scores of a logistic regression."""
        self.weight.copy_(probe.weight.T / _LENGTH)
        self.bias.copy_(probe.bias)

    def probe(self) -> Probe:
        """Return the logistic regression that gives the same scores."""
        probe = Probe("inductive", self.in_features, self.out_features)
        probe.weight, probe.bias = self.weight.detach().T * _LENGTH, self.bias.detach()
        return probe


class LabelledTrainer(nn.Module, ABC):
    """The networks with a head, and the training nodes of a step."""

    def __init__(self, method: Any, siamese: Siamese, observed: Observed) -> None:
        super().__init__()
        self.method, self.siamese, self.observed = method, siamese, observed
        self.network = siamese.network  # before the head: the moments of its training are by position
        self.head = Head(siamese.how.dim, observed.num_classes).to(observed.codes.device)
        self.labelled = observed.train.nonzero().squeeze(1)
        self.certain = torch.zeros_like(observed.train) if observed.verified is None else observed.verified
        self.draws = torch_generator(siamese.how.seed, "labelled nodes")

    @abstractmethod
    def losses(self, epoch: int) -> Mapping[str, Tensor]:
        """Return the named losses of an epoch."""

    @abstractmethod
    def trusted(self) -> Mask:
        """Return the training nodes whose labels the trained networks select [nodes]."""

    def after_step(self) -> None:
        """Update the target network."""
        self.network.follow()

    def scores(self, nodes: Tensor) -> Scores:
        """Return the head's scores of some nodes in the unchanged graph [nodes, classes]."""
        return self.head(self.siamese.embed(nodes))

    def draw_labelled(self) -> Tensor:
        """Return training nodes for a step: all of them, or a fresh sample where there are many."""
        if len(self.labelled) <= _MOST_LABELLED:
            return self.labelled
        order = torch.randperm(len(self.labelled), generator=self.draws)
        return self.labelled[order[:_MOST_LABELLED].to(self.labelled.device)]


@dataclass(kw_only=True, eq=False, repr=False)
class LabelledSiamese(SiameseClassifier):
    """Networks that learn first without labels and then with selected ones; other labels redo the latter alone.

    The head predicts, or a logistic regression on the selected nodes where that is better on validation labels.
    """

    _trainer: ClassVar[type[LabelledTrainer]]
    warm_up: int = param(300, "epochs of contrast before labels are used", low=0)
    epochs: int = param(200, "epochs with labels", low=1)

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        return ProbedEncoder(SiameseEncoder(features, self), Probe("inductive", self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        siamese, early = self._contrast(graph, self.warm_up, observed)
        stream = torch.get_rng_state()

        def learn(labels: Observed) -> Fitted:
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(stream)  # so that equal labels teach the same whenever they are learned
                trainer, nodes = self._trainer(self, siamese.copy(), labels), labels.validation.nonzero().squeeze(1)
                held_out = labels.at(nodes)
                history = train(
                    trainer,
                    trainer.losses,
                    Schedule(self.epochs, self.learning_rate),
                    score=lambda: held_out.score(trainer.scores(nodes)),
                    after_step=trainer.after_step,
                    on_epoch=labels.on_epoch,
                    moments=trainer.siamese.moments,
                )
            with torch.no_grad():
                embeddings, trusted = trainer.network.encoder(graph), trainer.trusted()
            head = trainer.head.probe()
            probe = fit_probe("inductive", embeddings, graph, replace(labels, train=trusted), seed=self.seed)
            scores = [one(graph, embeddings) for one in (head, probe)]
            hits = [float((one.argmax(dim=1) == labels.codes)[nodes].float().mean()) for one in scores]
            best = int(hits[1] > hits[0])  # ties go to the head, which was selected among epochs
            notes = {"head_validation_accuracy": hits[0], "probe_validation_accuracy": hits[1]}
            notes["trusted_labels"] = float(trusted.sum() / labels.train.sum())
            network = ProbedEncoder(trainer.network.encoder, (head, probe)[best])
            return Fitted(scores[best], embeddings, network, learn, [*early, *history], notes)

        return learn(observed)
