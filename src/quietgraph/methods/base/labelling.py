"""What a fitted model believes of every node, to decide which labels are worth buying."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from quietgraph.classify.label_issues.noise import estimate_noise
from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.types import UNKNOWN, Labels, Probabilities

if TYPE_CHECKING:
    from quietgraph.methods.base.node_classifier import NodeClassifier

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def beliefs_about_nodes(model: "NodeClassifier", pooled: Probabilities, labels: Labels) -> _Array:
    """Return probabilities of every node's class, all that is known counted [nodes, classes].

    Predictions for nodes without a label; the posterior of out-of-fold evidence and the observed
    label for the others, and where annotators answered, its mean with their consensus. Verified
    labels are certain.

    Args:
        model: Fitted.
        pooled: Its out-of-fold evidence [nodes, classes].
        labels: Observed labels as class codes, -1 unknown [nodes].
    """
    beliefs = model.predict_proba().astype(np.float64)
    noise = estimate_noise(pooled, labels).transition
    known = (labels != UNKNOWN).numpy()
    beliefs[known] = label_posterior(pooled, labels, noise).numpy()[known]
    consensus = model.consensus_
    if consensus is not None:
        columns = [consensus.answers.classes.tolist().index(name) for name in model.classes_]
        answered = consensus.answers.answered.numpy() & known
        beliefs[answered] = (beliefs[answered] + consensus.posterior[answered][:, columns]) / 2
    verified = model.task_.verified
    if verified is not None:
        sure = verified.numpy()
        beliefs[sure] = np.eye(len(model.classes_))[labels.numpy()[sure]]
    return beliefs
