"""What Sel-CL and Jo-SRC share: MERIT's networks with a head, trained on selected labels."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from quietgraph.classify import accuracy
from quietgraph.embed import History, Schedule, train
from quietgraph.embed.training import Start
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods.base.contrastive import (
    fit_probe,
    named_weights,
    probe_scores,
    weights_of,
)
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.merit.backbone import SiameseBackbone
from quietgraph.methods.merit.labelled_trainer import Head, HeldOut, LabelledTrainer
from quietgraph.methods.merit.siamese import ENCODER, Siamese, encode
from quietgraph.methods.merit.warm_up import warm_up
from quietgraph.params import Settings, param, parameters
from quietgraph.rng import derive_seed
from quietgraph.types import Embeddings, Scores

_HEAD = "head."
_FROM_HEAD = "from_head"


def warm_up_param() -> int:
    """Declare the epochs without labels."""
    return param(300, "epochs of contrast before labels are used", low=0)


def most_labelled_param() -> int:
    """Declare how many training nodes a step takes."""
    return param(1024, "largest number of training nodes in a step", low=2)


def predict_from_param() -> str:
    """Declare what predicts."""
    return param(
        "best",
        "the trained head, the probe on selected nodes, or the better one on validation labels",
        choices=("best", "head", "probe"),
    )


@dataclass(frozen=True, eq=False)
class LabelledSiamese:
    """Training of siamese networks that also learn from selected labels, and their predictions.

    Attributes:
        settings: Parameters of the networks.
        warm_up: Epochs without labels.
        classifier: One of `PROBES`.
        predict_from: `head`, `probe`, or `best` on validation labels.
        make_trainer: Returns what gives the losses.
    """

    settings: SiameseBackbone
    warm_up: int
    classifier: str
    predict_from: str
    make_trainer: Callable[[Siamese, Task], LabelledTrainer]

    def fit(self, task: Task) -> Fitted:
        """Return what the networks have learned from a task."""
        if self.warm_up >= self.settings.epochs:
            raise InvalidParameterError(
                f"warm_up must be below epochs ({self.settings.epochs}), got {self.warm_up}: "
                "no epoch would be left for the labels."
            )
        trainer, history = self._train(task)
        siamese = trainer.siamese
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

    def _train(self, task: Task) -> tuple[LabelledTrainer, History]:
        trainer = self.make_trainer(Siamese(task.graph, self.settings, seed=task.seed), task)
        held_out = HeldOut(trainer.siamese, task)
        early = Schedule(self.warm_up, self.settings.learning_rate)
        start = warm_up(trainer, held_out, early, self.first_stage_parameters())
        history = self._go_on(trainer, held_out, start)
        if start is None or best_epoch(history) >= self.warm_up:
            return trainer, history
        # An epoch without labels was the best, and its parameters were not kept: train in one go.
        torch.manual_seed(derive_seed(task.seed, "fit"))
        trainer = self.make_trainer(Siamese(task.graph, self.settings, seed=task.seed), task)
        return trainer, self._go_on(trainer, held_out, None)

    def _go_on(self, trainer: LabelledTrainer, held_out: HeldOut, start: Start | None) -> History:
        return train(
            trainer,
            trainer.losses,
            Schedule(self.settings.epochs, self.settings.learning_rate),
            score=lambda: held_out.value(held_out.scores(trainer)),
            after_step=trainer.after_step,
            start=start,
        )

    def first_stage_parameters(self) -> Settings:
        """Return the parameters on which the epochs without labels depend, but for the seed."""
        others = {*parameters(NodeClassifier), "epochs"}
        names = (name for name in parameters(SiameseBackbone) if name not in others)
        own = {name: getattr(self.settings, name) for name in names}
        device = self.settings.device
        return {"stage": "merit warm-up", "warm_up": self.warm_up, "device": device, **own}

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

    def apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of any graph from the fitted state."""
        embeddings = encode(self.settings, graph, weights_of(state, ENCODER))
        if state[_FROM_HEAD]:
            own = weights_of(state, _HEAD)
            head = Head(self.settings.dim, len(own["bias"])).to(graph.device)
            head.load_state_dict(own)
            return head(embeddings), embeddings
        return probe_scores(self.classifier, embeddings, graph, state), embeddings


def best_epoch(history: History) -> int:
    """Return the first epoch with the largest score."""
    scores = [record["score"] for record in history]
    return scores.index(max(scores))


def _head_decision(head: Head, embeddings: Embeddings, task: Task) -> Decision:
    scores = head(embeddings)
    hits = accuracy(scores, task.labels, task.validation)
    return Decision(scores, named_weights(head, _HEAD), {"validation_accuracy": hits})
