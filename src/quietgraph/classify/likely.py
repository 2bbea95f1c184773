"""Which class a node really has: its features, its given label and the noise, put together.

A classifier that learned from noisy labels foretells given labels, not right ones. Where one class
is often taken for another, the given label is nearly as likely as the right one, and a comparison
of the two says little. So the noise is first taken out of the probabilities, and the given label
is then weighed by how often the noise turns each class into it.
"""

import torch
from torch import Tensor

from quietgraph.types import UNKNOWN, Labels, Probabilities

_STEPS = 10  # few: each step undoes more of the noise, and magnifies more of the errors
_LEAST = 1e-12
_NEAREST_WEIGHT, _NEIGHBOURS_WEIGHT = 0.5, 0.25  # votes beside the classifier's 1


def undo_noise(
    probabilities: Probabilities, transition: Tensor, *, steps: int = _STEPS
) -> Probabilities:
    """Return probabilities of right labels from probabilities of given ones [nodes, classes].

    Looks for p with p T = probabilities by Richardson and Lucy's steps from even chances: every
    step keeps p positive and its sum 1, and brings p T nearer; stopped early, it stays smooth.

    Args:
        probabilities: Of the given label [nodes, classes].
        transition: T [classes, classes], row = right class, column = given class; rows sum to 1.
        steps: How many steps.
    """
    told, noise = probabilities.double(), transition.double()
    right = torch.full_like(told, 1 / told.shape[1])
    for _ in range(steps):
        right = right * ((told / (right @ noise).clamp_min(_LEAST)) @ noise.T)
        right = right / right.sum(dim=1, keepdim=True).clamp_min(_LEAST)
    return right


def likely_classes(
    probabilities: Probabilities, labels: Labels, transition: Tensor
) -> Probabilities:
    """Return the chance of every class once the given label is known too [nodes, classes].

    Bayes' rule: proportional to p(class) T[class, given label], where p is without the noise. Rows
    of nodes without a label are p alone.

    Args:
        probabilities: Out-of-fold, of the given label [nodes, classes].
        labels: Given labels as class codes, -1 unknown [nodes].
        transition: T [classes, classes], row = right class, column = given class.
    """
    right, known = undo_noise(probabilities, transition), labels != UNKNOWN
    right[known] *= transition.double()[:, labels[known]].T
    return right / right.sum(dim=1, keepdim=True).clamp_min(_LEAST)


def blend_votes(
    probabilities: Probabilities, *, nearest: Tensor, neighbours: Tensor
) -> Probabilities:
    """Return the probabilities with the votes of other nodes in them [nodes, classes].

    Args:
        probabilities: Out-of-fold [nodes, classes].
        nearest: Of `nearest_shares`; NaN rows do not count [nodes, classes].
        neighbours: Of `neighbour_shares`; NaN rows do not count [nodes, classes].
    """
    blended = probabilities.double().clone()
    blended += _NEAREST_WEIGHT * nearest.nan_to_num(0.0)
    blended += _NEIGHBOURS_WEIGHT * neighbours.nan_to_num(0.0)
    return blended / blended.sum(dim=1, keepdim=True).clamp_min(_LEAST)
