"""A graph as a folder of `.npy` files that are mapped into memory and never loaded whole.

features.npy (or features_pointer, features_columns, features_values for sparse ones), row_pointer,
columns and, where edges have weights, weights: the symmetric adjacency in compressed sparse rows;
labels (class codes, -1 = unknown), ids, validation; meta.json with version, sizes and fingerprint.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.errors import UnreadableFileError
from quietgraph.files import check_only, whole_folder
from quietgraph.graph.graph import Graph
from quietgraph.graph.io.encoding import encoding_of, read_json
from quietgraph.graph.io.limits import parsing
from quietgraph.graph.io.result import CodedLabels, ReadGraph, Understood
from quietgraph.graph.sparse import CSR, Features
from quietgraph.types import AnyArray

META: Final = "meta.json"
_VERSION: Final = 1
_ARRAYS: Final = (
    *("row_pointer", "columns", "weights", "labels", "ids", "validation", "features"),
    *("features_pointer", "features_columns", "features_values"),
)
_AT_ONCE: Final = 2**24  # entries checked at a time
_SMALL: Final = 2**28  # bytes up to which opening a folder reads it all and compares fingerprints
_AGAIN: Final = "Convert the graph again with quietgraph convert."


def is_mapped(path: str | Path) -> bool:
    """Whether a path is a folder that `quietgraph convert` wrote, whole or not."""
    return any((Path(path) / name).is_file() for name in (META, "row_pointer.npy"))


def read_mapped(folder: str | Path) -> ReadGraph:
    """Return the graph of a folder; everything stays on disk until it is used, ids and labels too.

    Shapes and index ranges are checked always, values and the fingerprint up to 256 MB.
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    size, width = meta["nodes"], meta["features"]
    adjacency = _map_csr(folder, "", "weights", (size, size))
    features: Features
    if meta["sparse"]:
        features = _map_csr(folder, "features_", "features_values", (size, width))
    else:
        features = _map(folder, "features", "f4", (size, width))
    if adjacency.num_entries != 2 * meta["edges"]:
        raise _damaged(folder, f"it does not hold the {meta['edges']:,} edges of its {META}")
    graph = Graph(features, adjacency, tuple(meta["notes"]))
    codes = _map(folder, "labels", "i8", (size,)).numpy()
    if size and not -1 <= codes.min() <= codes.max() < len(meta["classes"]):
        raise _damaged(folder, "labels.npy holds codes of no class")
    if sum(path.stat().st_size for path in folder.glob("*.npy")) <= _SMALL:
        _check_values(folder, graph, meta["fingerprint"])
    vars(graph)["fingerprint"] = meta["fingerprint"]  # hashing it would read everything
    validation = _map(folder, "validation", "b1", (size,)).numpy() if meta["validation"] else None
    labels, ids = CodedLabels(codes, meta["classes"]), _ids(folder, meta)
    return ReadGraph(graph, labels, ids, meta["encoding"], meta["understood"], validation)


