"""Names of all methods. Adding one: its file, and a line here."""

from importlib import import_module

from quietgraph.errors import UnknownNameError
from quietgraph.methods.base import NodeClassifier

METHODS: dict[str, str] = {
    "gcl-lr-attention": "quietgraph.methods.gcl_lr_attention:GCLLRAttention",
    "gcl-lrr": "quietgraph.methods.gcl_lrr:GCLLRR",
    "gcn": "quietgraph.methods.gcn:GCN",
    "quiet": "quietgraph.methods.quiet:Quiet",
}


def get_method(name: str) -> type[NodeClassifier]:
    """Return the estimator class of a registered name."""
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    module, _, attribute = METHODS[name].partition(":")
    found: type[NodeClassifier] = getattr(import_module(module), attribute)
    return found


def method_name(method: type[NodeClassifier]) -> str:
    """Return the registered name of an estimator class."""
    target = f"{method.__module__}:{method.__name__}"
    for name, place in METHODS.items():
        if place == target:
            return name
    raise UnknownNameError("registered class", target, METHODS.values())
