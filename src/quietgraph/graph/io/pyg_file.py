"""PyG `.pt` files, loaded without running any code that they may carry."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.arrays import raw_of_arrays
from quietgraph.graph.io.raw import Raw


def read_pt(path: Path) -> Raw:
    """Return what a PyG `Data`, a saved dataset or a dict of tensors holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # Its classes are what a PyG file consists of; nothing else may be built from one.
        from torch_geometric.data import Data  # noqa: PLC0415  (slow to import)
        from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr  # noqa: PLC0415
        from torch_geometric.data.storage import GlobalStorage  # noqa: PLC0415

    wanted = {Data, DataEdgeAttr, DataTensorAttr, GlobalStorage}
    # What PyG has allowed for itself stays allowed: leaving the block would take it away.
    missing = wanted - set(torch.serialization.get_safe_globals())
    try:
        with torch.serialization.safe_globals(list(missing)):
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UnreadableFileError(
            f"{path} holds more than tensors and PyG data, so loading it could run code, and it "
            "is refused. Save the Data object itself, or a dict of x, edge_index and y."
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".") or "it is empty or cut off"
        raise UnreadableFileError(f"{path} is no readable .pt file ({reason}).") from error
    return raw_of_arrays(_arrays(stored, Data, path), form="PyG .pt", where=str(path))


def _arrays(stored: Any, data_class: Any, path: Path) -> dict[str, Any]:
    """Return the tensors by name, as NumPy arrays."""
    if isinstance(stored, tuple | list) and stored:  # a dataset: data, slices, class
        stored = stored[0]
    try:
        found = stored.to_dict() if isinstance(stored, data_class) else dict(stored)
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise UnreadableFileError(
            f"{path} must hold a PyG Data or a dict of tensors, got {type(stored).__name__}."
        ) from error
    tensors = {str(name): value for name, value in found.items() if isinstance(value, Tensor)}
    if "edge_weight" not in tensors and "edge_attr" in tensors and "edge_index" in tensors:
        attributes = tensors["edge_attr"]
        if attributes.numel() == tensors["edge_index"].shape[-1]:  # one number each
            tensors["edge_weight"] = tensors.pop("edge_attr").reshape(-1)
    return {name: _array(value) for name, value in tensors.items()}


def _array(tensor: Tensor) -> Any:
    plain = tensor.detach().to_dense()
    # NumPy has no bfloat16.
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
