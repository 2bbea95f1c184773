"""Names of all methods. Adding one: its file and a line here; from outside, `register(MyMethod)`."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, TypeVar

from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods.base import NodeClassifier

_OURS: Final = {
    "quiet": "quiet:Quiet",
    "gcl-lr-attention": "low_rank.gcl:GCLLRAttention",
    "gcl-lrr": "low_rank.gcl:GCLLRR",
    "paper-gcl": "low_rank.paper:PaperGCL",
    "gcn": "gcn:GCN",
    "s2gc": "s2gc:S2GC",
    "gce": "gce:GCE",
    "unionnet": "unionnet:UnionNET",
    "nrgnn": "linked.nrgnn:NRGNN",
    "rtgnn": "linked.rtgnn:RTGNN",
    "sugrl": "sugrl:SUGRL",
    "merit": "merit.merit:MERIT",
    "ariel": "grace.ariel:ARIEL",
    "sfa": "grace.sfa:SFA",
    "sel-cl": "merit.sel_cl:SelCL",
    "jo-src": "merit.jo_src:JoSRC",
    "grand-plus": "grand_plus:GRANDPlus",
    "gfsa": "attention.gfsa:GFSA",
    "hongat": "attention.hongat:HONGAT",
    "crgnn": "consistency.crgnn:CRGNN",
    "cgnn": "consistency.cgnn:CGNN",
    "graphcl": "grace.graphcl:GraphCL",
    "tedgcn": "tedgcn:TEDGCN",
}
_Registered = TypeVar("_Registered", bound=type[NodeClassifier])


class Methods(Mapping[str, type[NodeClassifier]]):
    """The classes of all methods by name, each imported when it is first asked for."""

    def __init__(self) -> None:
        self._registered: dict[str, type[NodeClassifier]] = {}

    def __getitem__(self, name: str) -> type[NodeClassifier]:
        if name in self._registered:
            return self._registered[name]
        if name not in _OURS:
            raise UnknownNameError("method", name, self)
        module, _, attribute = _OURS[name].partition(":")
        return getattr(import_module(f"quietgraph.methods.{module}"), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter({**_OURS, **self._registered})

    def __len__(self) -> int:
        return len(list(iter(self)))


METHODS: Final = Methods()


def register(method: _Registered, *, name: str | None = None) -> _Registered:
    """Register a method of your own by name: command line, benchmark and storage then know it."""
    name = name or _name_of_class(method)
    if name in _OURS:
        raise InvalidParameterError(f"the method name '{name}' is taken. Register under another name.")
    METHODS._registered[name] = method
    return method


def class_named(name: str) -> type[NodeClassifier]:
    """Return the class of ours that has this name."""
    return METHODS[next(key for key, place in _OURS.items() if place.endswith(f":{name}"))]


def method_name(method: type[NodeClassifier]) -> str:
    """Return the registered name of a class; without one, its own name in lower case with hyphens."""
    for name, place in _OURS.items():
        if f"{method.__module__}:{method.__name__}" == "quietgraph.methods." + place:
            return name
    return next((name for name, one in METHODS._registered.items() if one is method), _name_of_class(method))


def _name_of_class(method: type) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", method.__name__).lower()
