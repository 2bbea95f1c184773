"""`.npz` files: loose arrays, SciPy matrices, and the layout of Amazon and Coauthor."""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
import scipy.sparse

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.checks import check_edges, check_weights
from quietgraph.graph.io.limits import EDGE, FEATURE, NODE, Budget, parsing
from quietgraph.graph.io.raw import EdgeBlocks, Raw
from quietgraph.graph.sparse import compressed_matrix
from quietgraph.types import AnyArray, IntArray, Matrix, SparseMatrix

_FEATURES: Final = ("x", "features", "node_features", "node_feat", "feat", "attr_matrix")
_EDGES: Final = ("edge_index", "edges")
_LABELS: Final = ("y", "labels", "label", "target", "node_labels", "node_label")
_WEIGHTS: Final = ("edge_weight", "weights")
_IDS: Final = ("node_ids", "ids")
_ADJACENCIES: Final = ("adj_", "adj_matrix.", "adjacency_", "")  # beginnings of a matrix's parts
_ATTRIBUTES: Final = ("attr_", "attr_matrix.")
_COMPRESSED: Final = ("data", "indices", "indptr", "shape")
_COORDINATES: Final = ("data", "row", "col", "shape")
_LAYOUTS: Final = (_COMPRESSED, _COORDINATES)
_WIDE: Final = ("features", "adjacency")  # parts with columns
_PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes
_LARGE: Final = 64 * 2**20  # bytes of an array from which it is unpacked to disk, given a folder
_ROWS: Final = 2**20  # edges at a time


def read_npz(path: Path, budget: Budget, scratch: Path | None) -> Raw:
    """Return what an `.npz` file holds; arrays of Python objects are never loaded.

    Args:
        path: Of the file.
        budget: What it may take.
        scratch: Folder to unpack large arrays to; None to hold them in memory.
    """
    arrays, skipped = {}, []
    way_out = "Write it with numpy.savez or scipy.sparse.save_npz."
    with parsing(path, ".npz file of plain arrays", way_out), zipfile.ZipFile(path) as packed:
        members = [one for one in packed.infolist() if one.filename.endswith(".npy")]
        budget.check("bytes", sum(one.file_size for one in members))
        for place, one in enumerate(members):
            name = one.filename.removesuffix(".npy")
            # Names inside an archive may point anywhere, so files get numbers.
            file = None if scratch is None else scratch / f"{place}.unpacked"
            array = _unpack(packed, one, budget, file)
            if array is None:
                skipped.append(name)
            else:
                arrays[name] = array
    notes = [f"arrays of Python objects not read: {', '.join(skipped)}"] if skipped else []
    return raw_of_arrays(arrays, ".npz", str(path), notes, budget)


def _unpack(
    packed: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget, file: Path | None
) -> AnyArray | None:
    """Return an array of an archive; None where it holds Python objects, which could run code."""
    if member.compress_type not in _PACKINGS or member.flag_bits & 1:
        raise UnreadableFileError(
            f"{budget.where} packs {member.filename} in a way that NumPy does not write. Write it "
            "again with numpy.savez_compressed, without a password."
        )
    with packed.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        shape, turned, kind = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(
            stream
        )
        if kind.hasobject:
            return None
        if any(length < 0 for length in shape):
            raise ValueError("an array with a negative length")
        size = math.prod(shape) * kind.itemsize
        budget.check("entries", math.prod(shape))
        if size > member.file_size:
            raise ValueError(f"{member.filename} is cut off")
        order: Literal["F", "C"] = "F" if turned else "C"
        if file is not None and size > _LARGE:
            with file.open("wb") as unpacked:
                while piece := stream.read(2**22):
                    unpacked.write(piece)
            mapped: AnyArray = np.memmap(file, kind, "r", shape=shape, order=order)
            return mapped
        content = stream.read(size)
        stream.read(1)  # at the end of the member its checksum is compared
        return np.frombuffer(content, dtype=kind, count=math.prod(shape)).reshape(
            shape, order=order
        )


