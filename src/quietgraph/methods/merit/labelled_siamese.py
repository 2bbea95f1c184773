"""What Sel-CL and Jo-SRC share: MERIT's networks, a head on given labels, trust in some of them."""

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from quietgraph.classify import accuracy
from quietgraph.embed import History, Schedule, train
from quietgraph.embed.training import Start
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods.base.contrastive import (
    PROBE_HELP,
    PROBES,
    fit_probe,
    named_weights,
    probe_scores,
    weights_of,
)
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.merit.labelled_trainer import Head, HeldOut, LabelledTrainer
from quietgraph.methods.merit.siamese import ENCODER, Siamese, SiameseParameters, encode
from quietgraph.methods.merit.warm_up import warm_up
from quietgraph.params import param
from quietgraph.rng import derive_seed
from quietgraph.types import Embeddings, Scores

_HEAD = "head."
_FROM_HEAD = "from_head"


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
        trainer = self._trainer(Siamese(task.graph, self, seed=task.seed), task)
        held_out = HeldOut(trainer.siamese, task)
        early = Schedule(self.warm_up, self.learning_rate)
        start = warm_up(trainer, held_out, early, self.first_stage_parameters())
        history = self._go_on(trainer, held_out, start)
        if start is None or best_epoch(history) >= self.warm_up:
            return trainer, history
        # An epoch without labels was the best, and its parameters were not kept: train in one go.
        torch.manual_seed(derive_seed(task.seed, "fit"))
        trainer = self._trainer(Siamese(task.graph, self, seed=task.seed), task)
        return trainer, self._go_on(trainer, held_out, None)

    def _go_on(self, trainer: LabelledTrainer, held_out: HeldOut, start: Start | None) -> History:
        return train(
            trainer,
            trainer.losses,
            Schedule(self.epochs, self.learning_rate),
            score=lambda: held_out.value(held_out.scores(trainer)),
            after_step=trainer.after_step,
            start=start,
        )

    def first_stage_parameters(self) -> dict[str, Any]:
        """Return the parameters on which the epochs without labels depend, but for the seed."""
        names = [each.name for each in fields(SiameseParameters) if each.name != "epochs"]
        own = {name: getattr(self, name) for name in names}
        return {"stage": "merit warm-up", "warm_up": self.warm_up, "device": self.device, **own}

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


def best_epoch(history: History) -> int:
    """Return the first epoch with the largest score."""
    scores = [record["score"] for record in history]
    return scores.index(max(scores))


def _head_decision(head: Head, embeddings: Embeddings, task: Task) -> Decision:
    scores = head(embeddings)
    hits = accuracy(scores, task.labels, task.validation)
    return Decision(scores, named_weights(head, _HEAD), {"validation_accuracy": hits})
