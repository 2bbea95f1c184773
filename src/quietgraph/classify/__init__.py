"""Stage 3, decide: low-rank attention, linear transductive classifiers, suspicious labels."""

from quietgraph.classify.attention import (
    attention_matrix,
    centre_rows,
    low_rank_attention,
    mean_direction,
)
from quietgraph.classify.label_issues.suspects import suspect_table
from quietgraph.classify.linear import LinearFit, accuracy, fit_linear, fit_ridge, ridge_path
from quietgraph.classify.logistic import logistic_path
from quietgraph.classify.mixture import fit_mixture, fit_mixtures
from quietgraph.classify.self_training import SelfTraining, self_trained_ridge
from quietgraph.classify.smoothing import (
    cluster_projection,
    is_heterophilous,
    leading_directions,
    neighbour_similarity,
    smooth_rows,
    smoothed_attributes,
)
from quietgraph.data.folds import stratified_folds

__all__ = [
    "LinearFit",
    "SelfTraining",
    "accuracy",
    "attention_matrix",
    "centre_rows",
    "cluster_projection",
    "fit_linear",
    "fit_mixture",
    "fit_mixtures",
    "fit_ridge",
    "is_heterophilous",
    "leading_directions",
    "logistic_path",
    "low_rank_attention",
    "mean_direction",
    "neighbour_similarity",
    "ridge_path",
    "self_trained_ridge",
    "smooth_rows",
    "smoothed_attributes",
    "stratified_folds",
    "suspect_table",
]
