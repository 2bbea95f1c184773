"""Jo-SRC on MERIT: labels that the predictions do not contradict, and views that must agree."""

import copy
import math
from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.methods.base import Observed
from quietgraph.methods.merit.labelled import LabelledSiamese, LabelledTrainer
from quietgraph.methods.merit.siamese import Siamese, move_towards
from quietgraph.methods.probe import fit_probe
from quietgraph.params import param
from quietgraph.types import Labels, Mask, Scalar

_SOFTENING = 10  # of the teacher where the views disagree


class _Trainer(LabelledTrainer):
    method: "JoSRC"

    def __init__(self, method: "JoSRC", siamese: Siamese, observed: Observed) -> None:
        super().__init__(method, siamese, observed)
        usual = 0.3 if observed.num_classes >= 5 else 0.1
        smoothing = usual if method.smoothing is None else method.smoothing
        self.smooth = smooth_labels(observed.codes.clamp_min(0), observed.num_classes, smoothing)  # of labelled nodes
        with torch.no_grad():
            embeddings = siamese.network.encoder(siamese.graph)
        # An undecided head would doubt every label.
        self.head.become(fit_probe("inductive", embeddings, siamese.graph, observed, seed=method.seed))
        self.slow_head = copy.deepcopy(self.head).requires_grad_(False)

    def losses(self, epoch: int) -> dict[str, Tensor]:
        method, nodes, passed_time = self.method, self.draw_labelled(), epoch / self.method.epochs
        passed = self.siamese.forward(self.siamese.draw_nodes(nodes))
        observed, views = self.smooth[nodes], [self.head(each).log_softmax(dim=1) for each in passed.embeddings]
        first, second = (each[: len(nodes)] for each in views)
        with torch.no_grad():
            clean = agreement((first.exp() + second.exp()) / 2, observed) >= self._threshold(passed_time)
            clean |= self.certain[nodes]
        weight = method.label_weight
        if passed_time < method.correction_delay:
            costs = label_cost(first, observed, clean) + label_cost(second, observed, clean)
            values = {"views": passed.loss(method.cross_view), "labels": weight * costs}
        else:
            agree = first.argmax(dim=1) == second.argmax(dim=1)
            with torch.no_grad():
                taught = [self.slow_head(each[: len(nodes)]).softmax(dim=1) for each in passed.target_embeddings]
            targets = choose_targets(observed, (taught[0] + taught[1]) / 2, clean, agree)
            kept = torch.cat([clean, clean.new_ones(len(views[0]) - len(nodes))])  # all but labels taken for wrong
            kept = kept if int(kept.sum()) > 1 else torch.ones_like(kept)
            costs = label_cost(first, targets) + label_cost(second, targets)
            values = {
                "views": passed.loss(method.cross_view, kept),
                "labels": weight * (1 - method.consistency) * costs,
                "consistency": weight * method.consistency * symmetric_divergence(views[0], views[1]),
            }
        return {"loss": torch.stack([*values.values()]).sum(), **values}

    def after_step(self) -> None:
        super().after_step()
        move_towards(self.slow_head, self.head, self.method.momentum)

    @torch.no_grad()
    def trusted(self) -> Mask:
        predicted = self.scores(self.labelled).softmax(dim=1)
        clean = agreement(predicted, self.smooth[self.labelled]) >= self.method.last_threshold
        clean |= self.certain[self.labelled]
        trusted = torch.zeros_like(self.observed.train)
        trusted[self.labelled[clean]] = True
        return trusted if clean.any() else self.observed.train

    def _threshold(self, passed: float) -> float:
        """Return the agreement a label needs: it rises from 0 until correction begins, then towards its last value."""
        method, delay = self.method, self.method.correction_delay
        if passed < delay:
            return method.threshold * passed / delay
        return method.threshold + (method.last_threshold - method.threshold) * (passed - delay) / (1 - delay)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class JoSRC(LabelledSiamese):
    """Clean labels by Jensen-Shannon divergence on MERIT's networks (Jo-SRC, Yao et al., CVPR 2021).

    The method is one for images; its port to graphs is our reading: MERIT's 300 epochs without labels, then MERIT's
    loss without labelled nodes taken for wrong, and 0.03 times the selection and the consistency of Jo-SRC. All nodes
    of a step must be predicted alike in both views, and the head starts as a logistic regression. The term for classes
    outside the known ones is left out: label noise has none.
    """

    _trainer = _Trainer
    correction_delay: float = param(0.1, "fraction of the epochs with labels before any is corrected", low=0, high=0.9)
    smoothing: float | None = param(
        None, "fraction of a label spread over the other classes (none: 0.3, below five classes 0.1)", low=0, high=0.9
    )
    threshold: float = param(0.6, "agreement a label needs when correction begins (tau)", low=0, high=1)
    last_threshold: float = param(0.85, "agreement it needs in the end", low=0, high=1)
    label_weight: float = param(0.03, "weight of labels and consistency beside the views", low=0)
    consistency: float = param(0.5, "weight of agreeing views against labels", low=0, high=1)


def smooth_labels(labels: Labels, num_classes: int, smoothing: float) -> Tensor:
    """Return 1 - smoothing at the label and an equal fraction elsewhere [labelled, classes]."""
    one_hot = F.one_hot(labels, num_classes).float()
    return one_hot * (1 - smoothing) + (1 - one_hot) * (smoothing / (num_classes - 1))


def agreement(probabilities: Tensor, observed: Tensor) -> Tensor:
    """Return 1 - Jensen-Shannon divergence with logarithms to base 2, in 0 ... 1 [rows]."""
    middle = (probabilities + observed) / 2
    split = [torch.xlogy(each, each) - torch.xlogy(each, middle) for each in (probabilities, observed)]
    return 1 - (split[0] + split[1]).sum(dim=1) / (2 * math.log(2))


def choose_targets(observed: Tensor, taught: Tensor, clean: Mask, agree: Mask) -> Tensor:
    """Return observed labels where clean, else the teacher's, nearly uniform on disagreement [labelled, classes]."""
    replaced = torch.where(agree[:, None], taught, (taught / _SOFTENING).softmax(dim=1))
    return torch.where(clean[:, None], observed, replaced)


def label_cost(log_probabilities: Tensor, targets: Tensor, where: Mask | None = None) -> Scalar:
    """Return the mean cross-entropy with soft targets over some rows; 0 where there are none."""
    costs = -(targets * log_probabilities).sum(dim=1)
    return costs.mean() if where is None else (costs * where).sum() / where.sum().clamp_min(1)


def symmetric_divergence(first: Tensor, second: Tensor) -> Scalar:
    """Return the mean of KL(p | q) + KL(q | p) from logarithms of probabilities."""
    return ((first.exp() - second.exp()) * (first - second)).sum(dim=1).mean()
