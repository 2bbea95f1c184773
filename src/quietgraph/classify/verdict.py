"""The verdict of a statement of quality, and its words."""

from collections.abc import Mapping
from typing import Any, Final

TRUST, CARE, DISTRUST = "trust", "with care", "do not trust"
OBSERVED: Final = "observed labels"
_FEW_LABELS: Final = 20  # fewer cannot tell a good model from a lucky one
_CHANCE_P: Final = 0.01  # above: agreement that chance may explain
_TRUST_P: Final = 1e-4
_TRUST_KAPPA: Final = 0.3  # least agreement beyond chance, at the lower end of the interval
_TRUST_ACCURACY: Final = 0.65


def verdict_of(facts: Mapping[str, Any]) -> str:
    """Return whether predictions can be trusted, by the numbers of a statement of quality."""
    if facts["num_labels"] < _FEW_LABELS or facts["one_class"] or facts["p_value"] > _CHANCE_P:
        return DISTRUST
    chance = facts["chance"]
    beyond = (facts["accuracy_interval"][0] - chance) / max(1 - chance, 1e-9)
    if (
        not facts["follows_attributes"]
        and beyond >= _TRUST_KAPPA
        and facts["p_value"] <= _TRUST_P
        and facts["estimated_accuracy"] >= _TRUST_ACCURACY
        and facts["accuracy_interval"][0] > facts["majority"]
    ):
        return TRUST
    return CARE


def sentences_of(
    verdict: str, facts: Mapping[str, Any], labels_are: str = OBSERVED
) -> tuple[str, ...]:
    """Return the statement of quality in words.

    Where chance explains the agreement, nothing about noise or accuracy can be estimated from it.
    """
    low, high = facts["accuracy_interval"]
    words = [
        f"Out of fold, {facts['accuracy']:.0%} of {facts['num_labels']:,} {labels_are} are "
        f"predicted (95 % interval {low:.0%} to {high:.0%}); permuted labels would give "
        f"{facts['chance']:.0%}, the most frequent label {facts['majority']:.0%}.",
        _NOT_ESTIMATED
        if verdict == DISTRUST
        else "Estimated label noise: {:.0%} ({:.0%} to {:.0%}); estimated accuracy against true "
        "labels: {:.0%}.".format(
            facts["noise_rate"], *facts["noise_interval"], facts["estimated_accuracy"]
        ),
    ]
    if facts["follows_attributes"]:
        words.append(_FOLLOWS_ATTRIBUTES)
    if facts["unreached"]:
        count = facts["unreached"]
        nodes = (
            "1 node, whose prediction rests" if count == 1 else f"{count:,} nodes, whose {_REST}"
        )
        words.append(f"No path leads from a labelled node to {nodes} on own attributes alone.")
    return (f"{_OPENINGS[verdict]}{_reason(verdict, facts, labels_are)}.", *words)


_REST: Final = "predictions rest"
_NOT_ESTIMATED: Final = (
    "Label noise and accuracy against true labels cannot be estimated from such predictions."
)
_FOLLOWS_ATTRIBUTES: Final = (
    "The nodes' own attributes predict these labels better than the neighbours do, although "
    "neighbours are alike. Errors of one annotator or language model that read these attributes "
    "are not in the estimated noise, which is then a lower bound."
)
_OPENINGS: Final = {
    TRUST: "These predictions can be trusted",
    CARE: "Use these predictions with care",
    DISTRUST: "Do not trust these predictions",
}


def _reason(verdict: str, facts: Mapping[str, Any], labels_are: str) -> str:
    if verdict == TRUST:
        return ""
    if verdict == CARE and facts["follows_attributes"]:
        return ": the labels may be wrong in ways that these numbers cannot show"
    if verdict == CARE:
        return ": they are better than chance, but many are probably wrong"
    if facts["num_labels"] < _FEW_LABELS:
        return f": {facts['num_labels']} labels are too few to tell"
    if facts["one_class"]:
        return ": every node gets the same class"
    return f": they agree with {labels_are} no better than chance"


def advice_of(facts: Mapping[str, Any], num_classes: int) -> tuple[str, ...]:
    """Return what to try next where the verdict is not `trust`."""
    if facts["follows_attributes"]:
        return ("Verify some labels, or ask a second annotator.",)
    if (per_class := facts["num_labels"] / num_classes) < 20:
        return (f"Label more nodes: there are {per_class:.0f} labels per class.",)
    return ("Compare other methods, for example gcl-lr-attention, gcn and tedgcn.",)
