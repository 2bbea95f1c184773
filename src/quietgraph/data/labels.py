"""Labels and masks as callers give them: checked, as class codes."""

import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.errors import InvalidLabelsError
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask

_ALWAYS_FINE: Final = 20  # different labels that are classes, however few nodes have one
FEW_LABELS: Final = 5  # of a class, below which little can be learned of it
_MAY_BE_UNKNOWN: Final = {
    "?", "??", "???", "-", "--", "-1", "k.a.", "none", "tbd", "todo", "unknown", "unlabeled", "unlabelled", "undefined",
    "unspecified", "unassigned", "uncategorized", "uncategorised", "pending", "missing", "no label", "not set",
    "not available",
}  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})([.][0-9]*)?")  # 007 is a name, not seven


def encode_labels(labels: object, num_nodes: int, *, classes_max: int | None = None) -> tuple[Labels, AnyArray]:
    """Return class codes [nodes] and the sorted label values; -1, None, NaN and an empty text are unknown."""
    plain = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
    array = plain.to_numpy(dtype=object) if isinstance(plain, pd.Series) else np.asarray(plain, dtype=object)
    if array.ndim != 1 or len(array) != num_nodes:
        raise InvalidLabelsError(
            f"labels must have one entry per node ({num_nodes}), got shape {array.shape}. Mark others with -1."
        )
    values = pd.Series(array).where(pd.Series(array).notna(), None)
    unknown = values.map(lambda one: one == ("" if isinstance(one, str) else UNKNOWN) and not isinstance(one, bool))
    return class_codes(values.mask(unknown.astype(bool), None), classes_max=classes_max)


def class_codes(
    labels: Any, *, texts: bool = False, classes_max: int | None = None, where: str = "labels"
) -> tuple[Labels, AnyArray]:
    """Return class codes and the sorted label values: all whole numbers, all True and False, or all texts.

    Args:
        labels: One value per node; None and NaN are unknown.
        texts: Whether all values are texts, of which whole numbers count as such.
        classes_max: Number of classes that is right though nearly every label has its own.
        where: What the labels are, for messages.
    """
    codes, found = pd.factorize(pd.Series(labels, dtype=object))
    classes = _plain(list(found), where, texts=texts)
    if len(classes) < 2:
        got = f"only '{classes[0]}'. Label some nodes of another class" if classes else "no label. Label more nodes"
        raise InvalidLabelsError(f"{where} must have at least two classes, got {got}.")
    labelled, most = int((codes >= 0).sum()), classes_max or _ALWAYS_FINE
    if len({*classes}) > most and (classes_max is not None or 2 * len({*classes}) > labelled):
        raise InvalidLabelsError(
            f"{where}: {len(classes)} different labels on {labelled} nodes are no classes. Name the right column with "
            f"--column NAME=label, or allow so many with --classes-max {len(classes)}."
        )
    array = np.array(classes)
    array = array if array.dtype.kind in "ibU" else np.array(classes, dtype=object)  # whole numbers beyond 64 bits
    values, places = np.unique(array, return_inverse=True)
    return torch.from_numpy(np.append(places, UNKNOWN)[codes].astype(np.int64)), values


def _plain(values: list[Any], where: str, *, texts: bool) -> list[Any]:
    """Return the values of classes as one type."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in values]
    if texts and all(_NUMBER.fullmatch(one) for one in plain):
        plain = [float(one) if "." in one else int(one) for one in plain]
    broken = [one for one in plain if isinstance(one, float) and not one.is_integer()]
    if broken:
        raise InvalidLabelsError(
            f"{where} must be classes, but there are fractions ({broken[0]:g}). Turn numbers into classes first."
        )
    plain = [int(one) if isinstance(one, float) else one for one in plain]
    kinds = {type(one) for one in plain}
    if kinds - {int, bool, str}:
        raise InvalidLabelsError(
            f"{where} must be whole numbers, True and False, or texts, got {min(k.__name__ for k in kinds)}. Convert "
            "them with astype(str)."
        )
    if len(kinds) > 1:
        raise InvalidLabelsError(
            f"{where} must be all numbers or all texts, got a mixture. Convert them with astype(str)."
        )
    return plain


def no_labels(num_nodes: int) -> tuple[Labels, AnyArray]:
    """Return the codes of unknown labels, and no classes."""
    return torch.full((num_nodes,), UNKNOWN), np.empty(0, dtype=object)


def class_notes(codes: Labels, classes: AnyArray) -> list[str]:
    """Return notes on classes that may mean unknown, and on those with too few labels."""
    counts = torch.bincount(codes[codes >= 0], minlength=len(classes)).tolist()
    named = dict(zip(map(str, classes), counts, strict=True))
    notes = [
        f"{count:,} labels are {name!r}, a class like any other here; if it means that the label is unknown, add "
        f"--missing {shlex.quote(name)}"
        for name, count in named.items()
        if name.strip().lower() in _MAY_BE_UNKNOWN
    ]
    rare = [name for name, count in named.items() if count < FEW_LABELS]
    shown = ", ".join(rare[:5]) + (", ..." if len(rare) > 5 else "")
    few = f"{len(rare)} of {len(named)} classes have fewer than {FEW_LABELS} labels ({shown})"
    return [*notes, f"{few}: little can be learned of them"] if rare else notes


def labels_of_pyg(data: Any) -> tuple[Tensor, Mask | None]:
    """Return labels and validation mask of PyG data; labels outside its masks are not read."""
    if hasattr(data, "edge_types"):
        from quietgraph.graph.pyg import target_type

        data = data[target_type(data)]
    elif getattr(data, "edge_index", None) is None:
        raise InvalidLabelsError(
            f"fit needs a graph, got {type(data).__name__}. Read tables with quietgraph.load(nodes=..., edges=...)."
        )
    for name in ("y", "train_mask"):
        if getattr(data, name, None) is None:
            raise InvalidLabelsError(f"the PyG data must have {name}. Set it, or call fit(graph, labels).")
    validation = getattr(data, "val_mask", None)
    allowed = data.train_mask if validation is None else data.train_mask | validation
    if allowed.dim() != 1:
        raise InvalidLabelsError("train_mask must have one entry per node. Choose one split: train_mask[:, 0].")
    labels = data.y.reshape(-1)
    if len(labels) != len(allowed):
        raise InvalidLabelsError(
            f"y must have one class per node ({len(allowed)}), got shape {tuple(data.y.shape)}. Of one-hot rows take "
            "data.y.argmax(dim=1)."
        )
    return labels.masked_fill(~allowed, UNKNOWN), validation


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


def enumerate_words(words: Sequence[str]) -> str:
    """Return the first ten words, and how many more there are."""
    return ", ".join(words[:10]) + (f" and {len(words) - 10:,} more" if len(words) > 10 else "")
