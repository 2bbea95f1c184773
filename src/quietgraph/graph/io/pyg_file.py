"""PyG `.pt` files, loaded without running any code that they may carry."""

import pickle
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.arrays import raw_of_arrays
from quietgraph.graph.io.limits import FEATURE, NODE, Budget, parsing
from quietgraph.graph.io.raw import Raw
from quietgraph.types import Matrix


def read_pt(path: Path, budget: Budget) -> Raw:
    """Return what a PyG `Data`, a saved dataset or a dict of tensors holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # Its classes are what a PyG file consists of; nothing else may be built from one.
        from torch_geometric.data import Data  # noqa: PLC0415  (slow to import)
        from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr  # noqa: PLC0415
        from torch_geometric.data.storage import GlobalStorage  # noqa: PLC0415

    wanted = {Data, DataEdgeAttr, DataTensorAttr, GlobalStorage}
    # What PyG has allowed for itself stays allowed: leaving the block would take it away.
    missing = list(wanted - set(torch.serialization.get_safe_globals()))
    with parsing(path, ".pt file", "Save it again with torch.save."):
        with zipfile.ZipFile(path) as packed:
            budget.check("bytes", sum(one.file_size for one in packed.infolist()))
        try:
            with torch.serialization.safe_globals(missing), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of torch, about kinds of tensors
                stored = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise UnreadableFileError(
                f"{path} holds more than tensors and PyG data, so loading it could run code, and "
                "it is refused. Save the Data object itself, or a dict of x, edge_index and y."
            ) from error
        arrays = _arrays(stored, path, budget)
    return raw_of_arrays(arrays, "PyG .pt", str(path), [], budget)


def _arrays(stored: Any, path: Path, budget: Budget) -> dict[str, Matrix]:
    """Return the tensors by name, as NumPy arrays or SciPy matrices."""
    if isinstance(stored, tuple | list) and stored:  # a dataset: data, slices, class
        stored = stored[0]
    found = stored.to_dict() if hasattr(stored, "to_dict") else stored
    if not isinstance(found, Mapping):
        raise UnreadableFileError(
            f"{path} must hold a PyG Data or a dict of tensors, got {type(stored).__name__}."
        )
    tensors = {str(name): value for name, value in found.items() if isinstance(value, Tensor)}
    if "edge_weight" not in tensors and "edge_attr" in tensors and "edge_index" in tensors:
        attributes = tensors["edge_attr"]
        if attributes.numel() == tensors["edge_index"].shape[-1]:  # one number each
            tensors["edge_weight"] = tensors.pop("edge_attr").reshape(-1)
    return {name: _array(name, value, budget) for name, value in tensors.items()}


def _array(name: str, tensor: Tensor, budget: Budget) -> Matrix:
    if tensor.is_quantized or tensor.is_meta or tensor.is_nested:
        raise UnreadableFileError(
            f"{budget.where}: {name} is a tensor without plain numbers (quantised, nested or "
            "empty). Turn it into a dense one first."
        )
    plain = tensor.detach()
    # NumPy has no bfloat16.
    plain = plain.float() if plain.dtype == torch.bfloat16 else plain
    if plain.layout == torch.strided:
        # A few bytes may stand for many entries, by strides of 0.
        budget.check(f"entries of {name}", plain.numel(), plain.element_size())
        return plain.resolve_conj().resolve_neg().numpy()
    if plain.ndim != 2:
        raise UnreadableFileError(f"{budget.where}: the sparse {name} must be a matrix.")
    budget.check(f"rows of {name}", plain.shape[0], NODE)
    budget.check(f"columns of {name}", plain.shape[1], FEATURE)
    entries = plain.to_sparse().coalesce()
    parts = (entries.values().numpy(), tuple(entries.indices().numpy()))
    matrix = scipy.sparse.coo_matrix(parts, shape=tuple(entries.shape)).tocsr()
    return matrix if name == "x" else np.asarray(matrix.todense())
