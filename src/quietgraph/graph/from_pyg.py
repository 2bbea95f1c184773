"""The arrays of a PyG `Data` or `HeteroData`, and in words what was made of it."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.directions import direction_notes, with_direction_features
from quietgraph.graph.hetero import fold_hetero, target_type
from quietgraph.types import AnyArray, Matrix

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData


class Arrays(NamedTuple):
    """What `Graph.from_arrays` takes, and notes."""

    features: Matrix | Tensor
    edges: AnyArray | Tensor
    weights: AnyArray | Tensor | None
    notes: tuple[str, ...]


def is_hetero(data: object) -> bool:
    """Return whether nodes or edges of the data have types."""
    return hasattr(data, "edge_types")


def arrays_of_pyg(data: "Data", *, target: str | None, direction: str, weighted: bool) -> Arrays:
    """Return features, edges and weights of PyG data.

    Args:
        data: `Data` with x and edge_index, or `HeteroData`.
        target: Node type to keep of `HeteroData`.
        direction: Whether directions of edges are ignored or become features.
        weighted: Whether edge weights count.
    """
    if is_hetero(data):
        return _arrays_of_hetero(data, target_type(data, target), weighted=weighted)
    if not hasattr(data, "edge_index"):
        raise InvalidGraphError(
            f"a graph is needed, got {type(data).__name__}. Read tables with "
            "quietgraph.load(nodes=..., edges=...) or Graph.from_pandas(nodes, edges)."
        )
    if getattr(data, "x", None) is None or getattr(data, "edge_index", None) is None:
        raise InvalidGraphError(
            "the PyG data must have x and edge_index. Set data.x to a [nodes, features] tensor."
        )
    weights, notes = _weights(data) if weighted else (None, ())
    edges = data.edge_index
    ends = np.asarray(edges.detach().cpu())
    if ends.ndim != 2 or ends.shape[0] != 2:
        return Arrays(data.x, edges, weights, notes)  # refused where it is checked
    notes += direction_notes(ends, int(data.x.shape[0]), direction)
    features = data.x
    if direction != "ignore":
        features = with_direction_features(data.x.detach().cpu(), ends, direction)
    return Arrays(features, edges, weights, notes)


def _arrays_of_hetero(data: "HeteroData", target: str, *, weighted: bool) -> Arrays:
    features, adjacency, notes = fold_hetero(data, target)
    matrix = adjacency.tocoo()
    edges = np.vstack([matrix.row, matrix.col])
    return Arrays(features, edges, matrix.data if weighted else None, notes)


def _weights(data: "Data") -> tuple[Tensor | None, tuple[str, ...]]:
    weights = getattr(data, "edge_weight", None)
    attributes = getattr(data, "edge_attr", None)
    if weights is not None or attributes is None:
        return weights, ()
    if attributes.numel() == data.edge_index.shape[1]:
        return attributes.reshape(-1), ("edge_attr taken as edge weights",)
    width = attributes.shape[-1]
    return None, (f"edge_attr has {width} numbers per edge and is not used",)
