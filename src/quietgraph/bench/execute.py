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

from sklearn.base import clone

from quietgraph.assessment.assess import assess
from quietgraph.bench.metrics import evaluate, evaluate_assessment, in_classes
from quietgraph.bench.store import KEY
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.data.data import Data, Truth
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.splits import Split, no_node, stratified_folds
from quietgraph.diagnostics.summary import diagnose_benchmark
from quietgraph.errors import QuietgraphError
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN

SAME_LABELS: Final = "same labels"  # every method is handed all labels alike and holds out itself what it needs
PAPER: Final = "paper"  # training labels teach, validation labels choose
PROTOCOLS: Final = (SAME_LABELS, PAPER)
CONTROL: Final = "class_prior=adjusted"  # in a method's text: scores are adjusted to the class prior after the fit
_FOLDS: Final = 5
_LEADING: Final = 0.2  # of min(nodes, dim): the directions whose shares of labels and noise the paper reports
Row: TypeAlias = dict[str, Any]
Relearn: TypeAlias = Callable[[Observed], Fitted]


@dataclass(frozen=True, eq=False)
class Run:
    """One fit of a benchmark: what determines its outcome (its key), and what it is carried out with."""

    dataset: str
    data: str  # digest of graph and true labels
    noise: str
    method: str  # name and parameters as text
    settings: str  # digest of all parameters and the method's revision
    seed: int  # of split, noise and method
    split: str  # `default` is the dataset's own
    protocol: str
    estimator: NodeClassifier
    own: Data | None = None  # instead of a dataset by name: its labels are true
    measures: tuple[str, ...] = ()  # what is recorded beside accuracy, of `MEASURES`

    @property
    def key(self) -> tuple[object, ...]:
        """What determines the outcome."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def group(self) -> tuple[object, ...]:
        """What runs have in common that share a graph and embeddings learned without labels."""
        return replace(self, noise="").key, parse_noise(self.noise).attribute_rate

    def clean(self) -> tuple[Data, Truth]:
        """Return the data without noise, and the truth to score with."""
        if self.own is not None:
            return split_own(self.own, seed=self.seed)
        return _load(self.dataset, self.seed, None if self.split == "default" else self.split)

    def observe(self) -> tuple[Data, Truth]:
        """Return the data with noisy labels that a method sees, and the truth to score with."""
        clean, truth = self.clean()
        data = apply_noise(clean, truth, parse_noise(self.noise), seed=self.seed)
        return (data.without_choice() if self.protocol == SAME_LABELS else data), truth

    def row(self, status: str, **values: Any) -> Row:
        """Return the row of the run in a file."""
        return {
            **dict(zip(KEY, self.key, strict=True)),
            "measures": " ".join(self.measures),
            "status": status,
            **values,
        }


def execute_batch(runs: Sequence[Run]) -> Iterator[Row]:
    """Give the row of each run, which differ in label noise alone; whatever a run raises becomes its row.

    A method whose first stage needs no labels learns it once for all of them; its time counts in every row.
    """
    relearn, first_stage = None, 0.0
    for run in runs:
        clock = time.perf_counter()
        try:
            data, truth = run.observe()
            model, started = clone(run.estimator).set_params(seed=run.seed), time.process_time()
            _fit(model, data, relearn)
            seconds = first_stage + time.process_time() - started
            if relearn is None and model.fitted_.relearn is not None and len(runs) > 1:
                relearn, started = model.fitted_.relearn, time.process_time()
                relearn(model.observed_)
                first_stage = max(0.0, seconds - (time.process_time() - started))
            if CONTROL in run.method.split(":"):
                _adjust_class_prior(model)
            row = run.row("done", **score(model, data, truth), seconds_fit=seconds)
            for name in run.measures:
                row |= MEASURES[name](model, data, truth, run)
        except Exception as error:
            row = run.row("failed", reason=words_of(error))
        yield {**row, "seconds": time.perf_counter() - clock}


def score(model: NodeClassifier, data: Data, truth: Truth) -> dict[str, float]:
    """Return the scores of a fitted model: the one place where the true labels of test nodes are read."""
    return evaluate(in_classes(model.predict_proba(), model.classes_, data), data, truth)


def split_own(data: Data, *, seed: int) -> tuple[Data, Truth]:
    """Return data whose labels are true with a stratified 60/20/20 split, and its truth: test labels are hidden."""
    folds = stratified_folds(data.codes, _FOLDS, generator=torch_generator(seed, "split"))
    split = Split((folds >= 0) & (folds <= 2), folds == 3, folds == 4)
    codes = data.codes.masked_fill(split.test, UNKNOWN)
    return replace(data, codes=codes, before=codes, split=split), Truth(data.graph, data.codes)


def cross_validate(model: NodeClassifier, data: Data) -> float:
    """Return the share of training labels that fits on four fifths of them predict, each without having seen it."""
    taught, draws = data.codes.masked_fill(~data.split.train, UNKNOWN), torch_generator(model.seed, "cross-validation")
    folds, nowhere = stratified_folds(taught, _FOLDS, generator=draws), no_node(taught)
    hits, relearn = 0, None
    for fold in range(_FOLDS):
        hidden = folds == fold
        codes = taught.masked_fill(hidden, UNKNOWN)
        part = replace(data, codes=codes, before=codes, split=Split(codes != UNKNOWN, nowhere, nowhere))
        one = _fit(clone(model), part, relearn)
        relearn = relearn or one.fitted_.relearn
        hits += int((one.predict()[hidden.numpy()] == data.classes[data.codes[hidden].numpy()]).sum())
    return hits / int((folds >= 0).sum())


def _fit(model: NodeClassifier, data: Data, relearn: Relearn | None) -> NodeClassifier:
    """Fit; the stage that needs no labels is taken from an earlier fit on the same graph, where there is one."""
    if relearn is None:
        return model.fit(data)
    model.__dict__["_fit"] = lambda _, observed: relearn(observed)
    try:
        return model.fit(data)
    finally:
        del model.__dict__["_fit"]


def _adjust_class_prior(model: NodeClassifier) -> None:
    """Add to the scores of a fitted model what its validation labels say of the class prior."""
    seen, scores, draws = model.observed_, model.fitted_.scores, torch_generator(model.seed, "class prior")
    held_out = seen.validation
    adjustment = class_adjustment(scores[held_out], seen.codes[held_out], seen.codes[seen.train], generator=draws)
    model.fitted_ = replace(model.fitted_, scores=scores + adjustment)


def _theory(model: NodeClassifier, _: Data, truth: Truth, run: Run) -> Row:
    """Return the terms of the bound at the step with the smallest one, and what leading directions hold."""
    found = diagnose_benchmark(run.clean()[0], truth, model.fitted_.embeddings, run.noise, seed=run.seed)
    terms, best = found.bound, int(found.bound.upper_bound.argmin())
    rank = max(1, round(_LEADING * min(found.num_nodes, found.dim)))
    values: Row = {"L1": terms.signal_loss[best], "L2": terms.noise_loss[best], "KC": terms.complexity.value}
    values |= {"KC of plain F": found.attended_bound.complexity.value, "rank": terms.complexity.rank}
    values["labels_held"] = found.signal.concentration_at(rank)
    if found.noise is not None:
        values["noise_held"] = found.noise.concentration_at(rank)
    return {name: float(value) for name, value in {**values, "bound": terms.upper_bound[best]}.items()}


MEASURES: Final[dict[str, Callable[[NodeClassifier, Data, Truth, Run], Row]]] = {
    "assess": lambda model, data, truth, _: dict(evaluate_assessment(assess(model), data, truth)),
    "folds": lambda model, data, _, __: {"fold_accuracy": cross_validate(model, data)},
    "theory": _theory,
}


@lru_cache(maxsize=2)  # a batch reads its dataset once
def _load(name: str, seed: int, split: str | None) -> tuple[Data, Truth]:
    return load_benchmark(name, seed=seed, split=split)


def words_of(error: Exception) -> str:
    """Return what went wrong in one line, with its place where it is no mistake of the caller."""
    if isinstance(error, QuietgraphError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({Path(place.filename).name}:{place.lineno})"
