"""Rounds of `quiet`: candidates are fitted, weighted, and fitted again to corrected labels."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.candidates import Pool, fit_candidates
from quietgraph.methods.quiet.ensemble import (
    Ensemble,
    correct_labels,
    ensemble_accuracy,
    ensemble_weights,
    make_ensemble,
)
from quietgraph.methods.quiet.evaluation import Evaluation, class_permutations, permuted
from quietgraph.methods.quiet.node_features import LearningRows
from quietgraph.types import Labels, Scores


@dataclass(eq=False, kw_only=True)
class Rounds:
    """All candidates that were fitted so far, and their ensemble.

    Attributes:
        features: Rows that candidates learn from.
        task: With the observed labels; its validation labels weight the candidates.
        temperature: Of the candidates' weights.
        family_temperature: Of the families' weights; None compares all candidates.
        pool: Candidates by name.
        orders: Orders of classes in which a candidate agrees better with validation labels.
        corrected: Training labels of each round, the observed ones first.
        evaluation: Of the candidates on the labels of the task.
        weights: Of the candidates in the ensemble.
        ensemble: The last one.
    """

    features: LearningRows
    task: Task
    temperature: float
    family_temperature: float | None = None
    pool: Pool = field(default_factory=dict)
    orders: dict[str, Tensor] = field(default_factory=dict)
    corrected: list[Labels] = field(init=False)
    evaluation: Evaluation = field(init=False)
    weights: dict[str, float] = field(init=False)
    ensemble: Ensemble = field(init=False)

    def __post_init__(self) -> None:
        self.corrected = [self.task.labels]
        self.evaluation = Evaluation(self.features, self.task)

    def add(self, families: list[str], known: Pool | None = None) -> None:
        """Fit candidates to the labels of the last round, and weight all again.

        Args:
            families: Of the candidates to fit.
            known: Candidates that were fitted to the same labels elsewhere.
        """
        given = replace(self.task, labels=self.corrected[-1])
        count = len(self.corrected) - 1
        found = fit_candidates(self.features, given, families, corrections=count) | (known or {})
        self.orders |= class_permutations(found, self.evaluation)
        self.pool |= found | permuted(found, self.orders)
        self.weigh()

    def weigh(self) -> None:
        """Make the ensemble of all candidates."""
        self.weights = ensemble_weights(
            self.pool,
            self.evaluation,
            temperature=self.temperature,
            family_temperature=self.family_temperature,
        )
        self.ensemble = make_ensemble(self.pool, self.weights, self.evaluation)

    def correct(self, families: list[str], most: int) -> None:
        """Correct the training labels and fit to them, until nothing changes or so often."""
        while len(self.corrected) <= most:
            labels = self.task.labels.clone()
            labels[self.evaluation.nodes] = correct_labels(self.scores(), self.evaluation.task)
            if torch.equal(labels[self.task.train], self.corrected[-1][self.task.train]):
                return
            self.corrected.append(labels)
            self.add(families)

    def refit(self, families: list[str]) -> None:
        """Fit every candidate again, to training and validation labels; weights stay."""
        both = replace(self.task, train=self.task.train | self.task.validation)
        for count, labels in enumerate(self.corrected):
            given = replace(both, labels=labels)
            found = fit_candidates(self.features, given, families, corrections=count)
            self.pool |= found | permuted(found, self.orders)
        self.evaluation = Evaluation(self.features, self.task)

    def scores(self) -> Scores:
        """Return the scores of the ensemble on the labelled nodes [labelled nodes, classes]."""
        return self.ensemble.scores(self.evaluation.rows)

    def accuracy(self) -> float:
        """Return the accuracy of the ensemble on the (noisy) validation labels."""
        return ensemble_accuracy(self.ensemble, self.evaluation)
