"""The estimator every method is: fit, predictions, storage."""

import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike

from quietgraph.annotators.consensus import resolve_annotations
from quietgraph.callbacks import Follower, follow, logger
from quietgraph.data.annotations import AnnotationsLike
from quietgraph.data.load import read_network
from quietgraph.data.observation import GraphLike, observe
from quietgraph.errors import (
    InvalidGraphError,
    InvalidParameterError,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.assessment import (
    validation_calibration,
)
from quietgraph.methods.base.checks import applied_state, check_answer
from quietgraph.methods.base.device import find_device
from quietgraph.methods.base.encoder_module import GraphEncoder, make_encoder
from quietgraph.methods.base.label_issues import LabelIssues
from quietgraph.methods.base.label_weights import label_weights
from quietgraph.methods.base.notebook import model_html
from quietgraph.methods.base.task import Fitted, Task, make_task
from quietgraph.params import (
    check_parameters,
)
from quietgraph.types import (
    AnyArray,
    Embeddings,
    Float32Array,
    FloatArray,
    MaskLike,
    Scores,
    ValuesLike,
)


@dataclass(kw_only=True, eq=False)
class NodeClassifier(LabelIssues):
    """Classifies the nodes of a graph from labels of which some may be wrong.

    A method subclasses it, declares its parameters and writes `_fit`; one that learns its
    embeddings without labels names its `first_stage` and writes `_embed` and `_decide` instead. A
    method that can answer for graphs not seen in `fit` also writes `_apply`.
    """

    @property
    def encoder_(self) -> GraphEncoder:
        """The trained encoder, a PyTorch module: `encoder_(x, edge_index)` gives embeddings."""
        self._check_fitted()
        return make_encoder(self)

    def fit(
        self,
        graph: "GraphLike",
        labels: ValuesLike | None = None,
        validation: MaskLike | None = None,
        *,
        annotations: "AnnotationsLike | None" = None,
        sample_weight: ArrayLike | None = None,
        class_weight: str | Mapping[Hashable, float] | None = None,
        callbacks: Iterable[Follower] = (),
        verbose: int = 0,
    ) -> Self:
        """Learn from a graph and its partly wrong labels, or from answers of several annotators.

        Args:
            graph: A `Graph`; or alone, an `Observation` of `quietgraph.load`, a PyG `Data` with
                y, train_mask and val_mask, or a NetworkX graph whose nodes have attributes, one of
                them `label`.
            labels: One entry per node, in any type; -1, None or NaN = unknown.
            validation: Mask or indices of labelled nodes that are held out for choices; without
                it a stratified fifth of the labels is held out.
            annotations: Answers of several annotators: a table with the columns node, annotator
                and label, a file of one, or a matrix (see `quietgraph.read_annotations`). Their
                consensus, found together with the graph, is what is learned from.
            sample_weight: How much each label counts in training, one number per node; for
                methods with `takes_weights`. Choices by validation labels are not weighted.
                Consensus labels of annotators count by their probability without it.
            class_weight: `balanced`, or how much the labels of a class count, by label.
            callbacks: Objects of `quietgraph.callbacks`, or functions of an `Epoch`.
            verbose: 1 shows every tenth of the epochs on stderr, 2 each.
        """
        check_parameters(self)
        find_device(self.device)
        is_alone = labels is None and annotations is None
        given = read_network(graph, with_labels=is_alone, seed=self.seed)
        observed = observe(given, labels, validation, annotations=annotations, seed=self.seed)
        observation, self.consensus_ = resolve_annotations(observed, seed=self.seed)
        task, self.classes_ = make_task(observation, self.seed)
        weights = label_weights(self, task, sample_weight=sample_weight, class_weight=class_weight)
        task = replace(task, weights=weights)
        self.observation_ = observation
        started = time.perf_counter()
        with follow(self, callbacks, verbose=verbose):
            logger.info(
                "fit %s on %s with %d labels", self, task.graph, len(observation.known.nonzero())
            )
            self._keep(self._run(task), task)
            self.seconds_ = time.perf_counter() - started
            logger.info("fitted in %.1f s", self.seconds_)
        return self

    def predict(
        self, graph: "GraphLike | None" = None, *, abstain: float | None = None
    ) -> AnyArray:
        """Return the likeliest label of every node, in the caller's own label values [nodes].

        Args:
            graph: A graph not seen in fit; by default the one of `fit`.
            abstain: Least probability of an answer; below it the answer is None.
        """
        scores = self._scores(graph)
        best = scores.argmax(dim=1).numpy()
        values: AnyArray = self.classes_[best]
        if abstain is None:
            return values
        if not isinstance(abstain, int | float | np.number) or not 0 <= abstain <= 1:
            raise InvalidParameterError(f"abstain must lie between 0 and 1, got {abstain!r}.")
        confidence = self.calibration_.probabilities(scores).max(dim=1).values.numpy()
        answers = values.astype(object)
        answers[confidence < abstain] = None
        return answers

    def predict_proba(self, graph: "GraphLike | None" = None) -> FloatArray:
        """Return calibrated probabilities [nodes, classes], columns in the order of `classes_`.

        After `fit` they are calibrated on its validation predictions, once `suspects()` or
        `quality()` was called on out-of-fold predictions of all labelled nodes. The order of the
        classes, and so `predict`, does not change.
        """
        return self.calibration_.probabilities(self._scores(graph)).numpy()

    def score(
        self,
        graph: "GraphLike | None" = None,
        labels: ValuesLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the fraction of the known labels that is predicted (accuracy).

        Score only labels that `fit` has not seen; `quality()` does so for those of `fit`.

        Args:
            graph: The graph of `fit` (or None), or another one for inductive methods.
            labels: One entry per node; -1, None or NaN = unknown, which is not scored.
            sample_weight: One weight per node.
        """
        from quietgraph.methods.base.scikit_learn import score_accuracy  # noqa: PLC0415  (slow)

        return score_accuracy(self, graph, labels, sample_weight)

    def embed(self, graph: "GraphLike") -> Float32Array:
        """Return the embeddings of a graph not seen in fit [nodes, dim]."""
        return self._apply_checked(graph)[1].numpy()

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to a folder, as JSON and safetensors (nothing that can run).

        The graph is not saved. Call `suspects()` before, if the saved model shall know them.
        """
        from quietgraph.methods.storage import save_model  # noqa: PLC0415  (it imports this module)

        self._check_fitted()
        return save_model(self, Path(folder))

    def _repr_html_(self) -> str:
        return model_html(self)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page: suspects, map, figures, quality.

        The first call of `report`, `quality` or `suspects` fits once per fold.
        """
        self._check_fitted()
        self._check_graph_is_here()
        # By name: pages are made of fitted models, and so stand below them in the import order.
        written: Path = import_module("quietgraph.report.of_model").write_page(self, Path(path))
        return written

    def _keep(self, fitted: Fitted, task: Task) -> None:
        check_answer(fitted.scores, fitted.embeddings, type(self).__name__)
        self.task_ = task
        self.scores_ = fitted.scores.detach().cpu()
        self.embeddings_ = fitted.embeddings.detach().cpu().numpy()
        self.state_ = {name: value.detach().cpu() for name, value in fitted.state.items()}
        self.history_, self.notes_ = fitted.history, fitted.notes
        self.out_of_fold_, self.votes_, self.evidence_, self.quality_ = None, None, None, None
        self.noise_before_review_ = None
        self.loaded_ = False
        self.calibration_ = validation_calibration(self.scores_, task)

    def _scores(self, graph: "GraphLike | None") -> Scores:
        self._check_fitted()
        return self.scores_ if graph is None else self._apply_checked(graph)[0]

    def _apply_checked(self, graph: "GraphLike") -> tuple[Scores, Embeddings]:
        self._check_fitted()
        graph = graph if isinstance(graph, Graph) else Graph.from_pyg(graph)
        wanted = self.state_.get("num_features")
        if wanted is not None and graph.num_features != int(wanted):
            raise InvalidGraphError(
                f"the graph must have the {int(wanted)} features of the one in fit, "
                f"got {graph.num_features}."
            )
        device = self._device()
        state = {name: value.to(device) for name, value in self.state_.items()}
        with torch.no_grad(), applied_state(state, is_loaded=self.loaded_):
            scores, embeddings = self._apply(graph.to(device), state)
        check_answer(scores, embeddings, type(self).__name__)
        return scores.cpu(), embeddings.cpu()
