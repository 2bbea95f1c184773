"""How near `--estimate` comes: whole sweeps by the clock, and later draws by earlier ones."""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Sweep:
    """A command of the study, and which runs it left.

    Attributes:
        words: What was run.
        files: Of results/ that hold its runs.
        known: Files that its store held when it began.
        first: When it began (UTC).
        last: When it ended.
        jobs: Runs at a time.
    """

    words: str
    files: tuple[str, ...]
    known: tuple[str, ...]
    first: str
    last: str
    jobs: int = 2

    def parts(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the runs that were finished before it began, and its own."""
        own = runs(*self.files)
        own = own[(own["started"] >= self.first) & (own["started"] < self.last)]
        known = runs(*self.known)
        return known[known["started"] < self.first], own


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


def expected(known: pd.DataFrame, later: pd.DataFrame, *, jobs: int = 1) -> float:
    """Return the seconds that so many workers should need for later runs, by the known ones."""
    costs = Costs.of(known, cache=_CACHE)
    places = later[["dataset", "method", "noise", "seed"]].itertuples(index=False)
    found = [Run.parse(*place, cache=_CACHE) for place in places]
    return make_plan(found, costs).span(jobs)


def by_the_clock(later: pd.DataFrame) -> float:
    """Return the seconds from the start of the first run to the end of the last one."""
    started = pd.to_datetime(later["started"], utc=True)
    ended = started + pd.to_timedelta(later["seconds"], unit="s")
    return (ended.max() - started.min()).total_seconds()


def split_draws(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of the earlier half of a method's draws on a graph, and of the later half."""
    place = [frame["dataset"], frame["method"]]
    ranks = frame["seed"].groupby(place).rank(method="dense")
    half = ranks.groupby(place).transform("max") / 2
    return frame[ranks <= half], frame[ranks > half]
