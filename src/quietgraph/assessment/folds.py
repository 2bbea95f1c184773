"""Scores of labelled nodes by fits that did not see their labels."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from quietgraph.classify.class_prior import mean_margin
from quietgraph.data.splits import stratified_folds
from quietgraph.embed.train import Epoch
from quietgraph.methods.base import NodeClassifier, Observed
from quietgraph.rng import torch_generator
from quietgraph.types import Mask, Scores

_FOLDS = 5


def cross_fit(
    model: NodeClassifier,
    *,
    seed: int,
    hide: Callable[[Mask], Observed] | None = None,
    progress: Callable[[Epoch], object] | None = None,
) -> Scores:
    """Return out-of-fold scores of the labelled nodes, 0 in all other rows [nodes, classes].

    Every fold's scores have the mean margin of the fit to all labels, so that one calibration serves both. A fold whose
    other labels are too few to learn from keeps rows of 0. `hide` returns the labels that may be seen when those of
    some nodes are hidden, by default all others; `progress` is called after every fold.
    """
    observed, fitted = model.observed_, model.fitted_
    learn = fitted.relearn or partial(model.learn, model.data_.graph)
    fold_of = stratified_folds(observed.codes, _FOLDS, generator=torch_generator(seed, "folds"))
    found, margin = torch.zeros_like(fitted.scores), mean_margin(fitted.scores)
    for fold in range(_FOLDS):
        inside = fold_of == fold
        seen = (hide or observed.without)(inside)
        if inside.any() and len(seen.codes[seen.train | seen.validation].unique()) >= 2:
            scores = _named_alike(learn(seen).scores, fitted.scores)
            found[inside] = (scores * (margin / mean_margin(scores)))[inside]
        if progress is not None:
            progress(Epoch("cross-fitting", fold + 1, _FOLDS, {}))
    return found


def _named_alike(scores: Scores, like: Scores) -> Scores:
    """Return scores with classes renamed as in others of the same nodes, where all names are shifted.

    Under heavy noise labels hardly tell which of the classes found is which, so a fold may name them in another way.
    """
    classes = scores.shape[1]
    places = classes * scores.argmax(dim=1) + like.argmax(dim=1)
    pairs = torch.bincount(places, minlength=classes**2).view(classes, classes).numpy()
    found, named = linear_sum_assignment(-pairs)
    if np.trace(pairs) > pairs[found, named].sum() / 2:
        return scores
    return scores[:, torch.from_numpy(np.argsort(named))]
