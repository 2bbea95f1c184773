"""A method with some parameters set otherwise than by default, as a value and as text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from quietgraph.errors import InvalidParameterError
from quietgraph.methods import METHODS, NodeClassifier, get_method
from quietgraph.params import (
    ParameterValue,
    Settings,
    current_names,
    make,
    parameters,
    parse_assignments,
)

_PRESET = "preset"  # preset=paper: the letter of the paper in one switch
_CONTROL = "class_prior"  # class_prior=adjusted: a control of the benchmark, after any fit
_WORDS = {_PRESET: "paper", _CONTROL: "adjusted"}
NOT_PART_OF_A_RUN = frozenset({"seed", "device"})  # parameters that are no part of a setting
# Parameters that came later, of all methods or of one; at these values a run has the key that it
# had without them.
ADDED_LATER: Final[dict[str | None, Settings]] = {
    None: {"partitioner": "auto"},
    "quiet": {"partitions": 0, "partitions_per_step": 1},
}


@dataclass(frozen=True)
class Variant:
    """A registered method and its assignments; `str` gives `name:key=value:key=value`.

    Attributes:
        method: Registered name.
        assignments: Parameters and their values as written, which decide the text.
        values: The same as checked values.
    """

    method: str
    assignments: tuple[tuple[str, str], ...] = ()
    values: Settings = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        chosen = get_method(self.method)
        given = dict(self.assignments)
        words = {name: given.pop(name) for name in _WORDS if name in given}
        preset, control = words.get(_PRESET), words.get(_CONTROL)
        if preset is not None and (preset != _WORDS[_PRESET] or not hasattr(chosen, "paper")):
            raise InvalidParameterError(
                f"preset must be paper, for gcl-lrr or gcl-lr-attention, got '{preset}' "
                f"for {self.method}. Leave it out for the defaults."
            )
        if control is not None and control != _WORDS[_CONTROL]:
            raise InvalidParameterError(
                f"class_prior must be adjusted, got '{control}'. Leave it out for none."
            )
        texts = current_names(chosen, given)
        object.__setattr__(self, "assignments", tuple({**words, **texts}.items()))
        object.__setattr__(self, "values", parse_assignments(chosen, texts))

    def __str__(self) -> str:
        return join_variant(self.method, dict(self.assignments))

    @property
    def is_controlled(self) -> bool:
        """Whether the benchmark adjusts the scores to the class prior after the fit."""
        return _CONTROL in dict(self.assignments)

    def controlled(self) -> "Variant":
        """Return the variant with class-prior adjustment; itself where the method adjusts."""
        if self.is_controlled or "class_prior_adjustment" in parameters(get_method(self.method)):
            return self
        return replace(self, assignments=((_CONTROL, _WORDS[_CONTROL]), *self.assignments))

    def without_control(self) -> "Variant":
        """Return the variant as methods see it."""
        own = tuple(pair for pair in self.assignments if pair[0] != _CONTROL)
        return replace(self, assignments=own)

    def estimator(self, dataset: str | None = None, **values: ParameterValue) -> NodeClassifier:
        """Return the unfitted estimator.

        Args:
            dataset: Whose published settings to start from; None for own data.
            values: Other parameters, such as the seed.
        """
        if self.is_controlled:
            raise InvalidParameterError(
                f"class_prior=adjusted of {self} is a control of `quietgraph bench run`. "
                "Leave it out here."
            )
        chosen, own = get_method(self.method), {**self.values, **values}
        if _PRESET in dict(self.assignments):  # checked above: the method has the paper's letter
            letter: NodeClassifier = chosen.paper(dataset, **own)  # type: ignore[attr-defined]
            return letter
        return make(chosen, own) if dataset is None else chosen.for_dataset(dataset, **own)


def parse_variant(text: str) -> Variant:
    """Return the variant of a text such as `gcn:hidden=128:epochs=50`."""
    method, assignments = split_variant(text)
    return Variant(method, tuple(assignments.items()))


def parse_variants(texts: Iterable[str]) -> list[Variant]:
    """Return the variants of several texts; `all` stands for every registered method."""
    every = (name for text in texts for name in (METHODS if text == "all" else (text,)))
    return [parse_variant(name) for name in every]


def split_variant(text: str) -> tuple[str, dict[str, str]]:
    """Return the method and the assignments in the text of a variant, unchecked."""
    method, *parts = text.split(":")
    pairs = [part.partition("=") for part in parts]
    if any(not sign or not name for name, sign, _ in pairs):
        raise InvalidParameterError(
            f"a method variant is written name:key=value:key=value, got '{text}'."
        )
    return method, {name: value for name, _, value in pairs}


def join_variant(method: str, assignments: Mapping[str, str]) -> str:
    """Return the text of a variant."""
    return ":".join([method, *(f"{name}={value}" for name, value in assignments.items())])


def settings_words(model: NodeClassifier, dataset: str | None) -> str:
    """Return whose settings an estimator has: published ones or defaults, and what differs."""
    published = type(model).presets.get(dataset or "", {})
    usual = make(type(model), published).get_params()
    words = f"published settings for {dataset}" if published else "defaults"
    differing = [
        f"{name}={value}"
        for name, value in model.get_params().items()
        if name not in NOT_PART_OF_A_RUN and value != usual[name]
    ]
    return ", ".join([words, *differing])
