"""What every method must do: checks that run over the whole registry, and over your own method.

from quietgraph.testing import check_method
check_method(MyMethod)
"""

import copy
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quietgraph.data.observation import observe
from quietgraph.errors import InvalidParameterError, NotInductiveError
from quietgraph.graph import Graph, LabelledGraph, block_model
from quietgraph.methods import NodeClassifier, Task, load_model
from quietgraph.methods.base.scikit_learn import NotFittedError
from quietgraph.params import parameters
from quietgraph.types import MaskLike, ValuesLike

Method = type[NodeClassifier]


def quick_parameters(method: Method) -> dict[str, Any]:
    """Return parameters that make a method fast, for checks that do not look at accuracy."""
    return dict(method.quick)


def small_problem(seed: int = 0, *, num_nodes: int = 120) -> tuple[LabelledGraph, Any, Any]:
    """Return a small graph with an isolated node and an empty feature row, labels, validation."""
    draws = np.random.default_rng(seed)
    drawn = block_model(num_nodes, num_classes=3, num_features=12, generator=draws)
    rows, columns = drawn.graph.edge_index.numpy()
    kept = (rows != 0) & (columns != 0)
    features = np.asarray(drawn.graph.features).copy()
    features[1] = 0
    graph = Graph.from_arrays(features, np.vstack([rows[kept], columns[kept]]))
    labels = np.full(num_nodes, -1)
    labels[:60] = drawn.classes[:60]
    validation = np.zeros(num_nodes, dtype=bool)
    validation[30:60] = True
    return LabelledGraph(graph, drawn.classes), labels, validation


def check_method(method: Method) -> None:
    """Run every check on one estimator class."""
    for check in CHECKS:
        check(method)


def check_predicts_every_node(method: Method) -> None:
    """Predictions are the caller's values; probabilities are finite and sum to 1."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    assert set(model.predict()) <= {0, 1, 2}
    probabilities = model.predict_proba()
    assert probabilities.shape == (120, 3)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict())
    assert model.embeddings_.shape[0] == 120
    assert np.isfinite(model.embeddings_).all()


def check_same_seed_same_numbers(method: Method) -> None:
    """Two fits with one seed agree bit for bit; global random state is left alone."""
    problem, labels, validation = small_problem()
    torch_before, numpy_before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    first = _fit(method, problem.graph, labels, validation).predict_proba()
    second = _fit(method, problem.graph, labels, validation).predict_proba()
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch_before, torch.get_rng_state())
    assert numpy_before == str(np.random.get_state())  # noqa: NPY002


def check_changes_nothing_it_was_given(method: Method) -> None:
    """Parameters, graph and labels are as before; only names ending in _ are new."""
    problem, labels, validation = small_problem()
    before, given = copy.deepcopy(labels), problem.graph.fingerprint
    model = method(**quick_parameters(method))
    wanted, names = model.get_params(), set(vars(model))
    assert model.fit(problem.graph, labels, validation) is model
    assert model.get_params() == wanted
    assert {name for name in set(vars(model)) - names if not name.endswith("_")} == set()
    np.testing.assert_array_equal(labels, before)
    fresh = Graph(problem.graph.features, problem.graph.adjacency)
    assert fresh.fingerprint == given


def check_takes_text_labels(method: Method) -> None:
    """String labels with None for unknown give string predictions."""
    problem, labels, validation = small_problem()
    names = np.array(["red", "green", "blue"])
    texts = [names[label] if label >= 0 else None for label in labels]
    model = _fit(method, problem.graph, texts, validation)
    assert list(model.classes_) == ["blue", "green", "red"]
    assert set(model.predict()) <= set(names)
    assert set(model.suspects()["given"]) <= set(names)


def check_reads_no_label_outside_the_masks(method: Method) -> None:
    """From a PyG `Data`, other labels outside train and validation change nothing, bit for bit."""
    problem, _, validation = small_problem()
    data = problem.graph.to_pyg()
    data.y = torch.from_numpy(problem.classes.copy())
    data.val_mask = torch.from_numpy(validation)
    data.train_mask = torch.zeros(120, dtype=torch.bool)
    data.train_mask[:30] = True
    first = method(**quick_parameters(method)).fit(data).predict_proba()
    data.y[60:] = (data.y[60:] + 1) % 3
    second = method(**quick_parameters(method)).fit(data).predict_proba()
    np.testing.assert_array_equal(first, second)


def check_holds_out_validation_itself(method: Method) -> None:
    """Without validation nodes, and with few labels, it still fits."""
    problem, labels, _ = small_problem()
    labels[12:] = -1
    assert len(_fit(method, problem.graph, labels, None).predict()) == 120


def check_survives_a_class_without_training_label(method: Method) -> None:
    """A class seen only in validation does no harm, nor do labels that are all wrong."""
    problem, labels, validation = small_problem()
    labels[:30][labels[:30] == 2] = -1
    assert np.isfinite(_fit(method, problem.graph, labels, validation).predict_proba()).all()
    problem, labels, validation = small_problem()
    labels[:60] = (labels[:60] + 1) % 3
    assert np.isfinite(_fit(method, problem.graph, labels, validation).predict_proba()).all()


def check_takes_sparse_features(method: Method) -> None:
    """Wide bags of words are kept sparse and work."""
    problem, labels, validation = small_problem()
    draws = np.random.default_rng(0)
    words = (draws.random((120, 80)) < 0.05).astype(np.float32)
    graph = Graph.from_arrays(words, problem.graph.edge_index)
    assert np.isfinite(_fit(method, graph, labels, validation).predict_proba()).all()


def check_names_suspects(method: Method) -> None:
    """Suspects are the labelled nodes, sorted, and flipped labels rank above the others."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    table = model.suspects()
    assert {"node", "given", "suggested", "score"} <= set(table.columns)
    assert sorted(table["node"]) == list(range(60))
    assert (np.diff(table["score"]) <= 0).all()


