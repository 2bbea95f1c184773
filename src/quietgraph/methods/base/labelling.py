"""What a fitted model believes of every node, to decide which labels are worth buying."""

from typing import TYPE_CHECKING

import numpy as np

from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.methods.base.assessment import Evidence
from quietgraph.types import UNKNOWN, AnyArray

if TYPE_CHECKING:
    from quietgraph.methods.base.label_issues import LabelIssues


def beliefs_about_nodes(model: "LabelIssues", evidence: Evidence) -> AnyArray:
    """Return probabilities of every node's class, all that is known counted [nodes, classes].

    Predictions for nodes without a label; the posterior of out-of-fold evidence and the observed
    label for the others, and where annotators answered, its mean with their consensus. Verified
    labels are certain.

    Args:
        model: Fitted.
        evidence: About its labels, out of fold.
    """
    labels = model.task_.labels
    beliefs = model.calibration_.probabilities(model.scores_).double().numpy()
    known = (labels != UNKNOWN).numpy()
    posterior = label_posterior(evidence.pooled, labels, evidence.noise.transition)
    beliefs[known] = posterior.numpy()[known]
    consensus = model.consensus_
    if consensus is not None:
        columns = [consensus.answers.classes.tolist().index(name) for name in model.classes_]
        answered = consensus.answers.answered.numpy() & known
        beliefs[answered] = (beliefs[answered] + consensus.posterior[answered][:, columns]) / 2
    verified = model.task_.verified
    if verified is not None:
        certain = verified.numpy()
        beliefs[certain] = np.eye(len(model.classes_))[labels.numpy()[certain]]
    return beliefs
