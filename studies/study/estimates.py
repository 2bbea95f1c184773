"""How near `--estimate` comes: later draws of stored runs, expected from the earlier ones."""

from typing import Final

import pandas as pd

from quietgraph.bench.costs import Costs, make_plan
from quietgraph.bench.protocol import Run
from study.blocks import block
from study.records import runs
from study.words import fixed, graph, listed, markdown

_GRAPHS: Final = (
    ("cora", "citeseer"),
    ("pubmed", "coauthor-cs", "amazon-photo", "amazon-computers"),
    ("texas",),
    ("chameleon",),
)
_CACHE: Final = "embeddings"  # that runs of a draw share; nothing is read or written


@block
def estimates() -> str:
    """Return expected and taken minutes of the later draws, for the grid of each group of graphs.

    Runs of before processor seconds were stored are left out.
    """
    rows = []
    for names in _GRAPHS:
        frame = runs(*(f"paper-{name}" for name in names))
        known, later = split_draws(frame[frame["seconds_processor"].notna()])
        if len(known) and len(later):
            taken = later["seconds"].sum()
            figures = [fixed(seconds / 60) for seconds in (expected(known, later), taken)]
            counts = [str(len(part)) for part in (known, later)]
            rows.append([listed([graph(name) for name in names]), *counts, *figures])
    heads = ["grid", "finished runs", "missing runs", "expected, min", "taken, min"]
    return markdown(heads, rows)


def expected(known: pd.DataFrame, later: pd.DataFrame) -> float:
    """Return the seconds that one worker should need for later runs, by the known ones."""
    costs = Costs.of(known, cache=_CACHE)
    places = later[["dataset", "method", "noise", "seed"]].itertuples(index=False)
    found = [Run.parse(*place, cache=_CACHE) for place in places]
    return make_plan(found, costs).span(1)


def split_draws(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of the earlier half of a method's draws on a graph, and of the later half."""
    place = [frame["dataset"], frame["method"]]
    ranks = frame["seed"].groupby(place).rank(method="dense")
    half = ranks.groupby(place).transform("max") / 2
    return frame[ranks <= half], frame[ranks > half]
