"""The attribute branch of GCL-LR-Attention: low-rank attention on smoothed attributes.

The same linear classifier as on the embeddings, on attended features of the leading directions of
the attributes, averaged over neighbours. Its errors differ from those on the embeddings, so that
the mean of both scores is better than either. It is one linear classifier on all features.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import attention_matrix, is_heterophilous
from quietgraph.classify.smoothing import attribute_directions, attributes_of
from quietgraph.embed.scale.partitions import WHOLE_UP_TO
from quietgraph.graph import Graph
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.low_rank.linear_decision import fit_classifier, prior_adjustment

if TYPE_CHECKING:
    from quietgraph.methods.low_rank.gcl_lr_attention import GCLLRAttention

_DIRECTIONS: Final = 256  # of the smoothed attributes, as many as embeddings have columns


@dataclass(frozen=True, eq=False)
class AttributeFeatures:
    """What the branch reads of every node, and what computes it for new graphs."""

    features: Tensor  # [nodes, columns]
    state: dict[str, Tensor]


def has_branch(task: Task) -> bool:
    """Whether attributes can be averaged over neighbours to any use, and at bounded cost."""
    small = task.graph.num_nodes <= WHOLE_UP_TO
    return small and not is_heterophilous(task.graph, task.labels)


def prepare_branch(method: "GCLLRAttention", graph: Graph, seed: int) -> AttributeFeatures:
    """Return the features of all nodes, which depend on no label."""
    smoothed = attributes_of(graph, seed=seed)[1]
    mean, directions = attribute_directions(graph, smoothed, _DIRECTIONS, seed=seed)
    state = {
        "attribute_seed": torch.tensor(seed),
        "attribute_mean": mean,
        "attribute_directions": directions,
    }
    state["attribute_attention"] = attention_matrix(_rows(graph, state))
    return AttributeFeatures(branch_features(method, graph, state), state)


def branch_features(method: "GCLLRAttention", graph: Graph, state: dict[str, Tensor]) -> Tensor:
    """Return attended features of the smoothed attributes [nodes, columns]."""
    return method._features(_rows(graph, state), {"attention": state["attribute_attention"]})


def add_branch(
    method: "GCLLRAttention", learned: Decision, branch: AttributeFeatures, task: Task
) -> Decision:
    """Return the mean of a decision by embeddings and of one by attributes.

    Args:
        method: Whose classifier and class-prior adjustment are used.
        learned: By embeddings, without class-prior adjustment.
        branch: Of `prepare_branch`.
        task: Labels to learn from and to choose by.
    """
    fit = fit_classifier(method, branch.features, task)
    scores = (learned.scores + fit.scores(branch.features)) / 2
    held_out, wanted = scores[task.validation], task.labels[task.validation]
    adjustment = prior_adjustment(method, held_out, task)
    state = {
        **learned.state,
        **branch.state,
        "weight": learned.state["weight"] / 2,
        "attribute_weight": fit.weight / 2,
        "bias": (learned.state["bias"] + fit.bias) / 2 + adjustment,
    }
    notes = {
        **learned.notes,
        f"{method.classifier} on attributes": fit.chosen,
        "validation_accuracy": float((held_out.argmax(dim=1) == wanted).float().mean()),
    }
    return Decision(scores + adjustment, state, notes)


def _rows(graph: Graph, state: dict[str, Tensor]) -> Tensor:
    """Return unit rows of the leading directions of the smoothed attributes [nodes, directions]."""
    seed, mean = int(state["attribute_seed"]), state["attribute_mean"]
    centred = attributes_of(graph, seed=seed, columns=len(mean))[1] - mean
    return F.normalize(centred @ state["attribute_directions"], dim=1)
