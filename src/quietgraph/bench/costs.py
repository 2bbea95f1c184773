"""What runs will cost, from finished ones; embeddings that another run leaves are counted apart."""

import heapq
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from quietgraph.bench.embedding_groups import Group, group_of
from quietgraph.bench.grid import RunQueue
from quietgraph.bench.protocol import Run
from quietgraph.data.datasets import DATASETS, describe
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import InvalidParameterError, QuietgraphError, UnknownNameError
from quietgraph.methods import get_method
from quietgraph.params import parameters

_Cell: TypeAlias = tuple[str, ...]
_Finished: TypeAlias = tuple[float, _Cell]  # seconds; dataset, variant, noise
_LEAST_SHARE: Final = 0.1  # of the time that runs of a few epochs take all the same
_SECOND_STAGE: Final = 0.5  # seconds of a fit whose embeddings another run has left
_LATEST: Final = 10  # finished runs of a kind that count: older ones may be of another machine
_SIMILAR: Final = 4  # times as large
_PACE_RUNS: Final = (5, 25)  # least and most whole fits that tell how fast a machine is
_START_SECONDS: Final = 4.0  # until a worker process has loaded its libraries


@dataclass(frozen=True, eq=False)
class Costs:
    """Median seconds of finished runs: one that was held up by other work does not count.

    Attributes:
        fits: By (dataset, variant, noise) and by (dataset, variant): a fit whose embeddings are
            there, or that has none of its own.
        embeddings: By (dataset, what embeddings depend on): learning them.
        ratios: By (method, dataset): seconds of whole fits beside their guesses, oldest first.
            They scale guesses of what was never run: the machine may be faster than the one that
            these are from, and not every method slows with the graph.
        pace: Median of the latest ratios of all methods, 1 where too few tell.
    """

    fits: dict[_Cell, float] = field(default_factory=dict)
    embeddings: dict[_Cell, float] = field(default_factory=dict)
    ratios: dict[_Cell, list[float]] = field(default_factory=dict)
    pace: float = 1.0

    @classmethod
    def of(cls, frame: pd.DataFrame, *, cache: str | None) -> "Costs":
        """Return the costs that a table of finished runs tells, those of the latest runs.

        Of runs that share embeddings the longest is the one that learned them.
        """
        groups, alone = _grouped(frame, cache)
        longest = {group: max(found) for group, found in groups.items()}
        later = [one for group, found in groups.items() for one in found if one != longest[group]]
        fits: dict[_Cell, list[float]] = {}
        for seconds, cell in [*alone, *later]:
            fits.setdefault(cell, []).append(seconds)
            fits.setdefault(cell[:2], []).append(seconds)
        known = {cell: _median(values) for cell, values in fits.items()}
        learned: dict[_Cell, list[float]] = {}
        for group, (seconds, cell) in longest.items():
            after = known.get(cell, known.get(cell[:2], _SECOND_STAGE))
            learned.setdefault((cell[0], group[0]), []).append(max(seconds - after, 0.0))
        ratios: dict[_Cell, list[float]] = {}
        latest: list[float] = []
        for finished in (alone, list(longest.values())):
            found = list(_ratios(finished))
            latest += [ratio for _, ratio in found[-_PACE_RUNS[1] :]]
            for place, ratio in found:
                ratios.setdefault(place, []).append(ratio)
        pace = float(np.median(latest)) if len(latest) >= _PACE_RUNS[0] else 1.0
        embeddings = {cell: _median(values) for cell, values in learned.items()}
        return cls(known, embeddings, ratios, pace)

    def knows(self, run: Run) -> bool:
        """Whether a run like this one has been finished."""
        group = group_of(run)
        known = (run.dataset, str(run.variant)) in self.fits
        return known if group is None else (run.dataset, group[0]) in self.embeddings

    def seconds(self, run: Run, *, learns: bool) -> float:
        """Return the expected seconds of a run.

        Args:
            run: To be carried out.
            learns: Whether it has to learn its embeddings, where it has any.
        """
        group, cell = group_of(run), (run.dataset, str(run.variant))
        fit = self.fits.get((*cell, str(run.noise)), self.fits.get(cell))
        if group is None:
            return self._guess(run) if fit is None else fit
        after = _SECOND_STAGE if fit is None else fit
        if not learns:
            return after
        learning = self.embeddings.get((run.dataset, group[0]))
        return self._guess(run) if learning is None else learning + after

    def _guess(self, run: Run) -> float:
        """Return a guess at the pace of the method on graphs of such a size, else of all runs."""
        size = _size(run.dataset)
        similar = [
            ratio
            for (method, dataset), found in self.ratios.items()
            if method == run.variant.method and 1 / _SIMILAR < _size(dataset) / size < _SIMILAR
            for ratio in found[-_PACE_RUNS[1] :]
        ]
        return rough_seconds(run) * (float(np.median(similar)) if similar else self.pace)


