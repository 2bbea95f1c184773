"""Hyper-parameter search by noisy validation labels, stored in a file and resumed from it."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from quietgraph.bench.cross_validation import cross_validate
from quietgraph.bench.metrics import accuracy
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import canonical_json
from quietgraph.bench.search_space import Options, Space
from quietgraph.bench.trial_store import Trial, distributions, finished_trials, open_study
from quietgraph.bench.variant import Variant
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.errors import QuietgraphError, UnknownNameError
from quietgraph.extras import import_extra
from quietgraph.params import Settings
from quietgraph.rng import derive_seed
from quietgraph.types import UNKNOWN

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

OBJECTIVES: Final = ("validation", "folds", "fold-loss")
Tell = Callable[[list[Trial], int], None]  # trials so far, how many are wanted


@dataclass(frozen=True)
class Goal:
    """What is to be good: a method on a dataset under noise, scored by noisy labels alone.

    Attributes:
        dataset: Name.
        variant: The method, and what is fixed otherwise than by default.
        noise: Of the labels that it learns from and is scored with.
        seeds: Draws of split, noise and initialisation over which the score is averaged.
        objective: `validation` for accuracy on noisy validation labels, `folds` for the accuracy
            of five folds of noisy training labels, `fold-loss` for their cross-entropy, negative.
        fraction: Of the training labels that the folds use.
        split: As for `load`.
        data_root: As for `load`.
    """

    dataset: str
    variant: Variant
    noise: NoiseSetting
    seeds: tuple[int, ...]
    objective: str = "validation"
    fraction: float = field(default=1.0, kw_only=True)
    split: str | None = None
    data_root: str | None = None

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise UnknownNameError("objective", self.objective, OBJECTIVES)

    def score(self, values: Settings) -> float:
        """Return the mean over seeds of the objective; no clean label is looked at."""
        return sum(self._score(values, seed) for seed in self.seeds) / len(self.seeds)

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**vars(self), "variant": str(self.variant), "noise": str(self.noise)}

    def text(self) -> str:
        """Return everything on which scores depend, as canonical JSON."""
        facts = self.facts() | {"parameters": self._run(seed=0).parameters()}
        left_out = {"data_root"} | ({"fraction"} if self.fraction == 1 else set())
        return canonical_json({name: facts[name] for name in facts if name not in left_out})

    def _score(self, values: Settings, seed: int) -> float:
        observation, _ = self._run(seed).observe()
        model = self.variant.estimator(self.dataset, **{**values, "seed": seed})
        if self.objective != "validation":
            labels = torch.where(observation.split.train, observation.codes, UNKNOWN)
            found = cross_validate(model, observation.graph, labels, fraction=self.fraction)
            return found.accuracy if self.objective == "folds" else -found.loss
        held_out = observation.split.validation.numpy()
        return accuracy(model.fit(observation).predict()[held_out], observation.labels[held_out])

    def _run(self, seed: int) -> Run:
        return Run(self.dataset, self.variant, self.noise, seed, self.split, self.data_root)


def search(
    goal: Goal, space: Space, store: Path, *, trials: int, tell: Tell | None = None
) -> list[Trial]:
    """Return so many trials, each proposed by Optuna's tree-structured Parzen estimator.

    Trials that the store has already count; one that was under way when a search was killed is
    tried again, so a search that was interrupted ends as one that was not.
    """
    optuna = import_extra("optuna", "quietgraph tune")
    spans = distributions(optuna, space)
    with open_study(optuna, _name(goal, spans), store) as study:
        while len(found := finished_trials(optuna, study, store)) < trials:
            # A sampler's own draws start afresh with the process; these depend on the count alone.
            seed = derive_seed(0, "tune", len(found)) % 2**32
            study.sampler = optuna.samplers.TPESampler(seed=seed)
            _try(optuna, study, goal, spans)
            if tell is not None:
                tell(finished_trials(optuna, study, store), trials)
        return found[:trials]


def search_grid(
    goal: Goal,
    points: Sequence[Settings],
    store: Path,
    *,
    most: int | None = None,
    tell: Tell | None = None,
) -> list[Trial]:
    """Return the trial of every point, or of so many of the first; the store's are not repeated."""
    wanted = points[:most]
    optuna = import_extra("optuna", "quietgraph tune")
    values = {name: tuple(dict.fromkeys(point[name] for point in points)) for name in points[0]}
    spans = distributions(optuna, {name: Options(each) for name, each in values.items()})
    with open_study(optuna, _name(goal, spans), store) as study:
        while missing := _missing(wanted, found := finished_trials(optuna, study, store)):
            study.enqueue_trial(dict(missing[0]))
            _try(optuna, study, goal, spans)
            if tell is not None:
                tell(finished_trials(optuna, study, store), len(wanted))
        return found


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest score, the first of equals; raise where all failed."""
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        raise QuietgraphError(
            f"none of the {len(trials)} trials succeeded; the last says: {trials[-1].reason} "
            "Narrow the ranges with --param."
        )
    return max(scored, key=lambda trial: -math.inf if trial.score is None else trial.score)


def with_values(variant: Variant, trial: Trial) -> Variant:
    """Return the variant with the values of a trial."""
    own = dict(variant.assignments) | {name: str(value) for name, value in trial.values.items()}
    return Variant(variant.method, tuple(own.items()))


def _try(
    optuna: ModuleType, study: "Study", goal: Goal, spans: dict[str, "BaseDistribution"]
) -> None:
    """Carry out the next trial; whatever a method raises is kept as the reason of its failure."""
    trial = study.ask(spans)
    clock = time.perf_counter()
    score: float | None = None
    try:
        score = goal.score(trial.params)
    except Exception as error:
        trial.set_user_attr("reason", f"{type(error).__name__}: {error}")
    trial.set_user_attr("seconds", time.perf_counter() - clock)
    study.tell(trial, score, state=optuna.trial.TrialState.FAIL if score is None else None)


def _missing(points: Sequence[Settings], found: Sequence[Trial]) -> list[Settings]:
    done = [trial.values for trial in found]
    return [point for point in points if point not in done]


def _name(goal: Goal, spans: Mapping[str, object]) -> str:
    """Return the name of the study: other goals, spaces and defaults never share trials."""
    described = sorted(f"{name} {each!r}" for name, each in spans.items())
    digest = derive_seed(0, goal.text(), *described)
    return f"{goal.variant} on {goal.dataset}, {goal.noise}, {goal.objective}, {digest:016x}"
