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
    """Nodes, edges, features and labels of a file; None where it has none.

    Labels outside `train_mask` and `val_mask`, where these are given, are None.
    """

    features: Any
    edges: AnyArray
    weights: AnyArray | None
    labels: AnyArray | None
    ids: AnyArray
    validation: BoolArray | None
    notes: tuple[str, ...]


def read_arrays(path: Path) -> Arrays:
    """Return what a `.npz` file holds (loose arrays, or SciPy matrices adj_ and attr_), or a `.pt` file (PyG)."""
    if not path.is_file():
        raise UnreadableFileError(f"there is no file {path}. Correct the path.")
    try:
        found, skipped = _read_npz(path) if path.suffix == ".npz" else (_read_pt(path), [])
        arrays = _understood(found, str(path))
    except pickle.UnpicklingError as error:
        raise UnreadableFileError(
            f"{path} holds more than tensors and PyG data, so loading it could run code. Save the Data object itself, or a "
            "dict of x, edge_index and y."
        ) from error
    except UnreadableFileError:
        raise
    except Exception as error:  # NumPy, SciPy, zipfile and torch raise errors of any kind on damaged files
        raise UnreadableFileError(
            f"{path} is no readable {path.suffix} file: {str(error).splitlines()[0][:200] if str(error) else error!r}."
        ) from error
    notes = [f"arrays of Python objects not read: {', '.join(skipped)}"] if skipped else []
    return arrays._replace(notes=(*notes, *arrays.notes))


def _read_npz(path: Path) -> tuple[dict[str, Any], list[str]]:
    found, skipped = {}, []
    with np.load(path, allow_pickle=False) as packed:
        for name in packed.files:
            try:
                found[name] = packed[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                skipped.append(name)
    return found, skipped


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
    plain = (
        plain if plain.dtype.itemsize > 2 or not plain.is_floating_point() else plain.float()
    )  # NumPy has no bfloat16
    if plain.layout.__str__() == "torch.strided":
        return plain.numpy()
    entries = plain.to_sparse().coalesce()
    return scipy.sparse.coo_matrix((entries.values().numpy(), entries.indices().numpy()), shape=entries.shape).tocsr()


def _understood(found: dict[str, Any], where: str) -> Arrays:
    adjacency = _take_matrix(found, "adj_", "")
    features = _take_matrix(found, "attr_")
    features = _take(found, "x", "features") if features is None else features
    if adjacency is not None:
        entries = adjacency.tocoo()
        entries.eliminate_zeros()
        edges, weights = np.vstack([entries.row, entries.col]), entries.data
    else:
        edges, weights = _take(found, "edge_index", "edges"), _take(found, "edge_weight", "weights")
    if edges is None:
        raise UnreadableFileError(
            f"{where} holds no edges: neither an array edge_index or edges nor a sparse matrix adj_, only "
            f"{', '.join(sorted(found)) or 'nothing'}."
        )
    if edges.ndim != 2 or 2 not in edges.shape or edges.dtype.kind not in "iu":
        raise UnreadableFileError(
            f"{where}: edges must be pairs of whole numbers [2, edges], got {edges.dtype} of shape {edges.shape}."
        )
    edges = edges if edges.shape[0] == 2 else edges.T
    labels, ids = _take(found, "y", "labels"), _take(found, "ids", "node_ids")
    labels, ids = (
        None if one is None else _texts(one.reshape(-1) if one.shape[1:] == (1,) else one) for one in (labels, ids)
    )
    train, validation, _ = (_take(found, f"{part}_mask") for part in ("train", "val", "test"))
    parts = {"features": features, "labels": labels, "ids": ids, "train_mask": train, "val_mask": validation}
    sizes = {name: part.shape for name, part in parts.items() if part is not None}
    flat = [name for name, shape in sizes.items() if len(shape) != 1 + (name == "features")]
    if flat:
        raise UnreadableFileError(
            f"{where}: {flat[0]} must have one {'row' if flat[0] == 'features' else 'entry'} for each node, got shape "
            f"{sizes[flat[0]]}. Choose one split, one class per node."
        )
    if len({shape[0] for shape in sizes.values()}) > 1:
        words = ", ".join(f"{name} {shape[0]}" for name, shape in sizes.items())
        raise UnreadableFileError(f"{where}: the parts must agree on the nodes, got {words}.")
    count = (
        next(iter(sizes.values()))[0]
        if sizes
        else adjacency.shape[0]
        if adjacency is not None
        else int(edges.max(initial=-1)) + 1
    )
    if train is not None and labels is not None:
        shown = train.astype(bool) if validation is None else train.astype(bool) | validation.astype(bool)
        labels = np.where(shown, labels.astype(object), None)
    notes = (f"arrays not used: {', '.join(sorted(found))}",) if found else ()
    ids = np.arange(count) if ids is None else ids
    return Arrays(features, edges, weights, labels, ids, None if validation is None else validation.astype(bool), notes)


def _take(found: dict[str, Any], *names: str) -> Any:
    """Remove and return the first array of these names."""
    name = next((name for name in names if name in found), None)
    return None if name is None else found.pop(name)


def _take_matrix(found: dict[str, Any], *beginnings: str) -> Any:
    """Remove the parts of a sparse matrix and return it; None where there is none."""
    for start in beginnings:
        layout = found.pop(f"{start}format", np.array("csr")).item()
        for names in _PARTS:
            if all(start + name in found for name in names):
                data, first, second, shape = (found.pop(start + name) for name in names)
                data = data.astype(np.float32) if data.dtype == np.float16 else data  # SciPy has no half
                if "row" in names:
                    return scipy.sparse.coo_matrix((data, (first, second)), shape=shape).tocsr()
                kind = scipy.sparse.csc_matrix if layout in {"csc", b"csc"} else scipy.sparse.csr_matrix
                matrix = kind((data, first, second), shape=tuple(map(int, shape)))
                matrix.check_format(full_check=True)
                return matrix.tocsr()
    return None


def _texts(values: AnyArray) -> AnyArray:
    """Return bytes as texts."""
    return values if values.dtype.kind != "S" else np.array([one.decode() for one in values.tolist()], dtype=object)
