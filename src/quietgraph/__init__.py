"""Clean predictions from noisy graphs.

import quietgraph as qg

data = qg.load("digits")
model = qg.Quiet(seed=0).fit(data)
result = qg.assess(model)
result.suspects()
"""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import Any

from quietgraph.errors import QuietgraphError

__version__ = version("quietgraph")
logging.getLogger("quietgraph").addHandler(logging.NullHandler())  # silent until asked

# Imported when first used: a script that needs one thing does not wait for torch or the others.
_LATER = {
    "Annotations": "data.annotations",
    "Data": "data.data",
    "Graph": "graph",
    "METHODS": "methods.registry",
    "NodeClassifier": "methods.base",
    "NodeEstimator": "sklearn",
    "NoiseSetting": "data.noise_setting",
    "apply_noise": "data.noise",
    "assess": "assessment.assess",
    "block_model": "graph.synthetic",
    "diagnose": "diagnostics.summary",
    "load": "data.load",
    "load_model": "methods.storage",
    "next_labels": "annotators.next_labels",
    "noise_matrix": "classify.noise_matrix",
    "read_annotations": "data.annotations",
    "register": "methods.registry",
}
_MODULES = ("bench", "plots", "testing", "transforms")
_METHODS = ["ARIEL", "CGNN", "CRGNN", "GCE", "GCLLRAttention", "GCLLRR", "GCN", "GFSA", "GRANDPlus"]
_METHODS += ["GraphCL", "HONGAT", "JoSRC", "MERIT", "NRGNN", "PaperGCL", "Quiet", "RTGNN"]
_METHODS += ["S2GC", "SFA", "SUGRL", "SelCL", "TEDGCN", "UnionNET"]
__all__ = ["QuietgraphError", *_LATER, *_MODULES, *_METHODS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Give the names above."""
    if name in _LATER:
        return getattr(import_module(f"quietgraph.{_LATER[name]}"), name)
    if name in _MODULES:
        return import_module(f"quietgraph.{name}")
    if name in _METHODS:
        return import_module("quietgraph.methods.registry").class_named(name)
    raise AttributeError(f"module 'quietgraph' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
