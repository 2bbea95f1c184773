"""What the labels of a fitted model are worth, and its predictions: one posterior that everything is read from."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils.validation import check_is_fitted

from quietgraph.annotators.consensus import Consensus, find_consensus
from quietgraph.assessment.evidence import (
    attribute_spaces,
    attribute_votes,
    follow_attributes,
    nearest_votes,
    neighbour_votes,
)
from quietgraph.assessment.folds import cross_fit
from quietgraph.assessment.noise import Noise, first_matrix, rate_interval
from quietgraph.assessment.posterior import Labels, fit_label_model, fit_scale, label_posterior
from quietgraph.assessment.verdict import Estimate, Verdict, expected_accuracy, find_distrust, verdict_of
from quietgraph.classify.smoothing import is_heterophilous
from quietgraph.data.data import Data
from quietgraph.embed.train import Epoch
from quietgraph.methods.base import NodeClassifier, Observed
from quietgraph.types import UNKNOWN, AnyArray, BoolArray, Embeddings, Float32Array, FloatArray, IntArray, Mask
from quietgraph.types import Labels as Codes

_DISAGREEMENT = 0.2  # by which the noise rate of clusters may exceed that of the posterior
_FOLLOWS = (
    "The nodes' own attributes predict the labels better than their neighbourhood does, so the labels may have been "
    "read off them, and errors of that reader look like truth."
)
_CLUSTERS = "Labels of nodes that lie together disagree as if {:.0%} were wrong, which the predictions do not explain."
_LOST, _FEW = 0.2, 10  # a class is lost if predicted so much less often than labelled, of so many labels at least


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of labels and predictions. All of it is read from one posterior.

    Attributes:
        data: What the model was fitted to.
        classes: Label values of the columns [classes].
        codes: Observed class of each node, -1 unknown; of annotators' answers the majority vote [nodes].
        posterior: P(true class | all that is known) [nodes, classes]. Of labelled nodes by out-of-fold probabilities,
            label and noise matrix; of verified ones certain; of others the calibrated prediction.
        out_of_fold: Calibrated probabilities of labelled nodes by fits that did not see their label, else 0
            [nodes, classes].
        p_wrong: Probability that the label is wrong, NaN without one, 0 if verified [nodes].
        is_suspect: Labels for which another class is likelier; none where the verdict is `do not trust` [nodes].
        noise: The label noise.
        verdict: How far predictions can be trusted.
        accuracy: Share of right predictions expected on nodes without a label.
        evidence: Class shares by `neighbours`, `attributes` and `nearest` nodes, for people to see [nodes, classes].
        embeddings: Of the model [nodes, dim].
        consensus: Of the annotators, where there are any.
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
        expected, all_given = counts[given, true], np.maximum(counts.sum(axis=1)[given], 1e-12)
        columns = {"given": self.classes[given], "suggested": self.classes[true], "expected": expected}
        table = pd.DataFrame({**columns, "share": expected / all_given})
        return table.sort_values("expected", ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return a summary as plain JSON values."""
        noise = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self.noise).items()
        }
        return {
            "classes": self.classes.tolist(),
            "labels": int((self.codes != UNKNOWN).sum()),
            "suspects": int(self.is_suspect.sum()),
            "verdict": {**asdict(self.verdict), "reasons": list(self.verdict.reasons)},
            "noise": noise,
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
    seed = model.seed if seed is None else seed
    data, fitted, classes = model.data_, model.fitted_, len(model.classes_)
    consensus = None if data.annotations is None else find_consensus(data, seed=model.seed)
    codes, labels = _labels_of(model, consensus)
    rows, given = (codes != UNKNOWN).numpy(), labels.today
    hide = None if consensus is None else partial(_hide_answers, model)
    scores = cross_fit(model, seed=seed, hide=hide, progress=progress).double().numpy()[rows]
    attributes = attribute_spaces(data.graph, seed=seed)
    start, is_corrected = first_matrix(model, _label_free(model, attributes, codes), seed=seed)
    plain = fit_scale(scores, labels, classes)
    p_value, distrust = find_distrust(plain.probabilities(scores), given)
    found = plain if distrust else fit_label_model(scores, labels, start, corrected=is_corrected)

    held_out, posterior = found.probabilities(scores), found.probabilities(fitted.scores.double().numpy())
    posterior[rows] = judged = _judge(held_out, labels, None if distrust else found.matrix)
    out_of_fold, p_wrong = np.zeros_like(posterior), np.full(len(rows), np.nan)
    out_of_fold[rows] = held_out
    p_wrong[rows] = np.where(labels.certain == UNKNOWN, 1 - judged[np.arange(len(given)), given], 0.0)
    noise = Noise(float(p_wrong[rows].mean()), 0.0, 1.0, False, found.matrix, np.eye(classes)[given].T @ judged)
    votes = {name: attribute_votes(space, codes, classes, seed=seed) for name, space in attributes.items()}
    doubts = list[str]()
    if not distrust:
        low, high = rate_interval(p_wrong[rows])
        by_clusters = 1 - float(judged.mean(axis=0) @ np.diag(start))
        doubts += [_FOLLOWS] if votes and follow_attributes(votes["own"], votes["smooth"], codes) else []
        doubts += [_CLUSTERS.format(by_clusters)] if by_clusters > noise.rate + _DISAGREEMENT else []
        noise = replace(noise, low=low, high=max(high, by_clusters) if doubts else high, at_least=bool(doubts))
        doubts += _lost_classes(model.classes_, given, held_out)
    accuracy = expected_accuracy(held_out if rows.all() else posterior[~rows], len(given))
    facts = _facts(held_out @ found.matrix, given, noise, accuracy, known=not distrust)
    evidence = {
        "neighbours": neighbour_votes(data.graph.adjacency, codes, classes),
        **({"attributes": votes["own"]} if votes else {}),
        "nearest": nearest_votes(fitted.embeddings, codes, classes, seed=seed),
    }
    return Assessment(
        data,
        model.classes_,
        codes,
        posterior,
        out_of_fold,
        p_wrong,
        rows & (posterior.argmax(axis=1) != codes.numpy()),
        noise,
        verdict_of(distrust, p_value, accuracy, doubts, facts),
        accuracy,
        {name: shares.numpy() for name, shares in evidence.items()},
        fitted.embeddings.numpy(),
        consensus,
    )


def _label_free(model: NodeClassifier, attributes: dict[str, Embeddings], codes: Codes) -> list[Embeddings]:
    """Return rows of all nodes that saw no label: attributes, and embeddings of a label-free stage."""
    kind = "own" if is_heterophilous(model.data_.graph, codes) else "smooth"
    spaces = [attributes[kind]] if attributes else []
    return spaces if model.fitted_.relearn is None else [*spaces, model.fitted_.embeddings]


def _labels_of(model: NodeClassifier, consensus: Consensus | None) -> tuple[Codes, Labels]:
    """Return the observed class of every node in the model's classes, and what is known of those that have one.

    Of annotators it is the majority vote.
    """
    data, observed = model.data_, model.observed_
    known, codes, place = observed.codes != UNKNOWN, observed.codes.clone(), _places(model)
    if consensus is not None:
        votes = place[data.codes]
        codes = torch.where(known & (votes != UNKNOWN), votes, codes)
    settled = known & data.verified
    codes[settled] = observed.codes[settled]
    noisy = torch.where(settled, place[data.before], codes)
    certain = torch.where(settled, codes, torch.full_like(codes, UNKNOWN))
    answers = None
    if consensus is not None:
        answers = consensus.likelihood[:, _find(model.classes_, data.classes)][known.numpy()]
    return codes, Labels(noisy[known].numpy(), certain[known].numpy(), answers)


def _hide_answers(model: NodeClassifier, nodes: Mask) -> Observed:
    """Return the consensus of the answers on all other nodes: theirs rests on these, too."""
    data, seen = model.data_, model.observed_.without(nodes)
    answers = None if data.annotations is None else data.annotations.within(~nodes)
    found = find_consensus(replace(data, annotations=answers, verified=data.verified & ~nodes), seed=model.seed)
    codes = _places(model)[found.codes].masked_fill(seen.codes == UNKNOWN, UNKNOWN)
    weights = None if seen.weights is None else torch.from_numpy(found.weights).float()
    taught = codes != UNKNOWN
    return replace(seen, codes=codes, train=seen.train & taught, validation=seen.validation & taught, weights=weights)


def _places(model: NodeClassifier) -> Codes:
    """Return the model's code of every class of the data, and -1 for -1 [classes + 1]."""
    return torch.from_numpy(np.append(_find(model.data_.classes, model.classes_), UNKNOWN))


def _find(values: AnyArray, among: AnyArray) -> IntArray:
    """Return the position of each value, -1 where it is not there [values]."""
    return np.asarray(pd.Index(among).get_indexer(pd.Index(values)), dtype=np.int64)


def _judge(probabilities: FloatArray, labels: Labels, matrix: FloatArray | None) -> FloatArray:
    """Return the posterior of labelled nodes; without a matrix, half label and half prediction [nodes, classes]."""
    if matrix is not None:
        return label_posterior(probabilities, labels.likelihood(matrix))
    right = np.eye(probabilities.shape[1])[labels.today]
    return np.where(labels.certain[:, None] == UNKNOWN, (right + probabilities) / 2, right)


def _lost_classes(classes: AnyArray, given: IntArray, probabilities: FloatArray) -> list[str]:
    """Return a doubt about each class that hardly any labelled node is predicted as."""
    predicted = np.bincount(probabilities.argmax(axis=1), minlength=len(classes))
    labelled = np.bincount(given, minlength=len(classes))
    lost = (labelled >= _FEW) & (predicted < _LOST * labelled)
    return [
        f"Hardly any node is predicted as '{classes[code]}', which {labelled[code]} labels say."
        for code in np.flatnonzero(lost)
    ]


def _facts(probabilities: FloatArray, given: IntArray, noise: Noise, accuracy: Estimate, *, known: bool) -> list[str]:
    """Return the numbers in words; where they are not known, how well labels are predicted alone."""
    frequency = np.bincount(given, minlength=probabilities.shape[1]) / len(given)
    predicted = probabilities.argmax(axis=1)
    chance = frequency @ np.bincount(predicted, minlength=len(frequency)) / len(given)
    hits = (predicted == given).mean()
    words = [f"Out of fold, {hits:.0%} of {len(given):,} labels are predicted; by chance {chance:.0%} would be."]
    if known:
        about = "At least" if noise.at_least else "About"
        words.append(f"{about} {noise.rate:.0%} of the labels are wrong ({noise.low:.0%} to {noise.high:.0%}).")
        share = f"{accuracy.value:.0%} of the predictions for nodes without a label are right"
        words.append(f"About {share} ({accuracy.low:.0%} to {accuracy.high:.0%}).")
    return words
