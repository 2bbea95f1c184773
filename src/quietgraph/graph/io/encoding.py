"""How columns became features: kept beside a model, so that a grown graph is read the same way."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.cells import DATE_STYLES, NUMBER_STYLES
from quietgraph.graph.io.columns import FEATURE_KINDS, HASHED_WORDS, SCALARS, Column
from quietgraph.graph.io.limits import MAX_LINE

ENCODING_FILE = "encoding.json"
_FORMAT = 1
_LARGEST_FILE = 64 * MAX_LINE


@dataclass(frozen=True)
class Encoding:
    """Where the features of a graph come from.

    Attributes:
        kind: `columns` of a table, a ready `matrix`, or the `structure` of the graph itself.
        columns: What each column became, in the order of the features.
        id_column: Name of the id column; None where there is none.
        landmarks: Ids of the nodes that structural features are measured from.
    """

    kind: str
    columns: tuple[Column, ...] = ()
    id_column: str | None = None
    landmarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the encoding as plain JSON values."""
        return {"format": _FORMAT, **asdict(self)}

    def to_json(self) -> str:
        """Return the encoding as JSON."""
        return json.dumps(self.to_dict(), indent=1)


def read_encoding(folder: Path) -> Encoding | None:
    """Return the encoding kept in a model folder; None where the model was not fitted on files."""
    path = folder / ENCODING_FILE
    if not path.exists():
        return None
    try:
        return encoding_of(read_json(path))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnreadableFileError(
            f"{path} does not say how columns become features ({error}). Fit the model again."
        ) from error


def read_json(path: Path) -> Any:
    """Return the content of a JSON file of ours; one that cannot be ours is a ValueError."""
    if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        raise ValueError("no file of this kind")
    return json.loads(path.read_text(encoding="utf-8"))


def encoding_of(facts: Any) -> Encoding:
    """Return the encoding that `to_json` wrote; ValueError where something else did."""
    _check(isinstance(facts, dict) and facts.get("format") == _FORMAT, "another format")
    _check(facts["kind"] in {"columns", "matrix", "structure"}, "an unknown kind")
    _check(facts["id_column"] is None or isinstance(facts["id_column"], str), "no id column")
    columns = tuple(_column(one) for one in _list_of(facts["columns"], dict))
    landmarks = tuple(_list_of(facts["landmarks"], str))
    _check(bool(columns) == (facts["kind"] == "columns"), "columns of another kind")
    return Encoding(facts["kind"], columns, facts["id_column"], landmarks)


def _column(facts: dict[str, Any]) -> Column:
    name, kind, values = facts["name"], facts["kind"], facts["values"]
    centre, spread = facts["centre"], facts["spread"]
    _check(isinstance(name, str) and kind in FEATURE_KINDS, "a column of no kind")
    _check(_is_finite(centre) and _is_finite(spread), f"column {name} without mean")
    if kind == "category":
        _check(bool(_list_of(values, str)), f"column {name} without values")
    elif kind == "text":
        _check(len(_list_of(values, int, float)) == HASHED_WORDS, f"column {name} without words")
        _check(all(map(_is_finite, values)), f"column {name} without weights")
    elif kind == "vector":
        _check(len(_list_of(values, int)) == 1 and values[0] > 0, f"column {name} without width")
    elif kind in SCALARS:
        styles = {*NUMBER_STYLES, *DATE_STYLES}
        _check(len(values) <= 1 and set(_list_of(values, str)) <= styles, f"column {name}")
    return Column(name, kind, float(centre), float(spread), tuple(values))


def _list_of(values: Any, *kinds: type) -> list[Any]:
    right = isinstance(values, list) and all(type(value) in kinds for value in values)
    _check(right, "a list of other things")
    found: list[Any] = values
    return found


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e308 and math.isfinite(value)


def _check(right: bool, reason: str) -> None:
    if not right:
        raise ValueError(reason)
