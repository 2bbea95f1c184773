"""The posterior of the true class: evidence, observed label and label noise together.

A classifier that learned from noisy labels predicts observed labels, not true ones. Where one class
is often mistaken for another, the observed label is nearly as probable as the true one, and a
comparison of the two says little. So the probabilities are first corrected for the noise, and the
observed label is then weighed by how often the noise turns each class into it.
"""

import torch
from torch import Tensor

from quietgraph.types import UNKNOWN, Labels, Probabilities

_STEPS = 10  # few: each step removes more of the noise and magnifies more of the errors
_LEAST = 1e-12


def noise_corrected(
    probabilities: Probabilities, noise_matrix: Tensor, *, steps: int = _STEPS
) -> Probabilities:
    """Return probabilities of true labels from probabilities of observed ones [nodes, classes].

    Looks for p with p T = probabilities by Richardson-Lucy steps from the uniform distribution:
    every step keeps p positive with sum 1 and brings p T nearer; stopped early, it stays smooth.

    Args:
        probabilities: Of the observed label [nodes, classes].
        noise_matrix: T [classes, classes], row = true class, column = observed class; rows sum
            to 1.
        steps: How many steps.
    """
    observed, noise = probabilities.double(), noise_matrix.double()
    true = torch.full_like(observed, 1 / observed.shape[1])
    for _ in range(steps):
        true = true * ((observed / (true @ noise).clamp_min(_LEAST)) @ noise.T)
        true = true / true.sum(dim=1, keepdim=True).clamp_min(_LEAST)
    return true


def label_posterior(
    probabilities: Probabilities, labels: Labels, noise_matrix: Tensor
) -> Probabilities:
    """Return the posterior of the true class given the observed label too [nodes, classes].

    Bayes' rule: proportional to p(class) T[class, observed label], where p is corrected for the
    noise. Rows of nodes without a label are p alone.

    Args:
        probabilities: Out-of-fold, of the observed label [nodes, classes].
        labels: Observed labels as class codes, -1 unknown [nodes].
        noise_matrix: T [classes, classes], row = true class, column = observed class.
    """
    true, known = noise_corrected(probabilities, noise_matrix), labels != UNKNOWN
    true[known] *= noise_matrix.double()[:, labels[known]].T
    return true / true.sum(dim=1, keepdim=True).clamp_min(_LEAST)
