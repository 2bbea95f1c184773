"""How much of the paper is run: budgets, and what they leave of a table."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.data.datasets import describe
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import UnknownNameError, UnreadableFileError
from quietgraph.methods import get_method
from quietgraph.paper.comparison import NOT_HERE, NOT_RUN

SEEDS: Final = {"smoke": "0-1", "small": "1000-1004", "full": "1000-1009"}
BUDGETS: Final = tuple(SEEDS)
STAND_IN: Final = "digits"  # needs no files


@dataclass(frozen=True)
class Extent:
    """What each budget takes of one side of a table."""

    smoke: tuple[str, ...]
    small: tuple[str, ...]
    full: tuple[str, ...]

    def of(self, budget: str) -> tuple[str, ...]:
        """Return what this budget takes."""
        taken: tuple[str, ...] = getattr(self, budget)
        return taken


@dataclass(frozen=True)
class Scope:
    """A budget, its draws, and where data and embeddings are.

    Attributes:
        budget: One of `BUDGETS`.
        seeds: Draws of split, noise and initialisation.
        data_root: As for `load`.
        cache: Folder for embeddings.
        is_asked: Whether the draws were asked for and are not the budget's.
    """

    budget: str
    seeds: tuple[int, ...]
    data_root: str | None = None
    cache: str | None = None
    is_asked: bool = False

    def with_draws(self, usual: tuple[int, ...]) -> "Scope":
        """Return the scope of a target with draws of its own; those asked for come first."""
        return self if self.is_asked else replace(self, seeds=usual)

    def datasets(self, extent: Extent, *, stands_in: bool = True) -> tuple[str, ...]:
        """Return the datasets of a table; a smoke without their files takes the stand-in."""
        names = extent.of(self.budget)
        if stands_in and self.budget == "smoke" and not any(map(self.is_here, names)):
            return (STAND_IN,)
        return names

    def is_here(self, dataset: str) -> bool:
        """Whether the files of a dataset are here."""
        return describe(dataset, data_root=self.data_root).available

    def noise(self, text: str) -> str | None:
        """Return the canonical text of a noise setting, None where its file is not here."""
        return _canonical(text)

    def can_run(self, runs: Iterable[Run]) -> tuple[Run, ...]:
        """Return the runs on datasets that are here; results of others may still be shown."""
        here = cache(self.is_here)
        return tuple(run for run in runs if here(run.dataset))

    def absent(self, dataset: str) -> str:
        """Return why there is no result."""
        return NOT_RUN if self.is_here(dataset) else NOT_HERE

    def variant(self, row: str) -> str:
        """Return the method variant that a row runs: at smoke with the method's quick settings.

        Such a variant has a key of its own, so that it never passes for a result.
        """
        if self.budget != "smoke":
            return row
        quick = get_method(row.partition(":")[0]).quick
        return ":".join([row, *(f"{name}={value}" for name, value in quick.items())])

    def run(self, dataset: str, row: str, noise: str, seed: int) -> Run:
        """Return the run of a row under a noise setting."""
        return Run.parse(
            dataset, self.variant(row), noise, seed, data_root=self.data_root, cache=self.cache
        )

    def notes(self) -> list[str]:
        """Return what the budget makes of a table."""
        count, plural = len(self.seeds), "s" * (len(self.seeds) > 1)
        draws = f"{count} draw{plural} (seed{plural} {', '.join(map(str, self.seeds))})"
        if self.budget != "smoke":
            return [f"Budget {self.budget}: {draws}."]
        words = f"SMOKE, no result: training cut to a few epochs, {draws}"
        if not self.is_here("cora"):
            words += f"; the files of the real datasets are not here, so {STAND_IN} stands in"
        return [f"{words}."]


@cache
def _canonical(noise: str) -> str | None:
    try:
        return str(parse_noise(noise))
    except UnreadableFileError:
        return None


def make_scope(
    budget: str, *, seeds: str | None = None, data_root: str | None = None, cache: str | None = None
) -> Scope:
    """Return the scope of a budget; `seeds` replaces its draws, written as for `bench run`."""
    if budget not in BUDGETS:
        raise UnknownNameError("budget", budget, BUDGETS)
    draws = tuple(parse_seeds(seeds or SEEDS[budget]))
    return Scope(budget, draws, data_root, cache, is_asked=seeds is not None)
