"""Clean predictions from noisy graphs.

import quietgraph as qg

data = qg.load("digits")
model = qg.get_method("gcl-lr-attention")(seed=0)
model.fit(data.graph, data.labels, validation=data.split.validation)
model.predict()
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quietgraph.data.datasets import Dataset
    from quietgraph.data.own_data import OwnData, load
    from quietgraph.graph import Graph, block_model
    from quietgraph.methods import METHODS, NodeClassifier, get_method, load_model

__version__ = version("quietgraph")

# Imported when first used: a script that needs one thing does not wait for the others.
_LATER = {
    "Dataset": "quietgraph.data.datasets",
    "Graph": "quietgraph.graph",
    "METHODS": "quietgraph.methods",
    "NodeClassifier": "quietgraph.methods",
    "block_model": "quietgraph.graph",
    "get_method": "quietgraph.methods",
    "OwnData": "quietgraph.data.own_data",
    "load": "quietgraph.data.own_data",
    "load_model": "quietgraph.methods",
}

__all__ = [
    "METHODS",
    "Dataset",
    "Graph",
    "NodeClassifier",
    "OwnData",
    "block_model",
    "get_method",
    "load",
    "load_model",
]


def __getattr__(name: str) -> Any:
    """Give the names above, and every registered estimator by its class name."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    places = import_module("quietgraph.methods.registry").METHODS.values()
    for module, _, attribute in (place.partition(":") for place in places):
        if attribute == name:
            return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'quietgraph' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the names above and every estimator."""
    places = import_module("quietgraph.methods.registry").METHODS.values()
    return sorted([*__all__, *(place.partition(":")[2] for place in places)])