def raw_of_arrays(
    arrays: Mapping[str, Any], form: str, where: str, notes: list[str], budget: Budget
) -> Raw:
    """Return nodes, edges, features and labels found in arrays by their usual names.

    Labels outside `train_mask` and `val_mask`, where these are given, are not read.
    """
    left = dict(arrays)
    adjacency = _take_matrix(left, _ADJACENCIES, where, budget, NODE)
    edges, weights = _edges(left, adjacency, where)
    budget.check("edges", edges.shape[1], EDGE)
    matrix = _take_matrix(left, _ATTRIBUTES, where, budget, FEATURE)
    matrix = _take(left, _FEATURES) if matrix is None else matrix
    _check_kind({"features": matrix, "weights": weights}, "biuf", "real numbers", where)
    labels, ids = (_as_list(_take(left, names)) for names in (_LABELS, _IDS))
    masks = [left.pop(f"{part}_mask", None) for part in ("train", "val", "test")]
    train, validation = masks[:2]
    _check_kind({"train_mask": train, "val_mask": validation}, "biu", "True and False", where)
    parts = {"features": matrix, "labels": labels, "ids": ids}
    parts |= {"adjacency": adjacency, "train_mask": train, "val_mask": validation}
    num_nodes = _count_nodes(parts, edges, where)
    budget.check("nodes", num_nodes, NODE)
    if train is not None and labels is not None:
        labels = _inside(labels, train, validation)
    left_over = [f"arrays not used: {', '.join(sorted(left))}"] if left else []

    def blocks(_: pd.Index) -> EdgeBlocks:
        for start in range(0, max(1, edges.shape[1]), _ROWS):
            pairs = check_edges(edges[:, start : start + _ROWS], num_nodes)
            few = None if weights is None else weights[start : start + _ROWS]
            yield pairs[0], pairs[1], None if few is None else check_weights(few, pairs.shape[1])

    return Raw(
        form,
        where,
        blocks,
        edges.shape[1],
        notes + left_over,
        ids=np.arange(num_nodes) if ids is None else ids,
        matrix=matrix,
        labels=labels,
        validation=None if validation is None else validation.astype(bool),
    )


def _take(left: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Remove and return the first array of these names."""
    name = next((name for name in names if name in left), None)
    return None if name is None else left.pop(name)


def _as_list(values: AnyArray | None) -> AnyArray | None:
    """Return one column as a list; bytes as texts where they are."""
    if values is None:
        return None
    flat = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
    if flat.dtype.kind != "S" or flat.ndim != 1:
        return flat
    try:
        return np.array([*(one.decode() for one in flat.tolist()), None], dtype=object)[:-1]
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"the file holds texts that are not UTF-8 (byte 0x{error.object[error.start]:02x}). "
            "Save them again as UTF-8."
        ) from error


def _check_kind(parts: Mapping[str, Matrix | None], kinds: str, words: str, where: str) -> None:
    for name, part in parts.items():
        if part is not None and part.dtype.kind not in kinds:
            raise UnreadableFileError(
                f"{where}: {name} must be {words}, got {part.dtype}. Convert them first."
            )


def _take_matrix(
    left: dict[str, Any], beginnings: tuple[str, ...], where: str, budget: Budget, each: int
) -> SparseMatrix | None:
    """Remove the parts of a sparse matrix and return it; None where there is none."""
    for start, parts in ((start, parts) for start in beginnings for parts in _LAYOUTS):
        names = [start + part for part in parts]
        if not all(name in left for name in names):
            continue
        data, first, second, shape = (left.pop(name) for name in names)
        _check_kind({names[0]: data}, "biuf", "real numbers", where)
        whole = dict(zip(names[1:], (first, second, shape), strict=True))
        _check_kind(whole, "iu", "whole numbers", where)
        data = data.astype(np.float32) if data.dtype == np.float16 else data  # SciPy has no half
        layout = left.pop(f"{start}format", "csr")
        with parsing(f"{where}: what {', '.join(names)} describe", "sparse matrix"):
            layout = layout.item() if isinstance(layout, np.ndarray) else layout
            size = (int(shape[0]), int(shape[1]))
            budget.check("nodes", size[0], NODE)
            budget.check("columns of a matrix", size[1], each)
            if parts is _COORDINATES:
                return scipy.sparse.coo_matrix((data, (first, second)), shape=size).tocsr()
            by_column = layout in {"csc", b"csc"}
            return compressed_matrix(data, first, second, size, by_column=by_column)
    return None


def _edges(
    left: dict[str, Any], adjacency: SparseMatrix | None, where: str
) -> tuple[IntArray, AnyArray | None]:
    if adjacency is not None:
        if adjacency.shape[0] != adjacency.shape[1]:
            raise UnreadableFileError(
                f"{where}: the adjacency matrix must be square, got shape {adjacency.shape}."
            )
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
    weights = _as_list(_take(left, _WEIGHTS))
    pairs = found if found.shape[0] == 2 else found.T
    if weights is not None and weights.shape != (pairs.shape[1],):
        raise UnreadableFileError(
            f"{where}: weights must have one entry per edge ({pairs.shape[1]}), got shape "
            f"{weights.shape}."
        )
    return pairs, weights


def _count_nodes(parts: Mapping[str, Matrix | None], edges: IntArray, where: str) -> int:
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


def _inside(labels: AnyArray, train: AnyArray, validation: AnyArray | None) -> AnyArray:
    shown = train.astype(bool)
    if validation is not None:
        shown = shown | validation.astype(bool)
    values: AnyArray = np.where(shown, labels.astype(object), np.array(None))
    return values
