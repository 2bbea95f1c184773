"""Figures for sentences on size and speed, worked out from tables that benchmarks printed."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from math import log, sqrt
from statistics import linear_regression
from typing import Final

from study.blocks import block
from study.records import printed
from study.words import fixed, listed, markdown, span

_MB: Final = 2**20  # bytes, as the benchmarks count
_NUMBER: Final = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?<!,)")
_AGAINST: Final = "against"
_COMMAND: Final = "gcl-lr-attention"  # the method whose whole commands were run at four sizes
_LARGEST: Final = 10_000_000  # nodes of scale-ten-million
_EPOCHS: Final = {  # graphs of epoch.csv
    "cora": "Cora",
    "pubmed": "PubMed",
    "generated": "200,000 nodes, 1,000,000 edges",
}
_GENERATED: Final = 200_000 * 256 * 4  # bytes of one matrix of the largest graph of epoch.py


@block
def printed_number(name: str, column: str, place: str, *row: str) -> str:
    """Return a number out of a cell that holds words or several numbers.

    Args:
        name: Of the table.
        column: Its head.
        place: Which number of the cell, from 1 on.
        row: What the first cells of the line are.
    """
    (line,) = lines_of(name, row)
    found: list[str] = _NUMBER.findall(line[column])
    return found[int(place) - 1]


@block
def printed_span(name: str, column: str, decimals: str, *row: str) -> str:
    """Return the lowest and the highest number of a column.

    Args:
        name: Of the table.
        column: Its head.
        decimals: Of the answer.
        row: What the first cells of the lines are; stars stand for anything.
    """
    return span(numbers_of(name, column, row), int(decimals))


@block
def printed_ratio(name: str, column: str, decimals: str, *rows: str) -> str:
    """Return how many times one line some lines are: `... 120,000 2 against 120,000 1`."""
    some, one = _beside(name, column, rows)
    return span([value / one for value in some], int(decimals))


@block
def printed_difference(name: str, column: str, decimals: str, *rows: str) -> str:
    """Return how far some lines are above one line: `... "whole graph" against metis`."""
    some, one = _beside(name, column, rows)
    return span([value - one for value in some], int(decimals))


@block
def accuracy_errors(dataset: str, method: str) -> str:
    """Return the standard errors of differences between partitions and the whole graph."""
    lines = [line for line in lines_of("scale-accuracy", (dataset, method)) if line["its std"]]
    return span([float(line["its std"]) / sqrt(int(line["n"])) for line in lines], 1)


@block
def command_seconds() -> str:
    """Return processor seconds of whole commands, from 10,000 to ten million nodes."""
    return listed([f"{seconds:,.0f}" for seconds in _commands().values()])


@block
def command_exponent(*sizes: str) -> str:
    """Return the exponent of time in size of whole commands, by least squares of logarithms.

    Args:
        sizes: Of the graphs, all where none is given.
    """
    wanted = {int(size.replace(",", "")) for size in sizes}
    found = {size: took for size, took in _commands().items() if not wanted or size in wanted}
    return fixed(exponent(found), 2)


@block
def command_times(size: str, other: str) -> str:
    """Return how many times the command on another graph the command on a graph takes."""
    found = _commands()
    return fixed(found[int(size.replace(",", ""))] / found[int(other.replace(",", ""))])


@block
def convert_rate(kind: str) -> str:
    """Return how many MB of tables a processor second converts."""
    lines = lines_of("convert", ("*", kind))
    return span([number(line["MB of tables"]) / number(line["processor s"]) for line in lines])


@block
def convert_beside_arrow() -> str:
    """Return how many times what Arrow alone takes a conversion takes."""
    lines = lines_of("convert", ())
    return span([number(line["processor s"]) / number(line["Arrow alone s"]) for line in lines])


@block
def convert_growth() -> str:
    """Return by how many bytes a node the memory of a conversion grows from size to size."""
    rates = []
    for kind in ("parquet", "csv"):
        small, large = lines_of("convert", ("*", kind))
        megabytes, nodes = (
            number(large[column]) - number(small[column]) for column in ("own MB", "nodes")
        )
        rates.append(megabytes * _MB / nodes)
    return span(rates)


@block
def matrices_held() -> str:
    """Return how many matrices [nodes, 256] an epoch on the largest graph holds beside it."""
    (megabytes,) = numbers_of("epoch", "extra memory MB", ("generated", "ours"))
    return fixed(megabytes * _MB / _GENERATED, 0)


@block
def epoch_bars() -> str:
    """Return what was asked of an epoch, and how it stands to the other ways on each graph."""
    asked = {
        "at most 1.6 x the floor": "floor",
        "at least 3 x faster than PyG's layers, on the largest": "pyg",
        "at least 10 x faster than the dense paper": "dense",
    }
    rows = [
        [words, *(_epoch_ratio(way, place) for place in _EPOCHS)] for words, way in asked.items()
    ]
    return markdown(["bar", *_EPOCHS.values()], rows)


def _epoch_ratio(way: str, place: str) -> str:
    """Return an epoch beside the floor, or how many times as long as ours another way takes."""
    found = {line["way"]: line["seconds per epoch"] for line in lines_of("epoch", (place,))}
    if way not in found:
        return "does not fit"
    own, other = number(found["ours"]), number(found[way])
    return fixed(own / other, 2) if way == "floor" else fixed(other / own)


def exponent(seconds: dict[int, float]) -> float:
    """Return the slope of log(seconds) in log(size)."""
    sizes = [log(size) for size in seconds]
    return linear_regression(sizes, [log(took) for took in seconds.values()]).slope


def number(cell: str) -> float:
    """Return the number that a cell is."""
    return float(cell.replace(",", ""))


def numbers_of(name: str, column: str, row: Sequence[str]) -> list[float]:
    """Return the numbers of a column in lines that begin with `row`, without empty cells."""
    return [number(line[column]) for line in lines_of(name, row) if line[column]]


def lines_of(name: str, row: Sequence[str]) -> list[dict[str, str]]:
    """Return the lines that begin with `row`, cells by head, without marks of Markdown.

    Args:
        name: Of the table.
        row: Of the first cells, in which stars stand for anything.
    """
    heads, rows = printed(name)
    plain = [[re.sub("[*`]", "", cell) for cell in line] for line in rows]
    found = [line for line in plain if all(map(fnmatchcase, line, row))]
    if not found:
        raise KeyError(f"{name}: no line begins with {tuple(row)}")
    return [dict(zip(heads, line, strict=True)) for line in found]


def _beside(name: str, column: str, rows: Sequence[str]) -> tuple[list[float], float]:
    """Return the numbers of the lines before the word `against`, and the one after it."""
    place = rows.index(_AGAINST)
    (one,) = numbers_of(name, column, rows[place + 1 :])
    return numbers_of(name, column, rows[:place]), one


def _commands() -> dict[int, float]:
    """Return processor seconds of whole commands by number of nodes, ascending."""
    lines = lines_of("scale-command", ("*", _COMMAND))
    found = {int(number(line["nodes"])): number(line["processor s"]) for line in lines}
    (found[_LARGEST],) = numbers_of("scale-ten-million", "processor s", (_COMMAND,))
    return dict(sorted(found.items()))
