"""What a fitted model says about labels: suspects, quality, noise, from cross-fitting."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import pandas as pd
import torch
from torch import Tensor

from quietgraph.annotators.consensus import Consensus
from quietgraph.annotators.next_labels import next_labels
from quietgraph.annotators.tables import annotator_table, consensus_table, disagreement_table
from quietgraph.classify import suspect_table
from quietgraph.classify.calibration import Calibration
from quietgraph.classify.label_issues.noise import NoiseEstimate
from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.classify.label_issues.suspects import (
    check_columns,
    cleanlab_columns,
    for_notebooks,
    with_votes,
)
from quietgraph.classify.quality import Quality
from quietgraph.classify.verdict import DISTRUST
from quietgraph.data.labels import check_mask
from quietgraph.data.observation import Observation
from quietgraph.diagnose import Diagnosis, diagnose_embedding
from quietgraph.methods.base.assessment import (
    Evidence,
    assess,
    calibrated,
    gather_evidence,
    pool_votes,
)
from quietgraph.methods.base.cache import Embedded, take_first_stage
from quietgraph.methods.base.checks import solvable
from quietgraph.methods.base.cross_fitting import cross_fit, evidence_before_review
from quietgraph.methods.base.estimator import Estimator
from quietgraph.methods.base.held_out_answers import VOTES, HeldOutAnswers
from quietgraph.methods.base.labelling import beliefs_about_nodes
from quietgraph.methods.base.task import Task
from quietgraph.progress import stage
from quietgraph.types import UNKNOWN, FloatArray, Probabilities, Scores


@dataclass(kw_only=True, eq=False)
class LabelIssues(Estimator):
    """A fitted model that cross-fits once and keeps the result."""

    observation_: Observation = field(init=False, repr=False)
    out_of_fold_: FloatArray | None = field(default=None, init=False, repr=False)
    votes_: dict[str, Tensor] | None = field(default=None, init=False, repr=False)
    evidence_: Evidence | None = field(default=None, init=False, repr=False)
    quality_: Quality | None = field(default=None, init=False, repr=False)
    noise_before_review_: NoiseEstimate | None = field(default=None, init=False, repr=False)
    consensus_: Consensus | None = field(default=None, init=False, repr=False)  # of annotators
    calibration_: Calibration = field(default=Calibration(), init=False, repr=False)

    def suspects(self, *, columns: str = "plain") -> pd.DataFrame:
        """Return the labelled nodes, most suspicious first, by fits that did not see their labels.

        Labels that a person has verified are not among them. Where `quality()` says `do not
        trust`, no label is called an issue, and `table.attrs["notice"]` says why.

        Args:
            columns: `plain`; `evidence` with the votes of labelled neighbours, of the nearest
                labelled nodes and of classifiers on attributes too; `cleanlab` for cleanlab's
                columns and order.
        """
        check_columns(columns)
        quality = self.quality()
        evidence, labels = self._evidence(), self.task_.labels
        posterior = label_posterior(evidence.pooled, labels, evidence.noise.transition)
        flag = quality.verdict != DISTRUST
        verified = self.task_.verified
        asked = labels if verified is None else labels.masked_fill(verified, UNKNOWN)
        table = suspect_table(posterior, asked, self.classes_, flag=flag)
        if columns == "evidence":
            table = with_votes(table, self.votes_ or {}, self.classes_)
        if columns == "cleanlab":
            table = cleanlab_columns(table)
        if not flag:
            table.attrs["notice"] = " ".join((quality.sentences[0], *quality.advice))
        return table if columns == "cleanlab" else for_notebooks(table)

    def annotators(self) -> pd.DataFrame:
        """Return the annotators of `fit`, best first.

        Columns: annotator, answers, accuracy with its 95 % interval (accuracy_low, accuracy_high),
        kappa, copies_classifier, is_random. See `docs/annotators.md`.
        """
        return annotator_table(self._consensus())

    def disagreements(self) -> pd.DataFrame:
        """Return the pairs of annotators with nodes in common, most disagreement first.

        Columns: first, second, nodes (that both answered), disagree (fraction), most_often (the
        commonest pair of different answers) and times.
        """
        return disagreement_table(self._consensus().answers)

    def consensus(self) -> pd.DataFrame:
        """Return the nodes that annotators answered, least certain first.

        Columns: node (position), consensus, probability, majority, classifier (its likeliest class
        without the answers on the node), answers (how many), agree (fraction), given (who said
        what).
        """
        consensus = self._consensus()
        return consensus_table(consensus, range(consensus.answers.num_nodes))

    def _consensus(self) -> Consensus:
        self._check_fitted()
        if self.consensus_ is None:
            self._refuse(
                f"this {type(self).__name__} learned from labels, not from annotators. "
                "Call fit(graph, annotations=...)."
            )
        return self.consensus_

    def next_labels(
        self,
        budget: int,
        *,
        annotator: str | None = None,
        costs: Mapping[str, float] | None = None,
        among: object = None,
    ) -> pd.DataFrame:
        """Return which nodes to label next, or again, and by whom: a table to be filled in.

        Columns: node, annotator, label (empty), action, suggested, probability, second, gain
        (expected errors that the label removes), given (answers so far). The filled table goes to
        `fit(annotations=...)` beside the earlier answers.

        Args:
            budget: How many labels.
            annotator: Who is to be asked; without it whoever suits each node best.
            costs: Of an answer by annotator; 1 where it is not said.
            among: Mask or indices of nodes that may be asked about; by default all but those
                whose label is verified.
        """
        self.quality()
        task = self.task_
        allowed = (
            torch.ones_like(task.train) if among is None else check_mask(among, len(task.train))
        )
        allowed = allowed if task.verified is None else allowed & ~task.verified
        return next_labels(
            beliefs_about_nodes(self, self._evidence()),
            self.embeddings_,
            budget,
            classes=self.classes_,
            labelled=(task.labels != UNKNOWN).numpy(),
            consensus=self.consensus_,
            annotator=annotator,
            costs=costs,
            among=allowed.numpy(),
            verified=None if task.verified is None else task.verified.numpy(),
        )

    def quality(self) -> Quality:
        """Return how far the model can be trusted, from out-of-fold predictions.

        The first call of `quality()` or `suspects()` fits once per fold; later ones only read.
        """
        self._check_fitted()
        if self.quality_ is None or self.out_of_fold_ is None:
            self._check_graph_is_here()
            with solvable(type(self).__name__):
                return self._assess_in(self, self.task_)
        return self.quality_

    def on_nodes(self, nodes: Tensor) -> Self:
        """Return the fitted model of some nodes, its quality assessed: its rows are theirs alone.

        It answers `suspects()`, `quality()` and `save()` as this one would, which gets the same
        calibration. Nothing of the size of the graph is made but a few numbers per node, so that
        several processes do this together on a graph of any size.

        Args:
            nodes: Positions in the graph, ascending, all labelled nodes among them.
        """
        self._check_fitted()
        task, some = self.task_.on(nodes), copy.copy(self)
        some.task_, some.loaded_ = task, True  # its graph is not that of its rows
        some.scores_, some.embeddings_ = self.scores_[nodes], self.embeddings_[nodes.numpy()]
        with solvable(type(self).__name__):
            self._assess_in(some, task)
        self.calibration_ = some.calibration_
        return some

    def _assess_in(self, some: Self, task: Task) -> Quality:
        """Fit the folds and return the quality, kept in this model or in that of some nodes.

        Where annotators answered, it is that of folds which have not seen the answers.
        """
        before = evidence_before_review(self, task, some.embeddings_, self._fold_learner)
        some.noise_before_review_ = None if before is None else before.noise
        quality = some._weigh(*self._out_of_fold(task), before=before)
        if self.consensus_ is None:
            return quality
        answers, learn = HeldOutAnswers.of(self), self._fold_learner()
        what = "folds without their answers"
        found = cross_fit(self, task, lambda fold: learn(answers.teach(fold)), what=what)
        return some._weigh_votes(answers, *found)

    def _weigh(
        self, out_of_fold: Probabilities, disagreement: float, *, before: Evidence | None = None
    ) -> Quality:
        """Keep out-of-fold probabilities and all that follows from them."""
        task, self.out_of_fold_ = self.task_, out_of_fold.numpy()
        with stage("evidence for suspects"):
            self.votes_ = gather_evidence(torch.from_numpy(self.embeddings_), task)
            self.evidence_ = None
            evidence = self._evidence()
            self.quality_, self.calibration_ = assess(
                out_of_fold, evidence, self.votes_, task, disagreement=disagreement, before=before
            )
        return self.quality_

    def _weigh_votes(
        self, answers: HeldOutAnswers, out_of_fold: Probabilities, disagreement: float
    ) -> Quality:
        """Keep the quality by the plain vote of annotators, and its calibration if it is bad."""
        task, rows = answers.vote(self.task_), answers.widen(out_of_fold)
        with stage("evidence for suspects"):
            votes = gather_evidence(torch.from_numpy(self.embeddings_), task)
            evidence = pool_votes(rows, votes, task, with_nearest=not self.embeddings_use_labels)
            self.quality_, calibration = assess(
                rows, evidence, votes, task, disagreement=disagreement, labels_are=VOTES
            )
        if self.quality_.verdict == DISTRUST:
            self.calibration_ = calibration
        return self.quality_

    def calibrated_out_of_fold(self) -> FloatArray:
        """Return probabilities of the true label without the node's own label [nodes, classes].

        Rows of nodes without a label are 0.
        """
        self.quality()
        rows = calibrated(torch.from_numpy(self.out_of_fold_), self.calibration_)
        return rows.numpy()

    def expected_agreement(self) -> FloatArray:
        """Return how probably each out-of-fold prediction equals the observed label [nodes].

        Less than its probability, because under the estimated noise the label may be wrong.
        """
        rows = torch.from_numpy(self.calibrated_out_of_fold())
        observed = rows @ self._evidence().noise.transition
        return observed.gather(1, rows.argmax(dim=1, keepdim=True)).squeeze(1).numpy()

    def _evidence(self) -> Evidence:
        """Return all evidence about the labels, pooled once after the folds were fitted."""
        if self.evidence_ is None:
            self.evidence_ = pool_votes(
                torch.from_numpy(self.out_of_fold_),
                self.votes_ or {},
                self.task_,
                with_nearest=not self.embeddings_use_labels,
                noise=self.noise_before_review_,
            )
        return self.evidence_

    def diagnose(self) -> Diagnosis:
        """Return spectrum, kernel complexity, bound terms and the estimated label noise.

        Nothing is trained: the noise is estimated from the out-of-fold evidence that `suspects()`
        leaves, and is None before that call. Observed labels count as right here,
        since no others are known.
        """
        self._check_fitted()
        found = diagnose_embedding(
            torch.from_numpy(self.embeddings_),
            self.task_.labels,
            labelled=self.task_.train,
            features=self.classifier_features(),
        )
        is_assessed = self.out_of_fold_ is not None
        return replace(found, noise_estimate=self._evidence().noise if is_assessed else None)

    def _out_of_fold(self, task: Task) -> tuple[Probabilities, float]:
        """Return what `cross_fit` does, by folds that learn as the fit did."""
        return cross_fit(self, task, self._fold_learner(), what="folds for quality")

    def _fold_learner(self) -> Callable[[Task], Scores]:
        """Return what fits the labels of a fold; folds share a first stage that saw no label."""
        if self.first_stage is None:
            return lambda task: self._run(task).scores
        device, rows = self._device(), torch.from_numpy(self.embeddings_)
        embedded = take_first_stage(rows) or Embedded(rows, self.state_).to(device)
        return lambda task: self._decide(embedded, task.to(device)).scores
