"""What was published of each method: its citation, and settings for datasets (`published.toml`)."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.registry import method_name
from quietgraph.params import ParameterValue, parse_assignments

_Method = TypeVar("_Method", bound=NodeClassifier)


@cache
def published() -> dict[str, Any]:
    """Return citation and settings of every method by its name."""
    return tomllib.loads((files("quietgraph.methods") / "published.toml").read_text(encoding="utf-8"))


def citation(method: type[NodeClassifier]) -> str:
    """Return where a method was published; nothing for methods of your own."""
    return str(published().get(method_name(method), {}).get("citation", ""))


def for_dataset(method: type[_Method], dataset: str, **values: ParameterValue) -> _Method:
    """Return the estimator with the settings published for a dataset, else its defaults, and these values."""
    known = published().get(method_name(method), {}).get("settings", [])
    known = published()[known]["settings"] if isinstance(known, str) else known  # those of another method
    found = next((dict(one) for one in known if dataset in one["datasets"]), {})
    found.pop("datasets", None)
    settings: dict[str, Any] = parse_assignments(method, {name: str(value) for name, value in found.items()})
    return method(**{**settings, **values})
