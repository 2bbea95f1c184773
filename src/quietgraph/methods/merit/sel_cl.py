"""Sel-CL on MERIT: labels that their neighbours confirm choose the pairs to draw together."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import Graph
from quietgraph.methods.base.contrastive import probe_param
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.merit.backbone import SiameseBackbone
from quietgraph.methods.merit.confident_pairs import Confident, confident_pairs, pair_contrast
from quietgraph.methods.merit.labelled_siamese import (
    LabelledSiamese,
    most_labelled_param,
    predict_from_param,
    warm_up_param,
)
from quietgraph.methods.merit.labelled_trainer import LabelledTrainer
from quietgraph.methods.merit.siamese import ForwardPass, Pair, Siamese
from quietgraph.params import Settings, param
from quietgraph.types import Embeddings, Mask, Scalar, Scores

_NOTHING = Confident(torch.zeros(0, dtype=torch.bool), torch.zeros(0, 0, dtype=torch.bool))


@final
@dataclass(kw_only=True, eq=False)
class SelCL(SiameseBackbone):
    """Selective supervised contrast on MERIT's networks (Sel-CL, Li et al., 2022).

    The method is one for images; its port to graphs is our reading of what the paper's authors
    say they compared with: MERIT, with the confident pairs of Sel-CL among the labelled nodes.
    """

    citation: ClassVar[str] = (
        "Li et al.: Selective-supervised contrastive learning with noisy labels. CVPR 2022."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 100

    warm_up: int = warm_up_param()
    most_labelled: int = most_labelled_param()
    classifier: str = probe_param()
    predict_from: str = predict_from_param()

    neighbours: int = param(10, "labelled neighbours that vote on a label (k)", low=1)
    confident_quantile: float = param(
        0.5,
        "quantile of the classes' confirmed labels that is the quota (alpha)",
        low=0,
        high=1,
        old_name="confident_share",
    )
    pair_quantile: float = param(
        0.25,
        "quantile of confident similarities that admits a pair (beta)",
        low=0,
        high=1,
        old_name="pair_share",
    )
    pair_temperature: float = param(0.5, "temperature of the contrast of pairs", low=1e-3)
    pair_weight: float = param(1.0, "weight of the contrast of pairs", low=0)
    label_weight: float = param(1.0, "weight of confident labels (lambda_c)", low=0)
    similarity_weight: float = param(0.01, "weight of the pairs' classes (lambda_s)", low=0)
    refresh: int = param(5, "epochs between two selections", low=1)

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
    def __init__(self, siamese: Siamese, task: Task, settings: SelCL) -> None:
        super().__init__(siamese, task, settings.most_labelled)
        self.settings = settings
        self.nodes, self.chosen = self.labelled, _NOTHING  # of the latest selection

    def losses(self, epoch: int) -> dict[str, Tensor]:
        siamese, settings = self.siamese, self.settings
        if epoch < settings.warm_up:
            return self.contrast_alone()
        if (epoch - settings.warm_up) % settings.refresh == 0:
            self.nodes = self.draw_labelled()
            self.chosen = self._select(self.nodes)
        passed = siamese.forward(siamese.draw_nodes(self.nodes))
        values = {"views": siamese.loss(passed), **self._label_losses(passed, self.chosen)}
        values["loss"] = (
            values["views"]
            + settings.pair_weight * values["pairs"]
            + settings.label_weight * values["labels"]
            + settings.similarity_weight * values["similarity"]
        )
        return values

    def trusted(self) -> Mask:
        trusted = torch.zeros_like(self.task.train)
        for nodes in torch.split(self.labelled, self.most_labelled):
            trusted[nodes[self._select(nodes).nodes]] = True
        return trusted

    def _select(self, nodes: Tensor) -> Confident:
        settings = self.settings
        with torch.no_grad():
            unit = F.normalize(self.siamese.embed(nodes), dim=1)
        return confident_pairs(
            unit,
            self.task.labels[nodes],
            certain=self.task.is_verified(nodes),
            neighbours=settings.neighbours,
            confident_quantile=settings.confident_quantile,
            pair_quantile=settings.pair_quantile,
        )

    def _label_losses(self, passed: ForwardPass, chosen: Confident) -> dict[str, Tensor]:
        count, labels = len(self.nodes), self.task.labels[self.nodes]
        first, second = (each[:count] for each in passed.predictions)
        scores = [self.head(each[:count]) for each in passed.embeddings]
        confident = [F.cross_entropy(each[chosen.nodes], labels[chosen.nodes]) for each in scores]
        probabilities = (scores[0].softmax(dim=1), scores[1].softmax(dim=1))
        temperature = self.settings.pair_temperature
        return {
            "pairs": pair_contrast(first, second, chosen.pairs, temperature=temperature),
            "labels": (confident[0] + confident[1]) / 2,
            "similarity": similarity_cost(probabilities, chosen.pairs),
        }


def similarity_cost(probabilities: Pair, pairs: Tensor) -> Scalar:
    """Cost of pairs that are selected but not of one class, or the reverse, across views.

    Mean over i != j of -s log(p_i . q_j) - (1 - s) log(1 - p_i . q_j), s = selected or not.
    """
    alike = (probabilities[0] @ probabilities[1].T).clamp(1e-6, 1 - 1e-6)
    others = ~torch.eye(len(alike), dtype=torch.bool, device=alike.device)
    return F.binary_cross_entropy(alike[others], pairs[others].to(alike))
