"""Folds that have not seen the answers of annotators to the nodes they predict.

The consensus of a node rests on classifiers that learned from its neighbours, and theirs on those
that learned from it. So a fold whose consensus labels were found with all answers has seen
something of those it is tested on: on answers at random it agreed with the consensus far beyond
chance. Here the consensus of every fold is found without the answers to its nodes, and what it
predicts is compared with the plain vote of the annotators.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from quietgraph.annotators.consensus import Consensus, resolve_annotations
from quietgraph.data.observation import Observation
from quietgraph.methods.base.label_weights import CONSENSUS_POWER, label_weights
from quietgraph.methods.base.task import Task
from quietgraph.types import UNKNOWN, AnyArray, Labels, Probabilities

if TYPE_CHECKING:
    from quietgraph.methods.base.label_issues import LabelIssues

VOTES: Final = "majority votes of the annotators"  # in the words of the statement of quality


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """Annotators' answers, to be learned from without those to some nodes.

    Attributes:
        observation: Of the fit, with annotations.
        consensus: Of the fit.
        classes: Label value of each class code of the fit [classes].
        seed: Of the fit.
        power: To which the probability of a consensus label counts in training; None: all alike.
    """

    observation: Observation
    consensus: Consensus
    classes: AnyArray
    seed: int
    power: int | None

    @classmethod
    def of(cls, model: "LabelIssues") -> "HeldOutAnswers":
        """Return the answers that a model was fitted to."""
        usual = label_weights(model, model.task_, sample_weight=None, class_weight=None)
        given = model.task_.weights
        is_usual = usual is not None and given is not None and torch.equal(usual, given)
        return cls(
            model.observation_,
            model._consensus(),
            model.classes_,
            model.seed,
            CONSENSUS_POWER if is_usual else None,
        )

    def teach(self, fold: Task) -> Task:
        """Return the task of a fold with the consensus of the answers to its visible nodes."""
        hidden = fold.labels == UNKNOWN
        answers = self.consensus.answers.within(~hidden)
        codes = self.observation.codes.masked_fill(hidden, UNKNOWN)
        seen = replace(self.observation, codes=codes, annotations=answers)
        found, consensus = resolve_annotations(seen, seed=self.seed)
        labels = self._codes_of_fit()[found.codes].masked_fill(hidden, UNKNOWN)
        taught = replace(fold, labels=labels).without(labels == UNKNOWN)
        if self.power is None or consensus is None:
            return taught
        counts = torch.from_numpy(consensus.confidence**self.power)
        return replace(taught, weights=(counts / counts[taught.train].mean()).float())

    def vote(self, task: Task) -> Task:
        """Return the task with the plain vote of the annotators as labels.

        It has all classes that somebody named. Verified labels stay as they are.
        """
        answers, verified = self.consensus.answers, self.observation.verified
        votes = torch.where(verified, self.observation.codes, answers.majority())
        votes = torch.where(answers.answered | verified, votes, self.observation.codes)
        rows = votes if task.nodes is None else votes[task.nodes]
        labels = torch.where(task.labels == UNKNOWN, task.labels, rows)
        count = len(self.observation.classes)
        return replace(task, labels=labels, num_classes=count, before_review=None)

    def widen(self, rows: Probabilities) -> Probabilities:
        """Return probabilities of the classes of the fit as those of all classes named."""
        wide = rows.new_zeros(len(rows), len(self.observation.classes))
        wide[:, self._places()] = rows
        return wide

    def _places(self) -> Tensor:
        """Return the code among all classes of each class of the fit [classes]."""
        named = self.observation.classes.tolist()
        return torch.tensor([named.index(name) for name in self.classes.tolist()])

    def _codes_of_fit(self) -> Labels:
        """Return the code of the fit of every class, -1 without one and for unknown labels."""
        codes = torch.full((len(self.observation.classes) + 1,), UNKNOWN)
        codes[self._places()] = torch.arange(len(self.classes))
        return codes
