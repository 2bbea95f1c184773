"""The tables of `quietgraph paper`, from the records: ours beside the printed figures."""

import textwrap
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd

from quietgraph.bench.protocol import Run
from quietgraph.errors import QuietgraphError
from quietgraph.paper.comparison import Comparison
from quietgraph.paper.results import KINDS, Results, digest_of
from quietgraph.paper.scope import Scope, make_scope
from quietgraph.paper.targets import TARGETS
from quietgraph.report.paper_tables import render_comparisons
from study.blocks import block
from study.records import RESULTS, mark_read, of_today, old_words, runs
from study.words import compact, graph, listed

WITHOUT_FILES = ("wiki-cs", "ogbn-arxiv")
_MOST_NAMES = 8  # rows that are named one by one


class RecordScope(Scope):
    """A scope that says of every machine what is true of the records."""

    def is_here(self, dataset: str) -> bool:
        """Whether the records have, or could have, runs on a dataset."""
        return dataset not in WITHOUT_FILES


@block
def paper_table(target: str, seeds: str = "") -> str:
    """Return a table of the paper without its title; rows of which nothing was run are named."""
    scope = _scope(seeds)
    whole = TARGETS[target].compare(scope, results())
    shown = [row for row in whole.rows if any(cell.ours for cell in row.cells.values())]
    hidden = [f"{row.dataset} {row.name}".strip() for row in whole.rows if row not in shown]
    text = compact(render_comparisons([replace(whole, rows=shown)]).partition("\n\n")[2])
    used = _used(target, scope)
    notes = [old_words(used) if len(used) else "", _hidden_words(hidden)]
    return "\n\n".join([_wrapped(text.strip()), *filter(None, notes)])


def _wrapped(text: str) -> str:
    """Return a table with its notes in lines that a person can read."""
    return "\n".join(
        line if line.startswith("|") else textwrap.fill(line, 200, break_on_hyphens=False)
        for line in text.splitlines()
    )


@block
def paper_runs() -> str:
    """Return how many runs the tables of the paper rest on."""
    return f"{sum(len(frame) for frame in results().frames.values()):,}"


def comparison(target: str, seeds: str = "") -> Comparison:
    """Return a table of the paper as data."""
    return TARGETS[target].compare(_scope(seeds), results())


def results() -> Results:
    """Return all records as `quietgraph paper` reads them from its stores."""
    mark_read(*_files(), *(f"study-{kind}" for kind in KINDS[1:]))
    return _results()


def _scope(seeds: str) -> Scope:
    plain = make_scope("small", seeds=seeds or None)
    return RecordScope(plain.budget, plain.seeds, is_asked=plain.is_asked)


def _used(target: str, scope: Scope) -> pd.DataFrame:
    """Return the rows that a table shows."""
    needs = TARGETS[target].needs(scope)
    return pd.concat([results().of(kind, needs.of(kind)) for kind in KINDS])


def _hidden_words(names: list[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return f"Not run yet: {listed(names)}." if names else ""
    counts = Counter(name.partition(" ")[0] for name in names)
    rows = [f"{count} of {graph(dataset)}" for dataset, count in counts.items()]
    return f"Not run yet: {len(names)} rows ({listed(rows)})."


def _files() -> list[str]:
    taken = ("paper-", "fresh-", "quiet-9", "letter-", "controls-", "real-")
    return sorted(path.stem for path in RESULTS.glob("*.csv") if path.stem.startswith(taken))


@cache
def _results() -> Results:
    frames = {kind: f"study-{kind}" for kind in KINDS[1:]}
    studies = {kind: _as_of_today(runs(name)) for kind, name in frames.items()}
    return Results({"accuracy": _as_of_today(runs(*_files())), **studies})


def _as_of_today(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows under the digests of today; old ones only where a cell has no others."""
    frame = of_today(frame)
    digests = [row.digest if not row.old else _digest(row) for row in frame.itertuples()]
    return frame.assign(digest=digests)


def _digest(row: Any) -> str:
    """Return the digest that the same run would have today; its own where there is none."""
    try:
        split = None if row.split == "default" else row.split
        return digest_of(Run.parse(row.dataset, row.method, row.noise, row.seed, split=split))
    except QuietgraphError:  # a variant that is gone, labels of a file that is not here
        return str(row.digest)
