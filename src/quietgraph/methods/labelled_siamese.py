"""What Sel-CL and Jo-SRC share: MERIT's networks, a head on given labels, trust in some of them."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify import accuracy
from quietgraph.embed import Schedule, train
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.contrastive import (
    PROBE_HELP,
    PROBES,
    fit_probe,
    named_weights,
    probe_scores,
    weights_of,
)
from quietgraph.methods.siamese import ENCODER, Siamese, SiameseParameters, encode
from quietgraph.methods.sights import ALL, Nodes
from quietgraph.methods.supervised import validation_score
from quietgraph.methods.task import Fitted, Task
from quietgraph.methods.two_stage import Decision
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Mask, Scores

_LENGTH = 4.0  # of the embeddings that the head sees
_HEAD = "head."
_FROM_HEAD = "from_head"


class Head(nn.Linear):
    """Class scores, linear in embeddings of one length.

    The length is a choice between two evils: the tiny embeddings of row-normalised features
    teach a head nothing, and with long ones it has all labels by heart before any is judged.
    """

    def forward(self, embeddings: Embeddings) -> Scores:
        """Return class scores [nodes, classes]."""
        return super().forward(F.normalize(embeddings, dim=1) * _LENGTH)

    @torch.no_grad()
    def become(self, weight: Tensor, bias: Tensor) -> None:
        """Give the scores that a weight [dim, classes] and a bias give unit embeddings."""
        self.weight.copy_(weight.T / _LENGTH)
        self.bias.copy_(bias)


class LabelledTrainer(nn.Module):
    """The networks with a linear head, and the training nodes of a step."""

    def __init__(self, siamese: Siamese, task: Task, most_labelled: int) -> None:
        super().__init__()
        self.siamese, self.task, self.most_labelled = siamese, task, most_labelled
        self.network = siamese.network
        self.head = Head(siamese.settings.dim, task.num_classes).to(task.graph.device)
        self.labelled = task.train.nonzero().squeeze(1)
        self.label_draws = torch_generator(task.seed, "labelled nodes")

    @abstractmethod
    def losses(self, epoch: int) -> Mapping[str, Tensor]:
        """Return the named losses of an epoch."""

    @abstractmethod
    def trusted(self) -> Mask:
        """Return the training nodes whose labels the trained networks trust [nodes]."""

    def contrast_alone(self) -> dict[str, Tensor]:
        """Return the loss of MERIT, without labels."""
        return {"loss": self.siamese.loss(self.siamese.look(self.siamese.draw_nodes()))}

    def after_step(self) -> None:
        """Move what follows the online network."""
        self.siamese.follow()

    def scores(self, nodes: Nodes = ALL) -> Scores:
        """Return the head's scores in the unchanged graph [nodes, classes]."""
        scores: Scores = self.head(self.siamese.embed(nodes))
        return scores

    def draw_labelled(self) -> Tensor:
        """Return training nodes for a step: all of them, or a fresh sample where there are many."""
        if len(self.labelled) <= self.most_labelled:
            return self.labelled
        order = torch.randperm(len(self.labelled), generator=self.label_draws)
        return self.labelled[order[: self.most_labelled].to(self.labelled.device)]


@dataclass(kw_only=True, eq=False)
class LabelledSiamese(SiameseParameters, NodeClassifier):
    """Siamese networks that also learn from the labels they trust."""

    warm_up: int = param(300, "epochs of contrast before labels count", low=0)
    most_labelled: int = param(1024, "most training nodes in a step", low=2)
    classifier: str = param("inductive", PROBE_HELP, choices=PROBES)
    predict_from: str = param(
        "best",
        "the trained head, the probe on trusted nodes, or the better one on validation labels",
        choices=("best", "head", "probe"),
    )

    @abstractmethod
    def _trainer(self, siamese: Siamese, task: Task) -> LabelledTrainer:
        """Return what gives the losses."""

    def _fit(self, task: Task) -> Fitted:
        if self.warm_up >= self.epochs:
            raise InvalidParameterError(
                f"warm_up must be below epochs ({self.epochs}), got {self.warm_up}: "
                "no epoch would be left for the labels."
            )
        siamese = Siamese(task.graph, self, seed=task.seed)
        trainer = self._trainer(siamese, task)
        held_out = task.validation.nonzero().squeeze(1)
        wanted, everyone = task.labels[held_out], torch.ones_like(held_out, dtype=torch.bool)
        sights = siamese.plain.sights(held_out)

        def score() -> float:
            scores = trainer.head(siamese.network.encoder.average(sights))
            return validation_score(scores, wanted, everyone)

        history = train(
            trainer,
            trainer.losses,
            Schedule(self.epochs, self.learning_rate),
            score=score,
            after_step=trainer.after_step,
        )
        with torch.no_grad():
            embeddings, trusted = siamese.embed(), trainer.trusted()
            head = _head_decision(trainer.head, embeddings, task)
        probe = fit_probe(self.classifier, embeddings, replace(task, train=trusted))
        decision = self._choose(head, probe)
        shared = named_weights(siamese.network.encoder, ENCODER)
        notes = {**decision.notes, "trusted_labels": float(trusted.sum() / task.train.sum())}
        count = torch.tensor(task.graph.num_features)
        state = {**shared, **head.state, **probe.state, **decision.state, "num_features": count}
        return Fitted(decision.scores, embeddings, history, state, notes)

    def _choose(self, head: Decision, probe: Decision) -> Decision:
        made = {"head": head, "probe": probe}
        hits = {name: each.notes["validation_accuracy"] for name, each in made.items()}
        wanted = self.predict_from
        if wanted == "best":  # ties go to the head, which was selected among epochs
            wanted = "head" if hits["head"] >= hits["probe"] else "probe"
        chosen = made[wanted]
        state = {_FROM_HEAD: torch.tensor(wanted == "head")}
        notes = {f"{name}_validation_accuracy": value for name, value in hits.items()}
        return Decision(chosen.scores, state, {**chosen.notes, **notes})

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = encode(self, graph, weights_of(state, ENCODER))
        if state[_FROM_HEAD]:
            own = weights_of(state, _HEAD)
            head = Head(self.dim, len(own["bias"])).to(graph.device)
            head.load_state_dict(own)
            return head(embeddings), embeddings
        return probe_scores(self.classifier, embeddings, graph, state), embeddings


def _head_decision(head: Head, embeddings: Embeddings, task: Task) -> Decision:
    scores = head(embeddings)
    hits = accuracy(scores, task.labels, task.validation)
    return Decision(scores, named_weights(head, _HEAD), {"validation_accuracy": hits})
