"""The posterior of the true class of labelled nodes: out-of-fold probabilities, labels and noise matrix together.

Label y of a node of true class c is drawn from row c of the noise matrix T. Out-of-fold probabilities p do not know the
label, so P(c | y) is proportional to p_c T[c, y]. T and the sharpness of p maximise the likelihood of the labels.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from quietgraph.annotators.consensus import dirichlet_evidence, symmetric
from quietgraph.types import UNKNOWN, FloatArray, IntArray

_KAPPAS = np.array([5.0, 10.0, 20.0, 40.0, 80.0, 200.0, 1000.0])
_ERROR = 0.03  # share of nodes about which no confidence is believed
_ANCHORS = 4  # power of the largest probability by which a label counts for T
_PRIOR = -0.3, 10.0  # mean and precision of the logarithm of the temperature
_BOUND = 3.0  # of this logarithm
_STEPS, _MOVES = 30, 5  # of the two in turn, and of T between them
_RICHARDSON = 10  # few: each step removes more of the noise and magnifies more of the errors
_MARGIN = 0.012  # by which uncorrected probabilities must explain a label better, in nats
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Labels:
    """Observed labels of some nodes."""

    codes: IntArray  # observed class, before anybody verified it; -1 where there was none [nodes]
    certain: IntArray  # true class of verified labels, -1 of the others [nodes]
    answers: FloatArray | None = None  # P(answers of annotators | true class), NaN for a lone label [nodes, classes]

    @property
    def today(self) -> IntArray:
        """Observed classes, verified ones included [nodes]."""
        return np.where(self.certain == UNKNOWN, self.codes, self.certain)

    def likelihood(self, matrix: FloatArray) -> FloatArray:
        """Return the probability of what is known of each node's label, by its true class [nodes, classes]."""
        found = np.where(self.codes[:, None] == UNKNOWN, 1.0, matrix[:, self.codes].T)
        if self.answers is not None:
            found = np.where(np.isnan(self.answers), found, self.answers)
        return np.where(self.certain[:, None] == UNKNOWN, found, np.eye(len(matrix))[self.certain])


@dataclass(frozen=True, eq=False)
class LabelModel:
    """How scores become probabilities of true classes, and true classes labels."""

    matrix: FloatArray  # T, P(label | true class) [classes, classes]
    temperature: float = 1.0  # by which log probabilities of true classes are divided
    scale: float = 1.0  # by which scores are divided to be log probabilities of labels
    correction: FloatArray | None = None  # noise matrix that is first taken out of these; None: the method has done so
    fit: float = -np.inf  # mean log likelihood of a label

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return calibrated probabilities of the true class [nodes, classes]."""
        return sharpen(self.log_probabilities(scores), self.temperature)

    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return log probabilities of the true class before calibration [nodes, classes]."""
        logs = log_softmax(scores / self.scale, axis=1)
        return logs if self.correction is None else np.log(without_noise(np.exp(logs), self.correction) + _LEAST)


def label_posterior(probabilities: FloatArray, likelihood: FloatArray) -> FloatArray:
    """Return Bayes' rule by row: probabilities times likelihood, rows of sum 1 [nodes, classes]."""
    joint = probabilities * likelihood
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def sharpen(logs: FloatArray, temperature: float) -> FloatArray:
    """Return softmax(logs / temperature), mixed with a few percent of the uniform distribution [nodes, classes]."""
    return np.asarray((1 - _ERROR) * softmax(logs / temperature, axis=1) + _ERROR / logs.shape[1])


def without_noise(probabilities: FloatArray, matrix: FloatArray, *, steps: int = _RICHARDSON) -> FloatArray:
    """Return probabilities of true classes from probabilities of labels [nodes, classes].

    Looks for p with p T = probabilities by Richardson-Lucy steps from the uniform distribution, which keep p positive
    with sum 1; stopped early it stays smooth.
    """
    true = np.full_like(probabilities, 1 / len(matrix))
    for _ in range(steps):
        true = true * ((probabilities / np.maximum(true @ matrix, _LEAST)) @ matrix.T)
        true = true / np.maximum(true.sum(axis=1, keepdims=True), _LEAST)
    return true


def fit_label_model(scores: FloatArray, labels: Labels, start: FloatArray, *, corrected: bool) -> LabelModel:
    """Return the model under which the labels are likeliest.

    Scores of a method that fits the labels as they are (not `corrected`) are of labels: the noise is taken out of them
    with the matrix of the start, unless the labels are clearly likelier without.
    """
    if corrected:
        return refine(LabelModel(start), scores, labels)
    plain = fit_scale(scores, labels, len(start))
    freed = refine(replace(plain, matrix=start, correction=start), scores, labels)
    plain = refine(replace(plain, matrix=start), scores, labels)
    return plain if plain.fit > freed.fit + _MARGIN else freed


def fit_scale(scores: FloatArray, labels: Labels, classes: int) -> LabelModel:
    """Return the model without noise: probabilities of labels, of the sharpness that makes the labels likeliest."""
    return LabelModel(np.eye(classes), scale=_best_temperature(scores, np.eye(classes)[labels.today], _BOUND + 3))


def refine(model: LabelModel, scores: FloatArray, labels: Labels) -> LabelModel:
    """Return the model after temperature and T were improved in turn."""
    logs, matrix, temperature = model.log_probabilities(scores), model.matrix, model.temperature
    for _ in range(_STEPS):
        temperature = _best_temperature(logs, labels.likelihood(matrix), _BOUND, *_PRIOR)
        probabilities, before = sharpen(logs, temperature), matrix
        matrix = fit_matrix(probabilities, labels, matrix, steps=_MOVES)
        if np.abs(matrix - before).max() < 1e-3:
            break
    fit = float(np.log((probabilities * labels.likelihood(matrix)).sum(axis=1) + 1e-300).mean())
    return replace(model, matrix=matrix, temperature=temperature, fit=fit)


def fit_matrix(probabilities: FloatArray, labels: Labels, matrix: FloatArray, *, steps: int) -> FloatArray:
    """Return T after steps of EM: expected counts under the posterior, drawn to the symmetric matrix of their rate.

    How far is decided by the Dirichlet-multinomial evidence of the counts. Nodes whose class is plain count most, since
    errors of the probabilities would look like errors of labels.
    """
    noisy, classes = labels.codes != UNKNOWN, len(matrix)
    label_of = np.eye(classes)[labels.codes[noisy]]
    weight = probabilities.max(axis=1) ** _ANCHORS
    weight[labels.certain != UNKNOWN] = 1.0
    weight = weight[noisy] * (noisy.sum() / weight[noisy].sum())
    for _ in range(steps):
        posterior = label_posterior(probabilities, labels.likelihood(matrix))[noisy]
        counts = (weight[:, None] * posterior).T @ label_of
        rate = 1 - np.trace(counts) / counts.sum()
        prior = symmetric(classes, float(np.clip(rate, 0.005, 0.95 * (classes - 1) / classes)))
        matrix = counts + _KAPPAS[int(dirichlet_evidence(counts, _KAPPAS[:, None, None] * prior).argmax())] * prior
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
    return matrix


def _best_temperature(
    logs: FloatArray, likelihood: FloatArray, bound: float, mean: float = 0.0, precision: float = 0.0
) -> float:
    """Return the temperature under which labels are likeliest, with a normal prior on its logarithm."""

    def cost(power: float) -> float:
        said = (sharpen(logs, np.exp(power)) * likelihood).sum(axis=1)
        return float(precision * (power - mean) ** 2 / 2 - np.log(said + 1e-300).sum())

    return float(np.exp(minimize_scalar(cost, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-3}).x))
