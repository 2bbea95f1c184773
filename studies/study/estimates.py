"""How near `--estimate` comes: whole sweeps by the clock, and later draws by earlier ones."""

from dataclasses import dataclass
from typing import Final

import pandas as pd

from quietgraph.bench.costs import Costs, make_plan
from quietgraph.bench.protocol import Run
from study.blocks import block
from study.records import RESULTS, runs
from study.words import fixed, graph, listed, markdown

_GRAPHS: Final = (
    ("cora", "citeseer"),
    ("pubmed", "coauthor-cs", "amazon-photo", "amazon-computers"),
    ("texas",),
    ("chameleon",),
)
_GRID: Final = ("paper-cora", "paper-citeseer")
_FAMILIES: Final = ("paper-", "real-", "controls-", "fresh-9100", "quiet-9100", "letter-9100")
_JOBS: Final = 2
_CACHE: Final = "embeddings"  # that runs of a draw share; nothing is read or written


@dataclass(frozen=True)
class Sweep:
    """A command of the study with two runs at a time on Cora and CiteSeer.

    Attributes:
        words: What was run.
        first: When it began (UTC).
        last: When it ended.
    """

    words: str
    first: str
    last: str

    def parts(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the runs that were finished before it began, and its own."""
        stored, grid = runs(*_stored()), runs(*_GRID)
        own = grid[(grid["started"] >= self.first) & (grid["started"] < self.last)]
        return stored[stored["started"] < self.first], own


_SWEEPS: Final = (
    Sweep("eleven methods", "2026-11-18T20:02:39", "2026-11-18T21:00:01"),
    Sweep("`tedgcn`", "2026-11-18T21:00:01", "2026-11-18T21:17:29"),
    Sweep(
        "`sel-cl`, `jo-src`, `grand-plus`, `merit`", "2026-11-18T21:25:41", "2026-11-18T22:27:18"
    ),
    Sweep("`ariel`, Cora alone", "2026-11-18T22:27:18", "2026-11-18T22:43:53"),
)


@block
def sweeps() -> str:
    """Return what commands expected when they began, and what they took by the clock."""
    rows = []
    for sweep in _SWEEPS:
        known, own = sweep.parts()
        seconds = expected(known, own, jobs=_JOBS), by_the_clock(own)
        off = f"{fixed(100 * (seconds[0] / seconds[1] - 1), 0, signed=True)} %"
        rows.append([sweep.words, f"{len(own):,}", *(fixed(one / 60) for one in seconds), off])
    return markdown(["run", "runs", "expected, min", "taken, min", "off by"], rows)


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


def _stored() -> list[str]:
    """Return the files that the store of the study begins with (docs/paper.md)."""
    names = sorted(path.stem for path in RESULTS.glob("*.csv"))
    return [name for name in names if name.startswith(_FAMILIES)]


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
