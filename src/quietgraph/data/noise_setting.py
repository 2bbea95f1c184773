"""Noise settings such as `symmetric:0.4`: parsed from text, and held as a value. No file is read here."""

import re
from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, Field

from quietgraph.data.simulated_annotators import parse_crowd
from quietgraph.errors import InvalidParameterError, UnknownNameError

RateKind: TypeAlias = Literal["symmetric", "asymmetric", "random", "instance", "annotator"]
FileKind: TypeAlias = Literal["custom", "labels"]
_ALIASES: Final = {"uniform": "symmetric", "pair": "asymmetric"}
_WORDS: Final[dict[str, dict[str, Any]]] = {"none": {"kind": "none"}, "clean-validation": {"clean_validation": True}}


class NoiseSetting(BaseModel, frozen=True, extra="forbid"):
    """Label noise of one kind, attribute noise, or both; `str` gives its canonical text.

    Attributes:
        kind: Of label noise.
        rate: Probability that a label is wrong, for the kinds that have one.
        path: File of the transition matrix, for `custom`, or of labels, for `labels`.
        crowd: Simulated annotators, for `annotators`: answers per node and annotators, `3:0.9/0.7/spammer`.
        attribute_rate: Fraction of each node's feature positions that are shuffled.
        clean_validation: Leave the validation labels clean.
    """

    kind: RateKind | FileKind | Literal["none", "annotators"] = "none"
    rate: float = Field(0.0, ge=0, le=1)
    path: str | None = None
    crowd: str | None = None
    attribute_rate: float = Field(0.0, ge=0, le=1)
    clean_validation: bool = False

    @property
    def label_text(self) -> str:
        """The label noise alone, as text: with dataset and seed it decides the draw of wrong labels."""
        return "none" if self.kind == "none" else f"{self.kind}:{self.path or self.crowd or _rate_text(self.rate)}"

    def __str__(self) -> str:
        # Only what changes the data is said: settings that do the same have the same text.
        parts = [self.label_text] if self.kind != "none" or not self.attribute_rate else []
        parts += [f"attribute:{_rate_text(self.attribute_rate)}"] if self.attribute_rate else []
        return "+".join(parts + (["clean-validation"] if self.kind != "none" and self.clean_validation else []))


def parse_noise(text: str) -> NoiseSetting:
    """Return the setting of a text such as `symmetric:0.4+attribute:0.6`.

    One label noise (`symmetric`, `asymmetric`, `random`, `instance` or `annotator` with a rate, `annotators` with a
    crowd, `custom` or `labels` with a file), `attribute` with a rate and `clean-validation` may be joined by `+`.
    `pair` is another name for `asymmetric`, `uniform` for `symmetric`.
    """
    values: dict[str, Any] = {}
    # A plus sign inside a file name is not followed by a bare word.
    for part in re.split(r"\+(?=\s*[A-Za-z-]+\s*(?::|\+|$))", text.strip()):
        found = _parse_part(part)
        for name in values.keys() & found:
            raise InvalidParameterError(
                f"the noise '{text}' gives {name.replace('_', ' ')} twice. "
                "Join at most one label noise and one attribute noise."
            )
        values |= found
    return NoiseSetting(**values)


def _parse_part(part: str) -> dict[str, Any]:
    name, _, argument = (word.strip() for word in part.partition(":"))
    name = _ALIASES.get(name.lower(), name.lower())
    if name in _WORDS:
        if argument:
            raise InvalidParameterError(f"'{name}' takes no value, got '{argument}'.")
        return _WORDS[name]
    if name in get_args(FileKind):
        if not argument:
            raise InvalidParameterError(f"{name} noise needs a file. Write {name}:PATH.csv.")
        return {"kind": name, "path": argument}
    if name == "annotators":
        count, members = parse_crowd(argument)
        return {"kind": name, "crowd": f"{count}:{'/'.join(members)}"}
    rates = (*get_args(RateKind), "attribute")
    if name not in rates:
        raise UnknownNameError("noise kind", name, (*rates, *_ALIASES, *get_args(FileKind), *_WORDS, "annotators"))
    rate = float(argument) if re.fullmatch(r"[+-]?(\d+\.?|\d*\.\d+)(e[+-]?\d+)?", argument.lower()) else -1.0
    if not 0 <= rate <= 1:
        raise InvalidParameterError(
            f"{name} noise needs a rate between 0 and 1, got '{argument}'. Write {name}:0.4 for 40 %."
        )
    return {"attribute_rate": rate} if name == "attribute" else {"kind": name, "rate": rate}


def _rate_text(rate: float) -> str:
    return repr(float(rate)).removesuffix(".0")
