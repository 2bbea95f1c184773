"""The terms of the bound on the test loss (Theorem 4.1), and the loss that they bound.

The theorem bounds the mean squared error on the unlabelled nodes, after t steps of descent on the
labelled ones, by c_0 (2/m (L_1 + L_2) + KC(K) + x/u), up to a factor c_0 that it does not know.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnose.complexity import KernelComplexity, kernel_complexity
from quietgraph.diagnose.descent import (
    Descent,
    descend,
    fitted_loss,
    unfitted_loss,
    unseen_loss,
)
from quietgraph.diagnose.kernel import Scale, gram_eigenvalues
from quietgraph.diagnose.targets import check_known, count_classes, one_hot
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.types import UNKNOWN, Embeddings, Labels, Mask

# Four a decade up to a million: the closed form makes late steps free.
DEFAULT_STEPS = tuple(sorted({round(10 ** (k / 4)) for k in range(25)}))


@dataclass(frozen=True)
class BoundSettings:
    """What the theorem leaves open.

    Attributes:
        steps: The numbers t of descent steps to look at, each at least 1.
        learning_rate: In (0, 1 / largest eigenvalue of K); None takes 0.99 of the limit.
        constant: The theorem's unknown c_0; the bound is only known up to this factor.
        failure: The bound may fail with this probability, exp(-x).
        scale: "unit" for rows of length 1, "raw" for the rows as they are.
    """

    steps: Sequence[int] = DEFAULT_STEPS
    learning_rate: float | None = None
    constant: float = 1.0
    failure: float = 0.05
    scale: Scale = "unit"

    def __post_init__(self) -> None:
        if len(self.steps) == 0 or min(self.steps) < 1:
            raise InvalidParameterError(f"steps must all be at least 1, got {list(self.steps)}.")
        if not self.constant > 0:
            raise InvalidParameterError(f"constant must be above 0, got {self.constant}.")
        if not 0 < self.failure <= 1:
            raise InvalidParameterError(
                f"failure must be a probability above 0, got {self.failure}."
            )


@dataclass(frozen=True, eq=False)
class BoundTerms:
    """The bound after each number of steps.

    Attributes:
        steps: t [steps].
        signal_loss: L_1, what the classifier has not yet fitted of the right labels [steps].
        noise_loss: L_2, what it has fitted of the label noise [steps].
        complexity: KC(K) of the whole kernel.
        test_loss: The mean squared error over the unlabelled nodes whose right label is known
            [steps], the quantity that is bounded; None where there is no such node.
        learning_rate: The one used.
        num_labelled: m.
        num_unlabelled: u.
        constant: c_0.
        failure: exp(-x).
    """

    steps: Tensor
    signal_loss: Tensor
    noise_loss: Tensor
    complexity: KernelComplexity
    test_loss: Tensor | None
    learning_rate: float
    num_labelled: int
    num_unlabelled: int
    constant: float
    failure: float

    @property
    def upper_bound(self) -> Tensor:
        """The bound c_0 (2/m (L_1 + L_2) + KC + x/u) [steps]."""
        losses = 2 / self.num_labelled * (self.signal_loss + self.noise_loss)
        slack = self.complexity.value - math.log(self.failure) / self.num_unlabelled
        return self.constant * (losses + slack)

    @property
    def best_step(self) -> int:
        """The number of steps with the smallest bound: where the theory would stop."""
        return int(self.steps[self.upper_bound.argmin()])


def bound_terms(
    embeddings: Embeddings,
    labels: Labels,
    *,
    labelled: Mask | None = None,
    reference: Labels | None = None,
    settings: BoundSettings | None = None,
) -> BoundTerms:
    """Return L_1, L_2, the bound and the measured test loss after each number of steps.

    Args:
        embeddings: One row per node [nodes, dim].
        labels: Observed [nodes], -1 where unknown.
        labelled: The nodes that the classifier learns from [nodes]; by default all known ones.
        reference: The labels taken as right [nodes], known at least on the labelled nodes: the
            clean ones in an experiment, a model's predictions otherwise. Without it the observed
            labels count as right and L_2 is zero.
        settings: What the theorem leaves open; by default `BoundSettings()`.
    """
    settings = BoundSettings() if settings is None else settings
    reference = labels if reference is None else reference
    labelled = labels != UNKNOWN if labelled is None else labelled
    _check_problem(embeddings, labels, reference, labelled)
    values = gram_eigenvalues(embeddings, scale=settings.scale)
    rate = _learning_rate(settings, largest=float(values[0]))
    num_classes = count_classes(labels, reference)
    observed, right = (one_hot(each, num_classes) for each in (labels, reference))
    steps, scale = settings.steps, settings.scale
    descent = descend(embeddings[labelled], observed[labelled], rate=rate, steps=steps, scale=scale)
    return BoundTerms(
        steps=torch.tensor(list(steps)),
        signal_loss=unfitted_loss(descent, right[labelled]),
        noise_loss=fitted_loss(descent, (observed - right)[labelled]),
        complexity=_complexity(values, labelled),
        test_loss=_test_loss(descent, embeddings, right, ~labelled & (reference != UNKNOWN)),
        learning_rate=rate,
        num_labelled=int(labelled.sum()),
        num_unlabelled=int((~labelled).sum()),
        constant=settings.constant,
        failure=settings.failure,
    )


def _complexity(values: Tensor, labelled: Mask) -> KernelComplexity:
    num_labelled = int(labelled.sum())
    num_unlabelled = len(labelled) - num_labelled
    return kernel_complexity(values, num_labelled=num_labelled, num_unlabelled=num_unlabelled)


def _test_loss(
    descent: Descent, embeddings: Embeddings, right: Tensor, unseen: Mask
) -> Tensor | None:
    if not bool(unseen.any()):
        return None
    return unseen_loss(descent, embeddings[unseen], right[unseen])


def _learning_rate(settings: BoundSettings, *, largest: float) -> float:
    rate = 0.99 / largest if settings.learning_rate is None else settings.learning_rate
    if not 0 < rate < 1 / largest:
        raise InvalidParameterError(
            f"learning_rate must lie between 0 and 1 / (largest eigenvalue of K) = "
            f"{1 / largest:g}, got {rate:g}. Leave it None for 0.99 of the limit."
        )
    return rate


def _check_problem(
    embeddings: Embeddings, labels: Labels, reference: Labels, labelled: Mask
) -> None:
    check_known(labels, embeddings)
    check_known(reference, embeddings, name="reference")
    if labelled.dtype != torch.bool or labelled.shape != labels.shape:
        raise InvalidLabelsError(
            f"labelled must be a bool mask with one entry per node ({len(labels)}), got "
            f"{labelled.dtype} of shape {list(labelled.shape)}."
        )
    if bool(labelled.all()) or not bool(labelled.any()):
        raise InvalidLabelsError(
            "the bound needs labelled and unlabelled nodes, but the labelled mask covers "
            f"{int(labelled.sum())} of {len(labels)}. Hand in a mask that leaves some out."
        )
    unknown = labelled & ((labels == UNKNOWN) | (reference == UNKNOWN))
    if bool(unknown.any()):
        raise InvalidLabelsError(
            "labels and reference must be known on every labelled node, but are not on "
            f"{int(unknown.sum())} of them."
        )
