"""Siamese networks with a linear head: the training nodes of a step, the score of an epoch."""

from abc import abstractmethod
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.methods.base.supervised import validation_score
from quietgraph.methods.base.task import Task
from quietgraph.methods.merit.neighbourhood import ALL, Nodes
from quietgraph.methods.merit.siamese import Siamese
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Mask, Scores

_LENGTH = 4.0  # of the embeddings that the head sees


class Head(nn.Linear):
    """Class scores, linear in embeddings of one length.

    The length is a compromise: from the tiny embeddings of row-normalised features a head learns
    nothing, and with long ones it memorises all labels before samples are selected.
    """

    def forward(self, embeddings: Embeddings) -> Scores:
        """Return class scores [nodes, classes]."""
        return super().forward(F.normalize(embeddings, dim=1) * _LENGTH)

    @torch.no_grad()
    def become(self, weight: Tensor, bias: Tensor) -> None:
        """Take over a linear classifier of unit embeddings: weight [dim, classes] and bias."""
        self.weight.copy_(weight.T / _LENGTH)
        self.bias.copy_(bias)


class LabelledTrainer(nn.Module):
    """The networks with a linear head, and the training nodes of a step."""

    def __init__(self, siamese: Siamese, task: Task, most_labelled: int) -> None:
        super().__init__()
        self.siamese, self.task, self.most_labelled = siamese, task, most_labelled
        self.network = siamese.network
        self.head = Head(siamese.settings.dim, task.num_classes).to(task.graph.device)
        self.labelled = task.train.nonzero().squeeze(1)
        self.label_draws = torch_generator(task.seed, "labelled nodes")

    @abstractmethod
    def losses(self, epoch: int) -> Mapping[str, Tensor]:
        """Return the named losses of an epoch."""

    @abstractmethod
    def trusted(self) -> Mask:
        """Return the training nodes whose labels the trained networks select [nodes]."""

    def contrast_alone(self) -> dict[str, Tensor]:
        """Return the loss of MERIT, without labels."""
        return {"loss": self.siamese.loss(self.siamese.forward(self.siamese.draw_nodes()))}

    def after_step(self) -> None:
        """Update the target network."""
        self.siamese.follow()

    def scores(self, nodes: Nodes = ALL) -> Scores:
        """Return the head's scores in the unchanged graph [nodes, classes]."""
        scores: Scores = self.head(self.siamese.embed(nodes))
        return scores

    def draw_labelled(self) -> Tensor:
        """Return training nodes for a step: all of them, or a fresh sample where there are many."""
        if len(self.labelled) <= self.most_labelled:
            return self.labelled
        order = torch.randperm(len(self.labelled), generator=self.label_draws)
        return self.labelled[order[: self.most_labelled].to(self.labelled.device)]


class HeldOut:
    """The validation nodes, by which the best epoch is chosen; their views are prepared once."""

    def __init__(self, siamese: Siamese, task: Task) -> None:
        self.nodes = task.validation.nonzero().squeeze(1)
        self.labels = task.labels[self.nodes]
        self.views = siamese.plain.views(self.nodes)

    def scores(self, trainer: LabelledTrainer) -> Scores:
        """Return the head's scores [held out, classes]."""
        scores: Scores = trainer.head(trainer.network.encoder.average(self.views))
        return scores

    def value(self, scores: Scores) -> float:
        """Return the validation score against the observed labels; larger is better."""
        every_row = torch.ones_like(self.nodes, dtype=torch.bool)
        return validation_score(scores, self.labels, every_row)