def check_keeps_verified_labels(method: Method) -> None:
    """Labels that a person has verified reach the fit as such and never return as suspects."""
    problem, labels, validation = small_problem()
    labels[:6] = (labels[:6] + 1) % 3
    observed = observe(problem.graph, labels, validation)
    verified = torch.arange(120) < 10
    model = method(**quick_parameters(method)).fit(replace(observed, verified=verified))
    assert model.task_.is_verified(torch.arange(120)).tolist() == verified.tolist()
    suspects = model.suspects()
    assert sorted(suspects["node"]) == list(range(10, 60))
    with tempfile.TemporaryDirectory() as scratch:
        loaded = load_model(model.save(Path(scratch) / "model"), method=method)
    assert loaded.suspects().equals(suspects)


def check_saves_and_loads(method: Method) -> None:
    """A loaded model answers as the saved one, and nothing on disk is a pickle."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    with tempfile.TemporaryDirectory() as scratch:
        folder = model.save(Path(scratch) / "model")
        assert {file.suffix for file in folder.iterdir()} == {".json", ".safetensors"}
        loaded = load_model(folder, method=method)
    assert type(loaded) is method
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(), model.predict())
    np.testing.assert_array_equal(loaded.predict_proba(), model.predict_proba())
    np.testing.assert_array_equal(loaded.embeddings_, model.embeddings_)
    _raises(NotFittedError, loaded.suspects)
    if method.is_inductive():
        graph = problem.graph
        np.testing.assert_allclose(loaded.predict_proba(graph), model.predict_proba(graph))


def check_saves_suspects_that_were_found(method: Method) -> None:
    """A model saved after `suspects()` has them when it is loaded, and the noise estimate."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    assert model.diagnose().noise_estimate is None
    suspects = model.suspects()
    with tempfile.TemporaryDirectory() as scratch:
        loaded = load_model(model.save(Path(scratch) / "model"), method=method)
    assert loaded.suspects().equals(suspects)
    assert loaded.diagnose().noise_estimate is not None


def check_accessors_train_nothing(method: Method) -> None:
    """After `fit`, only `suspects()` fits again, and only once; `save` and `diagnose` read."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    fits: list[Any] = []
    usual = model._out_of_fold

    def counted(task: Task) -> Any:
        fits.append(task)
        return usual(task)

    model.__dict__["_out_of_fold"] = counted
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / "model")
        model.diagnose()
        model.predict_proba()
    assert not fits
    model.suspects()
    model.suspects(columns="evidence")
    model.diagnose()
    assert len(fits) == 1


def check_answers_for_new_graphs_or_says_why(method: Method) -> None:
    """Inductive methods repeat themselves on the old graph and answer for a larger one."""
    problem, labels, validation = small_problem()
    model = _fit(method, problem.graph, labels, validation)
    grown = small_problem(seed=1, num_nodes=150)[0].graph
    if not method.is_inductive():
        _raises(NotInductiveError, lambda: model.predict(grown))
        return
    again = model.predict_proba(problem.graph)
    np.testing.assert_allclose(again, model.predict_proba(), atol=1e-4)
    assert model.predict_proba(grown).shape == (150, 3)


def check_keeps_scikit_learn_manners(method: Method) -> None:
    """get_params, set_params, clone; bad values and unfitted use are refused."""
    from sklearn.base import clone  # noqa: PLC0415

    model = method(seed=3)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(seed=4).seed == 4
    _raises(InvalidParameterError, lambda: method(seed=-1))
    _raises(NotFittedError, model.predict)
    _raises(NotFittedError, model.suspects)
    assert all(parameter.rule.help for parameter in parameters(method).values())
    assert (method.__doc__ or "").strip()


def _fit(
    method: Method, graph: Graph, labels: ValuesLike, validation: MaskLike | None
) -> NodeClassifier:
    return method(**quick_parameters(method)).fit(graph, labels, validation)


def _raises(kind: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}")


CHECKS: tuple[Callable[[Method], None], ...] = (
    check_predicts_every_node,
    check_same_seed_same_numbers,
    check_changes_nothing_it_was_given,
    check_takes_text_labels,
    check_reads_no_label_outside_the_masks,
    check_holds_out_validation_itself,
    check_survives_a_class_without_training_label,
    check_takes_sparse_features,
    check_names_suspects,
    check_keeps_verified_labels,
    check_saves_and_loads,
    check_saves_suspects_that_were_found,
    check_accessors_train_nothing,
    check_answers_for_new_graphs_or_says_why,
    check_keeps_scikit_learn_manners,
)
