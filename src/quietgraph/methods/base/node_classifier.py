"""The estimator every method is: checks, seeds, predictions, suspects, parameters."""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from quietgraph.annotators.consensus import Consensus, resolve_annotations
from quietgraph.annotators.next_labels import next_labels
from quietgraph.annotators.tables import annotator_table
from quietgraph.callbacks import Follower, follow, logger
from quietgraph.classify import suspect_table
from quietgraph.classify.calibration import Calibration
from quietgraph.classify.class_prior import mean_margin
from quietgraph.classify.label_issues.out_of_fold import FOLDS, out_of_fold
from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.classify.label_issues.suspects import (
    check_columns,
    cleanlab_columns,
    for_notebooks,
    with_votes,
)
from quietgraph.classify.quality import DISTRUST, Quality
from quietgraph.data.datasets import DATASETS
from quietgraph.data.labels import check_mask
from quietgraph.data.observation import observe
from quietgraph.diagnose import Diagnosis, diagnose_embedding
from quietgraph.errors import (
    InvalidGraphError,
    InvalidParameterError,
    NotInductiveError,
    UnknownNameError,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.assessment import (
    assess,
    gather_evidence,
    observed_noise,
    out_of_fold_calibration,
    pooled_probabilities,
    validation_calibration,
)
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.checks import applied_state, check_answer, solvable
from quietgraph.methods.base.device import find_device
from quietgraph.methods.base.encoder_module import Forward, GraphEncoder, make_encoder
from quietgraph.methods.base.label_weights import label_weights
from quietgraph.methods.base.labelling import beliefs_about_nodes
from quietgraph.methods.base.notebook import model_html
from quietgraph.methods.base.task import Fitted, Task, make_task
from quietgraph.methods.base.two_stage import Decision, fit_two_stages, stage_parameters
from quietgraph.params import (
    Parameterised,
    check_parameters,
    check_value,
    current_names,
    param,
    parameters,
)
from quietgraph.progress import stage, step_of
from quietgraph.rng import derive_seed, torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Probabilities, Scores


@dataclass(kw_only=True, eq=False)
class NodeClassifier(metaclass=Parameterised):
    """Classifies the nodes of a graph from labels of which some may be wrong.

    A method subclasses it, declares its parameters and writes `_fit`; one that learns its
    embeddings without labels names its `first_stage` and writes `_embed` and `_decide` instead. A
    method that can answer for graphs not seen in `fit` also writes `_apply`.
    """

    citation: ClassVar[str] = ""  # where the method was published
    presets: ClassVar[dict[str, dict[str, Any]]] = {}  # published settings by dataset
    quick: ClassVar[dict[str, Any]] = {}  # settings of a very short fit, for checks
    cora_seconds: ClassVar[float] = 30.0  # of a fit on Cora by one core, for rough estimates
    # Names what `_embed` computes without labels, None without such a stage; methods that share
    # the name share cached embeddings.
    first_stage: ClassVar[str | None] = None
    takes_weights: ClassVar[bool] = False  # whether labels can count differently in training

    seed: int = param(0, "seed of every random draw", low=0)
    device: str = param("auto", "where to compute: auto, cpu, cuda, cuda:1, ...")

    out_of_fold_: np.ndarray[Any, np.dtype[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    votes_: dict[str, Tensor] | None = field(default=None, init=False, repr=False)
    quality_: Quality | None = field(default=None, init=False, repr=False)
    consensus_: Consensus | None = field(default=None, init=False, repr=False)  # of annotators
    calibration_: Calibration = field(default=Calibration(), init=False, repr=False)
    loaded_: bool = field(default=False, init=False, repr=False)  # then the graph is not here

    def __post_init__(self) -> None:
        check_parameters(self)

    def _fit(self, task: Task) -> Fitted:
        """Learn from the task; random draws come from `task.seed` or the isolated global state."""
        return fit_two_stages(self, task)

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        """Learn embeddings from the graph alone: the first of two stages."""
        raise NotImplementedError(f"{type(self).__name__} must write _fit, or _embed and _decide")

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        """Classify the nodes by the embeddings of the first stage: the second of two stages."""
        raise NotImplementedError(f"{type(self).__name__} must write _fit, or _embed and _decide")

    def _apply(
        self,
        graph: Graph,  # noqa: ARG002  (a method that overrides this uses them)
        state: dict[str, Tensor],  # noqa: ARG002
    ) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of a graph not seen in fit, from the fitted state."""
        raise NotInductiveError(
            f"{type(self).__name__} answers only for the graph it was fitted on. "
            "Fit it on the grown graph, or use a method marked inductive in `quietgraph methods`."
        )

    def _trained_network(self) -> tuple[nn.Module, Forward] | None:
        """Return the trained network and what computes embeddings with it, for `encoder_`."""
        return None

    @property
    def encoder_(self) -> GraphEncoder:
        """The trained encoder, a PyTorch module: `encoder_(x, edge_index)` gives embeddings."""
        self._check_fitted()
        return make_encoder(self)

    @property
    def embeddings_use_labels(self) -> bool:
        """Whether labels trained the embeddings, which then are no evidence about labels."""
        return self.first_stage is None

    @classmethod
    def for_dataset(cls, name: str, **values: Any) -> Self:
        """Return the estimator with the settings published for a dataset, defaults without any.

        Args:
            name: Of the dataset, as `quietgraph.load` takes it.
            values: Parameters that are set otherwise.
        """
        if name not in DATASETS:
            raise UnknownNameError("dataset", name, DATASETS)
        return cls(**{**cls.presets.get(name, {}), **values})

    @classmethod
    def is_inductive(cls) -> bool:
        """Whether `predict` takes graphs not seen in `fit`."""
        return cls._apply is not NodeClassifier._apply

    def fit(
        self,
        graph: Any,
        labels: Any = None,
        validation: Any = None,
        *,
        annotations: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        callbacks: Iterable[Follower] = (),
        verbose: int = 0,
    ) -> Self:
        """Learn from a graph and its partly wrong labels, or from answers of several annotators.

        Args:
            graph: A `Graph`; or alone, an `Observation` of `quietgraph.load` or a PyG `Data` with
                y, train_mask and val_mask.
            labels: One entry per node, in any type; -1, None or NaN = unknown.
            validation: Mask or indices of labelled nodes that are held out for choices; without
                it a stratified fifth of the labels is held out.
            annotations: Answers of several annotators: a table with the columns node, annotator
                and label, a file of one, or a matrix (see `quietgraph.read_annotations`). Their
                consensus, found together with the graph, is what is learned from.
            sample_weight: How much each label counts in training, one number per node; for
                methods with `takes_weights`. Choices by validation labels are not weighted.
            class_weight: `balanced`, or how much the labels of a class count, by label.
            callbacks: Objects of `quietgraph.callbacks`, or functions of an `Epoch`.
            verbose: 1 shows every tenth of the epochs on stderr, 2 each.
        """
        check_parameters(self)
        find_device(self.device)
        observed = observe(graph, labels, validation, annotations=annotations, seed=self.seed)
        observation, self.consensus_ = resolve_annotations(observed, seed=self.seed)
        task, self.classes_ = make_task(observation, self.seed)
        weights = label_weights(self, task, sample_weight=sample_weight, class_weight=class_weight)
        task = replace(task, weights=weights)
        self.observation_ = observation
        started = time.perf_counter()
        with follow(self, callbacks, verbose=verbose):
            logger.info(
                "fit %s on %s with %d labels", self, task.graph, int(observation.known.sum())
            )
            self._keep(self._run(task), task)
            self.seconds_ = time.perf_counter() - started
            logger.info("fitted in %.1f s", self.seconds_)
        return self

    def predict(self, graph: Any = None, *, abstain: float | None = None) -> np.ndarray[Any, Any]:
        """Return the likeliest label of every node, in the caller's own label values [nodes].

        Args:
            graph: A graph not seen in fit; by default the one of `fit`.
            abstain: Least probability of an answer; below it the answer is None.
        """
        scores = self._scores(graph)
        best = scores.argmax(dim=1).numpy()
        values: np.ndarray[Any, Any] = self.classes_[best]
        if abstain is None:
            return values
        if not 0 <= abstain <= 1:
            raise InvalidParameterError(f"abstain must lie between 0 and 1, got {abstain}.")
        confidence = self.calibration_.probabilities(scores).max(dim=1).values.numpy()
        answers = values.astype(object)
        answers[confidence < abstain] = None
        return answers

    def predict_proba(self, graph: Any = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return calibrated probabilities [nodes, classes], columns in the order of `classes_`.

        After `fit` they are calibrated on its validation predictions, once `suspects()` or
        `quality()` was called on out-of-fold predictions of all labelled nodes. The order of the
        classes, and so `predict`, does not change.
        """
        return self.calibration_.probabilities(self._scores(graph)).numpy()

    def score(self, graph: Any = None, labels: Any = None, sample_weight: Any = None) -> float:
        """Return the fraction of the known labels that is predicted (accuracy).

        Score only labels that `fit` has not seen; `quality()` does so for those of `fit`.

        Args:
            graph: The graph of `fit` (or None), or another one for inductive methods.
            labels: One entry per node; -1, None or NaN = unknown, which is not scored.
            sample_weight: One weight per node.
        """
        from quietgraph.methods.base.scikit_learn import score_accuracy  # noqa: PLC0415  (slow)

        return score_accuracy(self, graph, labels, sample_weight)

    def embed(self, graph: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the embeddings of a graph not seen in fit [nodes, dim]."""
        return self._apply_checked(graph)[1].numpy()

    def suspects(self, *, columns: str = "plain") -> pd.DataFrame:
        """Return the labelled nodes, most suspicious first, by fits that did not see their labels.

        Labels that a person has verified are not among them. Where `quality()` says `do not
        trust`, no label is called an issue, and `table.attrs["notice"]` says why.

        Args:
            columns: `plain`; `evidence` with the votes of labelled neighbours, of the nearest
                labelled nodes and of classifiers on attributes too; `cleanlab` for cleanlab's
                columns and order.
        """
        check_columns(columns)
        quality = self.quality()
        pooled, labels = self._pooled(), self.task_.labels
        posterior = label_posterior(pooled, labels, observed_noise(pooled, self.task_).transition)
        flag = quality.verdict != DISTRUST
        verified = self.task_.verified
        asked = labels if verified is None else labels.masked_fill(verified, UNKNOWN)
        table = suspect_table(posterior, asked, self.classes_, flag=flag)
        if columns == "evidence":
            table = with_votes(table, self.votes_ or {}, self.classes_)
        if columns == "cleanlab":
            table = cleanlab_columns(table)
        if not flag:
            table.attrs["notice"] = " ".join((quality.sentences[0], *quality.advice))
        return table if columns == "cleanlab" else for_notebooks(table)

    def annotators(self) -> pd.DataFrame:
        """Return the annotators of `fit`, best first.

        Columns: annotator, answers, accuracy with its 95 % interval (accuracy_low, accuracy_high),
        kappa, copies_classifier, is_random. See `docs/annotators.md`.
        """
        self._check_fitted()
        if self.consensus_ is None:
            self._refuse(
                f"this {type(self).__name__} learned from labels, not from annotators. "
                "Call fit(graph, annotations=...)."
            )
        return annotator_table(self.consensus_)

    def next_labels(
        self,
        budget: int,
        *,
        annotator: str | None = None,
        costs: Mapping[str, float] | None = None,
        among: Any = None,
    ) -> pd.DataFrame:
        """Return which nodes to label next, or again, and by whom: a table to be filled in.

        Columns: node, annotator, label (empty), action, suggested, probability, second, gain
        (expected errors that the label removes), given (answers so far). The filled table goes to
        `fit(annotations=...)` beside the earlier answers.

        Args:
            budget: How many labels.
            annotator: Who is to be asked; without it whoever suits each node best.
            costs: Of an answer by annotator; 1 where it is not said.
            among: Mask or indices of nodes that may be asked about; by default all but those
                whose label is verified.
        """
        self.quality()
        task = self.task_
        allowed = (
            torch.ones_like(task.train) if among is None else check_mask(among, len(task.train))
        )
        allowed = allowed if task.verified is None else allowed & ~task.verified
        return next_labels(
            beliefs_about_nodes(self, self._pooled(), task.labels),
            self.embeddings_,
            budget,
            classes=self.classes_,
            labelled=(task.labels != UNKNOWN).numpy(),
            consensus=self.consensus_,
            annotator=annotator,
            costs=costs,
            among=allowed.numpy(),
        )

    def quality(self) -> Quality:
        """Return how far the model can be trusted, from out-of-fold predictions.

        The first call of `quality()` or `suspects()` fits once per fold; later ones only read.
        """
        self._check_fitted()
        if self.quality_ is None or self.out_of_fold_ is None:
            self._check_graph_is_here()
            task = self.task_
            with solvable(type(self).__name__):
                probabilities = self._out_of_fold(task)
            self.out_of_fold_ = probabilities.numpy()
            with stage("evidence for suspects"):
                self.votes_ = gather_evidence(torch.from_numpy(self.embeddings_), task)
                pooled = self._pooled()
                self.calibration_ = out_of_fold_calibration(probabilities, pooled, task)
                self.quality_ = assess(probabilities, pooled, task, self.calibration_)
        return self.quality_

    def _pooled(self) -> Probabilities:
        return pooled_probabilities(
            torch.from_numpy(self.out_of_fold_),
            self.votes_ or {},
            self.task_.labels,
            with_nearest=not self.embeddings_use_labels,
        )

    def diagnose(self) -> Diagnosis:
        """Return spectrum, kernel complexity, bound terms and the estimated label noise.

        Nothing is trained: the noise is estimated from the out-of-fold evidence that `suspects()`
        leaves, and is None before that call. Observed labels count as right here,
        since no others are known.
        """
        self._check_fitted()
        is_assessed = self.out_of_fold_ is not None
        return diagnose_embedding(
            torch.from_numpy(self.embeddings_),
            self.task_.labels,
            labelled=self.task_.train,
            probabilities=self._pooled() if is_assessed else None,
            features=self.classifier_features(),
        )

    def classifier_features(self) -> Tensor | None:
        """Return what a linear classifier saw of every node of `fit` [nodes, features], if any."""
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  (scikit-learn's signature)
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in parameters(type(self))}

    def set_params(self, **values: Any) -> Self:
        """Change parameters by name; unknown names and values out of range are refused."""
        known, current = parameters(type(self)), current_names(type(self), values)
        for name, value in current.items():  # all are checked before any is set
            if name not in known:
                raise UnknownNameError(f"parameter of {type(self).__name__}", name, known)
            check_value(known[name], value)
        for name, value in current.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about an estimator."""
        from quietgraph.methods.base.scikit_learn import classifier_tags  # noqa: PLC0415  (slow)

        return classifier_tags()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called, as `sklearn.utils.validation.check_is_fitted` asks."""
        return hasattr(self, "scores_")

    def save(self, folder: str | Path) -> Path:
        """Write the fitted model to a folder, as JSON and safetensors (nothing that can run).

        The graph is not saved. Call `suspects()` before, if the saved model shall know them.
        """
        from quietgraph.methods.storage import save_model  # noqa: PLC0415  (it imports this module)

        self._check_fitted()
        return save_model(self, Path(folder))

    def first_stage_parameters(self) -> dict[str, Any] | None:
        """Return what a label-free first stage depends on but for the seed, None without one."""
        return None if self.first_stage is None else stage_parameters(self)

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

    def _run(self, task: Task) -> Fitted:
        device = self._device()
        # Layers and dropout draw from torch's global state: seed it here, restore it after.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(derive_seed(task.seed, "fit"))
            with solvable(type(self).__name__):
                return self._fit(task.to(device))

    def _keep(self, fitted: Fitted, task: Task) -> None:
        check_answer(fitted.scores, fitted.embeddings, type(self).__name__)
        self.task_ = task
        self.scores_ = fitted.scores.detach().cpu()
        self.embeddings_ = fitted.embeddings.detach().cpu().numpy()
        self.state_ = {name: value.detach().cpu() for name, value in fitted.state.items()}
        self.history_, self.notes_ = fitted.history, fitted.notes
        self.out_of_fold_, self.votes_, self.quality_, self.loaded_ = None, None, None, False
        self.calibration_ = validation_calibration(self.scores_, task)

    def _out_of_fold(self, task: Task) -> Probabilities:
        """Return, for every labelled node, probabilities of a fit that did not see its label.

        Scores of every fold have the mean margin of the whole fit: another penalty or number of
        epochs, chosen on fewer labels, changes their scale but hardly their order.
        """
        fold_scores, margin = self._fold_learner(), mean_margin(self.scores_)
        done = itertools.count()

        def learn(labels: Labels) -> Scores:
            with step_of("folds for quality", next(done), FOLDS):
                scores = fold_scores(replace(task.without(labels == UNKNOWN), labels=labels))
            return scores.cpu() * (margin / mean_margin(scores.cpu()))

        draws = torch_generator(task.seed, "folds")
        return out_of_fold(task.labels, learn, task.num_classes, generator=draws)

    def _fold_learner(self) -> Callable[[Task], Scores]:
        """Return what fits the labels of a fold; folds share a first stage that saw no label."""
        if self.first_stage is None:
            return lambda task: self._run(task).scores
        device = self._device()
        embedded = Embedded(torch.from_numpy(self.embeddings_), self.state_).to(device)
        return lambda task: self._decide(embedded, task.to(device)).scores

    def _scores(self, graph: Any) -> Scores:
        self._check_fitted()
        return self.scores_ if graph is None else self._apply_checked(graph)[0]

    def _apply_checked(self, graph: Any) -> tuple[Scores, Embeddings]:
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

    def _device(self) -> torch.device:
        return find_device(self.device)

    def _check_fitted(self) -> None:
        if not hasattr(self, "scores_"):
            self._refuse(f"this {type(self).__name__} is not fitted. Call fit first.")

    def _check_graph_is_here(self) -> None:
        if self.loaded_:
            self._refuse(
                f"suspects need the graph, which this loaded {type(self).__name__} does not hold. "
                "Fit again, or call suspects() before save."
            )

    def _refuse(self, sentence: str) -> NoReturn:
        from quietgraph.methods.base.scikit_learn import NotFittedError  # noqa: PLC0415  (slow)

        raise NotFittedError(sentence)
