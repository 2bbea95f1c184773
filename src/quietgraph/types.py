"""Names for the tensors, arrays and plain values that travel through the library."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

Labels: TypeAlias = Tensor  # [nodes] int64, -1 = unknown
Mask: TypeAlias = Tensor  # [nodes] bool
Embeddings: TypeAlias = Tensor  # [nodes, dim] float32
Scores: TypeAlias = Tensor  # [nodes, classes] float32, larger is likelier
Probabilities: TypeAlias = Tensor  # [nodes, classes] float32, rows sum to 1
Scalar: TypeAlias = Tensor  # [] float32

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]  # of any dtype: node ids, label values, columns of a table

ValuesLike: TypeAlias = ArrayLike | Tensor | Sequence[object]  # one value per node, of any type
MaskLike: TypeAlias = ArrayLike | Tensor  # which nodes: a mask, or their positions

SparseMatrix: TypeAlias = csr_matrix[Any]  # of SciPy
Matrix: TypeAlias = AnyArray | SparseMatrix  # dense or sparse

LabelValue: TypeAlias = bool | int | float | str  # as files and JSON hold it
JSONValue: TypeAlias = (
    "bool | int | float | str | Sequence[JSONValue] | Mapping[str, JSONValue] | None"
)


class Context(Protocol):
    """What an autograd function keeps from its forward pass for the backward one."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep tensors."""


UNKNOWN = -1  # the code of a label that is not known
