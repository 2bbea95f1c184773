"""Stage 2, learn: propagation, views, encoder, losses, training, embeddings."""

from quietgraph.embed.contrast import encode, train_embeddings
from quietgraph.embed.contrast_trainer import ContrastSettings
from quietgraph.embed.encoder import GCNEncoder
from quietgraph.embed.losses import info_nce, prototype_loss, truncated_nuclear_norm
from quietgraph.embed.negative_depth import TEDEncoder
from quietgraph.embed.propagation import (
    Propagation,
    multiply,
    normalise_rows,
    normalised_adjacency,
    project,
    propagate,
)
from quietgraph.embed.training import History, Schedule, train
from quietgraph.embed.views import View, ViewRates, draw_view

__all__ = [
    "ContrastSettings",
    "GCNEncoder",
    "History",
    "Propagation",
    "Schedule",
    "TEDEncoder",
    "View",
    "ViewRates",
    "draw_view",
    "encode",
    "info_nce",
    "multiply",
    "normalise_rows",
    "normalised_adjacency",
    "project",
    "propagate",
    "prototype_loss",
    "train",
    "train_embeddings",
    "truncated_nuclear_norm",
]
