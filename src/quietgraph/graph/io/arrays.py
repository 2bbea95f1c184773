"""`.npz` and PyG `.pt` files: arrays by their usual names; no code that a file may carry is run."""

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse

from quietgraph.errors import UnreadableFileError
from quietgraph.types import AnyArray, BoolArray

SUFFIXES: Final = (".npz", ".pt")
_PARTS: Final = (("data", "indices", "indptr", "shape"), ("data", "row", "col", "shape"))  # of a sparse matrix


class Arrays(NamedTuple):
    """Nodes, edges, features and labels of a file; None where it has none."""

    features: Any
    edges: AnyArray
    weights: AnyArray | None
    labels: AnyArray | None  # those outside train_mask and val_mask, where these are given, are None
    ids: AnyArray
    validation: BoolArray | None
    notes: tuple[str, ...]


def read_arrays(path: Path) -> Arrays:
    """Return what a `.npz` file holds (loose arrays, or SciPy matrices adj_ and attr_), or a `.pt` file (PyG)."""
    try:
        return _understood(_read_npz(path) if path.suffix == ".npz" else _read_pt(path), str(path))
    except UnreadableFileError:
        raise
    except Exception as error:  # NumPy, SciPy, zipfile and torch raise errors of any kind on damaged files
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        if isinstance(error, pickle.UnpicklingError):
            reason = "it holds more than tensors and PyG data, so loading it could run code"
        raise UnreadableFileError(f"{path} is no readable {path.suffix} file: {reason}. Write it again.") from error


def _read_npz(path: Path) -> dict[str, Any]:
    found = {}
    with path.open("rb") as file, np.load(file, allow_pickle=False) as packed:
        for name in packed.files:
            try:
                found[name] = packed[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                found[name] = None
    return found


def _read_pt(path: Path) -> dict[str, Any]:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch and PyG, about kinds of tensors
        # Its classes are what a PyG file consists of; nothing else may be built from one.
        from torch_geometric.data import Data
        from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
        from torch_geometric.data.storage import GlobalStorage

        wanted = {Data, DataEdgeAttr, DataTensorAttr, GlobalStorage}
        # What is allowed already stays so: leaving the block takes away what it allowed.
        with torch.serialization.safe_globals([*wanted - {*torch.serialization.get_safe_globals()}]):
            stored = torch.load(path, map_location="cpu", weights_only=True)
    stored = stored[0] if isinstance(stored, tuple | list) and stored else stored  # a dataset: data, slices, class
    found = stored.to_dict() if hasattr(stored, "to_dict") else stored
    if not isinstance(found, Mapping):
        raise UnreadableFileError(f"{path} must hold a PyG Data or a dict of tensors, got {type(stored).__name__}.")
    arrays = {str(name): _array(value) for name, value in found.items() if isinstance(value, torch.Tensor)}
    attributes = arrays.get("edge_attr")
    if "edge_weight" not in arrays and attributes is not None and attributes.size == arrays["edge_index"].shape[-1]:
        arrays["edge_weight"] = arrays.pop("edge_attr").reshape(-1)  # one number each
    return arrays


def _array(tensor: Any) -> Any:
    plain = tensor.detach()
    plain = plain.float() if plain.is_floating_point() and plain.dtype.itemsize < 4 else plain  # NumPy has no bfloat16
    if not plain.is_sparse and plain.layout.__str__() == "torch.strided":
        return plain.numpy()
    entries = plain.to_sparse().coalesce()
    return scipy.sparse.coo_matrix((entries.values().numpy(), entries.indices().numpy()), shape=entries.shape).tocsr()


def _understood(found: dict[str, Any], where: str) -> Arrays:
    adjacency, features = _take_matrix(found, "adj_", ""), _take_matrix(found, "attr_")
    features = _take(found, "x", "features") if features is None else features
    edges, weights = _take(found, "edge_index", "edges"), _take(found, "edge_weight", "weights")
    if adjacency is not None:
        entries = adjacency.tocoo()
        entries.eliminate_zeros()
        edges, weights = np.vstack([entries.row, entries.col]), entries.data
    if edges is None or edges.ndim != 2 or 2 not in edges.shape or edges.dtype.kind not in "iu":
        raise UnreadableFileError(
            f"{where} holds no edges: neither pairs of whole numbers edge_index [2, edges] nor a sparse matrix adj_, "
            f"only {', '.join(sorted(found)) or 'nothing'}."
        )
    edges = edges if edges.shape[0] == 2 else edges.T
    labels, ids = (_texts(_take(found, *names)) for names in (("y", "labels"), ("ids", "node_ids")))
    train, validation, _ = (_take(found, f"{part}_mask") for part in ("train", "val", "test"))
    count = int(edges.max(initial=-1)) + 1 if adjacency is None else adjacency.shape[0]
    parts = {"features": features, "labels": labels, "ids": ids, "train_mask": train, "val_mask": validation}
    sizes = {name: part.shape for name, part in parts.items() if part is not None}
    for name, shape in sizes.items():
        count = sizes[next(iter(sizes))][0]
        if len(shape) != 1 + (name == "features") or shape[0] != count:
            raise UnreadableFileError(
                f"{where}: {name} must have one {'row' if name == 'features' else 'entry'} for each of {count} nodes, "
                f"got shape {shape}. Choose one split, one class per node."
            )
    if train is not None and labels is not None:
        shown = train.astype(bool) if validation is None else train.astype(bool) | validation.astype(bool)
        labels = np.where(shown, labels.astype(object), np.array(None))
    marked = None if validation is None else validation.astype(bool)
    objects = sorted(name for name, values in found.items() if values is None)
    unused = sorted({*found} - {*objects})
    notes = [f"arrays of Python objects not read: {', '.join(objects)}"] if objects else []
    notes += [f"arrays not used: {', '.join(unused)}"] if unused else []
    return Arrays(features, edges, weights, labels, np.arange(count) if ids is None else ids, marked, tuple(notes))


def _take(found: dict[str, Any], *names: str) -> Any:
    """Remove and return the first array of these names."""
    name = next((name for name in names if name in found), None)
    return None if name is None else found.pop(name)


def _take_matrix(found: dict[str, Any], *beginnings: str) -> Any:
    """Remove the parts of a sparse matrix and return it; None where there is none."""
    for start in beginnings:
        layout = str(found.pop(f"{start}format", "csr"))
        for names in _PARTS:
            if all(start + name in found for name in names):
                data, first, second, shape = (found.pop(start + name) for name in names)
                size: Any = tuple(map(int, shape))
                if "row" in names:
                    return scipy.sparse.coo_matrix((data, (first, second)), shape=size).tocsr()
                kind: Any = scipy.sparse.csc_matrix if "csc" in layout else scipy.sparse.csr_matrix
                if (np.diff(second.astype(np.int64)) < 0).any():  # SciPy passes over it, and crashes
                    raise ValueError(f"the pointer {start}indptr does not rise")
                matrix = kind((data, first, second), shape=size)
                matrix.check_format(full_check=True)
                return matrix.tocsr()
    return None


def _texts(values: Any) -> Any:
    """Return one column as a list, bytes as texts."""
    flat = values.reshape(-1) if values is not None and values.shape[1:] == (1,) else values
    if flat is None or flat.dtype.kind != "S":
        return flat
    return np.array([one.decode() for one in flat.tolist()], dtype=object)
