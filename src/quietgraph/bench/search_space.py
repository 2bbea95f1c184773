"""What a search may try: ranges of declared parameters, checked against what they allow."""

import math
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods import NodeClassifier
from quietgraph.params import Parameter, ParameterValue, parameters, parse_assignments


@dataclass(frozen=True)
class Span:
    """All numbers between two; on a logarithmic scale where orders of magnitude count."""

    low: float
    high: float
    is_log: bool = False


@dataclass(frozen=True)
class Options:
    """One of some values."""

    values: tuple[ParameterValue, ...]


Space: TypeAlias = dict[str, Span | Options]

# The ranges that the paper searches, and those of the two softnesses.
_USUAL: Space = {
    "learning_rate": Span(1e-4, 0.5, is_log=True),
    "weight_decay": Span(1e-5, 5e-3, is_log=True),
    "dropout": Span(0.3, 0.7),
    "rank_ratio": Span(0.1, 0.9),
    "rank_weight": Span(0.05, 0.5),
    "temperature": Span(0.1, 1.0),
}


def usual_space(method: type[NodeClassifier]) -> Space:
    """Return the usual ranges of those parameters that a method has."""
    known = parameters(method)
    space = {name: choice for name, choice in _USUAL.items() if name in known}
    if not space:
        raise InvalidParameterError(
            f"{method.__name__} has none of the parameters {', '.join(_USUAL)} to search. "
            "Name ranges with --param name=low:high."
        )
    return space


def parse_space(method: type[NodeClassifier], texts: Iterable[str]) -> Space:
    """Return the space of texts such as `learning_rate=1e-4:0.1:log` and `output=linear,relu`."""
    return dict(_parse(method, text) for text in texts)


def _parse(method: type[NodeClassifier], text: str) -> tuple[str, Span | Options]:
    name, sign, range_text = text.partition("=")
    known = parameters(method)
    if name not in known:
        raise UnknownNameError(f"parameter of {method.__name__}", name, known)
    if not sign or not range_text:
        raise _malformed(text)
    if ":" in range_text:
        return name, _parse_span(method, known[name], range_text, text)
    values = [value.strip() for value in range_text.split(",")]
    parsed = tuple(parse_assignments(method, {name: value})[name] for value in values)
    return name, Options(parsed)


def _parse_span(
    method: type[NodeClassifier], parameter: Parameter, range_text: str, text: str
) -> Span:
    ends = range_text.split(":")
    if len(ends) > 3 or ends[2:] not in ([], ["log"]):
        raise _malformed(text)
    allowed = typing.get_args(parameter.kind) or (parameter.kind,)
    if bool in allowed or not {int, float} & set(allowed):
        raise InvalidParameterError(
            f"{parameter.name} is no number. Name its values: --param {parameter.name}=a,b"
        )
    low, high = (_number(method, parameter, end) for end in ends[:2])
    span = Span(low, high, is_log=len(ends) == 3)
    if not low < high or (span.is_log and low <= 0):
        raise InvalidParameterError(
            f"the range of {parameter.name} must rise{', from above 0' if span.is_log else ''}, "
            f"got '{range_text}'."
        )
    return span


def _number(method: type[NodeClassifier], parameter: Parameter, text: str) -> float:
    """Return the end of a range; what is no number (`none`) lies in no range."""
    value = parse_assignments(method, {parameter.name: text})[parameter.name]
    return value if isinstance(value, int | float) else math.nan


def _malformed(text: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"a range is written name=low:high, name=low:high:log or name=a,b,c, got '{text}'."
    )
