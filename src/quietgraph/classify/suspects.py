"""Which given labels are probably wrong."""

from typing import Any

import numpy as np
import pandas as pd

from quietgraph.types import UNKNOWN, Labels, Probabilities


def suspect_table(
    probabilities: Probabilities, labels: Labels, classes: np.ndarray[Any, Any]
) -> pd.DataFrame:
    """Return the labelled nodes, most suspicious first.

    Columns: node, given, suggested, score (probability of the suggested label less that of the
    given one; above 0 where another label is likelier), given_probability,
    suggested_probability.

    Args:
        probabilities: Out-of-fold, so that no node voted for itself [nodes, classes].
        labels: Given labels as class codes, -1 unknown [nodes].
        classes: Label value of each class code.
    """
    known = (labels != UNKNOWN).cpu().numpy()
    nodes = np.flatnonzero(known)
    chances = probabilities.cpu().double().numpy()[nodes]
    given = labels.cpu().numpy()[nodes]
    rows = np.arange(len(nodes))
    others = chances.copy()
    others[rows, given] = -1.0
    rival = others.argmax(axis=1)
    score = others[rows, rival] - chances[rows, given]
    suggested = np.where(score > 0, rival, given)
    table = pd.DataFrame(
        {
            "node": nodes,
            "given": classes[given],
            "suggested": classes[suggested],
            "score": score,
            "given_probability": chances[rows, given],
            "suggested_probability": chances[rows, suggested],
        }
    )
    return table.sort_values("score", ascending=False, kind="stable", ignore_index=True)
