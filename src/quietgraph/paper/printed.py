"""The paper's printed numbers, as facts in a CSV file beside this module."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from quietgraph.paper.comparison import Number


@dataclass(frozen=True)
class Printed:
    """A printed number, and the dataset whose row it repeats digit for digit, if any."""

    number: Number
    copied_from: str


@cache
def printed_numbers() -> dict[tuple[str, str, str, str], Printed]:
    """Return all printed numbers by (target, dataset, row, column), as the paper has them."""
    file = files("quietgraph.paper").joinpath("printed.csv")
    lines = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {
        (line["target"], line["dataset"], line["row"], line["column"]): Printed(
            Number(float(line["mean"]), float(line["std"]) if line["std"] else None),
            line["copied_from"],
        )
        for line in lines
    }


def printed(target: str, dataset: str, row: str, column: str) -> Printed | None:
    """Return one printed number, None where the paper has none."""
    return printed_numbers().get((target, dataset, row, column))


def printed_number(target: str, dataset: str, row: str, column: str) -> Number | None:
    """Return mean and standard deviation of one printed number, None where the paper has none."""
    found = printed(target, dataset, row, column)
    return None if found is None else found.number
