"""A consensus as named arrays and plain JSON values, for a model on disk."""

from typing import Any, Final, TypeAlias

import numpy as np

from quietgraph.annotators.consensus import Consensus
from quietgraph.data.annotations import Annotations

_OF_ANSWERS: Final = ("nodes", "annotators", "labels", "confidences", "ranks")
_OF_CONSENSUS: Final = ("posterior", "matrices", "copying", "prior", "checked")
_UNSAID: Final = -1.0  # a file holds finite numbers only
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def store_consensus(consensus: Consensus) -> tuple[dict[str, _Array], dict[str, Any]]:
    """Return the arrays by name, and the facts."""
    answers = consensus.answers
    arrays = {name: getattr(answers, name) for name in _OF_ANSWERS}
    arrays["confidences"] = np.nan_to_num(answers.confidences, nan=_UNSAID)
    arrays |= {name: getattr(consensus, name) for name in _OF_CONSENSUS}
    facts = {
        "names": answers.names,
        "classes": answers.classes.tolist(),
        "weight": consensus.weight,
    }
    return arrays, facts


def restore_consensus(arrays: dict[str, _Array], facts: dict[str, Any]) -> Consensus:
    """Return what `store_consensus` was given."""
    said = arrays["confidences"]
    arrays = {**arrays, "confidences": np.where(said == _UNSAID, np.nan, said)}
    answers = Annotations(
        tuple(facts["names"]),
        np.array(facts["classes"]),
        len(arrays["posterior"]),
        **{name: arrays[name] for name in _OF_ANSWERS},
    )
    found = {name: arrays[name] for name in _OF_CONSENSUS}
    return Consensus(answers=answers, weight=facts["weight"], **found)
