"""Any graph that can be read, as a memory-mapped folder; large tables and arrays in a stream."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse

from quietgraph.errors import InvalidGraphError, UnreadableFileError
from quietgraph.graph.io import ReadGraph, Understood, read_graph
from quietgraph.graph.io.array_files import (
    GrowingArray,
    GrowingFeatures,
    index_type,
    is_sparse,
)
from quietgraph.graph.io.edge_sort import EdgeSorter
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.labels import read_labels
from quietgraph.graph.io.memory_mapped import folder_to_write, write_meta
from quietgraph.graph.io.table_stream import TableStream, find_tables
from quietgraph.graph.sparse import CSR

_ROWS: Final = 65_536  # nodes or edges handled at a time
_FEATURES: Final = ("x", "features", "node_features", "node_feat", "feat")
_EDGES: Final = ("edge_index", "edges")
_LABELS: Final = ("y", "labels", "label", "target", "node_labels", "node_label")
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def convert_graph(
    source: Path, target: Path, *, columns: Mapping[str, str] | None = None
) -> Understood:
    """Write a graph as a memory-mapped folder and return what was understood of it.

    Folders of tables, and `.npz` files with dense features and a list of edges, are read in
    pieces: memory grows with the ids and labels of the nodes, not with features and edges. All
    else is read whole first.

    Args:
        source: Anything `read_graph` takes.
        target: An empty or new folder, or an old one of this kind.
        columns: Kind of some columns by name, for tables.
    """
    tables = find_tables(source)
    with folder_to_write(target) as folder:
        if tables is not None:
            stream = TableStream(*tables, dict(columns or {}))
            if stream.has_features:
                return _write_tables(folder, stream)
        if source.suffix == ".npz" and not columns:
            with _unpacked(source, folder) as arrays:
                if arrays is not None:
                    return _write_arrays(folder, arrays, source)
        return write_graph(folder, read_graph(source, columns=columns))


def write_graph(folder: Path, read: ReadGraph) -> Understood:
    """Fill a folder with a graph that is in memory."""
    graph, features = read.graph, read.graph.features
    sparse = isinstance(features, CSR)
    if isinstance(features, CSR):
        np.save(folder / "features_pointer.npy", features.row_pointer.numpy())
        np.save(folder / "features_columns.npy", features.columns.numpy())
        np.save(folder / "features_values.npy", features.values.numpy())
    else:
        np.save(folder / "features.npy", features.numpy())
    np.save(folder / "row_pointer.npy", graph.adjacency.row_pointer.numpy())
    np.save(folder / "columns.npy", graph.adjacency.columns.numpy())
    if graph.is_weighted:
        np.save(folder / "weights.npy", graph.adjacency.values.numpy())
    facts = _write_nodes(folder, read.labels, read.node_ids)
    if read.validation is not None:
        np.save(folder / "validation.npy", read.validation)
    facts |= {"edges": graph.num_edges, "features": graph.num_features, "sparse": sparse}
    facts |= {"validation": read.validation is not None}
    write_meta(folder, facts, read.understood, read.encoding)
    return read.understood


def _write_tables(folder: Path, stream: TableStream) -> Understood:
    encoding, sparse = stream.learn()
    labels = read_labels(stream.labels, typed=stream.typed)
    if stream.label_column is None:
        labels = np.full(len(stream.keys), None, dtype=object)
    features = GrowingFeatures(folder, stream.width, sparse=sparse)
    for block in stream.features():
        features.append(block)
    features.finish()
    facts = _write_nodes(folder, labels, np.asarray(stream.ids, dtype=object))
    edges = _write_edges(folder, stream.edges(), len(stream.keys), stream.expected_edges, labels)
    facts |= {"features": stream.width, "sparse": sparse, "validation": False}
    words = tuple(str(column) for column in encoding.columns)
    origin = stream.label_column
    understood = _understood(facts, edges, labels, (stream.form, words, origin))
    write_meta(folder, {**facts, "edges": edges["edges"]}, understood, encoding)
    return understood


def _write_arrays(folder: Path, arrays: dict[str, _Array], source: Path) -> Understood:
    matrix, edges = _first(arrays, _FEATURES), _first(arrays, _EDGES)
    given = _first(arrays, _LABELS)
    num_nodes, width = matrix.shape
    labels = np.full(num_nodes, None, dtype=object)
    if given is not None:
        labels = read_labels(np.asarray(given).reshape(-1), typed=True)
    if len(labels) != num_nodes:
        raise UnreadableFileError(
            f"{source}: the parts must agree on the nodes, got features {num_nodes}, labels "
            f"{len(labels)}."
        )
    sparse = is_sparse(int(np.count_nonzero(matrix[:_ROWS])), matrix[:_ROWS].size, width)
    features = GrowingFeatures(folder, width, sparse=sparse)
    for start in range(0, num_nodes, _ROWS):
        block = np.asarray(matrix[start : start + _ROWS], dtype=np.float32)
        if not np.isfinite(block).all():
            raise InvalidGraphError(
                f"features must be finite, got NaN or infinite entries within the nodes {start} "
                f"... {start + len(block) - 1} of {source}. Replace or drop them first."
            )
        features.append(scipy.sparse.csr_matrix(block) if sparse else block)
    features.finish()
    facts = _write_nodes(folder, labels, None, num_nodes=num_nodes)
    pairs = edges if edges.shape[0] == 2 else edges.T
    found = _write_edges(folder, _pair_blocks(pairs, num_nodes), num_nodes, pairs.shape[1], labels)
    facts |= {"features": width, "sparse": sparse, "validation": False}
    origin = None if given is None else "the file's labels"
    words = (".npz", (f"a matrix of {width:,} columns",), origin)
    understood = _understood(facts, found, labels, words)
    write_meta(folder, {**facts, "edges": found["edges"]}, understood, Encoding("matrix"))
    return understood


def _write_nodes(
    folder: Path, labels: _Array, ids: _Array | None, *, num_nodes: int = 0
) -> dict[str, Any]:
    """Write labels and ids; return the facts about them."""
    codes, found = pd.factorize(labels, sort=True)  # None becomes -1
    np.save(folder / "labels.npy", codes.astype(np.int64))
    counted = ids is None or all(value == place for place, value in enumerate(ids))
    if ids is not None and not counted:
        whole = all(isinstance(value, int | np.integer) for value in ids)
        np.save(folder / "ids.npy", ids.astype(np.int64 if whole else str))
    classes = [value.item() if isinstance(value, np.generic) else value for value in found]
    return {"nodes": num_nodes or len(labels), "classes": classes, "counted": bool(counted)}


def _write_edges(
    folder: Path,
    pieces: Iterator[tuple[_Array, _Array, _Array | None]],
    num_nodes: int,
    expected: int,
    labels: _Array,
) -> dict[str, Any]:
    """Write the adjacency; return what was found of the edges."""
    codes = pd.factorize(labels)[0]
    with EdgeSorter(folder, num_nodes, expected=expected) as sorter:
        for sources, targets, weights in pieces:
            sorter.add(sources, targets, weights)
    columns = GrowingArray(folder / "columns.npy", index_type(num_nodes))
    weights_file = GrowingArray(folder / "weights.npy", np.float32)
    pointer, row = np.zeros(num_nodes + 1, dtype=np.int64), 0
    found = {"duplicates": 0, "opposite": 0, "alike": 0, "both": 0}
    weighted = False
    for rows in sorter.rows():
        columns.append(rows.columns)
        weights_file.append(rows.weights)
        weighted |= bool((rows.weights != 1).any())
        pointer[row + 1 : row + 1 + len(rows.counts)] = rows.counts
        own = np.repeat(codes[row : row + len(rows.counts)], rows.counts)
        other = codes[rows.columns]
        both = (own >= 0) & (other >= 0)
        found["both"] += int(both.sum())
        found["alike"] += int((both & (own == other)).sum())
        found["duplicates"] += rows.duplicates
        found["opposite"] += rows.opposite
        row += len(rows.counts)
    columns.finish()
    weights_file.finish()
    if not weighted:
        (folder / "weights.npy").unlink()
    isolated = int((pointer[1:] == 0).sum())
    total = pointer.cumsum()
    np.save(folder / "row_pointer.npy", total.astype(index_type(int(total[-1]))))
    return {**found, "edges": int(total[-1]) // 2, "loops": sorter.loops, "isolated": isolated}


def _understood(
    facts: dict[str, Any],
    edges: dict[str, Any],
    labels: _Array,
    words: tuple[str, tuple[str, ...], str | None],
) -> Understood:
    form, columns, origin = words
    known = labels[labels != None]  # noqa: E711  (entry by entry)
    counts = pd.Series(known, dtype=object).value_counts()
    return Understood(
        form=form,
        nodes=facts["nodes"],
        edges=edges["edges"],
        features=facts["features"],
        columns=columns,
        label_column=origin,
        classes={str(name): int(count) for name, count in counts.items()},
        labelled=len(known),
        isolated=edges["isolated"],
        self_loops=edges["loops"],
        duplicates=edges["duplicates"],
        opposite=edges["opposite"],
        homophily=edges["alike"] / edges["both"] if edges["both"] else None,
        notes=(),
    )


@contextmanager
def _unpacked(source: Path, folder: Path) -> Iterator[dict[str, _Array] | None]:
    """Give the arrays of an `.npz` file, mapped from disk; None where they are not of our kind."""
    scratch = Path(tempfile.mkdtemp(dir=folder))
    try:
        with zipfile.ZipFile(source) as packed:
            names = [name for name in packed.namelist() if name.endswith(".npy")]
            loose = {name.removesuffix(".npy") for name in names}
            if not (loose & {*_FEATURES} and loose & {*_EDGES}) or "train_mask" in loose:
                yield None
                return
            # Names inside an archive may point anywhere, so files get numbers.
            arrays = {}
            for place, name in enumerate(names):
                with packed.open(name) as inside, (scratch / str(place)).open("wb") as file:
                    shutil.copyfileobj(inside, file, 2**22)
                try:
                    arrays[name.removesuffix(".npy")] = np.load(
                        scratch / str(place), mmap_mode="r", allow_pickle=False
                    )
                except ValueError:
                    continue  # Python objects, which could run code
        yield arrays if _is_plain(arrays) else None
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFileError(
            f"{source} is no readable .npz file of plain arrays ({error})."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _is_plain(arrays: dict[str, _Array]) -> bool:
    matrix, edges = _first(arrays, _FEATURES), _first(arrays, _EDGES)
    if matrix is None or edges is None or any("indptr" in name for name in arrays):
        return False
    pairs = edges.ndim == 2 and 2 in edges.shape and np.issubdtype(edges.dtype, np.integer)
    return bool(matrix.ndim == 2 and np.issubdtype(matrix.dtype, np.number) and pairs)


def _first(arrays: dict[str, _Array], names: tuple[str, ...]) -> Any:
    return next((arrays[name] for name in names if name in arrays), None)


def _pair_blocks(pairs: _Array, num_nodes: int) -> Iterator[tuple[_Array, _Array, None]]:
    for start in range(0, pairs.shape[1], 16 * _ROWS):
        block = np.asarray(pairs[:, start : start + 16 * _ROWS], dtype=np.int64)
        outside = (block < 0) | (block >= num_nodes)
        if outside.any():
            raise InvalidGraphError(
                f"edge ids must lie in 0 ... {num_nodes - 1}, got {block[outside][0]}."
            )
        yield block[0], block[1], None
