"""UnionNET: labels weighed and corrected by what similar nodes nearby are taken for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR
from quietgraph.methods.base.neighbour_votes import known_or_predicted, neighbour_votes
from quietgraph.methods.base.task import Task
from quietgraph.methods.gcn.backbone import LONG_ROWS, GCNBackbone, Network
from quietgraph.methods.gcn.random_walks import walk_supports
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Scores

_FLOOR = 1e-8  # of a mean probability, before its logarithm
_AMAZON = {"learning_rate": 5e-3, "weight_decay": 5e-3, "patience": 50}


@final
@dataclass(kw_only=True, eq=False)
class UnionNET(GCNBackbone):
    """Graph convolutions on labels that supports weigh and correct (Li, Yin and Chen, 2021).

    The losses are the paper's; walks, warm-up and unit-length embeddings are our reading.
    """

    citation: ClassVar[str] = (
        "Li, Yin and Chen: Unified robust training for graph neural networks against "
        "label noise. PAKDD 2021."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16}
    cora_seconds: ClassVar[float] = 10
    presets: ClassVar[Presets] = {
        "amazon-computers": _AMAZON,
        "amazon-photo": _AMAZON,
        **dict.fromkeys(("blogcatalog", "flickr"), LONG_ROWS),
    }

    support: int = param(10, "nodes that vote on a label (k)", low=1)
    walks: int = param(20, "random walks from every labelled node", low=1)
    walk_length: int = param(10, "steps of a walk", low=1)
    observed_weight: float = param(
        0.5,
        "weight of observed against corrected labels (alpha)",
        low=0,
        high=1,
        old_name="given_share",
    )
    prior_weight: float = param(1.0, "weight of the class frequencies (beta)", low=0)
    warm_up: int = param(50, "epochs of plain cross entropy", low=0)

    def _losses(self, task: Task, network: Network) -> Callable[[int], dict[str, Tensor]]:
        targets = task.labels[task.train]
        supports = walk_supports(
            task.graph.adjacency,
            task.train.nonzero().squeeze(1),
            walks=self.walks,
            length=self.walk_length,
            size=self.support,
            generator=torch_generator(task.seed, "walks"),
        )
        prior = F.one_hot(targets, task.num_classes).float().mean(dim=0)

        def losses(epoch: int) -> dict[str, Tensor]:
            scores = network.scores()[task.train].log_softmax(dim=1)
            if epoch < self.warm_up:
                return {"loss": F.nll_loss(scores, targets)}
            hidden, now = network.evaluate()
            classes = known_or_predicted(task.train_labels, now)
            votes = support_votes(supports, hidden, task.train, classes)
            # Without supporters, and where a person has verified it, the label itself votes.
            voted = (votes.sum(dim=1) > 0) & ~task.is_verified(task.train)
            votes = torch.where(voted[:, None], votes, classes[task.train])
            return self._corrected_losses(scores, targets, votes, prior)

        return losses

    def _corrected_losses(
        self, scores: Scores, targets: Labels, votes: Tensor, prior: Tensor
    ) -> dict[str, Tensor]:
        """Return the losses of log-probabilities under the votes on their labels."""
        observed = weighted_cost(scores, targets, votes)
        corrected = weighted_cost(scores, votes.argmax(dim=1), votes)
        kept = self.observed_weight * observed + (1 - self.observed_weight) * corrected
        balance = F.kl_div(scores.exp().mean(dim=0).clamp_min(_FLOOR).log(), prior, reduction="sum")
        loss = kept + self.prior_weight * balance
        return {"loss": loss, "observed": observed, "corrected": corrected, "prior": balance}


def support_votes(supports: CSR, hidden: Embeddings, voted: Tensor, classes: Tensor) -> Tensor:
    """Return what each node's support takes it for [voted, classes]; zeros where it has none.

    Supporters weigh softmax_j(cos(h_i, h_j)) over the support of i.

    Args:
        supports: Row i names the supporters of the i-th voted node [voted, nodes].
        hidden: One embedding per node; no gradient is needed [nodes, dim].
        voted: Which nodes are voted on [nodes] bool.
        classes: One-hot class of each node [nodes, classes].
    """
    # Unit length: raw products grow with the width, saturate the softmax and let one node decide.
    unit = F.normalize(hidden, dim=1)
    similarity = (unit[voted][supports.rows] * unit[supports.columns.long()]).sum(dim=1).exp()
    total = torch.zeros(supports.shape[0], device=similarity.device)
    total.index_add_(0, supports.rows, similarity)
    return neighbour_votes(supports.with_values(similarity / total[supports.rows]), classes)


def weighted_cost(scores: Scores, labels: Labels, votes: Tensor) -> Tensor:
    """Return the mean cross entropy of log-probabilities, each label weighing its votes."""
    weight = votes.gather(1, labels[:, None]).squeeze(1)
    return (weight * F.nll_loss(scores, labels, reduction="none")).mean()
