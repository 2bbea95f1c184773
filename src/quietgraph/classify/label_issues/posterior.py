"""Which class a node really has: its features, its given label and the noise, put together.

A classifier that learned from noisy labels foretells given labels, not right ones. Where one class
is often taken for another, the given label is nearly as likely as the right one, and a comparison
of the two says little. So the noise is first taken out of the probabilities, and the given label
is then weighed by how often the noise turns each class into it.
"""

import math

import torch
from torch import Tensor

from quietgraph.types import UNKNOWN, Labels, Probabilities

_STEPS = 10  # few: each step undoes more of the noise, and magnifies more of the errors
_LEAST = 1e-12
# Votes beside the 1 of both classifiers together.
_NEAREST_WEIGHT, _NEIGHBOURS_WEIGHT = 0.25, 0.125
_OPINION_WEIGHT = 2.0  # of the second opinion beside the classifier's 1 where it is as good
_DISTRUST = 20.0  # how fast that falls with the accuracy it lacks


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


def blend_opinions(
    probabilities: Probabilities, labels: Labels, votes: dict[str, Tensor]
) -> Probabilities:
    """Return the probabilities with the opinions of others in them [nodes, classes].

    Args:
        probabilities: Out-of-fold [nodes, classes].
        labels: Given labels as class codes, -1 unknown [nodes].
        votes: `attributes` of `attribute_opinion`, which counts the less the worse it foretells
            the given labels beside the probabilities; `nearest` of `nearest_shares` and
            `neighbours` of `neighbour_shares`. Each is [nodes, classes], NaN rows do not count,
            and a name that is missing has no say.
    """
    blended = probabilities.double().clone()
    if "attributes" in votes:
        opinion = votes["attributes"].double()
        lead = _hits(opinion, labels) - _hits(probabilities, labels)
        blended += _OPINION_WEIGHT * math.exp(_DISTRUST * min(0.0, lead)) * opinion
        blended = _shares(blended)
    for name, weight in (("nearest", _NEAREST_WEIGHT), ("neighbours", _NEIGHBOURS_WEIGHT)):
        if name in votes:
            blended += weight * votes[name].nan_to_num(0.0)
    return _shares(blended)


def _shares(weights: Tensor) -> Probabilities:
    return weights / weights.sum(dim=1, keepdim=True).clamp_min(_LEAST)


def _hits(probabilities: Probabilities, labels: Labels) -> float:
    """Return how often the likeliest class is the given one."""
    known = labels != UNKNOWN
    return float((probabilities[known].argmax(dim=1) == labels[known]).double().mean())
