"""Features of a graph, in a stream: columns, a ready matrix, or the structure of the graph."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np
import pandas as pd
import scipy.sparse

from quietgraph.errors import InvalidGraphError, UnreadableFileError
from quietgraph.graph.io.array_files import GrowingFeatures
from quietgraph.graph.io.columns import Encoder, to_float32
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.limits import FEATURE, STRUCTURAL_NODE
from quietgraph.graph.io.nodes import Nodes, Options
from quietgraph.graph.io.raw import Raw
from quietgraph.graph.io.structural import choose_landmarks, structural_features
from quietgraph.graph.sparse import CSR, SPARSE_FROM, Features, as_dense, is_sparse
from quietgraph.types import AnyArray, Matrix

_CELLS: Final = 2**24  # of features held at a time


def build_features(
    raw: Raw, nodes: Nodes, adjacency: CSR, options: Options
) -> tuple[Features, Encoding, tuple[str, ...], list[str]]:
    """Return the features, how they were made, that in words, and notes."""
    encoding = options.encoding
    if encoding is None:
        kind = "matrix" if raw.matrix is not None else "columns" if nodes.columns else "structure"
        encoding = Encoding(kind, nodes.columns, raw.id_column)
    else:
        _check_kind(raw, encoding)
    words = tuple(str(column) for column in encoding.columns)
    notes: list[str] = []
    if encoding.kind == "structure":
        made, encoding = _structure(raw, nodes, adjacency, encoding, options)
        width, sparse = made.shape[1], False
        blocks: Iterator[Matrix] = iter([made])
        places = f"walks to {len(encoding.landmarks)} landmarks"
        words = (f"none given, so the structure: log degree, PageRank, {places}",)
    elif encoding.kind == "matrix":
        width, sparse = raw.matrix.shape[1], _is_sparse(next(_matrix_blocks(raw, options)))
        blocks, words = _matrix_blocks(raw, options), (f"a matrix of {width:,} columns",)
    else:
        width = sum(column.width for column in encoding.columns)
        options.budget.check("features", width, FEATURE)
        encoder = Encoder(encoding.columns, options.unknown, sparse=width >= SPARSE_FROM)
        blocks = _column_blocks(raw, encoder, width, notes)
        if encoder.sparse:  # the first block decides
            first = next(blocks)
            encoder.sparse = _is_sparse(first)
            blocks = chain([first if encoder.sparse else as_dense(first)], blocks)
        sparse = encoder.sparse
    options.budget.check("feature values", 0 if sparse else len(nodes.ids) * width, 4)
    grown = GrowingFeatures(options.folder, width, sparse=sparse)
    for block in blocks:
        grown.append(scipy.sparse.csr_matrix(block) if sparse else block)
    return grown.finish(), encoding, words, notes


def _is_sparse(first: Matrix) -> bool:
    """Whether the first block of features, the whole of a small graph, is better kept sparse."""
    filled = first.nnz if hasattr(first, "nnz") else np.count_nonzero(first)
    return is_sparse(int(filled), first.shape[0] * first.shape[1], first.shape[1])


def _column_blocks(raw: Raw, encoder: Encoder, width: int, notes: list[str]) -> Iterator[Matrix]:
    rows = max(1, _CELLS // max(1, width))
    for piece in raw.table.pieces() if raw.table is not None else ():
        for start in range(0, piece.num_rows, rows):
            yield encoder.encode(piece.slice(start, rows))
    notes += encoder.notes()


def _matrix_blocks(raw: Raw, options: Options) -> Iterator[Matrix]:
    """Yield the rows of a ready matrix, checked."""
    matrix: Matrix = raw.matrix
    what = f"{raw.where}: the matrix of features"
    size, width = matrix.shape
    if not size or not width:
        raise InvalidGraphError(
            "features must be a matrix with at least one node and one column [nodes, features], "
            f"got shape {(size, width)}."
        )
    options.budget.check("features", width, FEATURE)
    for start in range(0, size, max(1, _CELLS // width)):
        block = matrix[start : start + max(1, _CELLS // width)]
        if not isinstance(block, np.ndarray):
            _check_finite(block.data, start)
            yield scipy.sparse.csr_matrix(
                (to_float32(block.data, what), block.indices, block.indptr), shape=block.shape
            )
        else:
            _check_finite(np.asarray(block), start)
            yield to_float32(np.asarray(block), what)


def _check_finite(block: AnyArray, start: int) -> None:
    finite = np.isfinite(block)
    if not finite.all():
        where = ""
        if block.ndim == 2:
            row, column = np.argwhere(~finite)[0]
            where = f" (first at node {start + row}, column {column})"
        raise InvalidGraphError(
            f"features must be finite, got {int((~finite).sum())} NaN or infinite entries{where}. "
            "Replace or drop them first."
        )


def _structure(
    raw: Raw, nodes: Nodes, adjacency: CSR, encoding: Encoding, options: Options
) -> tuple[AnyArray, Encoding]:
    options.budget.check("nodes with structural features", len(nodes.ids), STRUCTURAL_NODE)
    if not adjacency.num_entries:
        raise InvalidGraphError(
            f"the graph of {len(nodes.ids)} nodes has neither features nor edges, so there is "
            "nothing to learn from. Add one of them."
        )
    if not encoding.landmarks:
        chosen = tuple(nodes.keys[choose_landmarks(adjacency)])
        encoding = Encoding("structure", id_column=raw.id_column, landmarks=chosen)
    places = nodes.keys.get_indexer(pd.Index(encoding.landmarks, dtype=object))
    # A landmark that has gone, or lost its edges, is reached by no walk.
    linked = (places >= 0) & (adjacency.row_counts.numpy()[places] > 0)
    if not linked.all():
        lost = encoding.landmarks[int(np.argmin(linked))]
        raise UnreadableFileError(
            f"the node '{lost}' must still be there with its edges: places in the graph are "
            "measured from it. Give the grown graph, not the new part alone."
        )
    return structural_features(adjacency, places), encoding


def _check_kind(raw: Raw, encoding: Encoding) -> None:
    """Raise where the features that the model was fitted on are not here."""
    if encoding.kind == "columns":
        names = set() if raw.table is None else set(raw.table.names)
        missing = [column.name for column in encoding.columns if column.name not in names]
        if missing:
            raise UnreadableFileError(
                f"the nodes must have the column '{missing[0]}', which the model was fitted with "
                f"({len(missing)} missing). Add it."
            )
    if encoding.kind == "matrix" and raw.matrix is None:
        raise UnreadableFileError(
            "the model was fitted on a matrix of features, and this graph has none. "
            "Give it as .npz or .pt with x."
        )
