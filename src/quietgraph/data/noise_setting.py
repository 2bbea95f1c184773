"""Noise settings such as `symmetric:0.4`: parsed from text, and held as a value."""

import csv
import hashlib
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from quietgraph.data.annotation_tables import answer_rows
from quietgraph.data.annotator_noise import read_label_file
from quietgraph.data.crowd import Crowd, parse_crowd
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.files import bounded_lines
from quietgraph.types import FloatArray

Transition: TypeAlias = FloatArray  # [classes, classes], rows sum to 1

LABEL_KINDS: Final = (
    "none",
    "symmetric",
    "asymmetric",
    "similarity",
    "random",
    "instance",
    "cluster",
    "degree",
    "annotator",
    "annotators",
    "annotations",
    "custom",
    "labels",
)
_FROM_FILE: Final = ("custom", "labels", "annotations")
_ALIASES: Final = {"uniform": "symmetric", "pair": "asymmetric"}
_SCOPES: Final = ("all", "train_val")
_FLAGS: Final = ("train-val", "exact-count", "clean-validation")


@dataclass(frozen=True)
class NoiseSetting:
    """Label noise of one kind, attribute noise, or both; `str` gives its canonical text.

    Attributes:
        kind: Of label noise, one of `LABEL_KINDS`.
        rate: Probability that a label is wrong; 0 for `none` and `custom`.
        scope: Nodes with attribute noise: `all`, or `train_val` for train and validation only.
        exact_count: Flip exactly the expected number of labels in each class.
        clean_validation: Leave the validation labels clean.
        matrix_path: File of the transition matrix, for the kind `custom`, of labels, for the
            kind `labels`, or of answers of several annotators, for the kind `annotations`.
        attribute_rate: Fraction of each node's feature positions that are shuffled.
        crowd: Simulated annotators, for the kind `annotators`.
        matrix: Its rows, read once, so that the setting means the same on another machine.
        file_labels: Node and label of each row of a file of labels, read once.
        file_answers: Rows of a file of answers, read once.
    """

    kind: str = "none"
    rate: float = 0.0
    scope: str = "all"
    exact_count: bool = False
    clean_validation: bool = False
    matrix_path: str | None = None
    attribute_rate: float = 0.0
    crowd: Crowd | None = None
    matrix: tuple[tuple[float, ...], ...] | None = field(init=False, default=None, repr=False)
    file_labels: tuple[tuple[int, str], ...] | None = field(init=False, default=None, repr=False)
    file_answers: tuple[tuple[str, ...], ...] | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in LABEL_KINDS:
            raise UnknownNameError("noise kind", self.kind, LABEL_KINDS)
        if self.scope not in _SCOPES:
            raise UnknownNameError("attribute noise scope", self.scope, _SCOPES)
        check_rate(self.rate, "noise rate")
        check_rate(self.attribute_rate, "attribute rate")
        if (self.kind in _FROM_FILE) != (self.matrix_path is not None):
            raise InvalidParameterError(
                "a file belongs to the noise kinds 'custom' (a transition matrix), 'labels' and "
                "'annotations', and only to them. Write custom:PATH.csv, labels:PATH.csv or "
                "annotations:PATH.csv."
            )
        if (self.kind == "annotators") != (self.crowd is not None):
            raise InvalidParameterError(
                "a crowd belongs to the noise kind 'annotators', and only to it. Write "
                "annotators:3."
            )
        if self.kind in {"none", "annotators", *_FROM_FILE} and self.rate:
            raise InvalidParameterError(f"the noise kind '{self.kind}' takes no rate.")
        if self.kind == "labels":
            object.__setattr__(self, "file_labels", read_label_file(str(self.matrix_path)))
        elif self.kind == "annotations":
            object.__setattr__(self, "file_answers", answer_rows(str(self.matrix_path)))
        elif self.matrix_path is not None:
            rows = read_transition(self.matrix_path).tolist()
            object.__setattr__(self, "matrix", tuple(tuple(row) for row in rows))

    @property
    def label_text(self) -> str:
        """The label noise alone, as text: what decides the draw of wrong labels."""
        if self.kind == "none":
            return "none"
        if self.crowd is not None:
            return f"annotators:{self.crowd}"
        if self.kind in _FROM_FILE:
            read = {"custom": self.matrix, "labels": self.file_labels}
            content = repr(read.get(self.kind, self.file_answers))
            digest = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()
            return f"{self.kind}:{self.matrix_path}#{digest}"
        return f"{self.kind}:{_rate_text(self.rate)}"

    def __str__(self) -> str:
        wrong_labels, wrong_features = self.kind != "none", self.attribute_rate > 0
        # Only what changes the data is said: settings that do the same have the same text.
        parts = {
            self.label_text: wrong_labels,
            f"attribute:{_rate_text(self.attribute_rate)}": wrong_features,
            "train-val": wrong_features and self.scope == "train_val",
            "exact-count": wrong_labels and self.exact_count,
            "clean-validation": wrong_labels and self.clean_validation,
        }
        return "+".join(part for part, is_said in parts.items() if is_said) or "none"


