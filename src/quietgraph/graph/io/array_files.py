"""`.npy` files that grow: rows are appended as they come, the header is written at the end."""

import shutil
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

_SPARSE_BELOW: Final = 0.15  # as in `Graph`: share of non-zeros, and columns from which it counts
_SPARSE_FROM: Final = 64
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class GrowingArray:
    """An array on disk, filled piece by piece."""

    def __init__(self, path: Path, kind: Any, *, width: int | None = None) -> None:
        """Args: where the array ends up, type of its entries, its columns if it is a matrix."""
        self.path, self.kind, self.width, self.rows = path, np.dtype(kind), width, 0
        self._raw = path.with_suffix(".raw")
        self._file = self._raw.open("wb")

    def append(self, piece: Any) -> None:
        """Add entries, or rows of a matrix, at the end."""
        np.ascontiguousarray(piece, dtype=self.kind).tofile(self._file)
        self.rows += len(piece)

    def finish(self) -> None:
        """Write the array as `.npy`."""
        self._file.close()
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        header = {
            "descr": np.lib.format.dtype_to_descr(self.kind),
            "fortran_order": False,
            "shape": shape,
        }
        with self.path.open("wb") as target, self._raw.open("rb") as source:
            np.lib.format.write_array_header_1_0(target, header)
            shutil.copyfileobj(source, target, 2**22)
        self._raw.unlink()


class GrowingFeatures:
    """Feature rows on disk, dense or sparse."""

    def __init__(self, folder: Path, width: int, *, sparse: bool) -> None:
        self.sparse, self.width = sparse, width
        if sparse:
            self.columns = GrowingArray(folder / "features_columns.npy", np.int32)
            self.values = GrowingArray(folder / "features_values.npy", np.float32)
            self.counts: list[_Array] = []
            self.pointer = folder / "features_pointer.npy"
        else:
            self.dense = GrowingArray(folder / "features.npy", np.float32, width=width)

    def append(self, block: Any) -> None:
        """Add rows, a SciPy matrix [rows, width] if sparse, any matrix otherwise."""
        if not self.sparse:
            self.dense.append(block.toarray() if hasattr(block, "toarray") else block)
            return
        rows = block.tocsr()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.sort_indices()
        self.columns.append(rows.indices)
        self.values.append(rows.data)
        self.counts.append(np.diff(rows.indptr))

    def finish(self) -> None:
        """Write the arrays."""
        if not self.sparse:
            self.dense.finish()
            return
        self.columns.finish()
        self.values.finish()
        pointer = np.concatenate([[0], np.concatenate(self.counts).cumsum()])
        np.save(self.pointer, pointer.astype(index_type(int(pointer[-1]))))


def is_sparse(filled: int, size: int, width: int) -> bool:
    """Whether features are better kept sparse, by the rule of `Graph`."""
    return width >= _SPARSE_FROM and filled < _SPARSE_BELOW * size


def index_type(largest: int) -> Any:
    """Return int32 while indices fit, as in memory."""
    return np.int32 if largest < 2**31 - 1 else np.int64
