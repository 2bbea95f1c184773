"""`.npz` files: loose arrays, SciPy matrices, and the layout of Amazon and Coauthor."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import scipy.sparse

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.raw import Raw, decode_bytes, positions_of

_FEATURES: Final = ("x", "features", "node_features", "feat", "attr_matrix")
_EDGES: Final = ("edge_index", "edges")
_LABELS: Final = ("y", "labels", "label", "target", "node_labels")
_WEIGHTS: Final = ("edge_weight", "weights")
_IDS: Final = ("node_ids", "ids")
_ADJACENCIES: Final = ("adj_", "adj_matrix.", "adjacency_", "")  # beginnings of a matrix's parts
_ATTRIBUTES: Final = ("attr_", "attr_matrix.")
_COMPRESSED: Final = ("data", "indices", "indptr", "shape")
_COORDINATES: Final = ("data", "row", "col", "shape")
_LAYOUTS: Final = (_COMPRESSED, _COORDINATES)
_WIDE: Final = ("features", "adjacency")  # parts with columns
_Arrays: TypeAlias = dict[str, Any]


def read_npz(path: Path) -> Raw:
    """Return what an `.npz` file holds; arrays of Python objects are never loaded."""
    arrays, skipped = {}, []
    try:
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                try:
                    arrays[name] = stored[name]
                except ValueError:  # Python objects, which could run code
                    skipped.append(name)
    except MemoryError as error:
        raise UnreadableFileError(
            f"{path} claims more data than there is memory ({error}). Write it again."
        ) from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise UnreadableFileError(
            f"{path} is no readable .npz file of plain arrays ({error}). "
            "Write it with numpy.savez or scipy.sparse.save_npz."
        ) from error
    notes = (f"arrays of Python objects not read: {', '.join(skipped)}",) if skipped else ()
    return raw_of_arrays(arrays, form=".npz", where=str(path), notes=notes)


def raw_of_arrays(arrays: _Arrays, *, form: str, where: str, notes: tuple[str, ...] = ()) -> Raw:
    """Return nodes, edges, features and labels found in arrays by their usual names.

    Labels outside `train_mask` and `val_mask`, where these are given, are not read.
    """
    left = dict(arrays)
    adjacency = _take_matrix(left, _ADJACENCIES, where)
    edges, weights = _edges(left, adjacency, where)
    matrix = _take_matrix(left, _ATTRIBUTES, where)
    matrix = _take(left, _FEATURES) if matrix is None else matrix
    _check_real({"features": matrix, "weights": weights}, where)
    labels, ids = (_plain(_take(left, names), where) for names in (_LABELS, _IDS))
    train, validation, _ = (left.pop(f"{part}_mask", None) for part in ("train", "val", "test"))
    parts = {"features": matrix, "labels": labels, "ids": ids}
    parts |= {"adjacency": adjacency, "train_mask": train, "val_mask": validation}
    num_nodes = _count_nodes(parts, edges, where)
    ids = np.arange(num_nodes) if ids is None else ids
    positions_of(ids, where=where)
    if train is not None and labels is not None:
        labels = _inside(labels, train, validation)
    unused = (f"arrays not used: {', '.join(sorted(left))}",) if left else ()
    return Raw(
        form=form,
        node_ids=np.asarray(ids, dtype=object),
        edges=edges,
        weights=weights,
        matrix=matrix,
        labels=labels,
        validation=None if validation is None else validation.astype(bool),
        notes=notes + unused,
    )


def _take(left: _Arrays, names: tuple[str, ...]) -> Any:
    """Remove and return the first array of these names; one column counts as a list."""
    name = next((name for name in names if name in left), None)
    if name is None:
        return None
    found = left.pop(name)
    one_column = np.ndim(found) == 2 and found.shape[1] == 1 and names is not _FEATURES
    return found.reshape(-1) if one_column else found


def _plain(values: Any, where: str) -> Any:
    """Return values with bytes as texts."""
    is_bytes = values is not None and values.dtype.kind == "S" and values.ndim == 1
    return decode_bytes(values, where=where) if is_bytes else values


def _check_real(parts: Mapping[str, Any], where: str) -> None:
    for name, part in parts.items():
        if part is not None and part.dtype.kind not in "biuf":
            raise UnreadableFileError(
                f"{where}: {name} must be real numbers, got {part.dtype}. Convert them first."
            )


def _take_matrix(left: _Arrays, beginnings: tuple[str, ...], where: str) -> Any:
    """Remove the parts of a sparse matrix and return it; None where there is none."""
    for start, parts in ((start, parts) for start in beginnings for parts in _LAYOUTS):
        names = [start + part for part in parts]
        if not all(name in left for name in names):
            continue
        data, first, second, shape = (left.pop(name) for name in names)
        layout = left.pop(f"{start}format", "csr")
        layout = layout.item() if isinstance(layout, np.ndarray) else layout
        try:
            size = (int(shape[0]), int(shape[1]))
            if parts is _COORDINATES:
                return scipy.sparse.coo_matrix((data, (first, second)), shape=size).tocsr()
            kind = scipy.sparse.csc_matrix if layout in {"csc", b"csc"} else scipy.sparse.csr_matrix
            matrix = kind((data, first, second), shape=size)
            matrix.check_format(full_check=True)  # else bad indices would crash the process
            return matrix.tocsr()
        except (ValueError, TypeError, IndexError) as error:
            raise UnreadableFileError(
                f"{where}: the parts {', '.join(names)} are no sparse matrix ({error})."
            ) from error
    return None


def _edges(left: _Arrays, adjacency: Any, where: str) -> tuple[Any, Any]:
    if adjacency is not None:
        entries = adjacency.tocoo()
        entries.eliminate_zeros()
        return np.vstack([entries.row, entries.col]).astype(np.int64), entries.data
    found = _take(left, _EDGES)
    if found is None:
        raise UnreadableFileError(
            f"{where} holds no edges: neither an array {' or '.join(_EDGES)} nor a sparse "
            f"adjacency matrix, only {', '.join(sorted(left)) or 'nothing'}."
        )
    if found.ndim != 2 or 2 not in found.shape or not np.issubdtype(found.dtype, np.integer):
        raise UnreadableFileError(
            f"{where}: edges must be pairs of whole numbers [2, edges], got {found.dtype} of "
            f"shape {found.shape}."
        )
    pairs = found if found.shape[0] == 2 else found.T
    return pairs.astype(np.int64), _take(left, _WEIGHTS)


def _count_nodes(parts: Mapping[str, Any], edges: Any, where: str) -> int:
    """Return the number of nodes on which all parts agree."""
    sizes = {name: part.shape for name, part in parts.items() if part is not None}
    flat = [name for name, shape in sizes.items() if len(shape) != 1 + (name in _WIDE)]
    if flat:
        raise UnreadableFileError(
            f"{where}: {flat[0]} must have {'rows' if flat[0] in _WIDE else 'one entry'} for each "
            f"node, got shape {sizes[flat[0]]}. Choose one split, one class per node."
        )
    counts = {name: shape[0] for name, shape in sizes.items()}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UnreadableFileError(f"{where}: the parts must agree on the nodes, got {words}.")
    return next(iter(counts.values())) if counts else int(edges.max(initial=-1)) + 1


def _inside(labels: Any, train: Any, validation: Any) -> Any:
    shown = train.astype(bool)
    if validation is not None:
        shown = shown | validation.astype(bool)
    return np.where(shown, labels.astype(object), None)
