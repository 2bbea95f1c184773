"""The arrays of a PyG `Data` or `HeteroData`, and in words what was made of it.

Of a `HeteroData`, two nodes of the labelled type are joined where an edge leads from one to the other, or where both
are joined to the same node of another type (weighted by one over the number of nodes that the other one joins).
Features of other types are averaged over the neighbours of each node and appended.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from quietgraph.errors import InvalidGraphError
from quietgraph.types import SparseMatrix

_NEIGHBOURS: Final = 20  # heaviest edges by nodes of another type that a node keeps, of each type
_HUB: Final = 256  # nodes that another one joins, above which each is joined to the next few alone


def arrays_of_pyg(data: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Return features, edges, weights and notes of a PyG `Data` or `HeteroData`."""
    if hasattr(data, "edge_types"):
        return _fold_hetero(data, target_type(data))
    if getattr(data, "x", None) is None or getattr(data, "edge_index", None) is None:
        raise InvalidGraphError(
            f"a graph is needed, got {type(data).__name__} without x and edge_index. Read tables with "
            "quietgraph.load(nodes=..., edges=...)."
        )
    weights, attributes = getattr(data, "edge_weight", None), getattr(data, "edge_attr", None)
    notes: tuple[str, ...] = ()
    if weights is None and attributes is not None:
        if attributes.numel() == data.edge_index.shape[1]:
            weights, notes = attributes.reshape(-1), ("edge_attr taken as edge weights",)
        else:
            notes = (f"edge_attr has {attributes.shape[-1]} numbers per edge and is not used",)
    return data.x, data.edge_index, weights, (*_one_way(data), *notes)


def _one_way(data: Any) -> tuple[str, ...]:
    """Return a note on the edges that are given in one direction alone."""
    ends = np.asarray(data.edge_index.detach().cpu())
    if ends.ndim != 2 or ends.shape[0] != 2 or not ends.size or ends.dtype.kind not in "iu" or ends.min() < 0:
        return ()  # refused where edges are checked
    given = sp.coo_matrix((np.ones(ends.shape[1], dtype=bool), ends), shape=(int(ends.max()) + 1,) * 2).tocsr()
    count = (given > given.T).nnz
    return (f"the direction of {count:,} one-way edges is ignored",) if count else ()


def target_type(data: Any) -> str:
    """Return the node type of a `HeteroData` whose nodes are classified: the only one with y."""
    labelled = [kind for kind in data.node_types if "y" in data[kind]]
    if len(labelled) != 1:
        raise InvalidGraphError(f"the heterogeneous data must have y for one node type, got {labelled or 'none'}.")
    return str(labelled[0])


def _fold_hetero(data: Any, target: str) -> tuple[Any, Any, Any, tuple[str, ...]]:
    if "x" not in data[target]:
        raise InvalidGraphError(f"the nodes of type '{target}' must have x, got none.")
    count = int(data[target].num_nodes)
    features, adjacency, notes = [np.asarray(data[target].x.cpu())], sp.csr_matrix((count, count)), list[str]()
    for kind, relation, matrix in _relations(data, target):
        if kind == target:
            adjacency = adjacency + matrix + matrix.T
            notes.append(f"edges '{relation}' kept")
            continue
        adjacency = adjacency + _heaviest(_shared(matrix))
        notes.append(f"'{target}' joined by common '{kind}' ({relation})")
        if "x" in data[kind]:
            mean = sp.diags(1 / np.maximum(1, matrix.sum(axis=1).A1)) @ matrix
            features.append(np.asarray(mean @ np.asarray(data[kind].x.cpu())))
            notes.append(f"features of '{kind}' averaged and appended ({relation})")
    entries = adjacency.tocoo()
    return np.hstack(features), np.vstack([entries.row, entries.col]), entries.data, tuple(notes)


def _relations(data: Any, target: str) -> Iterator[tuple[str, str, SparseMatrix]]:
    """Yield other type, name and matrix [target nodes, other nodes] of what the target joins, a reverse not again."""
    seen = set[tuple[str, bytes]]()
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
            seen.add(key)
            yield kind, relation, matrix


def _shared(matrix: SparseMatrix) -> SparseMatrix:
    """Return how much each two nodes share of the other ones [nodes, nodes].

    Those that a hub joins share equally little: each is joined to the next few in a ring, before any product.
    """
    sizes = matrix.sum(axis=0).A1
    small = matrix[:, sizes <= _HUB]
    shared = small @ sp.diags(1 / np.maximum(1, sizes[sizes <= _HUB])) @ small.T
    by_hub = matrix[:, sizes > _HUB].tocsc()
    for hub in range(by_hub.shape[1]):
        members = by_hub.indices[by_hub.indptr[hub] : by_hub.indptr[hub + 1]]
        fellows = np.concatenate([np.roll(members, -step) for step in range(1, _NEIGHBOURS // 2 + 1)])
        weights, pairs = np.full(len(fellows), 1 / len(members)), (np.resize(members, len(fellows)), fellows)
        ring = sp.csr_matrix((weights, pairs), shape=shared.shape)
        shared = shared + ring + ring.T
    return shared.tocsr()


def _heaviest(matrix: SparseMatrix) -> SparseMatrix:
    """Return the symmetric matrix of the heaviest entries of each row beside the diagonal."""
    entries = matrix.tocoo()
    apart = entries.row != entries.col
    rows, columns, values = entries.row[apart], entries.col[apart], entries.data[apart]
    order = np.lexsort((columns, -values, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)  # within the row
    kept = place < _NEIGHBOURS
    best = sp.csr_matrix((values[kept], (rows[kept], columns[kept])), shape=matrix.shape)
    return best.maximum(best.T)
