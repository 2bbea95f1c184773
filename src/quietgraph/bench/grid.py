"""From a grid of names to runs in a good order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Final

from quietgraph.bench.protocol import Run
from quietgraph.bench.record import canonical_json
from quietgraph.bench.variant import Variant, parse_variants
from quietgraph.data.datasets import DATASETS, describe, load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting, parse_noise, warn_if_uninformative
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.rng import LARGEST_SEED

_MOST_SEEDS: Final = 100_000
_LONGEST_SHOWN: Final = 100  # characters of a text in a message


@dataclass(frozen=True)
class Grid:
    """Datasets x method variants x noise settings x seeds, under one split and data folder."""

    datasets: Sequence[str]
    methods: Sequence[Variant]
    noise: Sequence[NoiseSetting]
    seeds: Sequence[int]
    split: str | None = None
    data_root: str | None = None
    cache: str | None = None
    device: str = "auto"

    @classmethod
    def parse(
        cls,
        *,
        methods: Iterable[str],
        noise: Iterable[str],
        is_controlled: bool = False,
        **others: Any,
    ) -> "Grid":
        """Return the grid of variants (`all`: every method) and noise settings given as texts.

        Args:
            methods: Names and variants.
            noise: Noise settings.
            is_controlled: Whether the scores of every method are adjusted to the class prior.
            others: The other fields.
        """
        variants, settings = parse_variants(methods), [parse_noise(text) for text in noise]
        if is_controlled:
            variants = [variant.controlled() for variant in variants]
        return cls(methods=variants, noise=settings, **others)

    def __post_init__(self) -> None:
        for dataset in self.datasets:
            if dataset not in DATASETS:
                raise UnknownNameError("dataset", dataset, DATASETS)
        if not (self.datasets and self.methods and self.noise and self.seeds):
            raise InvalidParameterError(
                "the grid is empty. Name at least one dataset, method, noise setting and seed."
            )

    def runs(self) -> list[Run]:
        """Return every run once."""
        where = (self.split, self.data_root, self.cache, self.device)
        cells = product(self.datasets, self.methods, self._noise(), self.seeds)
        return list(dict.fromkeys(Run(*cell, *where) for cell in cells))

    def rehearse(self) -> None:
        """Load each dataset and draw each noise once, so that mistakes are reported before runs."""
        for name in dict.fromkeys(self.datasets):
            clean, reference = load_benchmark(
                name, seed=self.seeds[0], data_root=self.data_root, split=self.split
            )
            for noise in self._noise():
                apply_noise(clean, noise, seed=self.seeds[0], reference=reference)

    def warnings(self) -> list[str]:
        """Return one sentence for every noise setting that carries no information."""
        pairs = product(self.noise, self.datasets)
        sentences = (
            (dataset, warn_if_uninformative(noise, describe(dataset).classes))
            for noise, dataset in pairs
        )
        return [f"{dataset}: {sentence}" for dataset, sentence in sentences if sentence]

    def _noise(self) -> list[NoiseSetting]:
        """Return the noise settings, one of those with the same effect."""
        return list({str(noise): noise for noise in self.noise}.values())


def parse_seeds(text: str) -> list[int]:
    """Return seeds from a count ("10" = 0 ... 9), a range ("1000-1009") or a list ("3,5")."""
    seeds: Sequence[int]
    try:
        if "-" in text:
            first, _, last = text.partition("-")
            seeds = range(int(first), int(last) + 1)
        elif "," in text:
            seeds = [int(part) for part in text.split(",") if part.strip()]
        else:
            seeds = range(int(text))
    except ValueError:
        seeds = []
    # A slice, not len(): a range may be longer than any list.
    if not seeds or seeds[_MOST_SEEDS:] or not 0 <= min(seeds) <= max(seeds) <= LARGEST_SEED:
        raise InvalidParameterError(
            "seeds must be a count (10), a range (1000-1009; 7-7 is seed 7 alone) or a list (3,5) "
            f"of 1 to {_MOST_SEEDS:,} draws below 2^32, got '{text[:_LONGEST_SHOWN]}'."
        )
    return list(seeds)


@cache
def embedding_group(run: Run) -> str | None:
    """Return what runs have in common when one can use the embeddings another has computed.

    None for a run without a cache or whose method learns from labels all along.
    """
    shared = run.estimator().first_stage_parameters()
    if run.cache is None or shared is None:
        return None
    noise, own = run.noise, canonical_json(shared)
    return f"{run.dataset} {run.split} {noise.attribute_rate} {noise.scope} {run.seed} {own}"


class RunQueue:
    """Runs that wait for a worker; one whose embeddings are being computed lets others pass.

    So a row of label-noise settings trains its encoder once, however many workers there are.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.waiting = list(runs)
        self._learning: set[str] = set()  # groups whose first run is under way
        self._learned: set[str] = set()  # groups whose embeddings are in the cache

    def take(self) -> Run | None:
        """Return the next run that may start, None where all must wait or none is left."""
        for index, run in enumerate(self.waiting):
            group = embedding_group(run)
            if group in self._learning:
                continue
            if group is not None and group not in self._learned:
                self._learning.add(group)
            return self.waiting.pop(index)
        return None

    def finish(self, run: Run, *, is_done: bool) -> None:
        """Let the runs start that waited for this one's embeddings."""
        group = embedding_group(run)
        if group is not None:
            self._learning.discard(group)
            if is_done:
                self._learned.add(group)