def parse_noise(text: str) -> NoiseSetting:
    """Return the setting of a text such as `symmetric:0.4+attribute:0.6+exact-count`.

    One label noise (`symmetric`, `asymmetric`, `similarity`, `random`, `instance`, `cluster`,
    `degree` or `annotator` with a rate, `annotators` with a crowd, `custom`, `labels` or
    `annotations` with the path of a file) and `attribute` with a rate may be joined by `+`, and so
    may the flags `train-val`, `exact-count` and `clean-validation`.
    `pair` is another name for `asymmetric`, `uniform` for `symmetric`.
    """
    values: dict[str, Any] = {}
    # A plus sign inside a file name is not followed by a bare word.
    for part in re.split(r"\+(?=\s*[A-Za-z-]+\s*(?::|\+|$))", text.strip()):
        for name, value in _parse_part(part.strip()).items():
            if name in values:
                raise InvalidParameterError(
                    f"the noise '{text}' gives {name.replace('_', ' ')} twice. "
                    "Join at most one label noise and one attribute noise."
                )
            values[name] = value
    digest = values.pop("digest", None)
    setting = NoiseSetting(**values)
    if digest and not setting.label_text.endswith(f"#{digest}"):
        raise InvalidParameterError(
            f"what '{setting.matrix_path}' holds has changed: it is not the one marked "
            f"#{digest}. Leave the mark out to use the new one."
        )
    return setting


def warn_if_uninformative(setting: NoiseSetting, num_classes: int) -> str | None:
    """Return one sentence where the labels cannot determine the true class, else None."""
    true, likeliest_wrong = _probabilities(setting, num_classes)
    if num_classes < 2 or true > likeliest_wrong + 1e-9:
        return None
    subject = f"{setting.label_text} with {num_classes} classes"
    if setting.kind != "symmetric":
        relation = "as likely as" if math.isclose(true, likeliest_wrong) else "likelier than"
        return f"{subject} hides the truth: a wrong class is {relation} the true one."
    if math.isclose(true, likeliest_wrong):
        return f"{subject} carries no information: every class is equally likely."
    return f"{subject} misleads: each wrong class is likelier than the true one."


def check_rate(rate: float, subject: str) -> None:
    """Raise where a fraction does not lie between 0 and 1."""
    if not 0 <= rate <= 1:  # also catches NaN
        raise InvalidParameterError(
            f"the {subject} must lie between 0 and 1, got {rate:g}. Write 0.4 for 40 %."
        )


def read_transition(path: str | Path) -> Transition:
    """Return the transition matrix of a CSV file without header: row = true class."""
    try:
        lines = csv.reader(bounded_lines(path))
        rows = [[float(cell) for cell in row] for row in lines if row]
    except OSError as error:
        raise UnreadableFileError(
            f"the transition matrix '{path}' cannot be read: {error.strerror}."
        ) from error
    except (ValueError, csv.Error) as error:
        raise UnreadableFileError(
            f"the transition matrix '{path}' must hold numbers and commas only: {error}."
        ) from error
    return _check_transition(rows, path)


def _check_transition(rows: list[list[float]], path: str | Path) -> Transition:
    if not rows or any(len(row) != len(rows) for row in rows):
        raise InvalidParameterError(
            f"the transition matrix '{path}' must have as many columns as rows, got {len(rows)} "
            f"rows of {' and '.join(map(str, sorted({len(row) for row in rows}))) or 0} columns."
        )
    matrix = np.array(rows)
    if not (matrix >= 0).all():
        raise InvalidParameterError(
            f"the transition matrix '{path}' must hold probabilities, got {matrix.min():g}."
        )
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > 1e-6:
        raise InvalidParameterError(
            f"every row of the transition matrix '{path}' must sum to 1, row {worst + 1} sums to "
            f"{sums[worst]:g}."
        )
    return np.asarray(matrix / sums[:, None], dtype=np.float64)


def _parse_part(part: str) -> dict[str, Any]:
    name, _, argument = part.partition(":")
    name = _ALIASES.get(name.strip().lower(), name.strip().lower())
    argument = argument.strip()
    if name in _FROM_FILE:
        marked = re.fullmatch(r"(.*?)(?:#([0-9a-f]{8}))?", argument)
        path, digest = marked.groups() if marked else (argument, None)
        if not path:
            raise InvalidParameterError(f"{name} noise needs a file. Write {name}:PATH.csv.")
        return {"kind": name, "matrix_path": path} | ({"digest": digest} if digest else {})
    known = (*LABEL_KINDS, *_ALIASES, "attribute", *_FLAGS)
    if name not in known:
        raise UnknownNameError("noise kind", name, known)
    if name == "none" or name in _FLAGS:
        if argument:
            raise InvalidParameterError(f"'{name}' takes no value, got '{argument}'.")
        flag = ("scope", "train_val") if name == "train-val" else (name.replace("-", "_"), True)
        return {"kind": "none"} if name == "none" else dict([flag])
    if name == "annotators":
        return {"kind": name, "crowd": parse_crowd(argument)}
    rate = _parse_rate(name, argument)
    return {"attribute_rate": rate} if name == "attribute" else {"kind": name, "rate": rate}


def _parse_rate(name: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        raise InvalidParameterError(
            f"{name} noise needs a rate between 0 and 1, got '{text}'. Write {name}:0.4 for 40 %."
        ) from None
    check_rate(rate, f"rate of {name} noise")
    return rate


def _rate_text(rate: float) -> str:
    return repr(float(rate)).removesuffix(".0")


def _probabilities(setting: NoiseSetting, num_classes: int) -> tuple[float, float]:
    """Return the probability of the true class and of the likeliest wrong one, at worst."""
    if setting.kind == "asymmetric":
        return 1 - setting.rate, setting.rate
    if setting.matrix is not None:
        matrix = np.array(setting.matrix)
        wrong = np.where(np.eye(len(matrix), dtype=bool), -1, matrix).max(axis=1)
        worst = int((matrix.diagonal() - wrong).argmin())
        return float(matrix[worst, worst]), float(wrong[worst])
    # Other kinds spread the rate unevenly; evenly is the mildest that they can be.
    return 1 - setting.rate, setting.rate / max(num_classes - 1, 1)
