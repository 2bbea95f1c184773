"""A graph as a folder of `.npy` files that are mapped into memory and never loaded whole.

features.npy (or features_pointer, features_columns, features_values for sparse ones), row_pointer,
columns and, where edges have weights, weights: the symmetric adjacency in compressed sparse rows;
labels (class codes, -1 = unknown), ids, validation; meta.json with version, sizes and fingerprint.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from torch import Tensor

from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.files import whole_folder
from quietgraph.graph.graph import Features, Graph
from quietgraph.graph.io.columns import Column
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.result import ReadGraph, Understood
from quietgraph.graph.sparse import CSR

META: Final = "meta.json"
_VERSION: Final = 1
_AT_ONCE: Final = 2**24  # entries read at a time when a file is hashed
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def is_mapped(path: str | Path) -> bool:
    """Whether a path is a folder that `quietgraph convert` wrote, whole or not."""
    return any((Path(path) / name).is_file() for name in (META, "row_pointer.npy"))


def read_mapped(folder: str | Path) -> ReadGraph:
    """Return the graph of a folder; features and edges stay on disk until they are used."""
    folder = Path(folder)
    meta = _read_meta(folder)
    num_nodes, width = meta["nodes"], meta["features"]
    adjacency = _map_csr(folder, "", "weights", (num_nodes, num_nodes))
    if meta["sparse"]:
        features: Features = _map_csr(folder, "features_", "features_values", (num_nodes, width))
    else:
        features = _map(folder, "features")
    if tuple(features.shape) != (num_nodes, width) or adjacency.num_entries != 2 * meta["edges"]:
        raise UnreadableFileError(
            f"{folder} does not hold the {num_nodes:,} nodes and {meta['edges']:,} edges of its "
            f"{META}. Convert it again."
        )
    graph = Graph(features, adjacency, tuple(meta["understood"]["notes"]))
    vars(graph)["fingerprint"] = meta["fingerprint"]  # hashing it would read everything
    validation = _map(folder, "validation").numpy() if meta["validation"] else None
    ids = np.arange(num_nodes) if meta["counted"] else _map_array(folder, "ids")
    return ReadGraph(
        graph,
        _label_values(_map(folder, "labels").numpy(), meta["classes"]),
        np.asarray(ids, dtype=object),
        _encoding(meta["encoding"]),
        _understood(meta["understood"], folder),
        validation,
    )


@contextmanager
def folder_to_write(target: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes `target` at the end of the block, whole or not at all.

    Only another folder of this kind is replaced.
    """
    if target.exists() and (
        not target.is_dir() or (any(target.iterdir()) and not is_mapped(target))
    ):
        raise UnwritablePathError(f"{target} holds other files. Choose an empty or new folder.")
    with whole_folder(target) as folder:
        yield folder


def write_meta(folder: Path, facts: dict[str, Any], understood: Understood, encoding: Any) -> None:
    """Write what the arrays of a folder mean; last of all, since it marks the folder as whole.

    Args:
        folder: Holds the arrays.
        facts: nodes, edges, features, sparse, classes, validation, counted.
        understood: What was understood of the source.
        encoding: How its features were made.
    """
    plain = {
        "version": _VERSION,
        **facts,
        "fingerprint": _fingerprint(folder, facts),
        "encoding": json.loads(encoding.to_json()),
        "understood": understood.to_dict(),
    }
    (folder / META).write_text(json.dumps(plain, indent=1), encoding="utf-8")


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text(encoding="utf-8"))
        version = meta["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFileError(
            f"{folder / META} does not describe a converted graph ({error}). "
            "Convert it again with quietgraph convert."
        ) from error
    if version != _VERSION:
        raise UnreadableFileError(
            f"{folder} has version {version} of the folder format, this program reads {_VERSION}. "
            "Convert it again with quietgraph convert."
        )
    return meta


def _map_array(folder: Path, name: str) -> _Array:
    path = folder / f"{name}.npy"
    try:
        # Copy on write: torch wants writable memory, and the file must never change.
        mapped: _Array = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UnreadableFileError(
            f"{path} is missing or broken ({error}). Convert the graph again with quietgraph "
            "convert."
        ) from error
    return mapped


def _map(folder: Path, name: str) -> Tensor:
    return torch.from_numpy(_map_array(folder, name))


def _map_csr(folder: Path, start: str, values: str, shape: tuple[int, int]) -> CSR:
    pointer = _map(folder, f"{start}pointer" if start else "row_pointer")
    columns = _map(folder, f"{start}columns")
    if (folder / f"{values}.npy").exists() or start:
        weights = _map(folder, values)
    else:
        weights = torch.ones(1).expand(len(columns)).contiguous()
    if len(pointer) != shape[0] + 1 or len(columns) != len(weights) or pointer[-1] != len(columns):
        raise UnreadableFileError(
            f"{folder}: {start}columns.npy does not fit its row pointer. Convert the graph again."
        )
    return CSR(pointer, columns, weights, shape)


def _label_values(codes: _Array, classes: list[Any]) -> _Array:
    values = np.array([*classes, None], dtype=object)  # -1 is the last one
    found: _Array = values[codes]
    return found


def _understood(facts: dict[str, Any], folder: Path) -> Understood:
    lists = {name: tuple(facts[name]) for name in ("columns", "notes")}
    return Understood(**{**facts, **lists, "form": f"memory-mapped folder {folder.name}"})


def _encoding(facts: dict[str, Any]) -> Encoding:
    columns = [Column(**{**one, "values": tuple(one["values"])}) for one in facts["columns"]]
    return Encoding(facts["kind"], tuple(columns), facts["id_column"], tuple(facts["landmarks"]))


def _fingerprint(folder: Path, facts: dict[str, Any]) -> str:
    """Return `Graph.fingerprint` of the folder, read in pieces."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(str((facts["nodes"], facts["features"])).encode())
    names = ["row_pointer", "columns", "weights"]
    sparse = ["features_pointer", "features_columns", "features_values"]
    for name in names + (sparse if facts["sparse"] else ["features"]):
        if (folder / f"{name}.npy").exists():
            flat = _map_array(folder, name).reshape(-1)
            for start in range(0, len(flat), _AT_ONCE):
                digest.update(flat[start : start + _AT_ONCE].tobytes())
        else:  # all weights are 1
            for start in range(0, 2 * facts["edges"], _AT_ONCE):
                size = min(_AT_ONCE, 2 * facts["edges"] - start)
                digest.update(np.ones(size, dtype=np.float32).tobytes())
    return digest.hexdigest()
