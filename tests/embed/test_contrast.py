"""The losses of a step on the whole graph against the formula, written out."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import (
    ContrastSettings,
    GCNEncoder,
    Propagation,
    View,
    ViewRates,
    draw_view,
    normalise_rows,
)
from quietgraph.embed.clusters import lloyd_step, start_clusters
from quietgraph.embed.contrast_trainer import ContrastTrainer
from quietgraph.embed.scale.partitions import make_plan
from quietgraph.graph import block_model
from quietgraph.rng import torch_generator

NODES, ANCHORS = 120, 40
RATES = [ViewRates(0.2, 0.3), ViewRates(0.4, 0.4)]


def settings(rank_scale: str) -> ContrastSettings:
    return ContrastSettings(
        temperature=0.5,
        intra_view=False,
        anchors=ANCHORS,
        prototype_weight=0.5,
        prototype_counts=(4, 90),  # so many that some are empty
        prototype_temperature=0.3,
        rank_weight=0.7,
        rank_ratio=0.2,
        rank_scale=rank_scale,
        warm_up=1,
        first_view=RATES[0],
        second_view=RATES[1],
    )


def slow_contrast(first: Tensor, second: Tensor) -> Tensor:
    similarity = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / 0.5
    same = torch.arange(len(first))
    return (F.cross_entropy(similarity, same) + F.cross_entropy(similarity.T, same)) / 2


@pytest.mark.parametrize("rank_scale", ["mean", "sum"])
def test_a_step_is_contrast_prototypes_and_truncated_norm(rank_scale: str) -> None:
    graph = block_model(NODES, num_features=20, generator=np.random.default_rng(0)).graph
    encoder = GCNEncoder(20, 24, 16, generator=torch_generator(0, "encoder"))
    plan = make_plan(graph, 1, seed=3)
    trainer = ContrastTrainer(graph, encoder, settings(rank_scale), plan, "l2")
    structure, features = Propagation.of(graph), normalise_rows(graph.features, "l2")
    draws = {name: torch_generator(3, name) for name in ("views", "anchors", "clusters")}
    unit = F.normalize(encoder(features, View(structure.operator())), dim=1).detach()
    whole = encoder(features, View(structure.operator())).detach()
    for epoch in range(3):
        picks = torch.randperm(NODES, generator=draws["anchors"])[:ANCHORS]
        views = [draw_view(structure, 20, rates, generator=draws["views"]) for rates in RATES]
        first, second = (encoder(features, view)[picks].detach() for view in views)
        values = trainer.losses(epoch)
        torch.testing.assert_close(values["contrast"], slow_contrast(first, second))
        if epoch == 0:
            assert set(values) == {"loss", "contrast"}
            continue
        if epoch == 1:
            clusters = [start_clusters(unit, k, generator=draws["clusters"]) for k in (4, 90)]
        else:
            clusters = [lloyd_step(unit, one, generator=draws["clusters"]) for one in clusters]
        costs = [
            F.cross_entropy(
                F.normalize(view, dim=1) @ one.prototypes.T / 0.3, one.assignments[picks]
            )
            for one in clusters
            for view in (first, second)
        ]
        torch.testing.assert_close(values["prototypes"], torch.stack(costs).mean())
        rows = unit if rank_scale == "mean" else whole
        eigenvalues = torch.linalg.eigvalsh(rows.double() @ rows.double().T).flip(0)
        beyond = eigenvalues[math.ceil(0.2 * 16) :].sum() / (NODES if rank_scale == "mean" else 1)
        torch.testing.assert_close(values["rank"].double(), beyond, atol=1e-5, rtol=1e-4)
        total = values["contrast"] + 0.5 * values["prototypes"] + 0.7 * values["rank"]
        torch.testing.assert_close(values["loss"], total)
