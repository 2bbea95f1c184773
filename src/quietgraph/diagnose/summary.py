"""All diagnostics of one embedding."""

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from quietgraph.classify.label_issues.noise import NoiseEstimate, estimate_noise
from quietgraph.diagnose.bound import BoundSettings, BoundTerms, bound_terms
from quietgraph.diagnose.kernel import (
    Scale,
    attended_embeddings,
    check_embeddings,
    gram_eigenvalues,
    narrowed,
)
from quietgraph.diagnose.projection import Projection, label_projection, noise_projection
from quietgraph.diagnose.spectrum import Spectrum, attended_eigenvalues, describe_spectrum
from quietgraph.diagnose.targets import check_known
from quietgraph.html import facts_html
from quietgraph.types import UNKNOWN, Embeddings, Labels, Mask, Probabilities


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the theory says of one embedding, of plain F, and of what is really classified.

    Plain F = K H / lambda_1 is the paper's low-rank attention on the embedding alone. A method may
    classify other features (centred, smoothed, several side by side): these have terms of their
    own.

    Attributes:
        num_nodes: Rows of the embedding.
        dim: Columns of the embedding.
        scale: The normalisation all numbers rest on.
        spectrum: Of the kernel K.
        attended_spectrum: Of the kernel of plain F.
        bound: Kernel complexity and bound terms on K.
        attended_bound: The same of plain F.
        signal: How the right labels (without a reference: the observed ones) of the nodes with an
            observed label spread over the kernel of these nodes.
        noise: How their label noise does; None without noise or reference.
        noise_estimate: From out-of-fold probabilities; None without them.
        features_spectrum: Of the features that a linear classifier saw; None where they are not
            known, or are the embedding itself.
        features_bound: Kernel complexity and bound terms of these features.
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
    noise_estimate: NoiseEstimate | None
    features_spectrum: Spectrum | None = None
    features_bound: BoundTerms | None = None

    def _repr_html_(self) -> str:
        kernels = [("kernel", self.spectrum, self.bound)]
        kernels += [("after attention", self.attended_spectrum, self.attended_bound)]
        if self.features_spectrum is not None and self.features_bound is not None:
            kernels.append(("classified", self.features_spectrum, self.features_bound))
        facts: dict[str, Any] = {"nodes": self.num_nodes, "dimensions": self.dim}
        for name, spectrum, bound in kernels:
            facts[f"effective rank, {name}"] = float(spectrum.effective_rank)
            facts[f"kernel complexity, {name}"] = float(bound.complexity.value)
        if self.noise_estimate is not None:
            facts["estimated wrong labels"] = f"{self.noise_estimate.rate:.1%}"
        return facts_html("Diagnosis", facts)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as nested dicts, lists and numbers, ready for JSON."""
        plain: dict[str, Any] = _plain(self)
        for name in ("bound", "attended_bound", "features_bound"):
            bound: BoundTerms | None = getattr(self, name)
            if bound is None:
                continue
            plain[name] |= {
                "upper_bound": bound.upper_bound.tolist(),
                "best_step": bound.best_step,
            }
        for name in ("signal", "noise"):
            projection: Projection | None = getattr(self, name)
            if projection is not None:
                plain[name] |= _describe(projection)
        return plain


def diagnose_embedding(
    embeddings: Embeddings,
    labels: Labels,
    *,
    labelled: Mask | None = None,
    reference: Labels | None = None,
    probabilities: Probabilities | None = None,
    features: Embeddings | None = None,
    settings: BoundSettings | None = None,
) -> Diagnosis:
    """Return all diagnostics of one embedding.

    Args:
        embeddings: One row per node [nodes, dim], from any method.
        labels: Observed [nodes], -1 where unknown.
        labelled: The nodes that the classifier learns from [nodes]; by default all known ones.
        reference: The labels taken as right [nodes], known at least on the labelled nodes.
            Without it the observed labels count as right.
        probabilities: Out-of-fold probabilities [nodes, classes], to estimate the noise from.
        features: What a linear classifier really saw of every node [nodes, features].
        settings: What the theorem leaves open, and the scale; by default `BoundSettings()`.
    """
    settings = BoundSettings() if settings is None else settings
    right = labels if reference is None else reference
    scale = settings.scale
    check_embeddings(embeddings, scale=scale)
    dim, embeddings = embeddings.shape[1], narrowed(embeddings)
    features = None if features is None else narrowed(features)
    values = gram_eigenvalues(embeddings, scale=scale)
    check_known(labels, embeddings)
    check_known(right, embeddings, name="reference")
    terms = partial(bound_terms, labels=labels, labelled=labelled, reference=reference)
    attended = attended_embeddings(embeddings, scale=scale)
    # The same nodes for signal and noise, so that their curves can be compared.
    seen = right.where(labels != UNKNOWN, UNKNOWN)
    return Diagnosis(
        num_nodes=len(embeddings),
        dim=dim,
        scale=scale,
        spectrum=describe_spectrum(values),
        attended_spectrum=describe_spectrum(attended_eigenvalues(values)),
        bound=terms(embeddings, settings=settings),
        # Not scaled again: attention comes after the scaling.
        attended_bound=terms(attended, settings=replace(settings, scale="raw")),
        signal=label_projection(embeddings, seen, scale=scale),
        noise=noise_projection(embeddings, labels, right, scale=scale),
        noise_estimate=None if probabilities is None else estimate_noise(probabilities, labels),
        features_spectrum=None
        if features is None
        else describe_spectrum(gram_eigenvalues(features, scale=scale)),
        features_bound=None if features is None else terms(features, settings=settings),
    )


def _describe(projection: Projection) -> dict[str, Any]:
    return {
        "scores": projection.scores.tolist(),
        "concentration": projection.concentration.tolist(),
        "beyond": projection.beyond,
        "rank_holding_80": projection.rank_holding(0.8),
    }


def _plain(value: object) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return list(value) if isinstance(value, tuple) else value
