"""The honest protocol: one run, from noisy observed labels to a row.

A method receives the observed labels alone. The true labels of test nodes are read once, here, after the fit.
"""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import torch
from sklearn.base import clone

from quietgraph.bench.metrics import evaluate, evaluate_assessment, in_classes
from quietgraph.bench.store import KEY
from quietgraph.data.data import Data, Truth
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.splits import Split, stratified_folds
from quietgraph.errors import QuietgraphError
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels

SAME_LABELS: Final = "same labels"  # every method is handed all labels alike and holds out itself what it needs
PAPER: Final = "paper"  # training labels teach, validation labels choose
PROTOCOLS: Final = (SAME_LABELS, PAPER)
FOLDS: Final = 5
Row: TypeAlias = dict[str, Any]
Relearn: TypeAlias = Callable[[Observed], Fitted]


@dataclass(frozen=True, eq=False)
class Run:
    """One fit of a benchmark: what determines its outcome (its key), and what it is carried out with.

    Attributes:
        dataset: Name.
        data: Digest of graph and true labels.
        noise: Setting as text.
        method: Name and parameters as text.
        settings: Digest of all parameters and the method's revision.
        seed: Of split, noise and method.
        split: Name, `default` for the dataset's own.
        protocol: Which labels teach: `same labels` or `paper`.
        estimator: Unfitted.
        own: Data whose labels are true, instead of a dataset by name.
        data_root: Folder of datasets.
        adjusts_prior: Whether scores are adjusted to the class prior after the fit, a control.
        measures: What is recorded beside accuracy, of `MEASURES`.
    """

    dataset: str
    data: str
    noise: str
    method: str
    settings: str
    seed: int
    split: str
    protocol: str
    estimator: NodeClassifier
    own: Data | None = None
    data_root: str | None = None
    adjusts_prior: bool = False
    measures: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str | int, ...]:
        """What determines the outcome."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def group(self) -> tuple[object, ...]:
        """What runs have in common that share a graph and embeddings learned without labels."""
        own = tuple(getattr(self, name) for name in KEY if name != "noise")
        return (*own, parse_noise(self.noise).attribute_rate)

    def observe(self) -> tuple[Data, Truth]:
        """Return the data with noisy labels that a method sees, and the truth to score with."""
        if self.own is not None:
            clean, truth = split_own(self.own, seed=self.seed)
        else:
            clean, truth = _load(self.dataset, self.seed, self.split, self.data_root)
        data = apply_noise(clean, truth, parse_noise(self.noise), seed=self.seed)
        return (data.without_choice() if self.protocol == SAME_LABELS else data), truth

    def row(self, status: str, **values: Any) -> Row:
        """Return the row of the run in a file."""
        key = dict(zip(KEY, self.key, strict=True))
        return {**key, "measures": " ".join(self.measures), "status": status, **values}


def execute_batch(runs: Sequence[Run]) -> Iterator[Row]:
    """Give the row of each run, which differ in label noise alone; whatever a run raises becomes its row.

    A method whose first stage needs no labels learns it once for all of them; its time counts in every row.
    """
    relearn, first_stage = None, 0.0
    for run in runs:
        clock = time.perf_counter()
        try:
            data, truth = run.observe()
            model, processor = clone(run.estimator).set_params(seed=run.seed), time.process_time()
            _fit(model, data, relearn)
            seconds = first_stage + time.process_time() - processor
            if relearn is None and model.fitted_.relearn is not None and len(runs) > 1:
                relearn, processor = model.fitted_.relearn, time.process_time()
                relearn(model.observed_)
                first_stage = max(0.0, seconds - (time.process_time() - processor))
            if run.adjusts_prior:
                adjust_class_prior(model)
            row = run.row("done", **score(model, data, truth), seconds_fit=seconds)
            for name in run.measures:
                row |= MEASURES[name](model, data, truth, run)
        except Exception as error:
            row = run.row("failed", reason=_sentence(error))
        yield {**row, "seconds": time.perf_counter() - clock}


def score(model: NodeClassifier, data: Data, truth: Truth) -> dict[str, float]:
    """Return the scores of a fitted model: the one place where the true labels of test nodes are read."""
    rows = in_classes(model.predict_proba(), model.classes_, data)
    return evaluate(rows.argmax(axis=1), rows, data, truth)


def split_own(data: Data, *, seed: int) -> tuple[Data, Truth]:
    """Return data whose labels are true with a stratified 60/20/20 split, and its truth: test labels are hidden."""
    folds = stratified_folds(data.codes, FOLDS, generator=torch_generator(seed, "split"))
    split = Split((folds >= 0) & (folds <= 2), folds == 3, folds == 4)
    codes = data.codes.masked_fill(split.test, UNKNOWN)
    return replace(data, codes=codes, before=codes, split=split), Truth(data.graph, data.codes)


def adjust_class_prior(model: NodeClassifier) -> None:
    """Add to the scores of a fitted model what its validation labels say of the class prior: a control for all."""
    from quietgraph.classify.class_prior import class_adjustment

    observed, scores = model.observed_, model.fitted_.scores
    held_out, trained = observed.validation, observed.codes[observed.train]
    draws = torch_generator(model.seed, "class prior")
    adjustment = class_adjustment(scores[held_out], observed.codes[held_out], trained, generator=draws)
    model.fitted_ = replace(model.fitted_, scores=scores + adjustment)


def cross_validate(model: NodeClassifier, data: Data) -> float:
    """Return how many training labels are predicted by fits on four fifths of them that did not see these."""
    train = data.split.train & data.known
    labels: Labels = data.codes.masked_fill(~train, UNKNOWN)
    folds = stratified_folds(labels, FOLDS, generator=torch_generator(model.seed, "cross-validation"))
    hits, relearn = 0.0, None
    for fold in range(FOLDS):
        hidden = folds == fold
        codes, nowhere = labels.masked_fill(hidden, UNKNOWN), torch.zeros_like(hidden)
        part = replace(data, codes=codes, before=codes, split=Split(train & ~hidden, nowhere, nowhere))
        one = _fit(clone(model), part, relearn)
        relearn = relearn or one.fitted_.relearn
        wanted = data.classes[labels[hidden].numpy()]
        hits += float((one.predict()[hidden.numpy()] == wanted).sum())
    return hits / int(train.sum())


def _fit(model: NodeClassifier, data: Data, relearn: Relearn | None) -> NodeClassifier:
    """Fit; the stage that needs no labels is taken from an earlier fit on the same graph, where there is one."""
    if relearn is None:
        return model.fit(data)
    model._fit = lambda _, observed: relearn(observed)  # type: ignore[method-assign]
    try:
        return model.fit(data)
    finally:
        del model._fit


def _assess(model: NodeClassifier, data: Data, truth: Truth, _: Run) -> Row:
    from quietgraph.assess.assess import assess

    return evaluate_assessment(assess(model), data, truth)


def _fold_accuracy(model: NodeClassifier, data: Data, _: Truth, __: Run) -> Row:
    return {"fold_accuracy": cross_validate(model, data)}


MEASURES: Final[dict[str, Callable[[NodeClassifier, Data, Truth, Run], Row]]] = {
    "assess": _assess,
    "folds": _fold_accuracy,
}


@lru_cache(maxsize=2)  # a batch reads its dataset once
def _load(name: str, seed: int, split: str, data_root: str | None) -> tuple[Data, Truth]:
    return load_benchmark(name, seed=seed, split=None if split == "default" else split, data_root=data_root)


def _sentence(error: Exception) -> str:
    if isinstance(error, QuietgraphError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({Path(place.filename).name}:{place.lineno})"
