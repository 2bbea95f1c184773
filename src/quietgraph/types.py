"""Names for the tensors, arrays and plain values that travel through the library."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

UNKNOWN = -1  # the code of a label that is not known

Labels: TypeAlias = Tensor  # [nodes] int64, -1 = unknown
Mask: TypeAlias = Tensor  # [nodes] bool
Embeddings: TypeAlias = Tensor  # [nodes, dim] float32
Scores: TypeAlias = Tensor  # [nodes, classes] float32, larger is likelier; softmax gives probabilities
Probabilities: TypeAlias = Tensor  # [nodes, classes] float64, rows sum to 1
Scalar: TypeAlias = Tensor  # [] float32

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]  # of any dtype: node ids, label values, columns of a table
SparseMatrix: TypeAlias = csr_matrix[Any]  # of SciPy

ValuesLike: TypeAlias = ArrayLike | Tensor | Sequence[object]  # one value per node, of any type
MaskLike: TypeAlias = ArrayLike | Tensor  # which nodes: a mask, or their positions
