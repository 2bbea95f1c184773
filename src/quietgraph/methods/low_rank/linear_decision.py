"""The linear classifier of the low-rank methods, and its adjustment to the class prior."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from torch import Tensor

from quietgraph.classify import LinearFit, fit_linear, fit_ridge
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.methods.base.task import Task
from quietgraph.rng import torch_generator
from quietgraph.types import Mask, Scores

if TYPE_CHECKING:
    from quietgraph.methods.low_rank.contrast import LowRankContrast

CLASSIFIERS: Final[dict[str, Callable[..., LinearFit]]] = {
    "ridge": fit_ridge,
    "gradient-descent": fit_linear,
}


def fit_classifier(
    method: "LowRankContrast", features: Tensor, task: Task, nodes: Mask | slice = slice(None)
) -> LinearFit:
    """Return the classifier that a method asks for, its setting chosen on validation labels.

    Args:
        method: With `classifier` and `step_size`.
        features: Of the nodes [nodes, features].
        task: Labels to learn from and to choose by.
        nodes: Which nodes of the task the features are of, all labelled ones among them.
    """
    descent = {"step_size": method.step_size} if method.classifier == "gradient-descent" else {}
    return CLASSIFIERS[method.classifier](
        features,
        task.labels[nodes],
        train=task.train[nodes],
        validation=task.validation[nodes],
        num_classes=task.num_classes,
        weights=task.train_weights,
        **descent,
    )


def prior_adjustment(method: "LowRankContrast", held_out: Scores, task: Task) -> Tensor:
    """Return what is added to the score of each class, by the validation nodes' scores [classes].

    Nothing where labels have weights: frequencies of classes are the caller's own then.
    """
    if not method.class_prior_adjustment or task.weights is not None:
        return held_out.new_zeros(held_out.shape[1])
    draws = torch_generator(task.seed, "class prior")
    labels, trained = task.labels[task.validation], task.labels[task.train]
    return class_adjustment(held_out, labels, trained, generator=draws)
