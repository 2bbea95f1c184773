"""Simulated annotators: a reader of attributes, a crowd of people of several accuracies; and labels from a file."""

import contextlib
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.data.sources import find_root
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, UnreadableFileError
from quietgraph.graph import CSR, Features
from quietgraph.types import UNKNOWN, AnyArray, BoolArray, IntArray

_MEMBERS: Final = ("0.9", "0.8", "0.65", "0.55", "reader0.7", "spammer")
_NAMES: Final = (("node", "id", "index", "pyg_index"), ("label", "llm_label", "observed", "given_label"))


def reader_labels(
    features: Features, true: IntArray, labelled: BoolArray, rate: float, *, generator: np.random.Generator
) -> IntArray:
    """Return the labels that a classifier of attributes gives to the labelled nodes, -1 elsewhere [nodes].

    A logistic regression learns from some nodes outside the labelled ones, as few as leave it at least the wanted
    error rate; some of its errors, drawn at random, are then set right, so that the rate is met. Its errors depend
    on what a node says, as those of people do.
    """
    nodes, others = np.flatnonzero(labelled), generator.permutation(np.flatnonzero(~labelled))
    if len(np.unique(true[others])) < 2:
        raise InvalidLabelsError(
            "annotator noise needs nodes outside train and validation to learn from, of two classes at least. "
            "Use another split, or another kind of noise."
        )
    answers = _read(features, true, others, nodes, rate)
    wrong = np.flatnonzero(answers != true[nodes])
    right = generator.choice(wrong, max(len(wrong) - round(rate * len(nodes)), 0), replace=False)
    answers[right] = true[nodes][right]
    labels = np.full(len(true), UNKNOWN)
    labels[nodes] = answers
    return labels


def parse_crowd(text: str) -> tuple[int, tuple[str, ...]]:
    """Return answers per node and annotators of a text such as `3` or `3:0.9/0.7/reader0.7/spammer`.

    An annotator is an accuracy (mistakes class for class, by a random noise matrix), `reader` and an accuracy
    (learned from attributes, so its errors follow them), or `spammer` (any class at random).
    """
    count, _, named = text.partition(":")
    members = tuple(part.strip() for part in named.split("/")) if named else _MEMBERS
    for member in members:
        accuracy = float("nan")
        with contextlib.suppress(ValueError):
            accuracy = float(member.removeprefix("reader"))
        if member != "spammer" and not 0 <= accuracy <= 1:
            raise InvalidParameterError(
                f"an annotator is an accuracy such as 0.8, reader0.7 or spammer, got '{member}'."
            )
    if not count.strip().isdigit() or not 1 <= int(count) <= len(members):
        raise InvalidParameterError(
            f"annotators noise needs a number of answers per node, 1 to {len(members)} for {len(members)} annotators, "
            f"got '{count}'. Write annotators:3 or annotators:3:0.9/0.7/reader0.7/spammer."
        )
    return int(count), members


def crowd_answers(  # noqa: PLR0917
    crowd: str,
    features: Features,
    true: IntArray,
    labelled: BoolArray,
    num_classes: int,
    generator: np.random.Generator,
) -> tuple[tuple[str, ...], IntArray, IntArray, IntArray]:
    """Return the names of a crowd, and node, annotator and class of each answer; who answers for a node is drawn."""

    def answers(member: str) -> IntArray:
        """Return what an annotator would answer for every labelled node [nodes]."""
        if member == "spammer":
            return generator.integers(num_classes, size=len(true))
        accuracy = float(member.removeprefix("reader"))
        if member.startswith("reader"):
            return reader_labels(features, true, labelled, 1 - accuracy, generator=generator)
        weights = generator.random((num_classes, num_classes))
        np.fill_diagonal(weights, 0)
        matrix = (1 - accuracy) * weights / weights.sum(axis=1, keepdims=True)
        np.fill_diagonal(matrix, accuracy)
        upto = matrix.cumsum(axis=1)[np.maximum(true, 0)]
        draws = generator.random((len(true), 1)) * upto[:, -1:]
        return (upto <= draws).sum(axis=1).clip(max=num_classes - 1)

    per_node, members = parse_crowd(crowd)
    every, nodes = np.stack([answers(member) for member in members]), np.flatnonzero(labelled)
    asked = np.argsort(generator.random((len(nodes), len(members))), axis=1)[:, :per_node].ravel()
    rows = np.repeat(nodes, per_node)
    return tuple(f"{place} ({one})" for place, one in enumerate(members)), rows, asked, every[asked, rows]


def labels_of_file(path: str, classes: AnyArray, num_nodes: int) -> IntArray:
    """Return the labels of a CSV file as codes, -1 where it has none [nodes]; its header names a column of each.

    A path that leads nowhere is looked for in `real-noise/` of the data folder.
    """
    beside = find_root() / "real-noise" / path
    try:
        table = pd.read_csv(beside if beside.is_file() else path, dtype=str, keep_default_na=False)
        names = {name.strip().lower(): name for name in table.columns}
        node, label = (next((names[one] for one in known if one in names), known[0]) for known in _NAMES)
        nodes, given = [int(one) for one in table[node]], table[label].str.strip().tolist()
    except (OSError, ValueError, KeyError) as error:
        raise UnreadableFileError(
            f"{path} is no file of labels ({type(error).__name__}: {error}). "
            f"Write a CSV file with a column {' or '.join(_NAMES[0])} and one {' or '.join(_NAMES[1])}."
        ) from error
    codes = {str(value): code for code, value in enumerate(classes.tolist())} | {"-1": UNKNOWN, "": UNKNOWN}
    labels = np.full(num_nodes, UNKNOWN)
    for place, name in zip(nodes, given, strict=True):
        if not 0 <= place < num_nodes:
            raise InvalidLabelsError(f"the file of labels names the node {place}, but nodes are 0 to {num_nodes - 1}.")
        if name not in codes:
            known = ", ".join(map(str, classes[:10]))
            raise InvalidLabelsError(f"the file of labels has the class '{name}', which is none of {known}.")
        labels[place] = codes[name]
    return labels


def _read(features: Features, true: IntArray, others: IntArray, nodes: IntArray, rate: float) -> IntArray:
    """Return the answers of the best reader whose error is still at least the rate."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    rows = normalize(features.to_scipy() if isinstance(features, CSR) else features.numpy())
    size, answers = max(8, 2 * len(np.unique(true[others]))), None
    while True:
        taught = others[:size]
        if len(np.unique(true[taught])) > 1:
            reader = LogisticRegression(max_iter=300).fit(rows[taught], true[taught])
            found: IntArray = reader.predict(rows[nodes]).astype(np.int64)
            if answers is not None and (found != true[nodes]).mean() < rate:
                return answers
            answers = found
        if size >= len(others):
            return true[nodes] if answers is None else answers
        size *= 2
