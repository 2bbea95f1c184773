"""The encoder of the low-rank methods: built, trained by contrast, and its settings."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from torch import Tensor, nn

from quietgraph.embed import (
    ContrastSettings,
    GCNEncoder,
    History,
    Schedule,
    TEDEncoder,
    ViewRates,
    encode,
    normalise_rows,
    normalised_adjacency,
    train_embeddings,
)
from quietgraph.embed.negative_depth import DEPTH_STARTS
from quietgraph.embed.scale.block_inference import encode_in_blocks
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.partitions import (
    WHOLE_UP_TO,
    count_partitions,
    count_per_step,
    make_plan,
)
from quietgraph.embed.views import View
from quietgraph.graph import Graph
from quietgraph.methods.low_rank.graph_settings import EPOCHS, VIEWS
from quietgraph.params import Settings
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

if TYPE_CHECKING:
    from quietgraph.methods.low_rank.contrast import LowRankContrast

_PREFIX: Final = "encoder."  # of its weights in a fitted state


def train_encoder(method: "LowRankContrast", graph: Graph, seed: int) -> tuple[nn.Module, History]:
    """Return the trained encoder and the losses of its epochs."""
    encoder = new_encoder(method, graph.num_features, seed).to(graph.device)
    world = current_world()
    per_step = count_per_step(method.partitions_per_step, world)
    count = count_partitions(graph.num_nodes, method.partitions, per_step=per_step)
    plan = make_plan(
        graph,
        count,
        per_step=per_step,
        world=world,
        seed=seed,
        partitioner=method.partitioner,
    )
    resolved = method.resolved(graph)
    return encoder, train_embeddings(
        graph,
        encoder,
        contrast_settings(resolved),
        _schedule(resolved, plan.steps),
        plan=plan,
        feature_norm=method.feature_norm,
        about={**method.first_stage_parameters(), "seed": seed},
    )


def new_encoder(method: "LowRankContrast", num_features: int, seed: int) -> nn.Module:
    """Return the encoder with its first weights."""
    draws = torch_generator(seed, "encoder")
    if method.encoder == "tedgcn":
        depth = DEPTH_STARTS[0] if method.depth is None else method.depth
        return TEDEncoder(
            num_features, method.dim, output=method.output, depth=depth, generator=draws
        )
    return GCNEncoder(
        num_features,
        method.hidden,
        method.dim,
        activation=method.activation,
        output=method.output,
        bias=method.bias,
        dropout=method.dropout,
        generator=draws,
    )


def unless_partitioned(parameters: Settings) -> Settings:
    """Return the parameters of a first stage without those of partitions that are as usual.

    Embeddings that were cached before a method could be trained in partitions stay valid.
    """
    plain = {"partitions": 0, "partitions_per_step": 1, "partitioner": "auto"}
    return {name: value for name, value in parameters.items() if plain.get(name) != value}


def stored_weights(encoder: nn.Module) -> dict[str, Tensor]:
    """Return the weights by the names under which a fitted state holds them."""
    return {_PREFIX + name: value for name, value in encoder.state_dict().items()}


def restored_encoder(
    method: "LowRankContrast", state: dict[str, Tensor], num_features: int
) -> nn.Module:
    """Return the encoder whose weights a fitted state holds."""
    weights = {
        name.removeprefix(_PREFIX): value
        for name, value in state.items()
        if name.startswith(_PREFIX)
    }
    kind = "tedgcn" if "start" in weights else "gcn"
    encoder = new_encoder(replace(method, encoder=kind), num_features, seed=0)
    encoder.load_state_dict(weights)
    return encoder


def encode_graph(
    encoder: nn.Module, graph: Graph, feature_norm: str, *, in_blocks: bool = False
) -> Embeddings:
    """Return the embeddings of all nodes, of large graphs and by several processes in blocks."""
    if in_blocks or graph.num_nodes > WHOLE_UP_TO or current_world().size > 1:
        return encode_in_blocks(encoder, graph, feature_norm=feature_norm)
    return encode(encoder, graph, normalise_rows(graph.features, feature_norm))


def forward_graph(encoder: nn.Module, graph: Graph, *, feature_norm: str) -> Embeddings:
    """Return the embeddings of all nodes at once, through which gradients flow [nodes, dim]."""
    features = normalise_rows(graph.features, feature_norm)
    embeddings: Embeddings = encoder(features, View(normalised_adjacency(graph)))
    return embeddings


def contrast_settings(method: "LowRankContrast") -> ContrastSettings:
    """Return the settings of the losses."""
    rates = (
        (method.edge_drop_1, method.feature_mask_1),
        (method.edge_drop_2, method.feature_mask_2),
    )
    first, second = (
        ViewRates(drop or 0.0, mask or 0.0, method.node_drop, method.edge_add)
        for drop, mask in rates
    )
    return ContrastSettings(
        temperature=method.temperature or VIEWS["temperature"],
        intra_view=method.intra_view,
        anchors=method.anchors,
        prototype_weight=method.prototype_weight,
        prototype_counts=tuple(n for n in (method.prototypes, method.fine_prototypes) if n),
        prototype_target=method.prototype_target,
        held_out=method.held_out,
        prototype_temperature=method.prototype_temperature,
        rank_weight=method.rank_weight,
        rank_ratio=method.rank_ratio,
        rank_scale=method.rank_scale,
        warm_up=method.warm_up,
        first_view=first,
        second_view=second,
    )


def _schedule(method: "LowRankContrast", steps: int) -> Schedule:
    """Return the schedule for epochs of several steps: as many steps as on the whole graph."""
    epochs = math.ceil((method.epochs or EPOCHS) / steps)
    return Schedule(epochs, method.learning_rate, method.weight_decay, method.patience)
