"""`Data` as a folder of `.npy` files that are mapped into memory and never loaded whole.

row_pointer, columns, weights: the symmetric adjacency in compressed sparse rows; features (or features_row_pointer,
features_columns, features_weights of sparse ones); codes, ids, train, validation, test; meta.json for the rest.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from quietgraph.data.data import Data
from quietgraph.data.splits import Split
from quietgraph.data.tables import Source
from quietgraph.errors import UnreadableFileError
from quietgraph.files import write_folder
from quietgraph.graph import CSR, Graph
from quietgraph.types import UNKNOWN, AnyArray

_META: Final = "meta.json"
_SPLIT: Final = ("train", "validation", "test")
_CSR: Final = ("row_pointer", "columns", "weights")
_ARRAYS: Final = (*_CSR, *(f"features_{name}" for name in _CSR), "features", "codes", "ids", *_SPLIT)
_FILES: Final = {_META, *(f"{name}.npy" for name in _ARRAYS)}


class _Meta(BaseModel):
    """What `meta.json` holds."""

    model_config = ConfigDict(extra="forbid")
    format: Literal[1] = 1
    name: str
    nodes: int
    features: int
    is_sparse: bool
    classes: list[bool | int | str]
    fingerprint: str
    columns: str  # as `Source.columns_json` writes them
    notes: tuple[str, ...]


def is_mapped(folder: str | Path) -> bool:
    """Return whether a folder is one that `convert` wrote."""
    return (Path(folder) / _META).is_file() and (Path(folder) / "row_pointer.npy").is_file()


def convert(source: Any, folder: str | Path, **options: Any) -> list[str]:
    """Write any graph as a folder that is mapped into memory; return what was understood of it.

    Tables are read in pieces: memory grows with the ids and labels of the nodes, not with features and edges.

    Args:
        source: What `quietgraph.load` takes, or a function that calls it with more arguments.
        folder: A new or empty folder, or an old one of this kind.
        options: Of `quietgraph.load`.
    """
    from quietgraph.data.load import load

    read: Callable[..., Data] = source if callable(source) else lambda **more: load(source, **options, **more)
    with write_folder(folder, marker=_META, known=_FILES) as scratch:

        def allocate(name: str, shape: tuple[int, ...], kind: Any) -> AnyArray:
            if 0 in shape:  # nothing that could be mapped
                return np.empty(shape, kind)
            return np.lib.format.open_memmap(scratch / f"{name}.npy", "w+", kind, tuple(map(int, shape)))

        data = read(allocate=allocate)
        _write(data, scratch)
        return data.describe()


def save(data: Data, folder: str | Path) -> None:
    """Write data as a folder that `open_folder` maps into memory."""
    with write_folder(folder, marker=_META, known=_FILES) as scratch:
        _write(data, scratch)


def _write(data: Data, folder: Path) -> None:
    graph, features = data.graph, data.graph.features
    arrays = _parts(graph.adjacency, "")
    arrays |= _parts(features, "features_") if isinstance(features, CSR) else {"features": features.numpy()}
    arrays |= {name: getattr(data.split, name).numpy() for name in _SPLIT} | {"codes": data.codes.numpy()}
    ids = np.asarray(data.ids)
    arrays["ids"] = ids if ids.dtype.kind in "iuU" else np.array([str(one) for one in ids])
    for name, array in arrays.items():
        if (folder / f"{name}.npy").exists():  # filled while it was read
            continue
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    meta = _Meta(
        name=data.name,
        nodes=graph.num_nodes,
        features=graph.num_features,
        is_sparse=isinstance(features, CSR),
        classes=data.classes.tolist(),
        fingerprint=graph.fingerprint,
        columns=(data.source or Source()).columns_json(),
        notes=data.notes,
    )
    (folder / _META).write_text(meta.model_dump_json(indent=1), encoding="utf-8")


def _parts(matrix: CSR, start: str) -> dict[str, AnyArray]:
    parts = (matrix.row_pointer, matrix.columns, matrix.values)
    return {start + name: part.numpy() for name, part in zip(_CSR, parts, strict=True)}


def open_folder(folder: str | Path) -> Data:
    """Return the data of a folder; arrays stay on disk until they are used."""
    folder = Path(folder)
    try:
        meta = _Meta.model_validate_json((folder / _META).read_text(encoding="utf-8"))
        size = meta.nodes
        adjacency = _csr(folder, "", (size, size))
        shape = (size, meta.features)
        sparse = _csr(folder, "features_", shape) if meta.is_sparse else None
        features = torch.from_numpy(_map(folder, "features", shape)) if sparse is None else sparse
        codes = torch.from_numpy(_map(folder, "codes", (size,), largest=len(meta.classes), least=UNKNOWN))
        split = Split(*(torch.from_numpy(_map(folder, name, (size,))) for name in _SPLIT))
        ids = _map(folder, "ids", (size,))
    except (OSError, ValueError, ValidationError, EOFError) as error:
        raise UnreadableFileError(
            f"{folder} is missing a part or damaged: {str(error).splitlines()[0]}. Convert the graph again."
        ) from error
    graph = Graph(features, adjacency)
    vars(graph)["fingerprint"] = meta.fingerprint  # hashing it would read everything
    classes = np.array(meta.classes) if meta.classes else np.empty(0, dtype=object)
    return Data(
        meta.name, graph, codes, classes, split, ids=ids, source=Source.of_columns(meta.columns), notes=meta.notes
    )


def _map(folder: Path, name: str, shape: tuple[int, ...], *, largest: int | None = None, least: int = 0) -> AnyArray:
    # Copy on write: torch wants writable memory, and the file must never change.
    found = np.load(folder / f"{name}.npy", mmap_mode="c" if np.prod(shape) else None, allow_pickle=False)
    if found.shape != shape:
        raise ValueError(f"{name}.npy does not hold {shape}, but {found.shape}")
    if largest is not None and found.size and not least <= found.min() <= found.max() < largest:
        raise ValueError(f"{name}.npy points outside of {largest:,}")
    return found


def _csr(folder: Path, start: str, shape: tuple[int, int]) -> CSR:
    pointer = _map(folder, f"{start}row_pointer", (shape[0] + 1,))
    if pointer[0] != 0 or (pointer[1:] < pointer[:-1]).any():
        raise ValueError(f"{start}row_pointer.npy does not rise")
    columns = _map(folder, f"{start}columns", (int(pointer[-1]),), largest=shape[1])
    values = _map(folder, f"{start}weights", columns.shape)
    parts = [torch.from_numpy(part) for part in (pointer, columns, values)]
    return CSR(parts[0], parts[1], parts[2], shape)
