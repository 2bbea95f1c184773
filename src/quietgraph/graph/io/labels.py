"""The label column: whole numbers or texts, None where unknown, and how they lie on the graph."""

import re
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from quietgraph.errors import InvalidLabelsError
from quietgraph.graph.graph import Graph
from quietgraph.graph.io.columns import MISSING_WORDS
from quietgraph.types import UNKNOWN

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
_FEW_EDGES = 30  # directed ones between labelled nodes, below which nothing is said of them
_CODE = re.compile(r"[+-]?0\d+")  # 007 is a name, not seven
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def read_labels(values: Any, *, typed: bool) -> _Array:
    """Return the labels [nodes] object: all whole numbers or all texts, None = unknown.

    Args:
        values: One per node; empty, NaN, 'NA' and the like, and the number -1 are unknown.
        typed: Whether the values' types are meant; texts that look like numbers are numbers if
            not.
    """
    given = np.asarray(values, dtype=object)
    if given.ndim != 1:
        raise InvalidLabelsError(
            f"labels must be one class per node, got shape {given.shape}. "
            "Turn one-hot rows into class numbers first."
        )
    labels = np.full(len(given), None, dtype=object)
    known = ~pd.isna(given)
    known[known] = [str(value).lower() not in MISSING_WORDS for value in given[known]]
    # Python's own numbers, which JSON knows.
    found = [value.item() if isinstance(value, np.generic) else value for value in given[known]]
    if found and not (typed and isinstance(found[0], str)):
        found = _whole_numbers(found)
    labels[known] = found
    labels[labels == UNKNOWN] = None
    return labels


def edge_homophily(graph: Graph, labels: _Array) -> float | None:
    """Return the share of edges between labelled nodes that join equal labels; None without."""
    codes = pd.factorize(labels)[0]  # None becomes -1
    first, second = codes[graph.edge_index.numpy()]
    both = (first >= 0) & (second >= 0)
    return float((first == second)[both].mean()) if both.any() else None


def chance_homophily(graph: Graph, labels: _Array) -> float | None:
    """Return what `edge_homophily` would be if labels met by chance; None with few such edges."""
    codes = pd.factorize(labels)[0]
    ends = codes[graph.edge_index.numpy()]
    ends = ends[:, (ends >= 0).all(axis=0)]
    if ends.shape[1] < _FEW_EDGES:
        return None
    shares = np.bincount(ends.ravel()) / ends.size
    return float(np.square(shares).sum())


def _whole_numbers(found: list[Any]) -> list[Any]:
    """Return integers where all are whole numbers, the values as they are otherwise."""
    texts = [str(value) for value in found]
    if any(_CODE.fullmatch(text) for text in texts) or not all(map(_NUMBER.fullmatch, texts)):
        return found
    numbers = [float(text) for text in texts]
    broken = [number for number in numbers if not number.is_integer()]
    if broken:
        raise InvalidLabelsError(
            f"labels must be classes, but there are fractions ({broken[0]:g}). "
            "Name another column, or turn numbers into classes first."
        )
    return [int(number) for number in numbers]
