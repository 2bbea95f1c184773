"""Jo-SRC on MERIT: labels that the predictions do not contradict, and views that must agree."""

import copy
import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.logistic import fit_logistic
from quietgraph.graph import Graph
from quietgraph.methods.base.contrastive import probe_param
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.merit.backbone import SiameseBackbone
from quietgraph.methods.merit.labelled_siamese import (
    LabelledSiamese,
    most_labelled_param,
    predict_from_param,
    warm_up_param,
)
from quietgraph.methods.merit.labelled_trainer import LabelledTrainer
from quietgraph.methods.merit.siamese import ForwardPass, Siamese, move_towards
from quietgraph.params import Settings, param
from quietgraph.types import Embeddings, Labels, Mask, Probabilities, Scalar, Scores

_SOFTENING = 10  # of the teacher where the views disagree


@final
@dataclass(kw_only=True, eq=False)
class JoSRC(SiameseBackbone):
    """Clean labels by Jensen-Shannon divergence on MERIT's networks (Jo-SRC, Yao et al., 2021).

    The method is one for images; its port to graphs is our reading: MERIT with the selection and
    the consistency of Jo-SRC, and without labelled nodes taken for wrong in the contrast. Unlike
    the original, all nodes of a step must be predicted alike in both views, and the head starts
    as a logistic regression. The term for classes outside the known ones is left out: label
    noise has none.
    """

    citation: ClassVar[str] = (
        "Yao et al.: Jo-SRC: A contrastive approach for combating noisy labels. CVPR 2021."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 165

    warm_up: int = warm_up_param()
    most_labelled: int = most_labelled_param()
    classifier: str = probe_param()
    predict_from: str = predict_from_param()

    correction_delay: float = param(
        0.1,
        "fraction of the epochs with labels before any is corrected",
        low=0,
        high=0.9,
        old_name="settling",
    )
    smoothing: float | None = param(
        None,
        "fraction of a label spread over the other classes (none: 0.3, below five classes 0.1)",
        low=0,
        high=0.9,
    )
    threshold: float = param(
        0.6, "agreement a label needs when correction begins (tau)", low=0, high=1
    )
    last_threshold: float = param(0.85, "agreement it needs in the end", low=0, high=1)
    label_weight: float = param(0.03, "weight of labels and consistency beside the views", low=0)
    consistency: float = param(0.5, "weight of agreeing views against labels", low=0, high=1)

    def first_stage_parameters(self) -> Settings:
        """Return the parameters on which the epochs without labels depend, but for the seed."""
        return self._training().first_stage_parameters()

    def _fit(self, task: Task) -> Fitted:
        return self._training().fit(task)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        return self._training().apply(graph, state)

    def _training(self) -> LabelledSiamese:
        trainer = partial(_Trainer, settings=self)
        return LabelledSiamese(self, self.warm_up, self.classifier, self.predict_from, trainer)


class _Trainer(LabelledTrainer):
    def __init__(self, siamese: Siamese, task: Task, settings: JoSRC) -> None:
        super().__init__(siamese, task, settings.most_labelled)
        self.settings = settings
        self.slow_head = copy.deepcopy(self.head).requires_grad_(False)
        usual = 0.3 if task.num_classes >= 5 else 0.1
        self.smoothing = usual if settings.smoothing is None else settings.smoothing

    def losses(self, epoch: int) -> dict[str, Tensor]:
        if epoch < self.settings.warm_up:
            return self.contrast_alone()
        if epoch == self.settings.warm_up:
            self._start_head()
        nodes = self.draw_labelled()
        passed = self.siamese.forward(self.siamese.draw_nodes(nodes))
        observed = smooth_labels(self.task.labels[nodes], self.task.num_classes, self.smoothing)
        views = [self.head(each).log_softmax(dim=1) for each in passed.embeddings]
        first, second = (each[: len(nodes)] for each in views)
        with torch.no_grad():
            clean = agreement((first.exp() + second.exp()) / 2, observed) >= self._threshold(epoch)
            clean |= self.task.is_verified(nodes)
        weight, consistency = self.settings.label_weight, self.settings.consistency
        if self._passed(epoch) < self.settings.correction_delay:
            contrast = self.siamese.loss(passed)
            labels = label_cost(first, observed, clean) + label_cost(second, observed, clean)
            return {"loss": contrast + weight * labels, "views": contrast, "labels": labels}
        agree = first.argmax(dim=1) == second.argmax(dim=1)
        targets = choose_targets(observed, self._teach(passed, len(nodes)), clean, agree)
        values = {
            "views": self.siamese.loss(passed, kept=_contrasted(clean, len(passed.embeddings[0]))),
            "labels": label_cost(first, targets) + label_cost(second, targets),
            "consistency": symmetric_divergence(views[0], views[1]),
        }
        labels = (1 - consistency) * values["labels"] + consistency * values["consistency"]
        return {"loss": values["views"] + weight * labels, **values}

    def after_step(self) -> None:
        super().after_step()
        move_towards(self.slow_head, self.head, self.settings.momentum)

    def trusted(self) -> Mask:
        observed = smooth_labels(
            self.task.labels[self.labelled], self.task.num_classes, self.smoothing
        )
        probabilities = self.scores(self.labelled).softmax(dim=1)
        clean = agreement(probabilities, observed) >= self.settings.last_threshold
        clean |= self.task.is_verified(self.labelled)
        trusted = torch.zeros_like(self.task.train)
        trusted[self.labelled[clean]] = True
        return trusted if clean.any() else self.task.train

    def _start_head(self) -> None:
        """Start from a logistic regression: an undecided head would doubt every label."""
        labelled, held_out = self.draw_labelled(), self.task.validation.nonzero().squeeze(1)
        nodes = torch.cat([labelled, held_out])
        inside = torch.arange(len(nodes), device=nodes.device) < len(labelled)
        with torch.no_grad():
            unit = F.normalize(self.siamese.embed(nodes), dim=1)
        fit = fit_logistic(
            unit,
            self.task.labels[nodes],
            train=inside,
            validation=~inside,
            num_classes=self.task.num_classes,
        )
        for head in (self.head, self.slow_head):
            head.become(fit.weight, fit.bias)

    def _passed(self, epoch: int) -> float:
        """Return the fraction of the epochs with labels that has passed."""
        settings = self.settings
        return (epoch - settings.warm_up) / max(1, settings.epochs - settings.warm_up)

    def _threshold(self, epoch: int) -> float:
        """Rises from 0 until correction begins, then towards its last value."""
        settings, passed = self.settings, self._passed(epoch)
        delay = settings.correction_delay
        if passed < delay:
            return settings.threshold * passed / delay
        rise = settings.last_threshold - settings.threshold
        return settings.threshold + rise * (passed - delay) / (1 - delay)

    def _teach(self, passed: ForwardPass, count: int) -> Probabilities:
        """Return what the target network and the slow head predict, over both views."""
        with torch.no_grad():
            views = [self.slow_head(each[:count]) for each in passed.target_embeddings]
            taught: Probabilities = (views[0].softmax(dim=1) + views[1].softmax(dim=1)) / 2
        return taught


def smooth_labels(labels: Labels, num_classes: int, smoothing: float) -> Probabilities:
    """Return 1 - smoothing at the label and an equal fraction elsewhere [labelled, classes]."""
    one_hot = F.one_hot(labels, num_classes).float()
    return one_hot * (1 - smoothing) + (1 - one_hot) * (smoothing / (num_classes - 1))


def agreement(probabilities: Probabilities, observed: Probabilities) -> Tensor:
    """Return 1 - Jensen-Shannon divergence with logarithms to base 2, in 0 ... 1 [rows]."""
    middle = (probabilities + observed) / 2
    split = [
        torch.xlogy(each, each) - torch.xlogy(each, middle) for each in (probabilities, observed)
    ]
    return 1 - (split[0] + split[1]).sum(dim=1) / (2 * math.log(2))


def choose_targets(
    observed: Probabilities, taught: Probabilities, clean: Mask, agree: Mask
) -> Probabilities:
    """Return observed labels where clean, else the teacher's, nearly uniform on disagreement."""
    softened = (taught / _SOFTENING).softmax(dim=1)
    replaced = torch.where(agree[:, None], taught, softened)
    return torch.where(clean[:, None], observed, replaced)


def label_cost(
    log_probabilities: Tensor, targets: Probabilities, where: Mask | None = None
) -> Scalar:
    """Return the mean cross-entropy with soft targets over some rows; 0 where there are none."""
    costs = -(targets * log_probabilities).sum(dim=1)
    if where is None:
        return costs.mean()
    return (costs * where).sum() / where.sum().clamp_min(1)


def symmetric_divergence(first: Tensor, second: Tensor) -> Scalar:
    """Return the mean of KL(p | q) + KL(q | p) from logarithms of probabilities."""
    return ((first.exp() - second.exp()) * (first - second)).sum(dim=1).mean()


def _contrasted(clean: Mask, count: int) -> Mask:
    """Return the rows of a step that are contrasted: all but labelled ones taken for wrong."""
    kept = torch.ones(count, dtype=torch.bool, device=clean.device)
    kept[: len(clean)] = clean
    return kept if int(kept.sum()) > 1 else torch.ones_like(kept)
