"""The kinds of features that candidates of `quiet` read, from embeddings and attributes."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import attention_matrix, centre_rows, cluster_projection
from quietgraph.classify.smoothing import (
    attribute_directions,
    attributes_of,
    leading_directions,
)
from quietgraph.embed.scale.distributed import work_alone
from quietgraph.embed.scale.node_sample import MOST_NODES, sample_nodes
from quietgraph.graph import Graph
from quietgraph.methods.low_rank.classifier_rows import classifier_rows, mean_row
from quietgraph.methods.low_rank.large_features import in_blocks
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

# Saved models name a kind by its position: add new ones at the end.
KINDS: Final = (
    "own",
    "attributes",
    "wide",
    "both",
    "clusters",
    "joint clusters",
    "attribute clusters",
    "projected",
    "propagated",
    "neighbours",
    "hops",
)
_MEAN: Final = "mean"  # of the embeddings, in a state
_ATTRIBUTES: Final = 256  # directions of the smoothed attributes that are kept
_CLUSTER_RANK: Final = 50  # directions in which clusters are searched
_SMOOTHING: Final = 10  # propagations of the embeddings
_WHOLE_UP_TO: Final = MOST_NODES  # nodes whose features are all held, some 7 KB a node


def prepare_features(
    embeddings: Embeddings | None, graph: Graph, seed: int
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the statistics that features are made with, and the rows of `base_rows`, by name.

    Statistics of a large graph are those of a sample of its nodes. Without embeddings there are
    features of the attributes alone.
    """
    nodes = sample_nodes(graph.num_nodes, seed, device=graph.device)
    own, smoothed = attributes_of(graph, seed=seed)
    mean, directions = attribute_directions(graph, smoothed, _ATTRIBUTES, seed=seed)
    some = own[nodes]
    own_mean, draws = some.mean(dim=0), torch_generator(seed, "own attribute directions")
    state = {
        "seed": torch.tensor(seed),
        "own_mean": own_mean,
        "own_directions": leading_directions(some - own_mean, _ATTRIBUTES, generator=draws),
        "attribute_mean": mean,
        "attribute_directions": directions,
    }
    if embeddings is not None:
        state[_MEAN] = mean_row(embeddings, in_blocks=is_large(len(embeddings)))
    rows = _base_rows(embeddings, graph, state, own, smoothed)
    around = rows["attributes"][nodes]
    state["attribute_cluster_projection"] = cluster_projection(around, _CLUSTER_RANK)
    if embeddings is not None:
        smooth = rows["smooth"][nodes]
        state["attention"] = attention_matrix(smooth)
        state["cluster_projection"] = cluster_projection(smooth, _CLUSTER_RANK)
    return state, rows


def uses_embeddings(state: dict[str, Tensor]) -> bool:
    """Whether a state of `prepare_features` was made with embeddings."""
    return _MEAN in state


def base_rows(
    embeddings: Embeddings | None, graph: Graph, state: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the matrices of one row per node that all features are made from, by name.

    `own`: unit rows of the nodes' attributes. `attributes`: smoothed ones along their directions.
    Where the state was made with embeddings, `embeddings`, and `smooth`: these less their mean,
    averaged over neighbourhoods.
    """
    columns = len(state["own_mean"])
    own, smoothed = attributes_of(graph, seed=int(state["seed"]), columns=columns)
    return _base_rows(embeddings, graph, state, own, smoothed)


def _base_rows(
    embeddings: Embeddings | None,
    graph: Graph,
    state: dict[str, Tensor],
    own: Tensor,
    smoothed: Tensor,
) -> dict[str, Tensor]:
    mean, directions = state["attribute_mean"], state["attribute_directions"]
    around = each_row(lambda rows: F.normalize((rows - mean) @ directions, dim=1), smoothed)
    rows = {"own": own, "attributes": around}
    if embeddings is None or not uses_embeddings(state):
        return rows
    smooth = classifier_rows(
        embeddings,
        graph,
        state[_MEAN],
        steps=_SMOOTHING,
        centre=True,
        in_blocks=is_large(len(embeddings)),
    )
    return rows | {"embeddings": embeddings, "smooth": smooth}


@contextmanager
def rows_by_size(num_nodes: int) -> Iterator[None]:
    """Let every process compute the rows of a small graph whole inside the block.

    Several processes then have the digits of one process, which choices of candidates need.
    """
    with nullcontext() if is_large(num_nodes) else work_alone():
        yield


def is_large(num_nodes: int) -> bool:
    """Whether features of so many nodes are made in blocks of rows."""
    return num_nodes > _WHOLE_UP_TO


def each_row(function: Callable[[Tensor], Tensor], matrix: Tensor) -> Tensor:
    """Return a function of every row of a matrix; of a large one in blocks."""
    if not is_large(len(matrix)):
        return function(matrix)
    return in_blocks(lambda rows: function(matrix[rows]), len(matrix))


def project_own(own: Tensor, state: dict[str, Tensor]) -> Tensor:
    """Return the kind `projected`: own attributes along their directions [rows, columns]."""
    return F.normalize((own - state["own_mean"]) @ state["own_directions"], dim=1)


def project_clusters(attributes: Tensor, state: dict[str, Tensor]) -> Tensor:
    """Return the kind `attribute clusters`: smoothed attributes in few directions."""
    return F.normalize(attributes @ state["attribute_cluster_projection"], dim=1)


def features_by_kind(rows: dict[str, Tensor], state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the features by kind of some nodes [rows, columns].

    Args:
        rows: Theirs of `base_rows`; without `smooth` there are the kinds of attributes alone.
        state: Of `prepare_features`.
    """
    around = rows["attributes"]
    attribute_clusters = project_clusters(around, state)
    features = {"own": rows["own"], "attributes": around}
    if "smooth" not in rows:
        return features | {"attribute clusters": attribute_clusters}
    centred, smooth = centre_rows(rows["embeddings"], state[_MEAN]), rows["smooth"]
    attended = F.normalize(smooth @ state["attention"], dim=1)
    clusters = F.normalize(smooth @ state["cluster_projection"], dim=1)
    return features | {
        "wide": torch.cat([smooth, attended, around], dim=1),
        "both": torch.cat([centred, around], dim=1) / math.sqrt(2),
        "clusters": clusters,
        "joint clusters": torch.cat([clusters, attribute_clusters], dim=1) / math.sqrt(2),
    }
