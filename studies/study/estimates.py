"""How near `--estimate` comes: whole sweeps by the clock, and later draws by earlier ones."""

from dataclasses import dataclass
from typing import Final

import pandas as pd

from quietgraph.bench.costs import Costs, make_plan
from quietgraph.bench.protocol import Run
from study.blocks import block
from study.records import RESULTS, runs, table
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
_BAR: Final = 0.3  # how far off an estimate may be
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

    def seconds(self) -> tuple[int, float, float]:
        """Return its runs, the seconds expected by what was finished before, those taken."""
        stored, grid = runs(*_stored()), runs(*_GRID)
        own = grid[(grid["started"] >= self.first) & (grid["started"] < self.last)]
        known = stored[stored["started"] < self.first]
        return len(own), expected(known, own, jobs=_JOBS), by_the_clock(own)


_SWEEPS: Final = (
    Sweep("eleven methods", "2026-11-18T20:02:39", "2026-11-18T21:00:01"),
    Sweep("`tedgcn`", "2026-11-18T21:00:01", "2026-11-18T21:17:29"),
    Sweep(
        "`sel-cl`, `jo-src`, `grand-plus`, `merit`", "2026-11-18T21:25:41", "2026-11-18T22:27:18"
    ),
    Sweep("`ariel`, Cora alone", "2026-11-18T22:27:18", "2026-11-18T22:43:53"),
    Sweep("`ariel`, CiteSeer alone", "2026-11-19T01:47:00", "2026-11-19T02:04:27"),
)


@block
def sweeps() -> str:
    """Return what commands expected when they began, and what they took by the clock."""
    found = [(sweep.words, *sweep.seconds()) for sweep in _SWEEPS]
    columns = ["what", "runs", "expected", "taken"]  # as `timed_sweep.py` keeps them
    found += table("sweeps")[columns].itertuples(index=False, name=None)
    rows = []
    for words, count, wanted, taken in found:
        off = f"{fixed(100 * (wanted / taken - 1), 0, signed=True)} %"
        rows.append([words, f"{count:,}", fixed(wanted / 60), fixed(taken / 60), off])
    near = sum(abs(wanted / taken - 1) <= _BAR for *_, wanted, taken in found)
    shown = markdown(["run", "runs", "expected, min", "taken, min", "off by"], rows)
    return f"{shown}\n\nWithin {100 * _BAR:.0f} %: {near} of {len(found)}."


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
