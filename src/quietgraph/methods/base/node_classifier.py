"""The estimator every method is: checks, seeds, predictions, suspects, parameters."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from quietgraph.classify import suspect_table
from quietgraph.classify.label_issues.attributes import attribute_opinion
from quietgraph.classify.label_issues.out_of_fold import out_of_fold
from quietgraph.classify.label_issues.posterior import blend_opinions, likely_classes
from quietgraph.classify.label_issues.suspects import (
    check_columns,
    cleanlab_columns,
    nearest_shares,
    neighbour_shares,
    with_votes,
)
from quietgraph.data.datasets import DATASETS
from quietgraph.data.observation import observe
from quietgraph.diagnose import Diagnosis, diagnose_embedding, estimate_noise
from quietgraph.errors import (
    InvalidGraphError,
    NotFittedError,
    NotInductiveError,
    UnknownNameError,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.task import Fitted, Task, make_task
from quietgraph.methods.base.two_stage import Decision, fit_two_stages, stage_parameters
from quietgraph.params import (
    Parameterised,
    check_parameters,
    current_names,
    param,
    parameters,
)
from quietgraph.rng import derive_seed, torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Scores


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

    seed: int = param(0, "seed of every random draw", low=0)
    device: str = param("auto", "where to compute: auto, cpu, cuda, cuda:1, ...")

    out_of_fold_: np.ndarray[Any, np.dtype[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    votes_: dict[str, Tensor] | None = field(default=None, init=False, repr=False)
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

    def fit(self, graph: Any, labels: Any = None, validation: Any = None) -> Self:
        """Learn from a graph and its partly wrong labels.

        Args:
            graph: A `Graph`; or alone, an `Observation` of `quietgraph.load` or a PyG `Data` with
                y, train_mask and val_mask.
            labels: One entry per node, in any type; -1, None or NaN = unknown.
            validation: Mask or indices of labelled nodes that are held out for choices; without
                it a stratified fifth of the labels is held out.
        """
        check_parameters(self)
        observation = observe(graph, labels, validation, seed=self.seed)
        task, self.classes_ = make_task(observation, self.seed)
        started = time.perf_counter()
        self._keep(self._run(task), task)
        self.seconds_ = time.perf_counter() - started
        return self

    def predict(self, graph: Any = None) -> np.ndarray[Any, Any]:
        """Return the likeliest label of every node, in the caller's own label values [nodes]."""
        best = self._scores(graph).argmax(dim=1).numpy()
        values: np.ndarray[Any, Any] = self.classes_[best]
        return values

    def predict_proba(self, graph: Any = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return probabilities [nodes, classes], columns in the order of `classes_`."""
        return self._scores(graph).double().softmax(dim=1).numpy()

    def embed(self, graph: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the embeddings of a graph not seen in fit [nodes, dim]."""
        return self._apply_checked(graph)[1].numpy()

    def suspects(self, *, columns: str = "plain") -> pd.DataFrame:
        """Return the labelled nodes, most suspicious first, judged without their own labels.

        Labels that a person has verified are not among them.

        Args:
            columns: `plain`; `evidence` with the votes of labelled neighbours, of the nearest
                labelled nodes and of a classifier on attributes too; `cleanlab` for cleanlab's
                columns and order.
        """
        self._check_fitted()
        check_columns(columns)
        if self.out_of_fold_ is None or self.votes_ is None:
            self._check_graph_is_here()
            self.out_of_fold_ = self._out_of_fold(self.task_)
            self.votes_ = self._votes(self.task_)
        labels = self.task_.labels
        # Embeddings trained on the labels are no independent evidence about them.
        barred = ("nearest",) if self.embeddings_use_labels else ()
        heard = {name: votes for name, votes in self.votes_.items() if name not in barred}
        told = blend_opinions(torch.from_numpy(self.out_of_fold_), labels, heard)
        noise = estimate_noise(told, labels)
        num_wrong = round(noise.rate * int((labels != UNKNOWN).sum()))
        likely = likely_classes(told, labels, noise.transition)
        verified = self.task_.verified
        asked = labels if verified is None else labels.masked_fill(verified, UNKNOWN)
        table = suspect_table(likely, asked, self.classes_, num_wrong=num_wrong)
        if columns == "evidence":
            return with_votes(table, self.votes_, self.classes_)
        return cleanlab_columns(table) if columns == "cleanlab" else table

    def _votes(self, task: Task) -> dict[str, Tensor]:
        shape = (task.labels, task.num_classes)
        draws = torch_generator(task.seed, "voters")
        embeddings = torch.from_numpy(self.embeddings_)
        return {
            "neighbours": neighbour_shares(task.graph.adjacency, *shape),
            "nearest": nearest_shares(embeddings, *shape, generator=draws),
            "attributes": attribute_opinion(task.graph, *shape, seed=task.seed),
        }

    def diagnose(self) -> Diagnosis:
        """Return spectrum, kernel complexity, bound terms and the estimated label noise.

        Nothing is trained: the noise is estimated from the out-of-fold probabilities that
        `suspects()` leaves, and is None before that call. Observed labels count as right here,
        since no others are known.
        """
        self._check_fitted()
        found = self.out_of_fold_
        return diagnose_embedding(
            torch.from_numpy(self.embeddings_),
            self.task_.labels,
            labelled=self.task_.train,
            probabilities=None if found is None else torch.from_numpy(found),
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
        known = parameters(type(self))
        for name, value in current_names(type(self), values).items():
            if name not in known:
                raise UnknownNameError(f"parameter of {type(self).__name__}", name, known)
            setattr(self, name, value)
        check_parameters(self)
        return self

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

    def _run(self, task: Task) -> Fitted:
        device = self._device()
        # Layers and dropout draw from torch's global state: seed it here, restore it after.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(derive_seed(task.seed, "fit"))
            return self._fit(task.to(device))

    def _keep(self, fitted: Fitted, task: Task) -> None:
        self.task_ = task
        self.scores_ = fitted.scores.detach().cpu()
        self.embeddings_ = fitted.embeddings.detach().cpu().numpy()
        self.state_ = {name: value.detach().cpu() for name, value in fitted.state.items()}
        self.history_, self.notes_ = fitted.history, fitted.notes
        self.out_of_fold_, self.votes_, self.loaded_ = None, None, False

    def _out_of_fold(self, task: Task) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return, for every labelled node, probabilities of a fit that did not see its label."""
        fold_scores = self._fold_learner()

        def learn(labels: Labels) -> Scores:
            return fold_scores(replace(task.without(labels == UNKNOWN), labels=labels))

        draws = torch_generator(task.seed, "folds")
        return out_of_fold(task.labels, learn, task.num_classes, generator=draws).numpy()

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
        with torch.no_grad():
            scores, embeddings = self._apply(graph.to(device), state)
        return scores.cpu(), embeddings.cpu()

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    def _check_fitted(self) -> None:
        if not hasattr(self, "scores_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted. Call fit first.")

    def _check_graph_is_here(self) -> None:
        if self.loaded_:
            raise NotFittedError(
                f"suspects need the graph, which this loaded {type(self).__name__} does not hold. "
                "Fit again, or call suspects() before save."
            )
