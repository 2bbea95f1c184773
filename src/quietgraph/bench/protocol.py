"""The honest protocol: one run, from a noisy observation to a record.

A method receives the observation alone. Its choices rest on noisy validation labels; the reference
labels of test nodes are read once, here, after the fit.
"""

import datetime
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from quietgraph.bench.metrics import evaluate
from quietgraph.bench.record import Record, RunKey, Status, canonical_json
from quietgraph.bench.variant import ADDED_LATER, NOT_PART_OF_A_RUN, Variant, parse_variant
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods import EmbeddingCache, NodeClassifier, use_cache
from quietgraph.rng import torch_generator
from quietgraph.types import AnyArray

PROTOCOL_VERSION = 1  # raise it when a change makes old results incomparable


@dataclass(frozen=True)
class Run:
    """One cell of a grid: a method variant on a dataset under a noise setting and a seed."""

    dataset: str
    variant: Variant
    noise: NoiseSetting
    seed: int
    split: str | None = None
    data_root: str | None = None
    cache: str | None = None  # folder for embeddings
    device: str = "auto"

    @classmethod
    def parse(cls, dataset: str, variant: str, noise: str, seed: int, **where: Any) -> "Run":
        """Return the run of a variant and a noise setting given as texts."""
        return cls(dataset, parse_variant(variant), parse_noise(noise), seed, **where)

    def parameters(self) -> dict[str, Any]:
        """Return all parameters: defaults, published settings of the dataset, the variant's own."""
        every = self.variant.without_control().estimator(self.dataset).get_params()
        plain = {**ADDED_LATER[None], **ADDED_LATER.get(self.variant.method, {})}
        return {
            name: value
            for name, value in every.items()
            if name not in NOT_PART_OF_A_RUN and plain.get(name, ...) != value
        }

    def key(self) -> RunKey:
        """Return what determines the outcome."""
        return RunKey(
            dataset=self.dataset,
            method=str(self.variant),
            parameters=canonical_json(self.parameters()),
            noise=str(self.noise),
            seed=self.seed,
            split=self.split or "default",
            protocol_version=PROTOCOL_VERSION,
        )

    def estimator(self) -> NodeClassifier:
        """Return the unfitted estimator of this run."""
        plain = self.variant.without_control()
        return plain.estimator(self.dataset, seed=self.seed, device=self.device)

    def observe(self) -> tuple[Observation, Reference]:
        """Return the noisy observation of this run, and the true labels to score with."""
        clean, reference = load_benchmark(
            self.dataset, seed=self.seed, data_root=self.data_root, split=self.split
        )
        return apply_noise(clean, self.noise, seed=self.seed, reference=reference), reference

    def fit(self, observation: Observation) -> NodeClassifier:
        """Return the estimator, fitted; embeddings come from the cache of the run."""
        with use_cache(EmbeddingCache(Path(self.cache)) if self.cache else None):
            model = self.estimator().fit(observation)
        if self.variant.is_controlled:
            adjust_class_prior(model)
        return model


def execute(run: Run) -> Record:
    """Carry out one run and return its record; a failure raises."""
    started, clock, processor = _now(), time.perf_counter(), time.process_time()
    observation, reference = run.observe()
    model = run.fit(observation)
    metrics = score(model, observation, reference)
    metrics["seconds_fit"] = model.seconds_
    metrics["seconds_processor"] = time.process_time() - processor
    return Record(
        key=run.key(),
        status="done",
        seconds=time.perf_counter() - clock,
        peak_memory_mb=float("nan"),  # the engine measures it from outside
        started=started,
        metrics=metrics,
        versions=versions(),
    )


def adjust_class_prior(model: NodeClassifier) -> None:
    """Add to the scores of a fitted model what its validation labels say of the class prior.

    The control for methods that do so themselves: any method gets the same use of these labels.
    """
    task = model.task_
    held_out, labels = model.scores_[task.validation], task.labels[task.validation]
    draws = torch_generator(task.seed, "class prior")
    trained = task.labels[task.train]
    model.scores_ = model.scores_ + class_adjustment(held_out, labels, trained, generator=draws)


def failure(run: Run, status: Status, reason: str, seconds: float) -> Record:
    """Return the record of a run that did not get done."""
    return Record(
        key=run.key(),
        status=status,
        seconds=seconds,
        peak_memory_mb=float("nan"),
        started=_now(ago=seconds),
        reason=reason,
        versions=versions(),
    )


def score(
    model: NodeClassifier, observation: Observation, reference: Reference
) -> dict[str, float]:
    """Return all metrics of a fitted model; the one place where reference labels are read."""
    return evaluate(
        model.predict(),
        _all_classes(model, len(observation.classes)),
        clean_labels=reference.codes.numpy(),
        noisy_labels=observation.codes.numpy(),
        split=observation.split,
    )


def versions() -> Mapping[str, str]:
    """Return the versions a result may depend on."""
    names = ("quietgraph", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _all_classes(model: NodeClassifier, count: int) -> AnyArray:
    """Return probabilities with a column for every class, also those without observed labels."""
    probabilities = np.zeros((len(model.scores_), count))
    probabilities[:, model.classes_.astype(int)] = model.predict_proba()
    return probabilities


def _now(*, ago: float = 0.0) -> str:
    moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=ago)
    return moment.isoformat(timespec="seconds")
