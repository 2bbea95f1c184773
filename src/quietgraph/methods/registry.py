"""Names of all methods. Adding one: its file, and a line here."""

from importlib import import_module

from quietgraph.errors import UnknownNameError
from quietgraph.methods.base.node_classifier import NodeClassifier

METHODS: dict[str, str] = {
    "quiet": "quietgraph.methods.quiet.quiet:Quiet",
    "gcl-lr-attention": "quietgraph.methods.low_rank.gcl_lr_attention:GCLLRAttention",
    "gcl-lrr": "quietgraph.methods.low_rank.gcl_lrr:GCLLRR",
    "gcn": "quietgraph.methods.gcn.gcn:GCN",
    "s2gc": "quietgraph.methods.s2gc:S2GC",
    "gce": "quietgraph.methods.gcn.gce:GCE",
    "unionnet": "quietgraph.methods.gcn.unionnet:UnionNET",
    "nrgnn": "quietgraph.methods.linked.nrgnn:NRGNN",
    "rtgnn": "quietgraph.methods.linked.rtgnn:RTGNN",
    "sugrl": "quietgraph.methods.sugrl.sugrl:SUGRL",
    "merit": "quietgraph.methods.merit.merit:MERIT",
    "ariel": "quietgraph.methods.grace.ariel:ARIEL",
    "sfa": "quietgraph.methods.grace.sfa:SFA",
    "sel-cl": "quietgraph.methods.merit.sel_cl:SelCL",
    "jo-src": "quietgraph.methods.merit.jo_src:JoSRC",
    "grand-plus": "quietgraph.methods.grand_plus.grand_plus:GRANDPlus",
    "gfsa": "quietgraph.methods.attention.gfsa:GFSA",
    "hongat": "quietgraph.methods.attention.hongat:HONGAT",
    "crgnn": "quietgraph.methods.consistency.crgnn:CRGNN",
    "cgnn": "quietgraph.methods.consistency.cgnn:CGNN",
    "graphcl": "quietgraph.methods.graphcl.graphcl:GraphCL",
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
