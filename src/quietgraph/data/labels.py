"""Labels and masks as callers give them: checked, as class codes."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.errors import InvalidLabelsError
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask


def encode_labels(labels: object, num_nodes: int) -> tuple[Labels, AnyArray]:
    """Return class codes [nodes] and the sorted label values; -1, None and NaN are unknown."""
    values = pd.Series(
        labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels, dtype=object)
    )
    if values.ndim != 1 or len(values) != num_nodes:
        raise InvalidLabelsError(
            f"labels must have one entry per node ({num_nodes}), got {len(values)}. Mark unlabelled nodes with -1."
        )
    values = values.astype(object).where(values.notna(), None)
    values = values.where(values.map(lambda one: isinstance(one, str | bool) or one != UNKNOWN), None)
    kinds = {str if isinstance(one, str) else type(one) for one in values[values.notna()]}
    if len({kind is str for kind in kinds}) > 1:
        raise InvalidLabelsError(
            "labels must be all numbers or all texts, got a mixture. Convert them with astype(str)."
        )
    codes, classes = pd.factorize(values, sort=True)
    if len(classes) < 2:
        raise InvalidLabelsError(f"labels must have at least two classes, got {list(classes)}. Label more nodes.")
    return torch.from_numpy(codes.astype(np.int64)), np.asarray(list(classes))


def labels_of_pyg(data: Any) -> tuple[Tensor, Mask | None]:
    """Return labels and validation mask of PyG data; labels outside its masks are not read."""
    for name in ("edge_index", "y", "train_mask"):
        if getattr(data, name, None) is None:
            raise InvalidLabelsError(f"fit needs {name} of {type(data).__name__}, or labels: fit(graph, labels).")
    validation = getattr(data, "val_mask", None)
    allowed = data.train_mask if validation is None else data.train_mask | validation
    if allowed.dim() != 1:
        raise InvalidLabelsError("train_mask must have one entry per node. Choose one split: train_mask[:, 0].")
    return data.y.reshape(-1).masked_fill(~allowed, UNKNOWN), validation


def check_mask(mask: object, num_nodes: int) -> Mask:
    """Return a mask [nodes] of a mask of True and False or of node indices, each once."""
    raw = torch.as_tensor(np.asarray(mask.cpu() if isinstance(mask, Tensor) else mask))
    if raw.dtype == torch.bool and tuple(raw.shape) == (num_nodes,):
        return raw
    if raw.dim() != 1 or raw.dtype.is_floating_point or raw.dtype == torch.bool:
        raise InvalidLabelsError(f"validation must be a mask of {num_nodes} True and False, or node indices.")
    if len(raw.unique()) < len(raw) or (len(raw) and (raw.min() < 0 or raw.max() >= num_nodes)):
        raise InvalidLabelsError(f"validation indices must lie in 0 ... {num_nodes - 1}, each at most once.")
    chosen = torch.zeros(num_nodes, dtype=torch.bool)
    chosen[raw.long()] = True
    return chosen
