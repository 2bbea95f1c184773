"""Cross-validation and search over labelled nodes, with scikit-learn's splitters and scorers.

from quietgraph.model_selection import GridSearch, cross_val_score

cross_val_score(qg.GCN(), graph, labels, cv=5)
GridSearch(qg.GCN(), {"hidden": [16, 64]}).fit(graph, labels).best_params_

A fold hides the labels of its nodes; the nodes themselves and their edges stay in the graph, as in
every transductive task. Scores are agreement with observed labels, of which some may be wrong.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn import model_selection as sklearn_selection
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from quietgraph.data.labels import known_labels
from quietgraph.data.observation import GraphLike
from quietgraph.graph import Graph
from quietgraph.methods import EmbeddingCache, NodeClassifier, use_cache
from quietgraph.rng import numpy_generator
from quietgraph.types import AnyArray, FloatArray, IntArray, ValuesLike

if TYPE_CHECKING:
    pass

__all__ = [
    "GridSearch",
    "NodeEstimator",
    "cross_val_predict",
    "cross_val_score",
    "labelled_nodes",
    "region_groups",
]


class NodeEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A node classifier whose samples are node indices, for any tool of scikit-learn.

    `fit(nodes, labels)` learns from the labels of these nodes on the whole graph, and
    `predict(nodes)` answers for these, so that `GridSearchCV`, `learning_curve` and the splitters
    of scikit-learn work on nodes.
    """

    def __init__(self, model: NodeClassifier, graph: Graph) -> None:
        self.model, self.graph = model, graph

    def fit(self, nodes: object, labels: ValuesLike) -> Self:
        """Learn from the labels of some nodes."""
        every = np.full(self.graph.num_nodes, None, dtype=object)
        every[np.asarray(nodes)] = labels
        self.model_ = clone(self.model).fit(self.graph, every)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, nodes: object) -> AnyArray:
        """Return the likeliest label of some nodes [nodes]."""
        check_is_fitted(self)
        answers: AnyArray = self.model_.predict()[np.asarray(nodes)]
        return answers

    def predict_proba(self, nodes: object) -> FloatArray:
        """Return the probabilities of some nodes [nodes, classes]."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict_proba()[np.asarray(nodes)])

    def __sklearn_clone__(self) -> "NodeEstimator":
        # A graph never changes: copies share it, and with it what was computed from it.
        return NodeEstimator(clone(self.model), self.graph)


def labelled_nodes(graph: Graph, labels: ValuesLike) -> tuple[IntArray, AnyArray]:
    """Return the indices of the nodes with a known label, and these labels: samples and targets."""
    values, known = known_labels(labels, graph.num_nodes)
    return np.flatnonzero(known), np.array(list(values[known]))


def region_groups(graph: Graph, labels: ValuesLike, count: int = 20, *, seed: int = 0) -> AnyArray:
    """Return the region of each of the `labelled_nodes`, for splitters that take groups.

    A hidden label among known ones is easy to predict. Folds of whole regions
    (`cv=GroupKFold(5), groups=region_groups(graph, labels)`) show how a model does where no label
    is near. A region is the nodes that are nearest to one of some drawn nodes, in edges.

    Args:
        graph: Without labels.
        labels: One entry per node; -1, None or NaN = unknown.
        count: Number of regions.
        seed: Draws the nodes at their centres.
    """
    draws = numpy_generator(seed, "regions")
    centres = np.sort(draws.choice(graph.num_nodes, min(count, graph.num_nodes), replace=False))
    adjacency = graph.adjacency.to_scipy()
    nearest: AnyArray = dijkstra(
        adjacency,
        directed=False,
        indices=centres,
        unweighted=True,
        min_only=True,
        return_predecessors=True,
    )[2]
    component: AnyArray = connected_components(adjacency, directed=False)[1]
    # A component without a centre stays together, in a region that is drawn for it.
    elsewhere = draws.integers(len(centres), size=component.max() + 1)[component]
    groups = np.where(nearest >= 0, np.searchsorted(centres, nearest), elsewhere)
    return np.asarray(groups[labelled_nodes(graph, labels)[0]])


def cross_val_score(
    model: NodeClassifier, graph: Graph, labels: ValuesLike, *, cv: object = 5, **options: object
) -> FloatArray:
    """Return one score per fold, each from a fit that did not see the labels of the fold.

    Args:
        model: It is cloned for every fold; each fit holds out a fifth of its labels for choices.
        graph: Without labels.
        labels: One entry per node; -1, None or NaN = unknown.
        cv: Number of stratified, shuffled folds, a splitter of scikit-learn over the labelled
            nodes, or pairs of positions in `labelled_nodes`.
        options: As `sklearn.model_selection.cross_val_score` takes them: scoring (default
            accuracy), groups, n_jobs, verbose, error_score.
    """
    return _cross_validated("cross_val_score", model, graph, labels, cv, options)


def cross_val_predict(
    model: NodeClassifier, graph: Graph, labels: ValuesLike, *, cv: object = 5, **options: object
) -> AnyArray:
    """Return, for each of the `labelled_nodes`, the prediction of a fit without its label.

    Args:
        model: As for `cross_val_score`.
        graph: Without labels.
        labels: One entry per node; -1, None or NaN = unknown.
        cv: As for `cross_val_score`.
        options: As `sklearn.model_selection.cross_val_predict` takes them: method
            (`predict_proba`), groups, n_jobs, verbose.
    """
    return _cross_validated("cross_val_predict", model, graph, labels, cv, options)


class GridSearch(BaseEstimator):  # type: ignore[misc]
    """Search over parameters by cross-validation on the labelled nodes; `GridSearchCV` for graphs.

    Attributes:
        best_params_: The setting with the best mean score.
        best_score_: That score.
        best_estimator_: The model fitted with it on all labels, unless `refit` is False.
        cv_results_: As in scikit-learn; `pandas.DataFrame(search.cv_results_)` is a table.
    """

    def __init__(
        self,
        model: NodeClassifier,
        param_grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]],
        *,
        cv: object = 5,
        scoring: object = None,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model, self.param_grid, self.cv, self.scoring = model, param_grid, cv, scoring
        self.refit, self.n_jobs, self.verbose = refit, n_jobs, verbose

    def fit(self, graph: Graph, labels: ValuesLike, *, groups: object = None) -> Self:
        """Score every setting, keep the best one, and fit it on all labels."""
        nodes, targets = labelled_nodes(graph, labels)
        grids = [self.param_grid] if isinstance(self.param_grid, Mapping) else self.param_grid
        search = sklearn_selection.GridSearchCV(
            NodeEstimator(self.model, graph),
            [{f"model__{name}": values for name, values in grid.items()} for grid in grids],
            cv=_splitter(self.cv, self.model),
            scoring=self.scoring,
            refit=self.refit,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            error_score="raise",
        )
        with shared_embeddings():
            search.fit(nodes, targets, groups=groups)
        self.best_params_ = _plain(search.best_params_)
        self.best_score_, self.best_index_ = float(search.best_score_), search.best_index_
        results = {name.replace("model__", ""): one for name, one in search.cv_results_.items()}
        self.cv_results_ = {**results, "params": [_plain(one) for one in results["params"]]}
        if self.refit:
            self.best_estimator_ = search.best_estimator_.model_
            self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, graph: "GraphLike | None" = None) -> AnyArray:
        """Return the predictions of the best model [nodes]."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(graph))

    def predict_proba(self, graph: "GraphLike | None" = None) -> FloatArray:
        """Return the probabilities of the best model [nodes, classes]."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(graph))

    def score(self, graph: "GraphLike | None" = None, labels: ValuesLike | None = None) -> float:
        """Return the accuracy of the best model on labels that it has not seen."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(graph, labels))


@contextmanager
def shared_embeddings() -> Iterator[None]:
    """Learn embeddings that no label touches once for all fits inside the block."""
    with tempfile.TemporaryDirectory() as folder, use_cache(EmbeddingCache(Path(folder))):
        yield


def _cross_validated(  # noqa: PLR0917
    function: str,
    model: NodeClassifier,
    graph: Graph,
    labels: ValuesLike,
    cv: object,
    options: Mapping[str, object],
) -> AnyArray:
    """Return what scikit-learn's function of this name returns over the labelled nodes."""
    nodes, targets = labelled_nodes(graph, labels)
    estimator, folds = NodeEstimator(model, graph), _splitter(cv, model)
    with shared_embeddings():
        over_folds = getattr(sklearn_selection, function)
        return np.asarray(over_folds(estimator, nodes, targets, cv=folds, **options))


def _splitter(cv: object, model: NodeClassifier) -> object:
    if not isinstance(cv, int):
        return cv
    return sklearn_selection.StratifiedKFold(cv, shuffle=True, random_state=model.seed)


def _plain(settings: Mapping[str, object]) -> dict[str, Any]:
    return {name.removeprefix("model__"): value for name, value in settings.items()}
