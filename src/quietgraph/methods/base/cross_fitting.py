"""Cross-fitting: every labelled node is predicted by a fit that did not see its label."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import torch

from quietgraph.classify.label_issues.out_of_fold import FOLDS, out_of_fold
from quietgraph.classify.node_sums import fraction_differing, margin_of_nodes
from quietgraph.methods.base.assessment import (
    Evidence,
    asked_nodes,
    gather_evidence,
    pool_votes,
    rows_of_labelled,
)
from quietgraph.methods.base.task import Task
from quietgraph.progress import step_of
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, AnyArray, Labels, Probabilities, Scores

if TYPE_CHECKING:
    from quietgraph.methods.base.label_issues import LabelIssues

FoldLearner: TypeAlias = Callable[[Task], Scores]


def cross_fit(
    model: "LabelIssues", task: Task, fold_scores: FoldLearner, *, what: str
) -> tuple[Probabilities, float]:
    """Return, for every labelled node, probabilities of a fit that did not see its label.

    Also the mean fraction of the nodes without a label that these fits and the whole one predict
    differently. Scores of every fold have the mean margin of the whole fit: another penalty or
    number of epochs, chosen on fewer labels, changes their scale but hardly their order. Of a large
    graph, margins and differences are those of labelled and drawn nodes.

    Args:
        model: Fitted.
        task: That of the fit, or of some nodes with all labelled ones among them.
        fold_scores: Fits the labels of a fold.
        what: Name of this work, for progress.
    """
    asked = asked_nodes(model.task_)
    few = slice(None) if asked is None else asked
    whole, unlabelled = model.scores_[few], model.task_.labels[few] == UNKNOWN
    margin = margin_of_nodes(whole)
    done, differ = itertools.count(), list[float]()

    def learn(labels: Labels) -> Scores:
        hidden = model.task_.seeing(task.spread(labels))
        with step_of(what, next(done), FOLDS):
            scores = fold_scores(replace(hidden, asked=asked)).cpu()
        if asked is not None and len(scores) > len(asked):  # by a method that scores all
            scores = scores[asked]
        if unlabelled.any():
            differ.append(fraction_differing(scores, whole, unlabelled))
        return rows_of_labelled(scores * (margin / margin_of_nodes(scores)), asked, task)

    draws = torch_generator(task.seed, "folds")
    found = out_of_fold(task.labels, learn, task.num_classes, generator=draws)
    return found, sum(differ) / max(len(differ), 1)


def evidence_before_review(
    model: "LabelIssues",
    task: Task,
    embeddings: AnyArray,
    fold_learner: Callable[[], FoldLearner],
) -> Evidence | None:
    """Return the evidence about the labels before a review, by folds that have not seen it.

    None where there was no review, or where nobody knows what the labels were.

    Args:
        model: Fitted.
        task: That of the fit, or of some nodes with all labelled ones among them.
        embeddings: Of the nodes of the task [nodes, dim].
        fold_learner: Makes what fits the labels of a fold.
    """
    if task.verified is None or task.before_review is None:
        return None
    learn, before = fold_learner(), task.before()
    what = "folds before the review"
    rows, _ = cross_fit(model, before, lambda fold: learn(fold.before()), what=what)
    votes = gather_evidence(torch.from_numpy(embeddings), before)
    return pool_votes(rows, votes, before, with_nearest=not model.embeddings_use_labels)
