"""The linear classifiers of the low-rank methods: one on each matrix of rows, and the mean of their scores."""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import attention_matrix
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.classify.linear import fit_ridge
from quietgraph.methods.base import Observed
from quietgraph.rng import torch_generator
from quietgraph.types import Scores

_BLOCK = 2**16  # rows that are scored at once


class Branch(nn.Module):
    """Scores [Z, w rn(Z Z^T Z / lambda_1)] W + b of rows Z; with w = 0 those of Z alone. rn: rows of unit length."""

    attention: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, dim: int, classes: int, attention_weight: float) -> None:
        super().__init__()
        self.attention_weight = attention_weight
        width = 2 * dim if attention_weight else dim
        for name, shape in {"attention": (dim, dim), "weight": (width, classes), "bias": (classes,)}.items():
            self.register_buffer(name, torch.zeros(shape))

    def features(self, rows: Tensor) -> Tensor:
        """Return what the linear classifier reads [nodes, width]."""
        if not self.attention_weight:
            return rows
        return torch.cat([rows, self.attention_weight * F.normalize(rows @ self.attention, dim=1)], dim=1)

    def forward(self, rows: Tensor) -> Scores:
        """Return the scores of all rows, in blocks [nodes, classes]."""
        return torch.cat([self.features(block) @ self.weight + self.bias for block in rows.split(_BLOCK)])


class Head(nn.Module):
    """The mean of the scores of one branch for each matrix of rows."""

    def __init__(self, widths: list[int], classes: int, attention_weight: float) -> None:
        super().__init__()
        self.branches = nn.ModuleList(Branch(width, classes, attention_weight) for width in widths)
        self.notes: dict[str, float] = {}

    @property
    def each(self) -> list[Branch]:
        """The branches."""
        return [cast("Branch", one) for one in self.branches]

    def forward(self, rows: list[Tensor]) -> Scores:
        """Return the scores of all nodes [nodes, classes]."""
        return torch.stack([branch(own) for branch, own in zip(self.each, rows, strict=True)]).mean(dim=0)


@torch.no_grad()
def fit_head(rows: list[Tensor], observed: Observed, *, attention_weight: float, seed: int) -> Head:
    """Return ridge regressions on attended rows, whose mean is adjusted to the class prior.

    Args:
        rows: One matrix for each branch [nodes, width].
        observed: Labels to learn from, and to choose penalties and class prior by.
        attention_weight: Weight of attended features beside the rows; 0 for none.
        seed: Of the samples that the class prior is chosen on.
    """
    known, widths = observed.train | observed.validation, [own.shape[1] for own in rows]
    head, labels = Head(widths, observed.num_classes, attention_weight), observed.at(known)
    for branch, own in zip(head.each, rows, strict=True):
        if attention_weight:
            branch.attention = attention_matrix(own)
        fit = fit_ridge(
            branch.features(own[known]),
            labels.codes,
            train=labels.train,
            validation=labels.validation,
            num_classes=labels.num_classes,
            weights=labels.weights,
        )
        branch.weight, branch.bias = fit.weight, fit.bias
        head.notes[f"ridge {len(head.notes) + 1}"] = fit.chosen
    found, wanted = head([own[observed.validation] for own in rows]), observed.codes[observed.validation]
    if observed.weights is None:  # frequencies of classes are the caller's own where labels have weights
        draws = torch_generator(seed, "class prior")
        adjustment = class_adjustment(found, wanted, observed.codes[observed.train], generator=draws)
        for branch in head.each:
            branch.bias = branch.bias + adjustment
    head.notes["validation_accuracy"] = float((found.argmax(dim=1) == wanted).float().mean())
    return head
