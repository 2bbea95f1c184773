"""Stage 4, explain: how low-frequency, how complex, how trustworthy an embedding is."""

from quietgraph.classify.label_issues.noise import NoiseEstimate, estimate_noise
from quietgraph.diagnose.bound import BoundSettings, BoundTerms, bound_terms
from quietgraph.diagnose.complexity import KernelComplexity, kernel_complexity
from quietgraph.diagnose.kernel import attended_embeddings, gram_eigenvalues
from quietgraph.diagnose.projection import (
    Projection,
    label_projection,
    noise_projection,
    project,
)
from quietgraph.diagnose.spectrum import Spectrum, attended_eigenvalues, describe_spectrum
from quietgraph.diagnose.summary import Diagnosis, diagnose_embedding

__all__ = [
    "BoundSettings",
    "BoundTerms",
    "Diagnosis",
    "KernelComplexity",
    "NoiseEstimate",
    "Projection",
    "Spectrum",
    "attended_eigenvalues",
    "attended_embeddings",
    "bound_terms",
    "describe_spectrum",
    "diagnose_embedding",
    "estimate_noise",
    "gram_eigenvalues",
    "kernel_complexity",
    "label_projection",
    "noise_projection",
    "project",
]
