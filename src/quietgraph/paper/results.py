"""What the stores hold of the runs that a target needs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from quietgraph.bench.protocol import Run
from quietgraph.bench.record import RunKey, records_frame
from quietgraph.bench.statistics import summarise
from quietgraph.bench.store import Store
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.paper.comparison import NOT_RUN, Number

# What a run is for. Accuracies share the store of `bench run`; the others have files beside it,
# because the same run gives other numbers there: seconds without cached embeddings, theory, folds.
KINDS: Final = ("accuracy", "times", "theory", "folds")


@dataclass(frozen=True)
class Needs:
    """The runs that a target wants, by what they are for."""

    accuracy: tuple[Run, ...] = ()
    times: tuple[Run, ...] = ()
    theory: tuple[Run, ...] = ()
    folds: tuple[Run, ...] = ()

    def of(self, kind: str) -> tuple[Run, ...]:
        """Return the runs of one of `KINDS`."""
        runs: tuple[Run, ...] = getattr(self, kind)
        return runs

    def __or__(self, other: "Needs") -> "Needs":
        """Return the runs of both, each once."""
        both = {kind: dict.fromkeys((*self.of(kind), *other.of(kind))) for kind in KINDS}
        return Needs(**{kind: tuple(runs) for kind, runs in both.items()})


@dataclass(frozen=True)
class Summary:
    """Mean over draws, and what to say beside it."""

    number: Number | None
    words: str


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of each kind that are there, as tables."""

    frames: dict[str, pd.DataFrame]

    def of(self, kind: str, runs: Iterable[Run]) -> pd.DataFrame:
        """Return the rows of these runs, and of no others."""
        frame = self.frames[kind]
        return frame[frame["digest"].isin({digest_of(run) for run in runs})]

    def summaries(
        self, kind: str, runs: Iterable[Run], metric: str
    ) -> dict[tuple[str, str, str], Summary]:
        """Return mean and failures by (dataset, variant, noise).

        Rows with a true column `old`, of a method that has changed since, are called so.
        """
        frame = self.of(kind, runs)
        if frame.empty:
            return {}
        if metric not in frame.columns:  # all of them failed
            frame = frame.assign(**{metric: float("nan")})
        old = frame[frame["old"]] if "old" in frame.columns else frame[:0]
        places = set(zip(old["dataset"], old["method"], old["noise"], strict=True))
        lines = summarise(frame, metric).to_dict("records")
        cells = {(line["dataset"], line["method"], line["noise"]): line for line in lines}
        return {place: _summary(line, is_old=place in places) for place, line in cells.items()}


ABSENT: Final = Summary(None, NOT_RUN)


def digest_of(run: Run) -> str:
    """Return the digest under which a run is stored."""
    model = _key(replace(run, noise=NoiseSetting(), seed=0, data_root=None, cache=None))
    return replace(model, noise=str(run.noise), seed=run.seed).digest


@cache  # working out all parameters takes a millisecond, and tables have thousands of runs
def _key(run: Run) -> RunKey:
    return run.key()


def number_of(values: "pd.Series[float]") -> Number:
    """Return mean, standard deviation (None for one value) and count."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    return Number(float(values.mean()), spread, len(values))


def store_path(store: Path, kind: str) -> Path:
    """Return the file of a kind of runs: the store itself, or one beside it."""
    return store if kind == "accuracy" else store.with_name(f"{store.stem}-{kind}{store.suffix}")


def read_results(store: Path) -> Results:
    """Return all runs in the store and the files beside it; a file that is missing has none."""
    return Results({kind: _read(store_path(store, kind)) for kind in KINDS})


def _read(path: Path) -> pd.DataFrame:
    if not path.exists():
        return records_frame([])
    with Store(path, read_only=True) as opened:
        return opened.to_frame()


def _summary(line: dict[Any, Any], *, is_old: bool = False) -> Summary:
    failures, n = int(line["failures"]), int(line["n"])
    words = ", ".join(["old"] * is_old + [f"failed: {failures}"] * bool(failures))
    if not n:
        return Summary(None, words)
    spread = float(line["std"]) if n > 1 else None
    return Summary(Number(float(line["mean"]), spread, n), words)
