"""Low-rank graph contrastive learning: the first stage of GCL-LRR, which sees no label."""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import nn

from quietgraph.embed.contrast_trainer import ContrastSettings, ContrastTrainer
from quietgraph.embed.propagation import normalised_adjacency
from quietgraph.embed.scale.checkpoint import active_checkpoints, content_key
from quietgraph.embed.scale.partitions import Plan
from quietgraph.embed.training import History, Recovery, Schedule, train
from quietgraph.embed.views import View
from quietgraph.graph import Features, Graph
from quietgraph.types import Embeddings


def train_embeddings(
    graph: Graph,
    encoder: nn.Module,
    settings: ContrastSettings,
    schedule: Schedule,
    *,
    plan: Plan,
    feature_norm: str,
    about: Mapping[str, object] | None = None,
) -> History:
    """Train the encoder in place by contrast, prototypes and low rank.

    Args:
        graph: Its features may be memory-mapped: of several partitions, only the rows of one are
            read at a time.
        encoder: Trained; in several processes equal in all of them.
        settings: Of the losses.
        schedule: Epochs, step size, decay, patience; the steps of an epoch are those of the plan.
        plan: Which partitions a step takes, and the random seed.
        feature_norm: Scaling of feature rows.
        about: What distinguishes this training from others, for its checkpoints.

    Returns:
        The mean losses of every epoch.
    """
    trainer = ContrastTrainer(graph, encoder, settings, plan, feature_norm)
    checkpoints, recovery = active_checkpoints(), None
    score = trainer.score if settings.held_out > 0 else None
    if checkpoints is not None and score is None:
        facts = {"graph": graph.fingerprint, "partitions": len(plan.sizes)}
        key = content_key({**(about or {}), **facts})
        recovery = Recovery(checkpoints, key, trainer.state, trainer.restore, plan.per_step)
    return train(
        encoder,
        trainer.losses,
        replace(schedule, steps=plan.steps),
        score=score,
        recovery=recovery,
        world=plan.world,
        what="learning embeddings",
    )


def encode(encoder: nn.Module, graph: Graph, features: Features) -> Embeddings:
    """Return the embeddings of the graph as it is [nodes, dim]."""
    with torch.no_grad():
        embeddings: Embeddings = encoder(features, View(normalised_adjacency(graph)))
    return embeddings
