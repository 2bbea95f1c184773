"""The weighted ensemble of `quiet`, its class-prior adjustment and its label correction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from scipy.stats import binomtest
from torch import Tensor

from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.diagnose import NoiseEstimate, estimate_noise
from quietgraph.errors import UnreadableFileError
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.candidates import (
    Candidate,
    Layer,
    Pool,
    own_logistics,
    stacked_scores,
)
from quietgraph.methods.quiet.evaluation import Evaluation
from quietgraph.methods.quiet.features import KINDS
from quietgraph.types import UNKNOWN, Labels, Scores

_LEAST_WEIGHT: Final = 0.01  # of a candidate, beside the best one's 1
_SIGNIFICANCE: Final = 0.1  # of the test whether errors follow attributes


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Classifiers, the weight of each, and what is added to the score of each class.

    Attributes:
        members: Scaled so that the mean margin of each is 1.
        weights: Of the members' probabilities; they sum to 1 [members].
        class_adjustment: Added to the logarithm of the mean probabilities [classes].
    """

    members: tuple[Candidate, ...]
    weights: Tensor
    class_adjustment: Tensor

    def scores(self, features: Mapping[str, Tensor]) -> Scores:
        """Return the logarithm of the members' mean probabilities, adjusted [nodes, classes]."""
        pool = {str(number): each for number, each in enumerate(self.members)}
        weights = self.weights.to(self.class_adjustment)
        total: Tensor | float = 0.0
        for names, scores in stacked_scores(pool, features):
            counted = weights[[int(name) for name in names]]
            total = total + torch.tensordot(counted, scores.softmax(dim=1), dims=1)
        mean = torch.as_tensor(total).T.contiguous()
        return mean.clamp_min(1e-12).log() + self.class_adjustment

    def to_tensors(self) -> dict[str, Tensor]:
        """Return the ensemble as tensors, for saving."""
        members = self.members
        hidden = {n: each.hidden for n, each in enumerate(members) if each.hidden is not None}
        layers = (
            {
                "ensemble.hidden_members": torch.tensor(list(hidden)),
                "ensemble.hidden_weights": torch.stack([each.weight for each in hidden.values()]),
                "ensemble.hidden_biases": torch.stack([each.bias for each in hidden.values()]),
            }
            if hidden
            else {}
        )
        return layers | {
            "ensemble.kinds": torch.tensor([KINDS.index(each.kind) for each in members]),
            "ensemble.dims": torch.tensor([len(each.weight) for each in members]),
            "ensemble.coefficients": torch.cat([each.weight for each in members]),
            "ensemble.biases": torch.stack([each.bias for each in members]),
            "ensemble.weights": self.weights,
            "ensemble.class_adjustment": self.class_adjustment,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Ensemble":
        """Return the ensemble that `to_tensors` wrote; other tensors are ignored."""
        if "ensemble.kinds" not in tensors:
            raise UnreadableFileError(
                "this model of quiet was saved by an earlier version, which stored its ensemble in "
                "another way. Fit it again to predict for new graphs."
            )
        kinds = [KINDS[number] for number in tensors["ensemble.kinds"].tolist()]
        weights = torch.split(tensors["ensemble.coefficients"], tensors["ensemble.dims"].tolist())
        rows = zip(kinds, weights, tensors["ensemble.biases"], strict=True)
        members = [Candidate(*row) for row in rows]
        if "ensemble.hidden_members" in tensors:
            layers = zip(
                tensors["ensemble.hidden_members"].tolist(),
                tensors["ensemble.hidden_weights"],
                tensors["ensemble.hidden_biases"],
                strict=True,
            )
            for number, *layer in layers:
                members[number] = members[number]._replace(hidden=Layer(*layer))
        return cls(
            tuple(members), tensors["ensemble.weights"], tensors["ensemble.class_adjustment"]
        )


def ensemble_weights(
    pool: Pool,
    evaluation: Evaluation,
    *,
    temperature: float,
    family_temperature: float | None = None,
) -> dict[str, float]:
    """Return the weight of each candidate by its accuracy on the (noisy) validation labels.

    Proportional to exp((accuracy - best accuracy) sqrt(validation nodes) / temperature); weights
    below a hundredth of the best are left out.

    Args:
        pool: The candidates.
        evaluation: Of the candidates on the validation nodes.
        temperature: Smaller is sharper.
        family_temperature: None compares all candidates. Otherwise they are compared within their
            family, and families by the accuracy of their mean prediction at this temperature;
            infinity weights families equally.
    """
    accuracies, nodes = evaluation.accuracies(pool), len(evaluation.labels)
    if family_temperature is None:
        return _sorted(_softmax(accuracies, temperature, nodes))
    families: dict[str, dict[str, float]] = {}
    for name, accuracy in accuracies.items():
        families.setdefault(pool[name].family, {})[name] = accuracy
    within = {family: _softmax(members, temperature, nodes) for family, members in families.items()}
    across = dict.fromkeys(within, 1 / len(within))
    if family_temperature < math.inf:
        means = {
            family: ensemble_accuracy(make_ensemble(pool, weights, evaluation), evaluation)
            for family, weights in within.items()
        }
        across = _softmax(means, family_temperature, nodes)
    return _sorted(
        {
            name: across[family] * weight
            for family, weights in within.items()
            if family in across
            for name, weight in weights.items()
        }
    )


def _softmax(accuracies: dict[str, float], temperature: float, nodes: int) -> dict[str, float]:
    best, scale = max(accuracies.values()), max(temperature, 1e-6) / math.sqrt(nodes)
    raw = {name: math.exp((value - best) / scale) for name, value in accuracies.items()}
    kept = {name: weight for name, weight in raw.items() if weight >= _LEAST_WEIGHT}
    total = sum(kept.values())
    return {name: weight / total for name, weight in kept.items()}


def _sorted(weights: dict[str, float]) -> dict[str, float]:
    return dict(sorted(weights.items(), key=lambda item: item[1], reverse=True))


def _predicted(ensemble: "Ensemble", evaluation: Evaluation) -> Labels:
    return ensemble.scores(evaluation.held_out).argmax(dim=1)


def ensemble_accuracy(ensemble: "Ensemble", evaluation: Evaluation) -> float:
    """Return the accuracy of an ensemble on the (noisy) validation labels."""
    return float((_predicted(ensemble, evaluation) == evaluation.labels).float().mean())


def errors_follow_attributes(
    pool: Pool, features: dict[str, Tensor], task: Task, evaluation: Evaluation
) -> bool:
    """Return whether wrong labels look as if they were read off the nodes' own attributes.

    People and language models label a node by what it says, so their errors are predictable from
    its attributes, and validation accuracy favours candidates that repeat them. Among validation
    nodes where the families' mean prediction differs from the observed label, the best classifier
    on own attributes then sides with the label more often than with the prediction; under noise
    that depends on the class alone it sides with the prediction. A one-sided sign test decides.
    """
    weights = ensemble_weights(pool, evaluation, temperature=0.13, family_temperature=math.inf)
    predicted = _predicted(make_ensemble(pool, weights, evaluation), evaluation)
    own = own_logistics(features, task)
    accuracies = evaluation.accuracies(own)
    best = max(accuracies, key=lambda name: accuracies[name])
    by_attributes, labels = evaluation.predicted(own)[best], evaluation.labels
    differs = predicted != labels
    for_label = int((differs & (by_attributes == labels)).sum())
    for_prediction = int((differs & (by_attributes == predicted)).sum())
    if not for_label:
        return False
    test = binomtest(for_label, for_label + for_prediction, alternative="greater")
    return bool(test.pvalue < _SIGNIFICANCE)


def make_ensemble(
    pool: Pool,
    weights: dict[str, float],
    evaluation: Evaluation,
    adjustment: Tensor | None = None,
) -> Ensemble:
    """Return the ensemble of the weighted candidates, their scores on one scale."""
    chosen = {name: pool[name] for name in weights}
    margins = evaluation.margins(chosen)
    members = tuple(
        each._replace(
            weight=(each.weight / margins[name]).contiguous(), bias=each.bias / margins[name]
        )
        for name, each in chosen.items()
    )
    if adjustment is None:
        adjustment = torch.zeros_like(members[0].bias)
    return Ensemble(members, torch.tensor(list(weights.values())), adjustment)


def validation_noise(scores: Scores, task: Task) -> NoiseEstimate:
    """Return the noise estimated on the validation nodes, whose labels trained no candidate."""
    probabilities = scores[task.validation].softmax(dim=1)
    return estimate_noise(probabilities.cpu(), task.noisy_labels(task.validation).cpu())


def correct_labels(scores: Scores, task: Task) -> Labels:
    """Return the labels of a task, each known one replaced by its most probable class [nodes].

    The noise matrix is that of `validation_noise`. Verified labels stay.
    """
    probabilities = scores.softmax(dim=1)
    matrix = validation_noise(scores, task).transition.to(probabilities.device)
    posterior = label_posterior(probabilities, task.labels, matrix)
    corrected = torch.where(task.labels == UNKNOWN, UNKNOWN, posterior.argmax(dim=1))
    return task.keep_verified(corrected)
