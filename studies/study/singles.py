"""Figures in sentences that were looked at once and stand in no table of runs."""

from functools import cache

from study.blocks import block
from study.records import mark_read, table

_FILE = "single-figures"


@block
def single(name: str) -> str:
    """Return a figure as results/studies/single-figures.csv has it, what and how beside it."""
    mark_read(f"studies/{_FILE}")
    return _figures()[name]


@cache
def _figures() -> dict[str, str]:
    frame = table(_FILE, dtype=str)
    return dict(zip(frame["name"], frame["value"], strict=True))
