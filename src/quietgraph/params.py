"""Declared parameters: one line gives default, range, help and command-line parsing."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, TypeAlias, TypeVar

from quietgraph.errors import InvalidParameterError, UnknownNameError

_KEY = "quietgraph"
_Value = TypeVar("_Value")
ParameterValue: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method as tools see it."""

    name: str
    kind: type | types.UnionType
    default: Any
    help: str
    low: float
    high: float
    choices: tuple[str, ...]

    @property
    def kind_name(self) -> str:
        """The type as people write it: `int`, `float | None`."""
        return getattr(self.kind, "__name__", str(self.kind))

    def check(self, value: object) -> None:
        """Raise where a value has the wrong type or lies outside the range."""
        allowed = typing.get_args(self.kind) or (self.kind,)
        if value is None and type(None) in allowed:
            return
        if type(value) not in allowed and not (float in allowed and type(value) is int):
            raise InvalidParameterError(f"{self.name} must be {self.kind_name}, got {value!r}.")
        if self.choices and value not in self.choices:
            raise InvalidParameterError(f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}.")
        if isinstance(value, int | float) and not (math.isfinite(value) and self.low <= value <= self.high):
            raise InvalidParameterError(f"{self.name} must lie between {self.low:g} and {self.high:g}, got {value!r}.")

    def parse(self, text: str) -> ParameterValue:
        """Return the value that a text of the command line means."""
        allowed = typing.get_args(self.kind) or (self.kind,)
        if type(None) in allowed and text.lower() in {"none", ""}:
            return None
        if bool in allowed and text.lower() in {"true", "false"}:
            return text.lower() == "true"
        for kind in (int, float, str):
            try:
                if kind in allowed:
                    return kind(text)
            except ValueError:
                continue
        raise InvalidParameterError(f"{self.name} must be {self.kind_name}, got '{text}'.")


def param(default: _Value, help: str, *, low: float = -inf, high: float = inf, choices: tuple[str, ...] = ()) -> _Value:  # noqa: A002
    """Declare a dataclass field that is a checked parameter."""
    return field(default=default, metadata={_KEY: (help, low, high, choices)})


def parameters(owner: type) -> dict[str, Parameter]:
    """Return the declared parameters of a dataclass, by name, in order of declaration."""
    kinds = typing.get_type_hints(owner)
    return {
        one.name: Parameter(one.name, kinds[one.name], one.default, *one.metadata[_KEY])
        for one in fields(owner)
        if _KEY in one.metadata
    }


def check_parameters(instance: object) -> None:
    """Raise where a parameter has the wrong type or lies outside its range."""
    for name, parameter in parameters(type(instance)).items():
        parameter.check(getattr(instance, name))


def parse_assignments(owner: type, assignments: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Turn `key=value` texts of the command line into checked parameter values."""
    known, values = parameters(owner), dict[str, ParameterValue]()
    for name, text in assignments.items():
        if name not in known:
            raise UnknownNameError(f"parameter of {owner.__name__}", name, known)
        values[name] = known[name].parse(text)
        known[name].check(values[name])
    return values
