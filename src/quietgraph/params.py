"""Declared parameters: one line gives default, range, help and command-line parsing."""

import dataclasses
import functools
import math
import types
import typing
import warnings
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from quietgraph.errors import InvalidParameterError, UnknownNameError

_KEY = "quietgraph"
_Value = TypeVar("_Value")

ParameterValue: TypeAlias = bool | int | float | str | None
Settings: TypeAlias = Mapping[str, ParameterValue]  # values by the name of the parameter
Presets: TypeAlias = Mapping[str, Settings]  # published settings by dataset


@dataclass(frozen=True)
class Rule:
    """What a parameter means and which values it takes."""

    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    after_embedding: bool = False  # True: the label-free first stage does not depend on it
    old_name: str | None = None  # accepted for one release, with a warning


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method as tools see it."""

    name: str
    kind: type | types.UnionType
    default: object
    rule: Rule

    @property
    def kind_name(self) -> str:
        """The type as people write it: `int`, `float | None`."""
        return getattr(self.kind, "__name__", str(self.kind))


def param(
    default: _Value,
    help: str,  # noqa: A002
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
    after_embedding: bool = False,
    old_name: str | None = None,
) -> _Value:
    """Declare a dataclass field that is a checked parameter."""
    rule = Rule(help, low, high, choices, after_embedding, old_name)
    return dataclasses.field(default=default, metadata={_KEY: rule})


def parameters(owner: type) -> dict[str, Parameter]:
    """Return the declared parameters of a dataclass, by name, in order of declaration."""
    kinds = _kinds(owner)
    return {
        field.name: Parameter(field.name, kinds[field.name], field.default, field.metadata[_KEY])
        for field in dataclasses.fields(owner)
        if _KEY in field.metadata
    }


@functools.cache  # resolving annotations takes a millisecond, and tables have thousands of runs
def _kinds(owner: type) -> dict[str, Any]:
    return typing.get_type_hints(owner)


def current_names(
    owner: type, values: Mapping[str, _Value], *, warn: bool = True
) -> dict[str, _Value]:
    """Return values by the current names of a dataclass's parameters.

    Args:
        owner: Class whose parameters they are; a name it does not know is kept.
        values: By current or old name.
        warn: Whether an old name gives a FutureWarning; stored values are read without one.
    """
    rules = ((field.name, field.metadata.get(_KEY)) for field in dataclasses.fields(owner))
    names = {rule.old_name: name for name, rule in rules if rule is not None and rule.old_name}
    for old in names.keys() & values.keys():
        if names[old] in values:
            raise InvalidParameterError(
                f"{old} is the old name of {names[old]}, got both. Give {names[old]} alone."
            )
        if warn:
            warnings.warn(
                f"{old} of {owner.__name__} is now called {names[old]}; the old name will be "
                "removed in the next release.",
                FutureWarning,
                stacklevel=3,
            )
    return {names.get(name, name): value for name, value in values.items()}


class Parameterised(ABCMeta):
    """Metaclass of dataclasses whose constructor also takes old names of parameters."""

    def __call__(cls, *args: object, **values: Any) -> object:
        """Make an instance."""
        return super().__call__(*args, **current_names(cls, values))


def make(owner: Callable[..., _Value], settings: Settings) -> _Value:
    """Return an instance with these settings; it checks them itself."""
    return owner(**settings)


def check_parameters(instance: object) -> None:
    """Raise where a parameter has the wrong type or lies outside its range."""
    for name, parameter in parameters(type(instance)).items():
        check_value(parameter, getattr(instance, name))


def check_value(parameter: Parameter, value: object) -> None:
    """Raise where one value does not fit its parameter."""
    allowed = typing.get_args(parameter.kind) or (parameter.kind,)
    if value is None and type(None) in allowed:
        return
    whole_as_float = float in allowed and isinstance(value, int) and not isinstance(value, bool)
    if type(value) not in allowed and not whole_as_float:
        raise InvalidParameterError(
            f"{parameter.name} must be {parameter.kind_name}, got {value!r} "
            f"({type(value).__name__})."
        )
    rule = parameter.rule
    if rule.choices is not None and value not in rule.choices:
        raise InvalidParameterError(
            f"{parameter.name} must be one of {', '.join(rule.choices)}, got {value!r}."
        )
    if isinstance(value, int | float) and not _in_range(value, rule):
        raise InvalidParameterError(
            f"{parameter.name} must be {_range_words(rule)}, got {value!r}."
        )


def parse_assignments(owner: type, assignments: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Turn `key=value` texts of the command line into checked parameter values."""
    known = parameters(owner)
    values: dict[str, ParameterValue] = {}
    for name, text in current_names(owner, assignments).items():
        if name not in known:
            raise UnknownNameError(f"parameter of {owner.__name__}", name, known)
        values[name] = _parse(known[name], text)
        check_value(known[name], values[name])
    return values


def _parse(parameter: Parameter, text: str) -> ParameterValue:
    allowed = typing.get_args(parameter.kind) or (parameter.kind,)
    if type(None) in allowed and text.lower() in {"none", "null", ""}:
        return None
    for kind in (bool, int, float, str):
        if kind not in allowed:
            continue
        try:
            return _parse_bool(text) if kind is bool else kind(text)
        except ValueError:
            continue
    raise InvalidParameterError(f"{parameter.name} must be {parameter.kind_name}, got '{text}'.")


def _parse_bool(text: str) -> bool:
    if text.lower() in {"true", "yes", "1", "on"}:
        return True
    if text.lower() in {"false", "no", "0", "off"}:
        return False
    raise ValueError(text)


def _in_range(value: float, rule: Rule) -> bool:
    above = rule.low is None or value >= rule.low
    below = rule.high is None or value <= rule.high
    return (isinstance(value, int) or math.isfinite(value)) and above and below


def _range_words(rule: Rule) -> str:
    if rule.low is not None and rule.high is not None:
        return f"between {rule.low:g} and {rule.high:g}"
    if rule.low is not None:
        return f"at least {rule.low:g}"
    if rule.high is not None:
        return f"at most {rule.high:g}"
    return "a finite number"
