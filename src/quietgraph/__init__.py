"""Clean predictions from noisy graphs.

import quietgraph as qg

data = qg.load("digits")
model = qg.Quiet(seed=0)
model.fit(data.graph, data.labels, validation=data.split.validation)
model.predict()
"""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from quietgraph.errors import (
    DataNotFoundError,
    InvalidGraphError,
    InvalidLabelsError,
    InvalidParameterError,
    NotInductiveError,
    QuietgraphError,
    UnknownNameError,
    UnreadableFileError,
    UnwritablePathError,
)

if TYPE_CHECKING:
    from quietgraph import callbacks, model_selection, plots, transforms
    from quietgraph.data.annotation_tables import read_annotations
    from quietgraph.data.annotations import Annotations
    from quietgraph.data.load import load
    from quietgraph.data.noise import apply_noise
    from quietgraph.data.noise_setting import NoiseSetting, parse_noise
    from quietgraph.data.observation import Observation
    from quietgraph.graph import Graph, block_model
    from quietgraph.graph.io import read_graph
    from quietgraph.methods import METHODS, NodeClassifier, get_method, load_model, register
    from quietgraph.methods.attention.gfsa import GFSA
    from quietgraph.methods.attention.hongat import HONGAT
    from quietgraph.methods.base.scikit_learn import NotFittedError
    from quietgraph.methods.consistency.cgnn import CGNN
    from quietgraph.methods.consistency.crgnn import CRGNN
    from quietgraph.methods.gcn.gce import GCE
    from quietgraph.methods.gcn.gcn import GCN
    from quietgraph.methods.gcn.unionnet import UnionNET
    from quietgraph.methods.grace.ariel import ARIEL
    from quietgraph.methods.grace.sfa import SFA
    from quietgraph.methods.grand_plus.grand_plus import GRANDPlus
    from quietgraph.methods.graphcl.graphcl import GraphCL
    from quietgraph.methods.linked.nrgnn import NRGNN
    from quietgraph.methods.linked.rtgnn import RTGNN
    from quietgraph.methods.low_rank.gcl_lr_attention import GCLLRAttention
    from quietgraph.methods.low_rank.gcl_lrr import GCLLRR
    from quietgraph.methods.merit.jo_src import JoSRC
    from quietgraph.methods.merit.merit import MERIT
    from quietgraph.methods.merit.sel_cl import SelCL
    from quietgraph.methods.quiet.quiet import Quiet
    from quietgraph.methods.s2gc import S2GC
    from quietgraph.methods.sugrl.sugrl import SUGRL
    from quietgraph.methods.tedgcn import TEDGCN

__version__ = version("quietgraph")
logging.getLogger("quietgraph").addHandler(logging.NullHandler())  # silent until asked

# Imported when first used: a script that needs one thing does not wait for torch or the others.
_LATER = {
    "Annotations": "quietgraph.data.annotations",
    "Graph": "quietgraph.graph",
    "METHODS": "quietgraph.methods",
    "NodeClassifier": "quietgraph.methods",
    "NoiseSetting": "quietgraph.data.noise_setting",
    "NotFittedError": "quietgraph.methods.base.scikit_learn",
    "Observation": "quietgraph.data.observation",
    "apply_noise": "quietgraph.data.noise",
    "block_model": "quietgraph.graph",
    "get_method": "quietgraph.methods",
    "load": "quietgraph.data.load",
    "load_model": "quietgraph.methods",
    "parse_noise": "quietgraph.data.noise_setting",
    "read_annotations": "quietgraph.data.annotation_tables",
    "read_graph": "quietgraph.graph.io",
    "register": "quietgraph.methods",
}
_MODULES = ("callbacks", "model_selection", "plots", "transforms")

__all__ = [
    "ARIEL",
    "CGNN",
    "CRGNN",
    "GCE",
    "GCLLRR",
    "GCN",
    "GFSA",
    "HONGAT",
    "MERIT",
    "METHODS",
    "NRGNN",
    "RTGNN",
    "S2GC",
    "SFA",
    "SUGRL",
    "TEDGCN",
    "Annotations",
    "DataNotFoundError",
    "GCLLRAttention",
    "GRANDPlus",
    "Graph",
    "GraphCL",
    "InvalidGraphError",
    "InvalidLabelsError",
    "InvalidParameterError",
    "JoSRC",
    "NodeClassifier",
    "NoiseSetting",
    "NotFittedError",
    "NotInductiveError",
    "Observation",
    "Quiet",
    "QuietgraphError",
    "SelCL",
    "UnionNET",
    "UnknownNameError",
    "UnreadableFileError",
    "UnwritablePathError",
    "apply_noise",
    "block_model",
    "callbacks",
    "get_method",
    "load",
    "load_model",
    "model_selection",
    "parse_noise",
    "plots",
    "read_annotations",
    "read_graph",
    "register",
    "transforms",
]


def __getattr__(name: str) -> object:
    """Give the names above; those of estimators come from the registry of methods."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _MODULES:
        return import_module(f"quietgraph.{name}")
    if name in __all__:
        registry = import_module("quietgraph.methods.registry")
        return registry.method_of_class(name)
    raise AttributeError(f"module 'quietgraph' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