@dataclass(frozen=True)
class Plan:
    """Runs with their expected seconds, the longest first."""

    runs: tuple[Run, ...]
    seconds: dict[Run, float]

    def span(self, jobs: int) -> float:
        """Return the seconds until the last run is finished by so many workers.

        As the engines do it: a run whose embeddings are being learned lets others pass.
        """
        queue, clock = RunQueue(self.runs), 0.0
        busy: list[tuple[float, int]] = []  # when a worker will be free, and its run
        order = {run: index for index, run in enumerate(self.runs)}
        while queue.waiting or busy:
            while len(busy) < jobs and (run := queue.take()) is not None:
                heapq.heappush(busy, (clock + self.seconds[run], order[run]))
            clock, index = heapq.heappop(busy)
            queue.finish(self.runs[index], is_done=True)
        return clock + (_START_SECONDS if self.runs else 0.0)


def make_plan(runs: Iterable[Run], costs: Costs, *, learned: Collection[Group] = ()) -> Plan:
    """Return the runs in a good order, the longest first, so that no long one is left at the end.

    Of runs that share embeddings the first pays for them, unless they are there.

    Args:
        runs: In any order.
        costs: Of finished runs.
        learned: Embeddings that are there.
    """
    there, seconds = set(learned), {}
    for run in runs:
        group = group_of(run)
        seconds[run] = costs.seconds(run, learns=group not in there)
        if group is not None:
            there.add(group)
    ordered = sorted(
        seconds, key=lambda run: (-seconds[run], run.dataset, str(run.variant), run.seed)
    )
    return Plan(tuple(ordered), seconds)


def rough_seconds(run: Run) -> float:
    """Return a guess: seconds on Cora, by the size of the graph and the epochs beside those."""
    size = _size(run.dataset) / _size("cora")
    return get_method(run.variant.method).cora_seconds * size * _epochs_share(run)


def _size(dataset: str) -> float:
    facts = describe(dataset)
    return facts.nodes + facts.edges / 4


def _epochs_share(run: Run) -> float:
    """Return the epochs of a run beside those of the fit on Cora that is known."""
    method, epochs = get_method(run.variant.method), run.parameters().get("epochs")
    known = parameters(method)["epochs"].default if epochs else None
    known = known or method.cora_epochs
    return max(_LEAST_SHARE, epochs / known) if epochs and known else 1.0


def _grouped(
    frame: pd.DataFrame, cache: str | None
) -> tuple[dict[Group, list[_Finished]], list[_Finished]]:
    """Return finished runs that share embeddings, by group, and the others; oldest first."""
    done = _with_processor_seconds(frame[frame["status"] == "done"].sort_values("started"))
    # Less than the seconds if the machine was busy with other work; more, if there were threads.
    taken = np.fmin(done["seconds"], done["seconds_processor"]).tolist()
    columns = (done[name].tolist() for name in ("dataset", "method", "noise", "seed"))
    groups: dict[Group, list[_Finished]] = {}
    alone: list[_Finished] = []
    for dataset, method, noise, seed, seconds in zip(*columns, taken, strict=True):
        group = _stored_group(dataset, method, noise, seed, cache)
        found = alone if group is None else groups.setdefault(group, [])
        found.append((seconds, (dataset, method, noise)))
    return groups, alone


def _with_processor_seconds(done: pd.DataFrame) -> pd.DataFrame:
    """Return finished runs without those that lack processor seconds where others have them.

    Runs of earlier versions lack them, and may have been held up by other work.
    """
    if "seconds_processor" not in done:
        return done.assign(seconds_processor=np.nan)
    cell, has = [done["dataset"], done["method"]], done["seconds_processor"].notna()
    return done[has | ~has.groupby(cell).transform("any")]


def _stored_group(
    dataset: str, variant: str, noise: str, seed: int, cache: str | None
) -> Group | None:
    """Return the group of a stored run, None where it is of a method that is gone."""
    if dataset not in DATASETS:
        return None
    try:
        return group_of(Run.parse(dataset, variant, _attributes(noise), seed, cache=cache))
    except (UnknownNameError, InvalidParameterError):
        return None


def _attributes(noise: str) -> str:
    """Return the attribute noise in a text: label noise, perhaps from a file, teaches nothing."""
    if "attribute:" not in noise:
        return "none"
    try:
        return f"attribute:{parse_noise(noise).attribute_rate}"
    except QuietgraphError:  # the file of a label noise is not here
        return "none"


def _ratios(finished: list[_Finished]) -> Iterator[tuple[_Cell, float]]:
    """Give method and dataset of each whole fit, and how much longer than guessed it took."""
    rough = {cell: _stored_rough(*cell[:2]) for _, cell in finished}
    for seconds, cell in finished:
        if rough[cell] > 0:
            yield (cell[1].partition(":")[0], cell[0]), seconds / rough[cell]


def _stored_rough(dataset: str, variant: str) -> float:
    """Return the guess of a stored run, 0 where it is of a method or dataset that is gone."""
    try:
        return rough_seconds(Run.parse(dataset, variant, "none", 0)) if dataset in DATASETS else 0.0
    except (UnknownNameError, InvalidParameterError):
        return 0.0


def _median(values: list[float]) -> float:
    return float(np.median(values[-_LATEST:]))
