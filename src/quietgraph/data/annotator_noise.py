"""Labels by an annotator who reads the nodes' own attributes, and labels from a file."""

import csv
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from quietgraph.data.sources import find_label_file
from quietgraph.errors import InvalidLabelsError, UnreadableFileError
from quietgraph.files import bounded_lines
from quietgraph.graph import CSR, Features
from quietgraph.types import AnyArray, Labels, Mask, Matrix

_NODE_NAMES = ("node", "id", "index", "pyg_index")
_LABEL_NAMES = ("label", "llm_label", "observed", "given_label")


def annotator_labels(
    features: Features,
    true: Labels,
    labelled: Mask,
    rate: float,
    *,
    generator: np.random.Generator,
) -> Labels:
    """Return the labels that a classifier of attributes gives to the labelled nodes [nodes].

    A logistic regression learns from some nodes outside the labelled ones, as few as leave it at
    least the wanted error rate; some of its errors, drawn at random, are then set right, so that
    the rate is met. Its errors depend on what a node says, as those of people do.

    Args:
        features: Attributes [nodes, features].
        true: True class of every node [nodes].
        labelled: Nodes that are to be labelled [nodes].
        rate: Fraction of wrong labels.
        generator: Draws the nodes that it learns from, and the errors that remain.
    """
    rows = features.to_scipy() if isinstance(features, CSR) else np.asarray(features)
    rows, classes = normalize(rows), true.numpy()
    nodes = np.flatnonzero(labelled.numpy())
    others = generator.permutation(np.flatnonzero(~labelled.numpy()))
    if len(np.unique(classes[others])) < 2:
        raise InvalidLabelsError(
            "annotator noise needs nodes outside train and validation to learn from, of two "
            "classes at least. Use another split, or another kind of noise."
        )
    answers = _read(rows, classes, others, nodes, rate)
    wrong = np.flatnonzero(answers != classes[nodes])
    surplus = len(wrong) - round(rate * len(nodes))
    if surplus > 0:
        right = generator.choice(wrong, surplus, replace=False)
        answers[right] = classes[nodes][right]
    labels = torch.full_like(true, -1)
    labels[torch.from_numpy(nodes)] = torch.from_numpy(answers)
    return labels


def _read(
    rows: Matrix, classes: AnyArray, others: AnyArray, nodes: AnyArray, rate: float
) -> AnyArray:
    """Return the answers of the best reader whose error is still at least the rate."""
    size = max(8, 2 * len(np.unique(classes)))
    answers: AnyArray | None = None
    while True:
        taught = others[: min(size, len(others))]
        if len(np.unique(classes[taught])) > 1:
            reader = LogisticRegression(max_iter=300).fit(rows[taught], classes[taught])
            found: AnyArray = reader.predict(rows[nodes]).astype(np.int64)
            if answers is not None and (found != classes[nodes]).mean() < rate:
                return answers
            answers = found
        if size >= len(others):
            return answers if answers is not None else classes[nodes].copy()
        size *= 2


def read_label_file(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Return (node, label) of a CSV file whose header names a column of each.

    A path that leads nowhere is looked for in `real-noise/` of the data folder.
    """
    try:
        table = csv.DictReader(bounded_lines(find_label_file(path)))
        names = {str(name).strip().lower(): name for name in table.fieldnames or ()}
        node, label = (
            next((names[name] for name in wanted if name in names), None)
            for wanted in (_NODE_NAMES, _LABEL_NAMES)
        )
        if node is None or label is None:
            raise UnreadableFileError(
                f"{path} must have a column of nodes ({', '.join(_NODE_NAMES)}) and one of "
                f"labels ({', '.join(_LABEL_NAMES)})."
            )
        rows = [(row[node], row[label]) for row in table]
        return tuple((int(one), str(name).strip()) for one, name in rows if name)
    except (OSError, csv.Error, UnicodeDecodeError, ValueError, TypeError) as error:
        raise UnreadableFileError(f"{path} is no readable file of labels ({error}).") from error


def labels_of_file(rows: tuple[tuple[int, str], ...], classes: AnyArray, labelled: Mask) -> Labels:
    """Return the labels of a file as codes of the labelled nodes, -1 where it has none [nodes]."""
    codes = {str(value): code for code, value in enumerate(classes.tolist())}
    labels = torch.full((len(labelled),), -1, dtype=torch.int64)
    for node, name in rows:
        if not 0 <= node < len(labelled):
            raise InvalidLabelsError(
                f"the file of labels names the node {node}, but nodes are 0 to {len(labelled) - 1}."
            )
        if name == "-1":
            continue
        if name not in codes:
            known = ", ".join(list(codes)[:10])
            raise InvalidLabelsError(
                f"the file of labels has the class '{name}', which is none of {known}."
            )
        labels[node] = codes[name]
    return torch.where(labelled, labels, -1)
