"""The paper's choice of rank ratio and rank weight: five folds of noisy training labels.

Validation and test labels are not looked at. The paper speaks of a fifth of the training set;
here all of it is used, because with 20 labels a class a fifth leaves less than one per fold.
"""

import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from quietgraph.classify import stratified_folds
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.methods import EmbeddingCache, NodeClassifier, use_cache
from quietgraph.params import parameters
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels

FOLDS = 5
RANK_RATIOS = tuple(step / 10 for step in range(1, 10))  # gamma
RANK_WEIGHTS = tuple(step / 20 for step in range(1, 11))  # tau


def paper_grid(method: type[NodeClassifier]) -> list[dict[str, float]]:
    """Return the 90 settings among which the paper chooses: gamma 0.1 ... 0.9, tau 0.05 ... 0.5."""
    missing = {"rank_ratio", "rank_weight"} - parameters(method).keys()
    if missing:
        raise InvalidParameterError(
            f"the paper's grid sets rank_ratio and rank_weight, and {method.__name__} has no "
            f"{sorted(missing)[0]}. Use gcl-lrr or gcl-lr-attention, or name ranges with --param."
        )
    pairs = product(RANK_RATIOS, RANK_WEIGHTS)
    return [{"rank_ratio": ratio, "rank_weight": weight} for ratio, weight in pairs]


def cross_validated_accuracy(
    model: NodeClassifier, graph: Graph, labels: Labels, *, folds: int = FOLDS
) -> float:
    """Return the fraction of observed labels that fits which did not see them predict.

    Each fit holds out a fifth of its labels for choices of its own. A method in two stages learns
    its embeddings once for all folds.

    Args:
        model: The estimator; it is fitted anew for every fold.
        graph: Without labels.
        labels: Noisy labels of the training nodes [nodes], -1 elsewhere.
        folds: Number of stratified folds.
    """
    draws = torch_generator(model.seed, "cross-validation")
    parts = stratified_folds(labels, folds, generator=draws)
    known = int((labels != UNKNOWN).sum())
    if known < folds:
        raise InvalidLabelsError(
            f"{folds} folds need at least {folds} training labels, got {known}."
        )
    hits = 0
    with tempfile.TemporaryDirectory() as folder, use_cache(EmbeddingCache(Path(folder))):
        for part in range(folds):
            held_out = parts == part
            predicted: Any = model.fit(graph, labels.masked_fill(held_out, UNKNOWN)).predict()
            hits += int((predicted[held_out.numpy()] == labels[held_out].numpy()).sum())
    return hits / known
