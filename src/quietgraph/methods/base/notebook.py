"""What a notebook shows of a model."""

from typing import TYPE_CHECKING, Any

from quietgraph.html import facts_html
from quietgraph.params import parameters

if TYPE_CHECKING:
    from quietgraph.methods.base.node_classifier import NodeClassifier


def model_html(model: "NodeClassifier") -> str:
    """Return parameters that are not the default ones, and what is known of the fit as HTML."""
    usual = {name: one.default for name, one in parameters(type(model)).items()}
    own = [f"{name}={one!r}" for name, one in model.get_params().items() if one != usual[name]]
    title = f"{type(model).__name__}({', '.join(own)})"
    if not hasattr(model, "scores_"):
        return facts_html(title, {"state": "not fitted"})
    facts: dict[str, Any] = {
        "nodes": len(model.scores_),
        "classes": ", ".join(str(one) for one in model.classes_),
        "training labels": int(model.task_.train.sum()),
        "validation labels": int(model.task_.validation.sum()),
        "seconds": model.seconds_,
    }
    if model.quality_ is not None:
        quality = model.quality_
        facts["agreement out of fold"] = f"{quality.accuracy:.1%} ({quality.verdict})"
    return facts_html(title, facts)
