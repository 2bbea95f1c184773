"""Arrays that grow piece by piece, in memory or as `.npy` files that are mapped at the end."""

import shutil
from pathlib import Path

import numpy as np
import scipy.sparse
import torch

from quietgraph.graph.sparse import CSR, Features, as_dense
from quietgraph.types import AnyArray, Matrix


class GrowingArray:
    """An array, filled piece by piece."""

    def __init__(
        self, folder: Path | None, name: str, kind: type[np.generic], *, width: int | None = None
    ) -> None:
        """Args: its folder (None: in memory), name, type of entries, columns of a matrix."""
        self.kind, self.width, self.rows = np.dtype(kind), width, 0
        self._path = None if folder is None else folder / f"{name}.npy"
        self._pieces: list[AnyArray] = []
        self._raw = None if self._path is None else self._path.with_suffix(".raw")
        if self._raw is not None:
            self._raw.touch()

    def append(self, piece: object) -> None:
        """Add entries, or rows of a matrix, at the end."""
        plain = np.ascontiguousarray(piece, dtype=self.kind)
        self.rows += len(plain)
        if self._raw is None:
            self._pieces.append(plain)
            return
        with self._raw.open("ab") as file:
            plain.tofile(file)

    def finish(self) -> AnyArray:
        """Return the array."""
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        if self._path is None or self._raw is None:
            return np.concatenate([np.empty((0, *shape[1:]), self.kind), *self._pieces])
        kind = np.lib.format.dtype_to_descr(self.kind)
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        with self._path.open("wb") as target, self._raw.open("rb") as source:
            np.lib.format.write_array_header_1_0(target, header)
            shutil.copyfileobj(source, target, 2**22)
        self._raw.unlink()
        # Copy on write: torch wants writable memory, and the file must never change.
        mapped: AnyArray = np.load(self._path, mmap_mode="c", allow_pickle=False)
        return mapped

    def discard(self, instead: AnyArray) -> AnyArray:
        """Forget what was appended; return another array in its place."""
        self._pieces = []
        if self._raw is not None:
            self._raw.unlink()
        return instead


class GrowingFeatures:
    """Feature rows, dense or sparse."""

    def __init__(self, folder: Path | None, width: int, *, sparse: bool) -> None:
        self.sparse, self.width = sparse, width
        if sparse:
            self.columns = GrowingArray(folder, "features_columns", np.int32)
            self.values = GrowingArray(folder, "features_values", np.float32)
            self.counts: list[AnyArray] = []
            self.folder = folder
        else:
            self.dense = GrowingArray(folder, "features", np.float32, width=width)

    def append(self, block: Matrix) -> None:
        """Add rows, a SciPy matrix [rows, width] if sparse, any matrix otherwise."""
        if not self.sparse:
            self.dense.append(as_dense(block))
            return
        rows = scipy.sparse.csr_matrix(block)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.sort_indices()
        self.columns.append(rows.indices)
        self.values.append(rows.data)
        self.counts.append(np.diff(rows.indptr))

    def finish(self) -> Features:
        """Return the features."""
        if not self.sparse:
            return torch.from_numpy(self.dense.finish())
        counts = np.concatenate([[0], *self.counts])
        pointer = counts.cumsum()
        kind = index_type(max(int(pointer[-1]), len(counts), self.width))
        written = GrowingArray(self.folder, "features_pointer", kind)
        written.append(pointer)
        parts = (written.finish(), self.columns.finish(), self.values.finish())
        tensors = [torch.from_numpy(part) for part in parts]
        return CSR(tensors[0], tensors[1], tensors[2], (len(counts) - 1, self.width))


def index_type(largest: int) -> type[np.int32 | np.int64]:
    """Return int32 while indices fit, as in memory."""
    return np.int32 if largest < 2**31 - 1 else np.int64
