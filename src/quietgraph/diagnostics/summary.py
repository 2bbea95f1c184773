"""All diagnostics of one embedding."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from quietgraph.data.data import Data, Truth
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.splits import Split, no_node
from quietgraph.diagnostics.bound import BoundTerms, bound_terms
from quietgraph.diagnostics.kernel import Scale, attended_embeddings, check_problem, eigenbasis
from quietgraph.diagnostics.projection import Projection, label_projection, noise_projection
from quietgraph.diagnostics.spectrum import Spectrum, describe_spectrum
from quietgraph.errors import InvalidLabelsError
from quietgraph.methods.base import NodeClassifier
from quietgraph.types import UNKNOWN, Embeddings, Labels, MaskLike


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the theory says of one embedding, and `attended`: of plain F = K H / lambda_1, the low-rank attention on it.

    `signal` is how the right labels (without a reference: the observed ones) of the nodes with an observed label spread
    over the kernel of these nodes, `noise` how their label noise does; None without noise or reference.
    """

    num_nodes: int
    dim: int
    scale: Scale
    spectrum: Spectrum
    attended_spectrum: Spectrum
    bound: BoundTerms
    attended_bound: BoundTerms
    signal: Projection
    noise: Projection | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as nested dicts, lists and numbers, ready for JSON."""
        plain = asdict(self, dict_factory=lambda pairs: {name: _plain(value) for name, value in pairs})
        bound, spread = ("upper_bound", "best_step"), ("scores", "concentration", "beyond")
        for part, names in {"bound": bound, "attended_bound": bound, "signal": spread, "noise": spread}.items():
            one: BoundTerms | Projection | None = getattr(self, part)
            if one is not None:
                plain[part] |= {name: _plain(getattr(one, name)) for name in names}
            if isinstance(one, Projection):
                plain[part]["rank_holding_80"] = one.rank_holding(0.8)
        return plain

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Return the columns and rows of a table of the numbers, at the step with the smallest bound."""
        bounds, spectra = (self.bound, self.attended_bound), (self.spectrum, self.attended_spectrum)

        def at_best(name: str) -> list[object]:
            found = [(getattr(one, name), one.upper_bound.argmin()) for one in bounds]
            return ["" if values is None else f"{float(values[step]):.3f}" for values, step in found]

        rows: list[list[object]] = [
            ["effective rank", *(f"{one.effective_rank:.1f}" for one in spectra)],
            ["numerical rank", *(str(one.numerical_rank) for one in spectra)],
            ["kernel complexity KC", *(f"{one.complexity.value:.3f}" for one in bounds)],
            ["at rank", *(str(one.complexity.rank) for one in bounds)],
            ["steps t with the lowest bound", *(str(one.best_step) for one in bounds)],
            ["L1 there", *at_best("signal_loss")],
            ["L2 there", *at_best("noise_loss")],
            ["upper bound there", *at_best("upper_bound")],
            ["measured test loss there", *at_best("test_loss")],
            ["directions with 80 % of the label signal", str(self.signal.rank_holding(0.8) or f"above {self.dim}"), ""],
        ]
        return ["", "embeddings", "plain F"], rows


def diagnose(
    embeddings: NodeClassifier | ArrayLike | Tensor,
    labels: ArrayLike | Tensor | None = None,
    *,
    labelled: MaskLike | None = None,
    reference: ArrayLike | Tensor | None = None,
    scale: Scale = "unit",
) -> Diagnosis:
    """Return all diagnostics of one embedding.

    Args:
        embeddings: One row per node [nodes, dim], from any method; or a fitted model, alone: its embeddings and
            observed labels, of which those for training are the labelled ones.
        labels: Observed class codes [nodes], -1 where unknown.
        labelled: The nodes that the classifier learns from, a mask [nodes]; by default all known ones.
        reference: The labels taken as right [nodes], known at least on the labelled nodes. Without it the observed
            labels count as right.
        scale: "unit" for rows of length 1, "raw" for the rows as they are.
    """
    if isinstance(embeddings, NodeClassifier):
        check_is_fitted(embeddings, "fitted_")
        observed = embeddings.observed_
        labels, labelled = (observed.codes, observed.train) if labels is None else (labels, labelled)
        embeddings = embeddings.fitted_.embeddings
    if labels is None:
        raise InvalidLabelsError("diagnose needs the observed labels of the nodes: diagnose(embeddings, labels).")
    rows, codes = torch.as_tensor(embeddings), torch.as_tensor(labels)
    right = codes if reference is None else torch.as_tensor(reference)
    check_problem(rows, codes, right)
    mask = codes != UNKNOWN if labelled is None else torch.as_tensor(labelled)
    terms = partial(bound_terms, labels=codes, labelled=mask, reference=right)
    values = eigenbasis(rows, scale=scale)[0]
    return Diagnosis(
        num_nodes=len(rows),
        dim=rows.shape[1],
        scale=scale,
        spectrum=describe_spectrum(values),
        attended_spectrum=describe_spectrum(values * (values / values[0]) ** 2),
        bound=terms(rows, scale=scale),
        # Not scaled again: attention comes after the scaling.
        attended_bound=terms(attended_embeddings(rows, scale=scale), scale="raw"),
        # The same nodes for signal and noise, so that their curves can be compared.
        signal=label_projection(rows, right.where(codes != UNKNOWN, UNKNOWN), scale=scale),
        noise=noise_projection(rows, codes, right, scale=scale),
    )


def diagnose_benchmark(data: Data, truth: Truth, embeddings: Embeddings, noise: str, *, seed: int) -> Diagnosis:
    """Return all diagnostics of an embedding against the true labels of a dataset, with noise on all its nodes.

    The data are those without noise; their training nodes are the labelled ones of the theorem.
    """
    observed = noise_everywhere(data, truth, noise, seed=seed)
    return diagnose(embeddings, observed, labelled=data.split.train, reference=truth.codes)


def noise_everywhere(data: Data, truth: Truth, noise: str, *, seed: int) -> Labels:
    """Return the labels of all nodes under this noise; on training nodes they are what a fit sees.

    Annotators and files label the labelled nodes alone; the true classes stand elsewhere.
    """
    setting = parse_noise(noise)
    if setting.kind not in {"annotator", "annotators", "labels"}:
        everywhere, nowhere = torch.ones_like(data.split.train), no_node(data.codes)
        data = replace(data, codes=truth.codes, split=Split(everywhere, nowhere, nowhere))
    seen = apply_noise(data, truth, setting, seed=seed).codes
    return seen.where(seen != UNKNOWN, truth.codes)


def _plain(value: object) -> Any:
    return value.tolist() if isinstance(value, Tensor) else list(value) if isinstance(value, tuple) else value
