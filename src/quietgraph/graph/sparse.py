"""A compressed sparse row matrix: sparse features and the adjacency are both one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.types import SparseMatrix

_SPARSE_BELOW: Final = 0.15  # fraction of non-zeros under which a sparse product is the faster one
SPARSE_FROM: Final = 64  # columns from which sparsity is worth its bookkeeping


_Value = TypeVar("_Value")


@dataclass(frozen=True, eq=False)
class CSR:
    """A sparse matrix as three tensors; columns are sorted within each row.

    Indices are int32 while they fit: the products read half as many bytes.
    """

    row_pointer: Tensor  # [rows + 1]
    columns: Tensor  # [entries]
    values: Tensor  # [entries] float
    shape: tuple[int, int]
    # What depends on the structure alone: computed once, shared by all `with_values` of a matrix.
    _known: dict[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def from_scipy(cls, matrix: Any, *, dtype: torch.dtype = torch.float32) -> Self:
        """Return the same matrix with duplicates summed and explicit zeros removed."""
        csr = scipy.sparse.csr_matrix(matrix, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        small = csr.nnz < 2**31 - 1 and max(csr.shape) < 2**31 - 1
        index = np.int32 if small else np.int64
        return cls(
            row_pointer=torch.from_numpy(csr.indptr.astype(index)),
            columns=torch.from_numpy(csr.indices.astype(index)),
            values=torch.from_numpy(np.ascontiguousarray(csr.data)).to(dtype),
            shape=(int(csr.shape[0]), int(csr.shape[1])),
        )

    def to_scipy(self) -> SparseMatrix:
        """Return a `scipy.sparse.csr_matrix` that shares no memory with a device."""
        parts = (self.values, self.columns, self.row_pointer)
        return scipy.sparse.csr_matrix(tuple(part.detach().cpu().numpy() for part in parts), shape=self.shape)

    @property
    def num_entries(self) -> int:
        """Number of stored entries."""
        return len(self.values)

    @property
    def row_counts(self) -> Tensor:
        """Stored entries of each row [rows] int64."""
        return self._once("row counts", lambda: self.row_pointer.diff().long())

    @property
    def rows(self) -> Tensor:
        """Row of each entry [entries] int64."""
        return self._once("rows", self._find_rows)

    def _once(self, name: str, compute: Callable[[], _Value]) -> _Value:
        if name not in self._known:
            self._known[name] = compute()
        return cast("_Value", self._known[name])

    def _find_rows(self) -> Tensor:
        every = torch.arange(self.shape[0], device=self.values.device)
        return torch.repeat_interleave(every, self.row_counts)

    def _find_transpose(self) -> tuple[Tensor, Tensor, Tensor, dict[str, object]]:
        """Return the order of the entries in the transpose, its row pointer and its columns."""
        columns, pointer = self.columns.cpu().numpy(), self.row_pointer.cpu().numpy()
        places = np.arange(len(columns), dtype=pointer.dtype)
        # A count of the columns puts the entries in order in one pass, without a sort.
        turned = scipy.sparse.csr_matrix((places, columns, pointer), shape=self.shape).tocsc()
        order, starts, rows = (
            torch.from_numpy(part).to(self.values.device) for part in (turned.data, turned.indptr, turned.indices)
        )
        return order, starts.to(self.row_pointer.dtype), rows.to(self.columns.dtype), {}

    def transposed(self) -> "CSR":
        """Return the transpose; its structure is computed once and kept."""
        order, pointer, columns, known = self._once("transpose", self._find_transpose)
        shape = (self.shape[1], self.shape[0])
        return CSR(pointer, columns, self.values.index_select(0, order), shape, known)

    def with_values(self, values: Tensor) -> "CSR":
        """Return a matrix of the same structure with other values [entries]."""
        return replace(self, values=values)

    def take_rows(self, rows: Tensor) -> "CSR":
        """Return the matrix of these rows, in this order [rows, columns]."""
        starts = self.row_pointer[rows].long()
        counts = self.row_pointer[rows + 1].long() - starts
        pointer = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
        pointer[1:] = counts.cumsum(0)
        shift = torch.repeat_interleave(starts - pointer[:-1], counts)
        entries = torch.arange(len(shift), device=rows.device) + shift
        return CSR(
            pointer.to(self.row_pointer.dtype), self.columns[entries], self.values[entries], (len(rows), self.shape[1])
        )

    def to_dense(self) -> Tensor:
        """Return the dense matrix [rows, columns]."""
        dense = torch.zeros(self.shape, dtype=self.values.dtype, device=self.values.device)
        dense[self.rows, self.columns.long()] = self.values
        return dense

    def to(self, device: torch.device) -> "CSR":
        """Return the matrix on a device."""
        if self.values.device == device:
            return self
        return CSR(self.row_pointer.to(device), self.columns.to(device), self.values.to(device), self.shape)


Features: TypeAlias = Tensor | CSR  # [nodes, features] float32, dense or sparse


def is_sparse(filled: float, size: int, width: int) -> bool:
    """Whether features are better kept sparse: so many entries of so many, in so many columns."""
    return width >= SPARSE_FROM and filled < _SPARSE_BELOW * size
