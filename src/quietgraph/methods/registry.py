"""Names of all methods. Adding one of ours: its file, a line here, its typed name in `quietgraph`.

A method from another package is registered by `register`, or by an entry point of the group
`quietgraph.methods`, which every process finds, also the workers of a benchmark:

    [project.entry-points."quietgraph.methods"]
    my-method = "my_package.my_module:MyMethod"
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, TypeVar, overload

from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods.base.node_classifier import NodeClassifier

ENTRY_POINTS: Final = "quietgraph.methods"
_OURS: Final = {
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

Method = type[NodeClassifier]
_Registered = TypeVar("_Registered", bound=Method)


class Methods(Mapping[str, Method]):
    """The classes of all methods by name, each imported when it is first asked for."""

    def __init__(self) -> None:
        self._registered: dict[str, Method] = {}

    def __getitem__(self, name: str) -> Method:
        if name in self._registered:
            return self._registered[name]
        places = _places()
        if name not in places:
            raise UnknownNameError("method", name, self)
        return _imported(name, places[name])

    def __iter__(self) -> Iterator[str]:
        return iter({**_places(), **self._registered})

    def __len__(self) -> int:
        return len({**_places(), **self._registered})

    def __contains__(self, name: object) -> bool:
        return name in self._registered or name in _places()

    def add(self, method: Method, name: str) -> None:
        """Register a class under a name that no other class has."""
        if not issubclass(method, NodeClassifier):
            raise InvalidParameterError(f"a method must be a NodeClassifier, got {method!r}.")
        if name in self and class_path(self[name]) != class_path(method):
            raise InvalidParameterError(
                f"the method name '{name}' belongs to {class_path(self[name])}. "
                "Register under another name."
            )
        self._registered[name] = method


METHODS: Final = Methods()


@overload
def register(method: _Registered, *, name: str | None = None) -> _Registered: ...
@overload
def register(*, name: str) -> Callable[[_Registered], _Registered]: ...
def register(
    method: _Registered | None = None, *, name: str | None = None
) -> _Registered | Callable[[_Registered], _Registered]:
    """Register a method of your own; it is then known to command line, benchmark and storage.

    Call it with the class, or write `@register` or `@register(name="my-method")` above the class.

    Args:
        method: A subclass of `NodeClassifier`.
        name: Its name; without one, that of the class in lower case with hyphens.
    """
    if method is None:
        return lambda decorated: register(decorated, name=name)
    METHODS.add(method, name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", method.__name__).lower())
    return method


def get_method(name: str) -> Method:
    """Return the estimator class of a registered name."""
    return METHODS[name]


def method_name(method: Method) -> str:
    """Return the registered name of an estimator class, else where the class is defined."""
    path = class_path(method)
    places = {place: name for name, place in _places().items()}
    registered = {class_path(each): name for name, each in METHODS._registered.items()}
    return {**places, **registered}.get(path, path)


def method_of_class(class_name: str) -> Method:
    """Return the estimator class of ours that has this name."""
    names = {place.partition(":")[2]: name for name, place in _OURS.items()}
    return METHODS[names[class_name]]


def class_path(method: type) -> str:
    """Return where a class is defined, as `module:ClassName`."""
    return f"{method.__module__}:{method.__qualname__}"


@cache
def _places() -> dict[str, str]:
    """Return `module:ClassName` by name: ours, then those of entry points under other names."""
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    return {**_OURS, **{name: place for name, place in found.items() if name not in _OURS}}


def _imported(name: str, place: str) -> Method:
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidParameterError(
            f"the method '{name}' cannot be imported from {place} ({error}). "
            "Fix or uninstall the package that declares it."
        ) from error
    if not (isinstance(found, type) and issubclass(found, NodeClassifier)):
        raise InvalidParameterError(f"the method '{name}' at {place} must be a NodeClassifier.")
    return found
