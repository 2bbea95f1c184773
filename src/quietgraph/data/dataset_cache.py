"""Datasets as their readers left them, kept on disk so that each is read only once.

PyG's readers write beside the raw files and take seconds and gigabytes; here they work in a
folder of their own that is thrown away, and one small file without code in it stays.
"""

import hashlib
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock

from quietgraph.data.sources import RawDataset, Source, fetch, link_files, user_cache
from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError
from quietgraph.files import whole_file
from quietgraph.graph import CSR, Features, Graph

_FORMAT = 1  # to be raised whenever the arrays below change their meaning


def read_cached(name: str, source: Source, root: Path) -> RawDataset:
    """Return a dataset from the cache, or from its raw files, which are fetched where missing.

    Several processes may ask at once: one reads, the others wait for its result.
    """
    folder = user_cache() / "datasets"
    if not source.missing(root):
        kept = _load(_cache_file(folder, name, source, root))
        if kept is not None:
            return kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock"):
            return _read(name, source, root, folder)
    except OSError as error:
        raise UnwritablePathError(
            f"the cache folder {folder} cannot be written: {error}. "
            "Set QUIETGRAPH_CACHE to a folder that can."
        ) from error


def _read(name: str, source: Source, root: Path, folder: Path) -> RawDataset:
    if source.missing(root):
        with tempfile.TemporaryDirectory(dir=folder) as stage:
            fetch(name, source, root, stage=Path(stage))
    path = _cache_file(folder, name, source, root)
    kept = _load(path)  # another process may have been faster
    if kept is None:
        with tempfile.TemporaryDirectory(dir=folder) as stage:
            link_files(source, root, Path(stage))
            kept = _read_raw(name, source, root, Path(stage))
        _save(kept, path)
    return kept


def _read_raw(name: str, source: Source, root: Path, stage: Path) -> RawDataset:
    try:
        return source.read(stage)
    except QuietgraphError:
        raise
    except Exception as error:  # whatever a reader raises on a file that is not what it expects
        raise UnreadableFileError(
            f"the files of {name} in {root / source.folder} cannot be read "
            f"({type(error).__name__}: {error}). Replace them by the published ones."
        ) from error


def _cache_file(folder: Path, name: str, source: Source, root: Path) -> Path:
    """Return where a dataset is kept; other raw files or another reader give another place."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{_FORMAT} {version('torch_geometric')}".encode())
    for file in source.files:
        path = (root / source.folder / file).resolve()
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}".encode())
    return folder / f"{name}-{digest.hexdigest()}.npz"


def _save(dataset: RawDataset, path: Path) -> None:
    graph = dataset.graph
    arrays = {
        "labels": dataset.labels.numpy(),
        "parts": dataset.parts.numpy(),
        "notes": np.array(graph.notes, dtype=np.str_),
        **_pack("features", graph.features),
        **_pack("adjacency", graph.adjacency),
    }
    with whole_file(path) as scratch:
        np.savez(scratch, **arrays)


def _load(path: Path) -> RawDataset | None:
    """Return the kept dataset, None where there is none or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            features: Features = (
                torch.from_numpy(arrays["features"])
                if "features" in arrays
                else _unpack_sparse("features", arrays)
            )
            notes = tuple(str(note) for note in arrays["notes"])
            graph = Graph(features, _unpack_sparse("adjacency", arrays), notes)
            labels, parts = (torch.from_numpy(arrays[name]) for name in ("labels", "parts"))
            return RawDataset(graph, labels, parts)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _pack(name: str, matrix: Features) -> dict[str, Any]:
    if not isinstance(matrix, CSR):
        return {name: matrix.numpy()}
    return {
        f"{name}_row_pointer": matrix.row_pointer.numpy(),
        f"{name}_columns": matrix.columns.numpy(),
        f"{name}_values": matrix.values.numpy(),
        f"{name}_shape": np.array(matrix.shape),
    }


def _unpack_sparse(name: str, arrays: Any) -> CSR:
    names = (f"{name}_{part}" for part in ("row_pointer", "columns", "values"))
    row_pointer, columns, values = (torch.from_numpy(arrays[part]) for part in names)
    height, width = arrays[f"{name}_shape"].tolist()
    return CSR(row_pointer, columns, values, (height, width))
