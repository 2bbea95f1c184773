"""What the labels of a fitted model are worth, and its predictions: one posterior that everything is read from."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted

from quietgraph.annotators.consensus import Consensus, find_consensus, symmetric
from quietgraph.assessment import evidence, verdict
from quietgraph.assessment.folds import cross_fit
from quietgraph.assessment.posterior import Labels, fit_label_model, fit_scale, label_posterior
from quietgraph.assessment.verdict import Estimate, Noise, Verdict
from quietgraph.classify.noise_matrix import noise_matrix
from quietgraph.classify.smoothing import is_heterophilous
from quietgraph.data.data import Data
from quietgraph.embed.train import Epoch
from quietgraph.errors import InvalidGraphError
from quietgraph.methods.base import NO_GRAPH, NodeClassifier, Observed
from quietgraph.types import UNKNOWN, AnyArray, BoolArray, Embeddings, Float32Array, FloatArray, Mask
from quietgraph.types import Labels as Codes

_FIRST_RATE = 0.2  # where there is nothing to read one from
_DISAGREEMENT = 0.2  # by which the noise rate of clusters may exceed that of the posterior
_FOLLOWS = (
    "The nodes' own attributes predict the labels better than their neighbourhood does, so the labels may have been "
    "read off them, and errors of that reader look like truth."
)
_CLUSTERS = "Labels of nodes that lie together disagree as if {:.0%} were wrong, which the predictions do not explain."


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of labels and predictions. All of it is read from one posterior.

    Attributes:
        classes: Label values of the columns [classes].
        codes: Observed class of each node, -1 unknown; of annotators' answers the majority vote [nodes].
        posterior: P(true class | all that is known) [nodes, classes]. Of labelled nodes by out-of-fold probabilities,
            label and noise matrix; of verified ones certain; of others the calibrated prediction.
        out_of_fold: Calibrated probabilities of labelled nodes by fits that did not see their label, else 0
            [nodes, classes].
        p_wrong: Probability that the label is wrong, NaN without one, 0 if verified [nodes].
        is_suspect: Labels for which another class is likelier; none where the verdict is `do not trust` [nodes].
        accuracy: Share of right predictions expected on nodes without a label.
        evidence: Class shares by `neighbours`, `attributes` and `nearest` nodes, for people to see [nodes, classes].
        embeddings: Of the model [nodes, dim].
    """

    data: Data
    classes: AnyArray
    codes: Codes
    posterior: FloatArray
    out_of_fold: FloatArray
    p_wrong: FloatArray
    is_suspect: BoolArray
    noise: Noise
    verdict: Verdict
    accuracy: Estimate
    evidence: dict[str, FloatArray]
    embeddings: Float32Array
    consensus: Consensus | None = None

    @cached_property
    def predictions(self) -> Codes:
        """Likeliest class of each node [nodes]."""
        return torch.from_numpy(self.posterior.argmax(axis=1))

    @property
    def probabilities(self) -> FloatArray:
        """The posterior [nodes, classes]."""
        return self.posterior

    def suspects(self) -> pd.DataFrame:
        """Return the labelled nodes that nobody has verified, worst first.

        Columns: node (position), id, given, suggested, p_wrong, is_suspect.
        """
        nodes = np.flatnonzero((self.codes != UNKNOWN).numpy() & ~self.data.verified.numpy())
        nodes = nodes[np.argsort(-self.p_wrong[nodes], kind="stable")]
        columns = {
            "node": nodes,
            "id": self.data.ids[nodes],
            "given": self.classes[self.codes.numpy()[nodes]],
            "suggested": self.classes[self.predictions.numpy()[nodes]],
            "p_wrong": self.p_wrong[nodes],
            "is_suspect": self.is_suspect[nodes],
        }
        return pd.DataFrame(columns)

    def corrected(self) -> AnyArray:
        """Return label values with the suggestion in place of suspects, None where there is no label [nodes]."""
        codes = np.where(self.is_suspect, self.predictions.numpy(), self.codes.numpy())
        return np.array([*self.classes.tolist(), None], dtype=object)[codes]

    def mistakes(self) -> pd.DataFrame:
        """Return which labels stand for which other class, most frequent first.

        Columns: given, suggested, expected (number of such labels), share (of all labels of that value).
        """
        counts = self.noise.counts
        given, true = np.nonzero(~np.eye(len(counts), dtype=bool))
        table = pd.DataFrame({"given": self.classes[given], "suggested": self.classes[true]})
        table["expected"] = counts[given, true]
        table["share"] = counts[given, true] / np.maximum(counts.sum(axis=1)[given], 1e-12)
        return table.sort_values("expected", ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return a summary as plain JSON values."""
        return {
            "classes": self.classes.tolist(),
            "labels": int((self.codes != UNKNOWN).sum()),
            "suspects": int(self.is_suspect.sum()),
            "verdict": {**asdict(self.verdict), "reasons": list(self.verdict.reasons)},
            "noise": {name: np.asarray(value).tolist() for name, value in vars(self.noise).items()},
            "accuracy": asdict(self.accuracy),
        }


def assess(
    model: NodeClassifier, *, seed: int | None = None, progress: Callable[[Epoch], object] | None = None
) -> Assessment:
    """Return what fits to four fifths of the labels say of labels and model; the model is only read.

    Args:
        model: Fitted, any method.
        seed: Draws folds, clusterings and resamples; the model's without it.
        progress: Called after every fold.
    """
    check_is_fitted(model, "fitted_")
    if NO_GRAPH in model.data_.graph.notes:
        raise InvalidGraphError(f"{NO_GRAPH}, so its labels cannot be assessed. Fit again, or assess before save.")
    seed = model.seed if seed is None else seed
    data, fitted, classes = model.data_, model.fitted_, len(model.classes_)
    consensus = None if data.annotations is None else find_consensus(data, seed=model.seed)
    codes, labels = _labels_of(model, consensus)
    rows, given, right = (codes != UNKNOWN).numpy(), labels.today, np.eye(classes)[labels.today]
    hide = None if consensus is None else partial(_hide_answers, model)
    scores = cross_fit(model, seed=seed, hide=hide, progress=progress).double().numpy()[rows]
    spaces = evidence.attribute_spaces(data.graph, seed=seed)
    start, is_corrected = _first_matrix(model, spaces, codes, seed=seed)
    plain = fit_scale(scores, labels, classes)
    p_value, distrust = verdict.find_distrust(plain.probabilities(scores), given)
    found = plain if distrust else fit_label_model(scores, labels, start, corrected=is_corrected)

    held_out, posterior = found.probabilities(scores), found.probabilities(fitted.scores.double().numpy())
    judged = (right + held_out) / 2 if distrust else label_posterior(held_out, labels.likelihood(found.matrix))
    posterior[rows] = judged = np.where(labels.certain[:, None] == UNKNOWN, judged, right)
    out_of_fold, p_wrong, wrong = np.zeros_like(posterior), np.full(len(rows), np.nan), 1 - judged[right == 1]
    out_of_fold[rows], p_wrong[rows] = held_out, wrong
    votes = {name: evidence.attribute_votes(space, codes, classes, seed=seed) for name, space in spaces.items()}
    low, high = (0.0, 1.0) if distrust else verdict.rate_interval(wrong)
    by_clusters, doubts = 1 - float(judged.mean(axis=0) @ np.diag(start)), list[str]()
    if votes and not distrust and evidence.follow_attributes(votes["own"], votes["smooth"], codes):
        doubts.append(_FOLLOWS)
    if by_clusters > wrong.mean() + _DISAGREEMENT and not distrust:
        doubts.append(_CLUSTERS.format(by_clusters))
    high = max(high, by_clusters) if doubts else high
    noise = Noise(float(wrong.mean()), low, high, bool(doubts), found.matrix, right.T @ judged)
    suspect = rows & (posterior.argmax(axis=1) != codes.numpy())
    accuracy = verdict.expected_accuracy(held_out if rows.all() else posterior[~rows], len(given))
    facts = verdict.numbers_in_words(held_out @ found.matrix, given, None if distrust else noise, accuracy)
    doubts += verdict.lost_classes(model.classes_, given, held_out)
    shares = {
        "neighbours": evidence.neighbour_votes(data.graph.adjacency, codes, classes).numpy(),
        "nearest": evidence.nearest_votes(fitted.embeddings, codes, classes, seed=seed).numpy(),
    } | ({"attributes": votes["own"].numpy()} if votes else {})
    conclusion = verdict.verdict_of(distrust, p_value, accuracy, doubts, facts)
    return Assessment(
        data, model.classes_, codes, posterior, out_of_fold, p_wrong, suspect, noise, conclusion, accuracy, shares,
        fitted.embeddings.numpy(), consensus,
    )  # fmt: skip


def _first_matrix(
    model: NodeClassifier, attributes: dict[str, Embeddings], codes: Codes, *, seed: int
) -> tuple[FloatArray, bool]:
    """Return a noise matrix read off clusters, and whether the model's scores are corrected for it already.

    A model with a `noise_matrix` has corrected for it. Clusters are of rows that saw no label: attributes and
    embeddings of a label-free stage; without any the matrix is symmetric.
    """
    fitted, spaces = model.fitted_, list[Embeddings]()
    own = getattr(fitted.network, "noise_matrix", None)
    if own is not None:
        return np.asarray(own.detach().cpu(), dtype=np.float64), True
    if attributes:
        spaces.append(attributes["own" if is_heterophilous(model.data_.graph, codes) else "smooth"])
    if fitted.relearn is not None:
        spaces.append(fitted.embeddings)
    if not spaces:
        return symmetric(len(model.classes_), _FIRST_RATE), False
    return noise_matrix(spaces, model.observed_.codes, seed=seed), False


def _labels_of(model: NodeClassifier, consensus: Consensus | None) -> tuple[Codes, Labels]:
    """Return the observed class of every node in the model's classes, and what is known of those that have one.

    Of annotators it is the majority vote.
    """
    data, codes, place, answers = model.data_, model.observed_.codes.clone(), _places(model), None
    known, votes = (codes != UNKNOWN).numpy(), place[data.codes]
    settled = (codes != UNKNOWN) & data.verified
    if consensus is not None:
        codes = torch.where((codes == UNKNOWN) | settled | (votes == UNKNOWN), codes, votes)
        answers = consensus.likelihood[:, place[:-1].numpy() != UNKNOWN][known]
    before = torch.where(settled, place[data.before], codes)
    return codes, Labels(before.numpy()[known], codes.masked_fill(~settled, UNKNOWN).numpy()[known], answers)


def _hide_answers(model: NodeClassifier, nodes: Mask) -> Observed:
    """Return the labels without those of some nodes: the consensus of the other answers, which rests on these, too."""
    data, observed = model.data_, model.observed_
    answers = None if data.annotations is None else data.annotations.within(~nodes)
    found = find_consensus(replace(data, annotations=answers, verified=data.verified & ~nodes), seed=model.seed)
    codes = _places(model)[found.codes].masked_fill(observed.codes == UNKNOWN, UNKNOWN)
    train, validation = observed.train & (codes != UNKNOWN), observed.validation & (codes != UNKNOWN)
    weights = None if observed.weights is None else torch.from_numpy(found.weights).float()
    return replace(observed, codes=codes, train=train, validation=validation, weights=weights).without(nodes)


def _places(model: NodeClassifier) -> Codes:
    """Return the model's code of every class of the data, and -1 for -1 [classes + 1]."""
    places = pd.Index(model.classes_).get_indexer(pd.Index(model.data_.classes))
    return torch.from_numpy(np.append(places, UNKNOWN))
