"""Five folds of noisy training labels, and the settings among which the paper chooses by them.

Validation and test labels are not looked at.
"""

import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from quietgraph.classify import stratified_folds
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods import EmbeddingCache, NodeClassifier, use_cache
from quietgraph.params import parameters
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, AnyArray, Labels

FOLDS = 5
RANK_RATIOS = tuple(step / 10 for step in range(1, 10))  # gamma
RANK_WEIGHTS = tuple(step / 20 for step in range(1, 11))  # tau
LEARNING_RATES = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 3e-2, 6e-2, 1e-1, 5e-1)
WEIGHT_DECAYS = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3)
DROPOUTS = (0.3, 0.4, 0.5, 0.6, 0.7)
_LEAST = 1e-6  # probability of a class that a fold has not seen


@dataclass(frozen=True)
class FoldScores:
    """How well labels are predicted by fits that did not see them."""

    accuracy: float
    loss: float  # mean cross-entropy


def paper_grid(method: type[NodeClassifier]) -> list[dict[str, float]]:
    """Return the 90 settings among which the paper chooses: gamma 0.1 ... 0.9, tau 0.05 ... 0.5."""
    return _points(method, rank_ratio=RANK_RATIOS, rank_weight=RANK_WEIGHTS)


def training_grid(method: type[NodeClassifier]) -> list[dict[str, float]]:
    """Return the 270 learning rates, weight decays and dropout rates of the paper."""
    return _points(
        method, learning_rate=LEARNING_RATES, weight_decay=WEIGHT_DECAYS, dropout=DROPOUTS
    )


def cross_validate(
    model: NodeClassifier,
    graph: Graph,
    labels: Labels,
    *,
    fraction: float = 1.0,
) -> FoldScores:
    """Return how well given labels are predicted by fits which did not see them.

    Each fit holds out a fifth of its labels for choices of its own. A method in two stages learns
    its embeddings once for all folds.

    Args:
        model: The estimator; it is fitted anew for every fold.
        graph: Without labels.
        labels: Noisy labels of the training nodes [nodes], -1 elsewhere.
        fraction: Of the labels that is used, a stratified sample: 1 over a whole number.
    """
    draws = torch_generator(model.seed, "cross-validation")
    if fraction < 1:
        sample = stratified_folds(labels, round(1 / fraction), generator=draws)
        labels = labels.masked_fill(sample != 0, UNKNOWN)
    parts = stratified_folds(labels, FOLDS, generator=draws)
    known = int((labels != UNKNOWN).sum())
    if known < FOLDS:
        raise InvalidLabelsError(
            f"{FOLDS} folds need at least {FOLDS} training labels, got {known}."
        )
    hits, loss = 0, 0.0
    with tempfile.TemporaryDirectory() as folder, use_cache(EmbeddingCache(Path(folder))):
        for part in range(FOLDS):
            held_out = parts == part
            model.fit(graph, labels.masked_fill(held_out, UNKNOWN))
            wanted, where = labels[held_out].numpy(), held_out.numpy()
            predicted: Any = model.predict()[where]
            hits += int((predicted == wanted).sum())
            loss -= float(np.log(_chances(model, wanted, where)).sum())
    return FoldScores(hits / known, loss / known)


def _chances(model: NodeClassifier, wanted: AnyArray, where: AnyArray) -> AnyArray:
    """Return the probability of the wanted class of each held-out node."""
    probabilities = model.predict_proba()[where]
    columns = {label: column for column, label in enumerate(model.classes_.tolist())}
    found = [
        row[columns[label]] if label in columns else 0.0
        for row, label in zip(probabilities, wanted.tolist(), strict=True)
    ]
    return np.array(found).clip(_LEAST)


def _points(method: type[NodeClassifier], **values: tuple[float, ...]) -> list[dict[str, float]]:
    missing = sorted(values.keys() - parameters(method).keys())
    if missing:
        raise InvalidParameterError(
            f"the paper's grid sets {' and '.join(values)}, and {method.__name__} has no "
            f"{missing[0]}. Use gcl-lrr or gcl-lr-attention, or name ranges with --param."
        )
    return [dict(zip(values, point, strict=True)) for point in product(*values.values())]
