"""What a method declares and writes, and the manners of scikit-learn's estimators."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import torch
from torch import Tensor, nn

from quietgraph.data.datasets import DATASETS
from quietgraph.embed import History
from quietgraph.errors import (
    NotInductiveError,
    UnknownNameError,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.checks import solvable
from quietgraph.methods.base.device import find_device
from quietgraph.methods.base.encoder_module import Forward
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.base.two_stage import Decision, fit_two_stages, stage_parameters
from quietgraph.params import (
    Parameterised,
    ParameterValue,
    Presets,
    Settings,
    check_parameters,
    check_value,
    current_names,
    make,
    param,
    parameters,
)
from quietgraph.rng import LARGEST_SEED, derive_seed
from quietgraph.types import AnyArray, Embeddings, Float32Array, Scores

if TYPE_CHECKING:
    from sklearn.utils import Tags


@dataclass(kw_only=True, eq=False)
class Estimator(metaclass=Parameterised):
    """Parameters, published settings, and what a method must write to be fitted."""

    citation: ClassVar[str] = ""  # where the method was published
    presets: ClassVar[Presets] = {}  # published settings by dataset
    quick: ClassVar[Settings] = {}  # settings of a very short fit, for checks
    cora_seconds: ClassVar[float] = 30.0  # of a fit on Cora by one core, for rough estimates
    cora_epochs: ClassVar[int | None] = None  # of that fit, where the default has no number
    # Names what `_embed` computes without labels, None without such a stage; methods that share
    # the name share cached embeddings.
    first_stage: ClassVar[str | None] = None
    takes_weights: ClassVar[bool] = False  # whether labels can count differently in training
    seed: int = param(0, "seed of every random draw", low=0, high=LARGEST_SEED)
    device: str = param("auto", "where to compute: auto, cpu, cuda, cuda:1, ...")

    # What `fit` leaves; there is none of it before.
    classes_: AnyArray = field(init=False, repr=False)
    task_: Task = field(init=False, repr=False)
    scores_: Scores = field(init=False, repr=False)
    embeddings_: Float32Array = field(init=False, repr=False)
    state_: dict[str, Tensor] = field(init=False, repr=False)
    history_: History = field(init=False, repr=False)
    notes_: dict[str, float] = field(init=False, repr=False)
    seconds_: float = field(init=False, repr=False)
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
    def embeddings_use_labels(self) -> bool:
        """Whether labels trained the embeddings, which then are no evidence about labels."""
        return self.first_stage is None

    @classmethod
    def for_dataset(cls, name: str, **values: ParameterValue) -> Self:
        """Return the estimator with the settings published for a dataset, defaults without any.

        Args:
            name: Of the dataset, as `quietgraph.load` takes it.
            values: Parameters that are set otherwise.
        """
        if name not in DATASETS:
            raise UnknownNameError("dataset", name, DATASETS)
        return make(cls, {**cls.presets.get(name, {}), **values})

    @classmethod
    def is_inductive(cls) -> bool:
        """Whether `predict` takes graphs not seen in `fit`."""
        return cls._apply is not Estimator._apply

    def classifier_features(self) -> Tensor | None:
        """Return what a linear classifier saw of every node of `fit` [nodes, features], if any."""
        return None

    def get_params(
        self,
        deep: bool = True,  # noqa: ARG002  (scikit-learn's signature)
    ) -> dict[str, ParameterValue]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in parameters(type(self))}

    def set_params(self, **values: ParameterValue) -> Self:
        """Change parameters by name; unknown names and values out of range are refused."""
        known, current = parameters(type(self)), current_names(type(self), values)
        for name, value in current.items():  # all are checked before any is set
            if name not in known:
                raise UnknownNameError(f"parameter of {type(self).__name__}", name, known)
            check_value(known[name], value)
        for name, value in current.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> "Tags":
        """Return what scikit-learn asks about an estimator."""
        from quietgraph.methods.base.scikit_learn import classifier_tags  # noqa: PLC0415  (slow)

        return classifier_tags()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called, as `sklearn.utils.validation.check_is_fitted` asks."""
        return hasattr(self, "scores_")

    def first_stage_parameters(self) -> Settings | None:
        """Return what a label-free first stage depends on but for the seed, None without one."""
        return None if self.first_stage is None else stage_parameters(self)

    def _run(self, task: Task) -> Fitted:
        device = self._device()
        # Layers and dropout draw from torch's global state: seed it here, restore it after.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(derive_seed(task.seed, "fit"))
            with solvable(type(self).__name__):
                return self._fit(task.to(device))

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
