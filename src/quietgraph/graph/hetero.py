"""A PyG `HeteroData` with one labelled node type, folded into a graph of its nodes.

Two nodes of the target type are joined where an edge leads from one to the other, or where both
are joined to the same node of another type (the meta-path target - other - target, weighted by one
over the number of target nodes that the other one joins). Features of other types are averaged
over the neighbours of each target node and appended.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.sparse as sp

from quietgraph.errors import InvalidGraphError
from quietgraph.types import AnyArray, SparseMatrix

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

NEIGHBOURS: Final = 20  # heaviest meta-path edges that a node keeps


def target_type(data: "HeteroData", target: str | None = None) -> str:
    """Return the node type whose nodes are classified: the one named, or the only one with y."""
    if target is not None and target not in data.node_types:
        raise InvalidGraphError(
            f"target must be a node type ({', '.join(data.node_types)}), got '{target}'."
        )
    labelled = [kind for kind in data.node_types if "y" in data[kind]]
    if target is None and len(labelled) != 1:
        raise InvalidGraphError(
            f"the heterogeneous data must have y for one node type, got {labelled or 'none'}. "
            "Name one with target=."
        )
    return target or labelled[0]


def fold_hetero(
    data: "HeteroData", target: str, *, neighbours: int = NEIGHBOURS
) -> tuple[AnyArray, SparseMatrix, tuple[str, ...]]:
    """Return features [nodes, columns], adjacency and notes of the folded graph.

    Args:
        data: A PyG `HeteroData`; the target type needs `x`.
        target: Node type whose nodes are kept.
        neighbours: Heaviest meta-path edges that a node keeps of each meta-path.
    """
    if "x" not in data[target]:
        raise InvalidGraphError(f"the nodes of type '{target}' must have x, got none.")
    count = int(data[target].num_nodes)
    features, adjacency = [np.asarray(data[target].x.cpu())], sp.csr_matrix((count, count))
    notes = []
    for kind, relation, matrix in _relations(data, target):
        if kind == target:
            adjacency = adjacency + matrix + matrix.T
            notes.append(f"edges '{relation}' kept")
            continue
        # A hub joins everybody with everybody: its pairs count less the more it has.
        shared = matrix @ sp.diags(1 / np.maximum(1, matrix.sum(axis=0).A1)) @ matrix.T
        shared.setdiag(0)
        adjacency = adjacency + _heaviest(shared.tocsr(), neighbours)
        notes.append(f"'{target}' joined by common '{kind}' ({relation})")
        if "x" in data[kind]:
            degree = sp.diags(1 / np.maximum(1, matrix.sum(axis=1).A1))
            features.append(np.asarray(degree @ matrix @ np.asarray(data[kind].x.cpu())))
            notes.append(f"features of '{kind}' averaged and appended ({relation})")
    return np.hstack(features), adjacency.tocsr(), tuple(notes)


def _relations(data: "HeteroData", target: str) -> Iterator[tuple[str, str, SparseMatrix]]:
    """Yield other type, name and matrix [target nodes, other nodes] of what the target joins.

    A relation and its reverse count once: what joins the same pairs is the same.
    """
    seen: dict[tuple[str, bytes], bool] = {}
    for source, relation, end in data.edge_types:
        if target not in (source, end):
            continue
        rows, columns = np.asarray(data[source, relation, end].edge_index.cpu())
        kind = end if source == target else source
        ends = (rows, columns) if source == target else (columns, rows)
        shape = (int(data[target].num_nodes), int(data[kind].num_nodes))
        matrix = sp.csr_matrix((np.ones(len(rows)), ends), shape=shape)
        matrix.data[:] = 1  # parallel edges count once
        pairs = matrix.maximum(matrix.T) if kind == target else matrix
        key = (kind, pairs.indptr.tobytes() + pairs.indices.tobytes())
        if key not in seen:
            seen[key] = True
            yield kind, relation, matrix


def _heaviest(matrix: SparseMatrix, count: int) -> SparseMatrix:
    """Return the symmetric matrix of the heaviest entries of each row."""
    rows, columns, values = [], [], []
    for row in range(matrix.shape[0]):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        first = np.argsort(-matrix.data[span], kind="stable")[:count]
        rows.append(np.full(len(first), row))
        columns.append(matrix.indices[span][first])
        values.append(matrix.data[span][first])
    ends = (np.concatenate(rows), np.concatenate(columns))
    kept = sp.csr_matrix((np.concatenate(values), ends), shape=matrix.shape)
    kept.eliminate_zeros()
    return kept.maximum(kept.T)
