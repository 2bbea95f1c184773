"""The kinds of features that candidates of `quiet` read, from embeddings and attributes."""

import math
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import (
    attention_matrix,
    centre_rows,
    cluster_projection,
    mean_direction,
    smooth_rows,
)
from quietgraph.classify.smoothing import (
    attribute_directions,
    attributes_of,
    leading_directions,
)
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.quiet.perceptron import propagated
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
)
_ATTRIBUTES: Final = 256  # directions of the smoothed attributes that are kept
_CLUSTER_RANK: Final = 50  # directions in which clusters are searched


def prepare_features(embeddings: Embeddings, graph: Graph, seed: int) -> dict[str, Tensor]:
    """Return the statistics of all nodes that `make_features` needs, by name."""
    rows, attributes = attributes_of(graph, seed=seed)
    own_mean = rows.mean(dim=0)
    draws = torch_generator(seed, "own attribute directions")
    mean, directions = attribute_directions(graph, _ATTRIBUTES, seed=seed)
    own = F.normalize((attributes - mean) @ directions, dim=1)
    centre = mean_direction(embeddings)
    smooth = smooth_rows(normalised_adjacency(graph), centre_rows(embeddings, centre))
    return {
        "seed": torch.tensor(seed),
        "own_mean": own_mean,
        "own_directions": leading_directions(rows - own_mean, _ATTRIBUTES, generator=draws),
        "attribute_mean": mean,
        "attribute_directions": directions,
        "attribute_cluster_projection": cluster_projection(own, _CLUSTER_RANK),
        "mean": centre,
        "attention": attention_matrix(smooth),
        "cluster_projection": cluster_projection(smooth, _CLUSTER_RANK),
    }


def make_features(
    embeddings: Embeddings, graph: Graph, state: dict[str, Tensor], *, encoder: bool
) -> dict[str, Tensor]:
    """Return features by kind [nodes, columns]; without the encoder, those of attributes alone."""
    own, smoothed = attributes_of(graph, seed=int(state["seed"]))
    centred = smoothed - state["attribute_mean"]
    around = F.normalize(centred @ state["attribute_directions"], dim=1)
    attribute_clusters = F.normalize(around @ state["attribute_cluster_projection"], dim=1)
    projected = F.normalize((own - state["own_mean"]) @ state["own_directions"], dim=1)
    features = {
        "own": own,
        "attributes": around,
        "projected": projected,
        "propagated": propagated(graph, projected),
    }
    if not encoder:
        return features | {"attribute clusters": attribute_clusters}
    rows = centre_rows(embeddings, state["mean"])
    smooth = smooth_rows(normalised_adjacency(graph), rows)
    attended = F.normalize(smooth @ state["attention"], dim=1)
    clusters = F.normalize(smooth @ state["cluster_projection"], dim=1)
    return features | {
        "wide": torch.cat([smooth, attended, around], dim=1),
        "both": torch.cat([rows, around], dim=1) / math.sqrt(2),
        "clusters": clusters,
        "joint clusters": torch.cat([clusters, attribute_clusters], dim=1) / math.sqrt(2),
    }