@contextmanager
def folder_to_write(target: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes `target` at the end of the block, whole or not at all.

    Only another folder of this kind is replaced.
    """
    check_only(target, {META, *(f"{name}.npy" for name in _ARRAYS)})
    with whole_folder(target) as folder:
        yield folder


def write_graph(folder: Path, read: ReadGraph) -> Understood:
    """Fill a folder with a graph that is in memory."""
    graph, features = read.graph, read.graph.features
    arrays = {"row_pointer": graph.adjacency.row_pointer, "columns": graph.adjacency.columns}
    arrays |= {"weights": graph.adjacency.values} if graph.is_weighted else {}
    if isinstance(features, CSR):
        parts = (features.row_pointer, features.columns, features.values)
        arrays |= zip(("features_pointer", "features_columns", "features_values"), parts)  # noqa: B905
    else:
        arrays["features"] = features
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array.numpy())
    return write_meta(folder, read)


def write_meta(folder: Path, read: ReadGraph) -> Understood:
    """Write labels, ids and what the arrays of a folder mean; that marks the folder as whole."""
    codes, found = pd.factorize(np.asarray(read.labels), sort=True)  # None becomes -1
    np.save(folder / "labels.npy", codes.astype(np.int64))
    np.save(folder / "ids.npy", _plain_ids(read.node_ids))
    if read.validation is not None:
        np.save(folder / "validation.npy", read.validation)
    graph = read.graph
    facts = {
        "version": _VERSION,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "sparse": isinstance(graph.features, CSR),
        "classes": [one.item() if isinstance(one, np.generic) else one for one in found],
        "counted": False,  # in earlier folders: there is no ids.npy, ids are positions
        "validation": read.validation is not None,
        "fingerprint": graph.fingerprint,
        "encoding": read.encoding.to_dict(),
        "understood": read.understood.to_dict(),
    }
    (folder / META).write_text(json.dumps(facts, indent=1), encoding="utf-8")
    return read.understood


def _plain_ids(ids: AnyArray) -> AnyArray:
    """Return ids as whole numbers where all are, as texts elsewhere [nodes]."""
    if ids.dtype.kind in "iU":
        return ids
    kinds = (int, np.integer)
    whole = all(isinstance(value, kinds) and abs(int(value)) < 2**63 for value in ids)
    whole = whole and not any(isinstance(value, bool) for value in ids)
    return ids.astype(np.int64 if whole else str)


def _read_meta(folder: Path) -> dict[str, Any]:
    """Return what the folder says of itself, each fact of its type."""
    try:
        facts = read_json(folder / META)
        version = facts["version"]
        if version == _VERSION:
            return _checked_meta(facts, folder)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableFileError(
            f"{folder / META} does not describe a converted graph ({error}). {_AGAIN}"
        ) from error
    raise UnreadableFileError(
        f"{folder} has version {str(version)[:20]} of the folder format, this program reads "
        f"{_VERSION}. {_AGAIN}"
    )


def _checked_meta(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    kinds = {"nodes": int, "edges": int, "features": int, "sparse": bool, "classes": list}
    kinds |= {"counted": bool, "validation": bool, "fingerprint": str, "understood": dict}
    for name, kind in kinds.items():
        if type(facts[name]) is not kind or (kind is int and facts[name] < 0):
            raise ValueError(f"{name} is no {kind.__name__}")
    if not all(type(one) in {str, int, bool} for one in facts["classes"]):
        raise ValueError("classes are no names or numbers")
    understood = Understood.from_dict(facts["understood"])
    form = f"memory-mapped folder {folder.name}"
    return {
        **facts,
        "encoding": encoding_of(facts["encoding"]),
        "understood": understood.with_form(form),
        "notes": understood.notes,
    }


def _map_array(folder: Path, name: str) -> AnyArray:
    path = folder / f"{name}.npy"
    if not path.is_file():
        raise _damaged(folder, f"{name}.npy is missing")
    with parsing(path, "array", _AGAIN):
        # Copy on write: torch wants writable memory, and the file must never change.
        mapped = np.load(path, mmap_mode="c", allow_pickle=False)
        if not isinstance(mapped, np.memmap) or not mapped.flags.c_contiguous:
            raise ValueError("not written by quietgraph")
    return mapped


def _map(folder: Path, name: str, kinds: str, shape: tuple[int, ...] | None = None) -> Tensor:
    array = _map_array(folder, name)
    if array.dtype not in [np.dtype(kind) for kind in kinds.split()]:
        raise _damaged(folder, f"{name}.npy holds {array.dtype}")
    if shape is not None and array.shape != shape:
        raise _damaged(folder, f"{name}.npy does not hold {shape}, but {array.shape}")
    return torch.from_numpy(array)


def _map_csr(folder: Path, start: str, values: str, shape: tuple[int, int]) -> CSR:
    pointer = _map(folder, f"{start}pointer" if start else "row_pointer", "i4 i8", (shape[0] + 1,))
    columns = _map(folder, f"{start}columns", "i4 i8")
    entries = len(columns) if columns.ndim == 1 else -1
    weights = torch.ones(1).expand(max(entries, 0))  # one number, however many edges
    if start or (folder / f"{values}.npy").exists():
        weights = _map(folder, values, "f4", (entries,))
    rises = all(
        _rises(pointer[place : place + _AT_ONCE + 1]) for place in range(0, shape[0], _AT_ONCE)
    )
    if entries < 0 or pointer[0] != 0 or pointer[-1] != entries or not rises:
        raise _damaged(folder, f"{start}columns.npy does not fit its row pointer")
    for first in range(0, entries, _AT_ONCE):
        low, high = columns[first : first + _AT_ONCE].aminmax()
        if low < 0 or high >= shape[1]:
            raise _damaged(folder, f"{start}columns.npy points outside of {shape[1]:,} columns")
    return CSR(pointer, columns, weights, shape)


def _rises(pointer: Tensor) -> bool:
    """Whether no number is smaller than the one before; a difference might overflow."""
    return bool((pointer[1:] >= pointer[:-1]).all())


def _check_values(folder: Path, graph: Graph, fingerprint: str) -> None:
    """Raise where a small folder is not what was written, or was never a graph."""
    if graph.fingerprint != fingerprint:
        raise _damaged(folder, "its arrays have changed since it was written")
    features, adjacency = graph.features, graph.adjacency.to_scipy()
    values = features.values if isinstance(features, CSR) else features
    sorted_rows = adjacency.has_canonical_format and (
        not isinstance(features, CSR) or features.to_scipy().has_canonical_format
    )
    if not torch.isfinite(values).all() or not sorted_rows:
        raise _damaged(folder, "its features or edges are not in order")
    right = np.isfinite(adjacency.data) & (adjacency.data > 0)
    if adjacency.diagonal().any() or not right.all() or (adjacency - adjacency.T).nnz:
        raise _damaged(folder, "its edges are not undirected")


def _ids(folder: Path, meta: dict[str, Any]) -> AnyArray:
    if meta["counted"]:
        return np.arange(meta["nodes"])
    ids = _map_array(folder, "ids")
    if ids.shape != (meta["nodes"],) or ids.dtype.kind not in "iU":
        raise _damaged(folder, f"ids.npy holds {ids.dtype} of shape {ids.shape}")
    if ids.dtype.kind == "U":  # a number of no character would be found where a text is used
        with parsing(folder / "ids.npy", "array", _AGAIN):
            for place in range(0, len(ids), _AT_ONCE // 16):
                ids[place : place + _AT_ONCE // 16].astype(object)
    return np.asarray(ids)


def _damaged(folder: Path, reason: str) -> UnreadableFileError:
    return UnreadableFileError(f"{folder} is missing a part or damaged: {reason}. {_AGAIN}")
