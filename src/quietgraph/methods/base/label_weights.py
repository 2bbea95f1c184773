"""How much each observed label counts in training: weights of samples and of classes."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from quietgraph.errors import InvalidLabelsError, InvalidParameterError

if TYPE_CHECKING:
    from quietgraph.methods.base.label_issues import LabelIssues
    from quietgraph.methods.base.task import Task

CONSENSUS_POWER: Final = (
    4  # a consensus label of probability 0.5 counts a sixteenth of a certain one
)


def label_weights(
    method: "LabelIssues",
    task: "Task",
    *,
    sample_weight: ArrayLike | None,
    class_weight: str | Mapping[Hashable, float] | None,
) -> Tensor | None:
    """Return how much each training label counts, 1 on average [nodes]; None: all alike.

    Where annotators agreed on the labels, each counts by the probability of the consensus to the
    power of 4, unless the caller gives weights or the method cannot weight labels.

    Args:
        method: Whether it can honour weights is its own statement.
        task: Whose labels are weighted.
        sample_weight: One number from 0 per node, or None.
        class_weight: `balanced`, a weight by label value (1 where one is missing), or None.
    """
    if sample_weight is None and method.consensus_ is not None and method.takes_weights:
        sample_weight = method.consensus_.confidence**CONSENSUS_POWER
    if sample_weight is None and class_weight is None:
        return None
    if not method.takes_weights:
        raise InvalidParameterError(
            f"{type(method).__name__} cannot weight labels: it decides itself how far each one "
            "counts. Fit without weights, or use gcn, s2gc, gcl-lrr or gcl-lr-attention."
        )
    weights = _of_samples(sample_weight, len(task.labels)) * _of_classes(class_weight, method, task)
    mean = weights[task.train].mean()
    if not mean > 0:
        raise InvalidLabelsError("sample_weight must be above 0 for a training label, got only 0.")
    return (weights / mean).float()


def _of_samples(sample_weight: object, count: int) -> Tensor:
    if sample_weight is None:
        return torch.ones(count, dtype=torch.float64)
    raw = sample_weight.cpu() if isinstance(sample_weight, Tensor) else sample_weight
    try:
        weights = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidLabelsError(f"sample_weight must be numbers: {error}.") from error
    if weights.shape != (count,):
        raise InvalidLabelsError(
            f"sample_weight must have one entry per node ({count}), got shape {weights.shape}."
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidLabelsError("sample_weight must be finite and not below 0.")
    return torch.from_numpy(weights)


def _of_classes(class_weight: object, method: "LabelIssues", task: "Task") -> Tensor:
    count = task.num_classes
    if class_weight is None:
        by_class = torch.ones(count, dtype=torch.float64)
    elif class_weight == "balanced":
        sizes = torch.bincount(task.labels[task.train], minlength=count).clamp_min(1)
        by_class = 1 / sizes.double()
    elif isinstance(class_weight, Mapping):
        by_class = _by_label(class_weight, method.classes_.tolist())
    else:
        raise InvalidParameterError(
            f"class_weight must be 'balanced' or weights by label, got {class_weight!r}."
        )
    return by_class[task.labels.clamp_min(0)]


def _by_label(class_weight: Mapping[object, object], classes: Sequence[object]) -> Tensor:
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise InvalidParameterError(
            f"class_weight names the label {unknown[0]!r}, which is not among {classes}."
        )
    return _of_samples([class_weight.get(label, 1) for label in classes], len(classes))
