"""The terms of the bound on the test loss (Theorem 4.1), and the loss that they bound.

The theorem bounds the mean squared error on the unlabelled nodes, after t steps of gradient descent on the labelled
ones, by c_0 (2/m (L_1 + L_2) + KC(K) + x/u), up to a factor c_0 that it does not know; it counts as 1 here. The step
size is 0.99 of its limit, 1 / (largest eigenvalue of K).

The classifier starts at W = 0 and steps W <- W - rate H_L^T (H_L W - Y_L). In the singular directions
H_L = Q diag(sqrt(s)) V^T each coordinate runs by itself, so t steps cost as much as one:
V^T W(t) = diag((1 - (1 - rate s)^t) / sqrt(s)) Q^T Y_L.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnostics.kernel import ZERO, Scale, check_problem, cross_product, eigenbasis, one_hot, row_blocks
from quietgraph.diagnostics.spectrum import KernelComplexity, kernel_complexity
from quietgraph.errors import InvalidLabelsError
from quietgraph.types import UNKNOWN, Embeddings, Labels, Mask

STEPS = tuple(sorted({round(10 ** (k / 4)) for k in range(25)}))  # the closed form makes late steps free
_FAILURE = 0.05  # exp(-x), the probability with which the bound may fail


@dataclass(frozen=True, eq=False)
class BoundTerms:
    """The bound after each number of steps."""

    steps: Tensor  # t [steps]
    signal_loss: Tensor  # L_1, what the classifier has not yet fitted of the right labels [steps]
    noise_loss: Tensor  # L_2, what it has fitted of the label noise [steps]
    complexity: KernelComplexity  # KC(K) of the whole kernel
    # The mean squared error over the unlabelled nodes whose right label is known, the quantity that is bounded [steps];
    # None where there is no such node.
    test_loss: Tensor | None
    num_labelled: int  # m
    num_unlabelled: int  # u

    @property
    def upper_bound(self) -> Tensor:
        """The bound 2/m (L_1 + L_2) + KC + x/u [steps]."""
        losses = 2 / self.num_labelled * (self.signal_loss + self.noise_loss)
        return losses + self.complexity.value - math.log(_FAILURE) / self.num_unlabelled

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
    steps: Sequence[int] = STEPS,
    scale: Scale = "unit",
) -> BoundTerms:
    """Return L_1, L_2, the bound and the measured test loss after each number of steps.

    Args:
        embeddings: One row per node [nodes, dim].
        labels: Observed [nodes], -1 where unknown.
        labelled: The nodes that the classifier learns from [nodes]; by default all known ones.
        reference: The labels taken as right [nodes], known at least on the labelled nodes: the clean ones in an
            experiment, a model's predictions otherwise. Without it the observed labels count as right and L_2 is zero.
        steps: The numbers t of descent steps to look at, each at least 1.
        scale: "unit" for rows of length 1, "raw" for the rows as they are.
    """
    reference = labels if reference is None else reference
    labelled = labels != UNKNOWN if labelled is None else labelled
    check_problem(embeddings, labels, reference)
    seen, num_labelled = ~labelled & (reference != UNKNOWN), int(labelled.sum())
    if not 0 < num_labelled < len(labelled) or bool((labelled & ((labels < 0) | (reference < 0))).any()):
        raise InvalidLabelsError(
            "the bound needs labelled nodes, all of known class, and unlabelled ones, but labelled covers "
            f"{num_labelled} of {len(labelled)} nodes. Give a mask of known nodes that leaves some out."
        )
    values = eigenbasis(embeddings, scale=scale)[0]
    rate, num_unlabelled = 0.99 / float(values[0]), len(labels) - num_labelled
    count = int(max(labels.max(), reference.max())) + 1
    observed, right, inside = one_hot(labels, count), one_hot(reference, count), embeddings[labelled]
    spectrum, basis = eigenbasis(inside, scale=scale)
    kept = spectrum > ZERO * spectrum[0]
    spectrum, basis = spectrum[kept], basis[:, kept]
    times = torch.tensor(list(steps))
    left = torch.exp(times[:, None] * torch.log1p(-rate * spectrum))  # the fraction not yet fitted [steps, rank]

    def along(targets: Tensor) -> Tensor:
        """Return Q^T Y [rank, classes]."""
        return basis.T @ cross_product(inside, targets, scale=scale) / spectrum.sqrt().unsqueeze(1)

    signal = along(right[labelled]).square().sum(dim=1)
    outside = (right[labelled].square().sum() - signal.sum()).clamp(min=0)  # of the range of K_LL: never fitted
    noise = along((observed - right)[labelled]).square().sum(dim=1)
    weights = (1 - left)[:, :, None] * (along(observed[labelled]) / spectrum.sqrt().unsqueeze(1))  # V^T W(t)
    return BoundTerms(
        steps=times,
        signal_loss=left.square() @ signal + outside,
        noise_loss=(1 - left).square() @ noise,
        complexity=kernel_complexity(values, num_labelled=num_labelled, num_unlabelled=num_unlabelled),
        test_loss=_test_loss(embeddings[seen], right[seen], basis, weights, scale) if seen.any() else None,
        num_labelled=num_labelled,
        num_unlabelled=num_unlabelled,
    )


def _test_loss(embeddings: Embeddings, right: Tensor, basis: Tensor, weights: Tensor, scale: Scale) -> Tensor:
    """Return the mean over nodes of |H V V^T W(t) - right|^2 [steps], through matrices of the rank of K_LL."""
    projected = [rows @ basis for rows in row_blocks(embeddings, scale)]
    gram = torch.stack([rows.T @ rows for rows in projected]).sum(dim=0)
    cross = basis.T @ cross_product(embeddings, right, scale=scale)
    losses = (weights * (gram @ weights - 2 * cross)).sum(dim=(1, 2)) + right.square().sum()
    return (losses / len(right)).clamp(min=0)
