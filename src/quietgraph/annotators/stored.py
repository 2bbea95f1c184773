"""A consensus as named arrays and plain JSON values, for a model on disk."""

import math
from typing import Any, Final

import numpy as np

from quietgraph.annotators.consensus import Consensus
from quietgraph.data.annotations import Annotations
from quietgraph.data.label_values import classes_from_json, classes_to_json
from quietgraph.types import AnyArray

_OF_ANSWERS: Final = ("nodes", "annotators", "labels", "confidences", "ranks")
_OF_CONSENSUS: Final = ("posterior", "matrices", "copying", "prior", "checked")
_UNSAID: Final = -1.0  # a file holds finite numbers only


def store_consensus(consensus: Consensus) -> tuple[dict[str, AnyArray], dict[str, object]]:
    """Return the arrays by name, and the facts."""
    answers = consensus.answers
    arrays = {name: getattr(answers, name) for name in _OF_ANSWERS}
    arrays["confidences"] = np.nan_to_num(answers.confidences, nan=_UNSAID)
    arrays |= {name: getattr(consensus, name) for name in _OF_CONSENSUS}
    facts = {
        "names": answers.names,
        "classes": classes_to_json(answers.classes),
        "weight": consensus.weight,
    }
    return arrays, facts


def restore_consensus(
    arrays: dict[str, AnyArray], facts: dict[str, Any], num_nodes: int, needed: AnyArray
) -> Consensus:
    """Return what `store_consensus` was given; ValueError where the arrays do not fit.

    Args:
        arrays: By name.
        facts: Plain JSON values.
        num_nodes: Of the model.
        needed: Classes that must be among those of the answers.
    """
    classes, names = classes_from_json(facts["classes"]), tuple(map(str, facts["names"]))
    _check(arrays, (num_nodes, len(classes), len(names), len(arrays["nodes"])))
    if not {*needed.tolist()} <= {*classes.tolist()} or not 0 <= facts["weight"] < math.inf:
        raise ValueError("the consensus does not fit the model")
    said = arrays["confidences"]
    arrays = {**arrays, "confidences": np.where(said == _UNSAID, np.nan, said)}
    answers = Annotations(
        names,
        classes,
        num_nodes,
        **{name: arrays[name] for name in _OF_ANSWERS},
    )
    found = {name: arrays[name] for name in _OF_CONSENSUS}
    return Consensus(answers=answers, weight=facts["weight"], **found)


def _check(arrays: dict[str, AnyArray], sizes: tuple[int, int, int, int]) -> None:
    """Raise ValueError where shapes or codes are not those of a consensus."""
    nodes, classes, annotators, answers = sizes
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys((*_OF_ANSWERS, "checked"), (answers,)) | {
        "ranks": (answers, classes)
    }
    shapes |= {"posterior": (nodes, classes), "prior": (nodes, classes), "copying": (annotators,)}
    shapes["matrices"] = (annotators, classes, classes)
    ends = {"nodes": nodes, "annotators": annotators, "labels": classes, "ranks": classes + 1}
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"consensus.{name} has the shape {arrays[name].shape}")
    for name, end in ends.items():
        codes = arrays[name]
        if codes.dtype.kind != "i" or (codes.size and not 0 <= codes.min() <= codes.max() < end):
            raise ValueError(f"consensus.{name} holds no positions below {end}")
