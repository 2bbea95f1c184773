"""The estimator that every method is: what it sees, what it learns, and what a caller can ask."""

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from quietgraph.data.data import Data, DataLike, as_data
from quietgraph.data.splits import hold_out
from quietgraph.embed.train import Epoch, History
from quietgraph.errors import InvalidGraphError, InvalidLabelsError, InvalidParameterError, NotInductiveError
from quietgraph.graph import Graph
from quietgraph.params import check_parameters, param
from quietgraph.rng import LARGEST_SEED, isolated_stream
from quietgraph.types import UNKNOWN, AnyArray, Embeddings, FloatArray, Labels, Mask, MaskLike, Scores, ValuesLike

NO_GRAPH = "a loaded model holds no graph"  # note of the empty graph in its place


@dataclass(frozen=True, eq=False)
class Observed:
    """What a method sees of the labels; those of other nodes exist nowhere below `fit`."""

    codes: Labels  # class of each training and validation node, -1 elsewhere [nodes]
    train: Mask
    validation: Mask  # as noisy as the others; for choices only
    num_classes: int
    weights: Tensor | None = None  # how much a label counts [nodes]
    verified: Mask | None = None  # labels that people have confirmed [nodes]
    on_epoch: Callable[[Epoch], None] | None = None

    @property
    def certain(self) -> Mask:
        """Which training labels people have confirmed [training nodes]."""
        return torch.zeros_like(self.train[self.train]) if self.verified is None else self.verified[self.train]

    def without(self, nodes: Mask) -> "Observed":
        """Return the labels with those of some nodes hidden; where none are left to choose by, some are held out."""
        codes = self.codes.masked_fill(nodes, UNKNOWN)
        train, validation = self.train & ~nodes, self.validation & ~nodes
        if not (train.any() and validation.any()):
            validation = hold_out(codes, seed=0)
            train = (codes != UNKNOWN) & ~validation
        return replace(self, codes=codes, train=train, validation=validation)

    def cost(self, scores: Scores) -> Tensor:
        """Return the mean cross-entropy of the training labels, each counted by its weight."""
        if self.weights is None:
            return F.cross_entropy(scores[self.train], self.codes[self.train])
        costs = F.cross_entropy(scores[self.train], self.codes[self.train], reduction="none")
        weights = self.weights[self.train]
        return (costs * weights).sum() / weights.sum()

    def score(self, scores: Scores) -> float:
        """Return accuracy on the (noisy) validation labels, ties broken by their cost."""
        found, wanted = scores[self.validation], self.codes[self.validation]
        hits = float((found.argmax(dim=1) == wanted).double().mean())
        return hits - min(float(F.cross_entropy(found, wanted)), 100.0) / (200 * max(len(wanted), 1))

    def to(self, device: torch.device) -> "Observed":
        """Return it on a device."""
        return self._each(lambda one: one.to(device))

    def at(self, nodes: Tensor) -> "Observed":
        """Return what concerns some nodes alone: their rows of scores go with it."""
        return self._each(lambda one: one[nodes])

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Observed":
        changed: dict[str, Any] = {name: change(one) for name, one in vars(self).items() if isinstance(one, Tensor)}
        return replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method has learned."""

    scores: Scores
    embeddings: Embeddings
    network: nn.Module | None = None  # graph -> scores, embeddings; None: the method answers for this graph alone
    relearn: Callable[[Observed], "Fitted"] | None = None  # from other labels; the label-free stage is kept
    history: History = field(default_factory=list)
    notes: dict[str, float] = field(default_factory=dict)  # choices worth reporting, by name


@dataclass(kw_only=True, eq=False, repr=False)
class NodeClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Classifies the nodes of a graph from labels of which some may be wrong: a method writes `_fit`.

    A method whose answers hold for other graphs too returns a `network` and writes `_network`, which builds the same
    network untrained; `load_model` fills it.
    """

    revision: ClassVar[int] = 1  # raised when answers change: part of a benchmark run's key
    takes_weights: ClassVar[bool] = False  # whether labels can count differently in training

    seed: int = param(0, "seed of every random draw", low=0, high=LARGEST_SEED)
    device: str = param("auto", "where to compute: auto, cpu, cuda, cuda:1, ...")

    @abstractmethod
    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        """Learn; draws come from `self.seed` or from torch's global stream, which is isolated."""

    def _network(self, features: int, classes: int) -> nn.Module:  # noqa: ARG002
        """Return the untrained network of a method that answers for other graphs."""
        raise NotInductiveError(f"{type(self).__name__} answers for the graph of fit alone. Fit the grown graph.")

    def fit(
        self,
        graph: DataLike,
        labels: ValuesLike | None = None,
        validation: MaskLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        on_epoch: Callable[[Epoch], Any] | None = None,
    ) -> Self:
        """Learn from a graph and its partly wrong labels. A fit that fails changes nothing.

        Args:
            graph: What `quietgraph.load` returns, alone; or a `Graph`, a PyG `Data` or a NetworkX graph.
            labels: One entry per node, in any type; -1, None or NaN = unknown.
            validation: Mask or indices of labelled nodes to make choices with; without it, methods that need some
                hold out a stratified fifth of the labels.
            sample_weight: How much each label counts in training, one number per node.
            on_epoch: Called after every epoch of every training.
        """
        check_parameters(self)
        data = as_data(graph, labels, validation)
        observed, classes = self._observe(*self._consensus(data, sample_weight))
        fitted = self.learn(data.graph, replace(observed, on_epoch=on_epoch))
        self.data_, self.observed_, self.classes_, self.fitted_ = data, observed, classes, fitted
        return self

    def learn(self, graph: Graph, observed: Observed) -> Fitted:
        """Return what is learned; the estimator and the caller's random state stay as they are."""
        device, own = find_device(self.device), copy.copy(self)
        for name in [one for one in vars(own) if one.endswith("_")]:
            delattr(own, name)  # `relearn` may keep this copy, whose parameters stay as they are
        return _isolated(partial(own._fit, graph.to(device)), observed, seed=self.seed, device=device)

    def predict(self, graph: DataLike | None = None, **tables: Any) -> AnyArray:
        """Return the likeliest label of every node, in the caller's own values [nodes].

        Args:
            graph: Another graph than that of fit; own tables are encoded exactly as in fit.
            tables: `nodes=` and `edges=` instead of a graph: DataFrames or files of own tables.
        """
        return self.classes_[self._answer(graph, tables)[0].argmax(dim=1).numpy()]

    def predict_proba(self, graph: DataLike | None = None, **tables: Any) -> FloatArray:
        """Return probabilities [nodes, classes], columns in the order of `classes_`; `assess` has calibrated ones."""
        return self._answer(graph, tables)[0].double().softmax(dim=1).numpy()

    def score(self, graph: DataLike, labels: ValuesLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of right predictions for another graph, among its nodes with a known label."""
        data = as_data(graph, labels)
        known = data.known.numpy()
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average((self.predict(graph) == data.labels)[known], weights=weights))

    def embed(self, graph: DataLike | None = None, **tables: Any) -> AnyArray:
        """Return embeddings of all nodes [nodes, dim]."""
        return self._answer(graph, tables)[1].numpy()

    def save(self, folder: Any) -> None:
        """Write the fitted model as a folder of JSON and safetensors."""
        from quietgraph.methods.storage import save_model

        save_model(self, folder)

    def _consensus(self, data: Data, sample_weight: ArrayLike | None) -> tuple[Data, ArrayLike | None]:
        """Return the data with what annotators agree on as labels, and how much each label counts."""
        if data.annotations is None:
            return data, sample_weight
        from quietgraph.annotators.consensus import find_consensus

        found = find_consensus(data, seed=self.seed)
        use_ours = sample_weight is None and self.takes_weights
        return replace(data, codes=found.codes), found.weights if use_ours else sample_weight

    def _observe(self, data: Data, sample_weight: ArrayLike | None) -> tuple[Observed, AnyArray]:
        """Return what a method sees of the labels, and the value of each class that it sees."""
        allowed = data.split.train | data.split.validation if bool(data.split.test.any()) else data.known
        seen, codes = torch.unique(data.codes[data.known & allowed], return_inverse=True)
        if len(seen) < 2:
            raise InvalidLabelsError(f"labels must have at least two classes, got {len(seen)}. Label more nodes.")
        every = torch.full_like(data.codes, UNKNOWN)
        every[data.known & allowed] = codes
        known, validation = every != UNKNOWN, data.split.validation & (every != UNKNOWN)
        if not validation.any():
            validation = hold_out(every, seed=self.seed)
        if not (known & ~validation).any():
            raise InvalidLabelsError("validation must leave labels to train on, but it holds all of them.")
        observed = Observed(every, known & ~validation, validation, len(seen), verified=data.verified & known)
        if sample_weight is None:
            return observed, data.classes[seen.numpy()]
        if not self.takes_weights:
            raise InvalidParameterError(f"{type(self).__name__} cannot weigh labels. Leave sample_weight out.")
        weights = torch.as_tensor(np.asarray(sample_weight), dtype=torch.float32)
        if weights.shape != known.shape or not bool((weights >= 0).all() & (weights[observed.train].sum() > 0)):
            raise InvalidLabelsError(f"sample_weight must be {len(known)} numbers of at least 0, not all 0.")
        return replace(observed, weights=weights), data.classes[seen.numpy()]

    @torch.no_grad()
    def _answer(self, graph: DataLike | None, tables: dict[str, Any]) -> tuple[Scores, Embeddings]:
        check_is_fitted(self, "fitted_")
        if graph is None and not tables:
            return self._verified_scores(), self.fitted_.embeddings
        network, wanted = self.fitted_.network, self.data_.graph.num_features
        if network is None:
            raise NotInductiveError(f"{type(self).__name__} answers for the graph of fit alone. Fit the grown graph.")
        from quietgraph.data.load import load_like

        found = load_like(self.data_.source, graph, tables)  # own tables are encoded with the columns of fit
        if found.num_features != wanted:
            raise InvalidGraphError(f"the graph must have the {wanted} features of fit, got {found.num_features}.")
        state = itertools.chain(network.parameters(), network.buffers())  # on the device of fit
        scores, embeddings = network(found.to(next(state, self.fitted_.scores).device))
        return scores.cpu(), embeddings.cpu()

    def _verified_scores(self) -> Scores:
        """Return the scores of fit; a verified label is certain."""
        verified, scores = self.observed_.verified, self.fitted_.scores
        if verified is None or not verified.any():
            return scores
        certain = torch.full_like(scores, -torch.inf).scatter(1, self.observed_.codes.clamp_min(0)[:, None], 0.0)
        return torch.where(verified[:, None], certain, scores)


def _isolated(learn: Callable[[Observed], Fitted], observed: Observed, *, seed: int, device: torch.device) -> Fitted:
    """Return what is learned with a random stream of its own, as numbers on the CPU; so does its `relearn`."""
    with isolated_stream(seed, "fit"):
        fitted = learn(observed.to(device))
    scores, embeddings = fitted.scores.detach().cpu(), fitted.embeddings.detach().cpu()
    if bool(scores.isnan().any()) or not bool(embeddings.isfinite().all()):
        raise InvalidGraphError("the fit computed numbers that are not finite. Scale the features of the graph.")
    again = None if fitted.relearn is None else partial(_isolated, fitted.relearn, seed=seed, device=device)
    return replace(fitted, scores=scores, embeddings=embeddings, relearn=again)


def find_device(name: str) -> torch.device:
    """Return the device of a name such as auto, cpu, cuda or cuda:1; `auto` takes a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        message = f"device must be one that this machine has, got '{name}'. Use cpu or auto."
        raise InvalidParameterError(message) from error
    return device
