"""One benchmark run as plain data: what determines it, and what came out."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import pandas as pd

from quietgraph.bench.metrics import METRICS
from quietgraph.errors import InvalidParameterError

Status = Literal["done", "failed", "timeout", "out-of-memory"]
STATUSES: tuple[str, ...] = get_args(Status)


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"what determines a run must be plain finite JSON values, got {value!r} ({error})."
        ) from error


@dataclass(frozen=True)
class RunKey:
    """Everything that determines the outcome of a run; equal keys give equal results."""

    dataset: str
    method: str
    parameters: str  # canonical JSON, as from `canonical_json`
    noise: str  # canonical text, such as "none" or "symmetric:0.4"
    seed: int
    split: str
    protocol_version: int

    def __post_init__(self) -> None:
        try:
            canonical = canonical_json(json.loads(self.parameters))
        except json.JSONDecodeError:
            canonical = None
        if canonical != self.parameters:
            raise InvalidParameterError(
                f"parameters of a run key must be canonical JSON, got {self.parameters!r}. "
                "Build the text with canonical_json."
            )

    @cached_property
    def digest(self) -> str:
        """The hash under which the run is stored: 32 hexadecimal digits."""
        text = canonical_json(asdict(self))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Record:
    """A finished run: its key, how it ended, its metrics and its costs."""

    key: RunKey
    status: Status
    seconds: float
    peak_memory_mb: float
    started: str  # ISO 8601
    metrics: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""  # why it did not get done
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InvalidParameterError(
                f"status of a run must be one of {', '.join(STATUSES)}, got {self.status!r}."
            )


def records_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row a run: key, digest, status, costs, versions, and each metric as a column.

    The known metrics always have a column; what a run has no value for is NaN.
    """
    rows = list(records)
    facts = pd.DataFrame([_facts(record) for record in rows], columns=list(RUN_COLUMNS))
    extra = sorted({name for record in rows for name in record.metrics} - METRICS.keys())
    names = [*METRICS, *extra]
    values = [[record.metrics.get(name, float("nan")) for name in names] for record in rows]
    metrics = pd.DataFrame(values, columns=names, dtype=float)
    return pd.concat([facts.astype(RUN_COLUMNS), metrics], axis=1)


RUN_COLUMNS = {
    "dataset": "str",
    "noise": "str",
    "method": "str",
    "seed": "int64",
    "status": "str",
    "reason": "str",
    "parameters": "str",
    "split": "str",
    "protocol_version": "int64",
    "digest": "str",
    "seconds": "float64",
    "peak_memory_mb": "float64",
    "started": "str",
    "versions": "str",
}


def _facts(record: Record) -> dict[str, Any]:
    outcome = {name: getattr(record, name) for name in RUN_COLUMNS if hasattr(record, name)}
    versions = canonical_json(dict(record.versions))
    return asdict(record.key) | outcome | {"digest": record.key.digest, "versions": versions}
