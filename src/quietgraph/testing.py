"""What every method must do: ten checks that run over all of ours, and over your own.

from quietgraph.testing import check_method
check_method(MyMethod, epochs=5)
"""

import copy
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from sklearn.base import clone

from quietgraph.data.data import Data
from quietgraph.data.splits import Split
from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.storage import load_model
from quietgraph.params import ParameterValue, parameters
from quietgraph.types import UNKNOWN

_NODES, _TRAIN, _VALIDATION = 40, 18, 27  # in the order of the nodes: training, then validation, then test nodes


@dataclass(frozen=True)
class Trial:
    """A method with parameters that make it quick, and data to fit it to."""

    method: type[NodeClassifier]
    settings: dict[str, Any]
    data: Data

    @cached_property
    def model(self) -> NodeClassifier:
        """A fitted model, which no check changes."""
        return self.fit()

    def fit(self, data: Data | None = None, **arguments: Any) -> NodeClassifier:
        """Return a new model, fitted to these data or others."""
        return self.method(**self.settings).fit(self.data if data is None else data, **arguments)


def small_data(seed: int = 0) -> Data:
    """Return 40 nodes of three classes named by texts, one without edges and one without features, true labels."""
    drawn = block_model(_NODES, num_classes=3, num_features=9, mean_degree=6, generator=np.random.default_rng(seed))
    rows, columns = drawn.graph.edge_index.numpy()
    kept = (rows != 0) & (columns != 0)
    features = np.asarray(drawn.graph.features).copy()
    features[1] = 0
    graph = Graph.from_arrays(features, np.vstack([rows[kept], columns[kept]]))
    place = torch.arange(_NODES)
    split = Split(place < _TRAIN, (place >= _TRAIN) & (place < _VALIDATION), place >= _VALIDATION)
    return Data("small", graph, torch.from_numpy(drawn.classes), np.array(["blue", "green", "red"]), split)


def check_method(method: type[NodeClassifier], *, data: Data | None = None, **settings: ParameterValue) -> None:
    """Run every check on a class, with parameters that make it quick; AssertionError says what does not hold."""
    trial = Trial(method, settings, small_data() if data is None else data)
    for check in CHECKS:
        check(trial)


def check_reads_no_hidden_label(trial: Trial) -> None:
    """Labels of test nodes change no number."""
    data, test = trial.data, trial.data.split.test
    assert bool(test.any()), "the data of the check must have test nodes"
    other = torch.where(test, (data.codes + 1) % len(data.classes), data.codes)
    hidden = torch.where(test, UNKNOWN, data.codes)
    for codes in (other, hidden):
        found = trial.fit(replace(data, codes=codes, before=codes))
        _same(trial.model, found, "labels of test nodes change the predictions")


def check_same_seed_same_numbers(trial: Trial) -> None:
    """Two fits with one seed agree bit for bit; global state is left alone."""
    before = _global_state()
    _same(trial.model, trial.fit(), "two fits with one seed differ")
    torch.rand(3)  # draws of the caller are no part of a fit
    _same(trial.model, trial.fit(), "a fit depends on torch's global stream")
    torch.set_rng_state(before[0])
    trial.fit()
    _equal_states(before, "a fit changes global state")


def check_failed_fit_changes_nothing(trial: Trial) -> None:
    """A fit that is refused leaves a fitted model as it was."""
    model, data = trial.fit(), trial.data
    one_class = torch.where(data.codes == 0, 0, UNKNOWN)
    before, weights = dict(vars(model)), -np.ones(len(data.codes))
    poor = replace(data, codes=one_class, before=one_class)
    _refuses(lambda: model.fit(poor), "a fit with one class")
    _refuses(lambda: model.fit(data, sample_weight=weights), "a fit with negative weights")
    assert all(vars(model)[name] is value for name, value in before.items()), "a refused fit changes the model"


def check_reading_changes_nothing(trial: Trial) -> None:
    """Predictions, embeddings, learning again from other labels: all leave the model and global state as they were."""
    model, state = trial.fit(), _global_state()
    names, settings = set(vars(model)), model.get_params()
    probabilities = model.predict_proba()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, err_msg="probabilities do not sum to 1")
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict()).all(), "predict is not the likeliest class"
    assert np.isfinite(model.embed()).all(), "embeddings are not finite"
    if model.fitted_.relearn is not None:
        model.fitted_.relearn(model.observed_.without(model.observed_.codes == 0))
    _same(trial.model, model, "reading a model changes what it answers")
    assert set(vars(model)) == names, "reading a model adds attributes"
    assert model.get_params() == settings, "reading a model changes parameters"
    _equal_states(state, "reading a model changes global state")


