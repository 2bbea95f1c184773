"""What scikit-learn asks of an estimator beyond fit and predict; imported when it is asked."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

from quietgraph.data.labels import known_labels
from quietgraph.data.observation import GraphLike
from quietgraph.errors import InvalidLabelsError, QuietgraphError
from quietgraph.graph import Graph
from quietgraph.types import ValuesLike

if TYPE_CHECKING:
    from quietgraph.methods.base.node_classifier import NodeClassifier


class NotFittedError(QuietgraphError, SklearnNotFittedError):  # type: ignore[misc]
    """Something was asked of an estimator before `fit`; also an error of scikit-learn."""


def classifier_tags() -> Tags:
    """Return the tags of a node classifier: its input is a graph, not a matrix of samples."""
    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=False, one_d_labels=True),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(two_d_array=False),
    )


def score_accuracy(
    model: "NodeClassifier",
    graph: "GraphLike | None",
    labels: ValuesLike | None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the fraction of known labels that the model predicts.

    Args:
        model: Fitted.
        graph: The graph of the labels; None or the graph of `fit` takes the predictions of `fit`.
        labels: One entry per node; -1, None or NaN = unknown, which is not scored.
        sample_weight: One weight per node.
    """
    predicted = model.predict(None if _is_fitted_graph(model, graph) else graph)
    if labels is None:
        raise InvalidLabelsError("score needs labels to compare with: score(graph, labels).")
    values, known = known_labels(labels, len(predicted))
    if not known.any():
        raise InvalidLabelsError("score needs the label of at least one node, got none.")
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    wanted = np.array(list(values[known]))
    return float(accuracy_score(wanted, predicted[known], sample_weight=weights))


def _is_fitted_graph(model: "NodeClassifier", graph: object) -> bool:
    if graph is None or not isinstance(graph, Graph):
        return graph is None
    fitted = getattr(model, "task_", None)
    return fitted is not None and graph.fingerprint == fitted.graph.fingerprint
