"""Names of all methods. Adding one: its file, and a line here."""

from importlib import import_module

from quietgraph.errors import UnknownNameError
from quietgraph.methods.base import NodeClassifier

METHODS: dict[str, str] = {
    "quiet": "quietgraph.methods.quiet:Quiet",
    "gcl-lr-attention": "quietgraph.methods.gcl_lr_attention:GCLLRAttention",
    "gcl-lrr": "quietgraph.methods.gcl_lrr:GCLLRR",
    "gcn": "quietgraph.methods.gcn:GCN",
    "s2gc": "quietgraph.methods.s2gc:S2GC",
    "gce": "quietgraph.methods.gce:GCE",
    "unionnet": "quietgraph.methods.unionnet:UnionNET",
    "nrgnn": "quietgraph.methods.nrgnn:NRGNN",
    "rtgnn": "quietgraph.methods.rtgnn:RTGNN",
    "sugrl": "quietgraph.methods.sugrl:SUGRL",
    "merit": "quietgraph.methods.merit:MERIT",
    "ariel": "quietgraph.methods.ariel:ARIEL",
    "sfa": "quietgraph.methods.sfa:SFA",
    "sel-cl": "quietgraph.methods.sel_cl:SelCL",
    "jo-src": "quietgraph.methods.jo_src:JoSRC",
    "grand-plus": "quietgraph.methods.grand_plus:GRANDPlus",
    "gfsa": "quietgraph.methods.gfsa:GFSA",
    "hongat": "quietgraph.methods.hongat:HONGAT",
    "crgnn": "quietgraph.methods.crgnn:CRGNN",
    "cgnn": "quietgraph.methods.cgnn:CGNN",
    "graphcl": "quietgraph.methods.graphcl:GraphCL",
    "tedgcn": "quietgraph.methods.tedgcn:TEDGCN",
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