def check_relearns_as_it_fits(trial: Trial) -> None:
    """`relearn` gives bit for bit what a fit to the same labels gives."""
    relearn, observed = trial.model.fitted_.relearn, trial.model.observed_
    if relearn is None:
        return
    others = observed.without(torch.arange(_NODES) % 5 == 0)
    fresh = trial.model.learn(trial.data.graph, others)
    assert torch.equal(relearn(others).scores, fresh.scores), "relearn differs from a fit to the same labels"


def check_saves_whole(trial: Trial) -> None:
    """A loaded model gives the predictions of fit, and the same for other graphs."""
    with tempfile.TemporaryDirectory() as folder:
        trial.model.save(f"{folder}/model")
        loaded = load_model(f"{folder}/model", method=trial.method)
    _same(trial.model, loaded, "a loaded model answers something else")
    assert loaded.get_params() == trial.model.get_params(), "a loaded model has other parameters"


def check_ignores_later_parameters(trial: Trial) -> None:
    """Parameters that are set after a fit change no answer of it."""
    model = trial.fit()
    for name, parameter in parameters(trial.method).items():
        value = getattr(model, name)
        if isinstance(value, bool):
            other: ParameterValue = not value
        elif isinstance(value, int | float):
            other = value - 1 if value + 1 > parameter.high else value + 1
        else:
            other = next((one for one in parameter.choices if one != value), value)
        model.set_params(**{name: other})
    model.device = "cpu"
    _same(trial.model, model, "parameters set after fit change what is answered")
    if model.fitted_.relearn is not None:
        found = model.fitted_.relearn(model.observed_).scores
        assert torch.equal(found, trial.model.fitted_.scores), "parameters set after fit change what relearn gives"


def check_clones(trial: Trial) -> None:
    """`clone` gives an unfitted estimator of equal parameters; a deep copy of a fitted one answers alike."""
    copied = clone(trial.model)
    assert not hasattr(copied, "fitted_"), "a clone is fitted"
    assert copied.get_params() == trial.model.get_params(), "a clone has other parameters"
    _same(trial.model, copy.deepcopy(trial.model), "a copy answers something else")


def check_weighs_labels(trial: Trial) -> None:
    """Weights of labels count relative to each other, where a method takes them; else they are refused."""
    ones = np.ones(len(trial.data.codes))
    if not trial.method.takes_weights:
        _refuses(lambda: trial.fit(sample_weight=ones), "sample_weight to a method that cannot weigh labels")
        return
    plain, doubled = (trial.fit(sample_weight=ones * factor).predict_proba() for factor in (1, 2))
    np.testing.assert_allclose(plain, doubled, atol=1e-3, err_msg="doubled weights change the predictions")
    uneven = np.where(trial.data.codes.numpy() == 0, 1e-3, 1.0)
    assert not np.array_equal(plain, trial.fit(sample_weight=uneven).predict_proba()), "weights change nothing"


def check_inductive_is_transductive(trial: Trial) -> None:
    """The graph of fit, given to `predict`, is answered as in fit; or other graphs are refused."""
    model, graph = trial.model, trial.data.graph
    if model.fitted_.network is None:
        _refuses(lambda: model.predict(graph), "another graph, given to a method without a network,")
        return
    found, wanted = model.predict_proba(replace(graph)), model.predict_proba()
    np.testing.assert_allclose(found, wanted, atol=1e-4, err_msg="the graph of fit is answered otherwise")
    np.testing.assert_allclose(model.embed(graph), model.embed(), atol=1e-4, err_msg="embeddings of new graphs differ")


CHECKS: Final[tuple[Callable[[Trial], None], ...]] = (
    check_same_seed_same_numbers,
    check_reads_no_hidden_label,
    check_failed_fit_changes_nothing,
    check_reading_changes_nothing,
    check_relearns_as_it_fits,
    check_saves_whole,
    check_ignores_later_parameters,
    check_clones,
    check_weighs_labels,
    check_inductive_is_transductive,
)


def _refuses(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except QuietgraphError:
        return
    raise AssertionError(f"{what} must raise a QuietgraphError")


def _same(first: NodeClassifier, second: NodeClassifier, what: str) -> None:
    assert torch.equal(first.fitted_.scores, second.fitted_.scores), what
    assert torch.equal(first.fitted_.embeddings, second.fitted_.embeddings), what
    graph = first.data_.graph
    if first.fitted_.network is not None:
        assert np.array_equal(first.predict_proba(graph), second.predict_proba(graph)), f"{what} (of other graphs)"


def _global_state() -> tuple[Any, ...]:
    deterministic = torch.are_deterministic_algorithms_enabled()
    modes = (deterministic, torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype())
    return torch.get_rng_state(), str(np.random.get_state()), random.getstate(), modes  # noqa: NPY002


def _equal_states(before: tuple[Any, ...], what: str) -> None:
    after = _global_state()
    assert torch.equal(before[0], after[0]), what
    assert before[1:] == after[1:], what
