"""Datasets as their readers left them, kept on disk so that each is read only once.

PyG's readers write beside the raw files and take seconds and gigabytes; here they work in a
folder of their own that is thrown away, and one small file without code in it stays.
"""

import hashlib
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Final

from filelock import FileLock
from torch import Tensor

from quietgraph.data.sources import RawDataset, Source, fetch, link_files, user_cache
from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError
from quietgraph.graph import CSR, Features, Graph
from quietgraph.tensor_file import read_tensors, write_tensors

_OF_MATRIX: Final = ("row_pointer", "columns", "values")
_FORMAT: Final = 2  # to be raised whenever the arrays below change their meaning


def read_cached(name: str, source: Source, root: Path) -> RawDataset:
    """Return a dataset from the cache, or from its raw files, which are fetched where missing.

    Several processes may ask at once: one reads, the others wait for its result. A cache that
    cannot be written is a warning: the dataset is then read afresh every time.
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
        warnings.warn(
            f"the dataset is not kept: the cache folder {folder} cannot be written ({error}). "
            "Set QUIETGRAPH_CACHE to a folder that can.",
            RuntimeWarning,
            stacklevel=2,
        )
        return _read_afresh(name, source, root, None)


def _read(name: str, source: Source, root: Path, folder: Path) -> RawDataset:
    """Return what another process has put into the cache meanwhile, or put it there."""
    kept = None if source.missing(root) else _load(_cache_file(folder, name, source, root))
    if kept is None:
        kept = _read_afresh(name, source, root, folder)
        _save(kept, _cache_file(folder, name, source, root))
    return kept


def _read_afresh(name: str, source: Source, root: Path, folder: Path | None) -> RawDataset:
    """Return a dataset from its raw files, by way of a folder that is thrown away."""
    if source.missing(root):
        with tempfile.TemporaryDirectory(dir=folder) as stage:
            fetch(name, source, root, stage=Path(stage))
    with tempfile.TemporaryDirectory(dir=folder) as stage:
        link_files(source, root, Path(stage))
        return _read_raw(name, source, root, Path(stage))


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
    return folder / f"{name}-{digest.hexdigest()}.safetensors"


def _save(dataset: RawDataset, path: Path) -> None:
    graph = dataset.graph
    tensors = {"labels": dataset.labels, "parts": dataset.parts}
    shapes = {}
    for name, matrix in (("features", graph.features), ("adjacency", graph.adjacency)):
        if isinstance(matrix, CSR):
            tensors |= {f"{name}_{part}": getattr(matrix, part) for part in _OF_MATRIX}
            shapes[name] = matrix.shape
        else:
            tensors[name] = matrix
    try:
        write_tensors(path, tensors, {"notes": graph.notes, "shapes": shapes})
    except UnwritablePathError as error:
        warnings.warn(f"the dataset is not kept: {error}", RuntimeWarning, stacklevel=4)


def _load(path: Path) -> RawDataset | None:
    """Return the kept dataset, None where there is none or it is damaged."""
    try:
        tensors, facts = read_tensors(path)
    except UnreadableFileError:
        return None
    shapes, notes = facts["shapes"], tuple(facts["notes"])
    sparse = {name: _sparse(name, tensors, shape) for name, shape in shapes.items()}
    features: Features = sparse["features"] if "features" in sparse else tensors["features"]
    graph = Graph(features, sparse["adjacency"], notes)
    return RawDataset(graph, tensors["labels"], tensors["parts"])


def _sparse(name: str, tensors: dict[str, Tensor], shape: list[int]) -> CSR:
    row_pointer, columns, values = (tensors[f"{name}_{part}"] for part in _OF_MATRIX)
    height, width = shape
    return CSR(row_pointer, columns, values, (height, width))
