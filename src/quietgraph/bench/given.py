"""What one fit is given: labels of a dataset or of own data, noisy, corrected or dropped."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch

from quietgraph.bench.metrics import accuracy
from quietgraph.bench.protocol import score
from quietgraph.data.datasets import Dataset
from quietgraph.data.noise import Observation, apply_noise
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.data.own_data import OwnData
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.graph.io import Corrections
from quietgraph.methods import NodeClassifier
from quietgraph.types import UNKNOWN, Labels

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Given:
    """A graph and labels to learn from, and all that may judge the result.

    Attributes:
        data: Where it comes from; only a dataset by name has clean labels.
        graph: As the method sees it.
        labels: As the method sees them, None = unknown [nodes] object.
        judges: The labels that agreement is measured with [nodes] object. Dropped labels are still
            among them: without those it disagrees with, any model would look good.
        changes: What was done to the labels since they were given, in words.
    """

    data: Dataset | OwnData
    graph: Graph
    labels: _Array
    judges: _Array
    changes: tuple[str, ...] = ()

    @property
    def node_ids(self) -> _Array:
        """The user's ids, or positions [nodes]."""
        if isinstance(self.data, OwnData):
            return self.data.node_ids
        return np.arange(self.graph.num_nodes)

    def fit(self, model: NodeClassifier) -> NodeClassifier:
        """Return the model, fitted on what is given."""
        return model.fit(self.graph, self.labels, self.data.split.validation)

    def score(self, model: NodeClassifier) -> dict[str, float]:
        """Return all metrics; of own data the agreement with held-out given labels alone."""
        if isinstance(self.data, Dataset):
            return score(model, self.data, Observation(self.graph, _codes(self.judges)))
        where = self.data.split.validation.numpy() & _is_known(self.judges)
        return {"validation_accuracy": accuracy(model.predict()[where], self.judges[where])}

    def wrong(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which labels are known to be wrong [nodes]; of own data none is known to be."""
        if isinstance(self.data, OwnData):
            return np.zeros(len(self.labels), dtype=bool)
        codes = _codes(self.labels)
        return ((codes != UNKNOWN) & (codes != self.data.clean_labels)).numpy()

    def correct(self, corrections: Corrections) -> "Given":
        """Return it with the labels that a person decided on."""
        labels = corrections.apply(self.labels, self.node_ids)
        changed = np.array([a != b for a, b in zip(self.labels, labels, strict=True)], dtype=bool)
        new = changed & ~_is_known(self.labels)
        if isinstance(self.data, Dataset) and new.any():
            raise InvalidLabelsError(
                f"{corrections.path} gives a label to the node {np.flatnonzero(new)[0]}, which is "
                f"scored on in {self.data.name}. Correct only nodes of suspects.csv."
            )
        words = f"{int(changed.sum())} labels corrected by {corrections.path}"
        return replace(self, labels=labels, judges=labels, changes=(*self.changes, words))

    def drop(self, suspects: pd.DataFrame, count: int) -> "Given":
        """Return it without the labels of the first suspects, two of each class at least kept.

        Args:
            suspects: Most suspicious first.
            count: How many labels to forget; never one for which no other label is suggested.
        """
        accused = suspects[suspects["suggested"] != suspects["given"]]
        left = pd.Series(self.labels[_is_known(self.labels)], dtype=object).value_counts().to_dict()
        labels, dropped = self.labels.copy(), 0
        for node in accused["node"]:
            if dropped < count and left[labels[node]] > 2:
                left[labels[node]] -= 1
                labels[node] = None
                dropped += 1
        words = f"{dropped} of {count} suspicious labels dropped"
        return replace(self, labels=labels, changes=(*self.changes, words))


def given_of(data: Dataset | OwnData, noise: NoiseSetting, *, seed: int) -> Given:
    """Return what a fit sees of the data under this noise; own data takes none."""
    if isinstance(data, OwnData):
        if str(noise) != "none":
            raise InvalidParameterError(
                f"--noise needs clean labels to make wrong, and nobody knows those of {data.name}. "
                "Leave it out, or name a dataset."
            )
        return Given(data, data.graph, data.labels, data.labels)
    observation = apply_noise(data, noise, seed=seed)
    codes = observation.labels.tolist()
    labels = np.array([None if code == UNKNOWN else code for code in codes], dtype=object)
    return Given(data, observation.graph, labels, labels)


def _is_known(labels: _Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([label is not None for label in labels], dtype=bool)


def _codes(labels: _Array) -> Labels:
    return torch.tensor([UNKNOWN if label is None else label for label in labels])
