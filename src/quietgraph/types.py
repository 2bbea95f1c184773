"""Names for the tensors that travel through the library."""

from typing import TypeAlias

from torch import Tensor

Labels: TypeAlias = Tensor  # [nodes] int64, -1 = unknown
Mask: TypeAlias = Tensor  # [nodes] bool
Embeddings: TypeAlias = Tensor  # [nodes, dim] float32
Scores: TypeAlias = Tensor  # [nodes, classes] float32, larger is likelier
Probabilities: TypeAlias = Tensor  # [nodes, classes] float32, rows sum to 1
Scalar: TypeAlias = Tensor  # [] float32

UNKNOWN = -1  # the code of a label that is not known
