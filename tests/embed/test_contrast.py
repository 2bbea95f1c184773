"""Views, losses, clusters and the steps of low-rank contrast against their formulas, written out."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.clusters import Clusters, cluster_means
from quietgraph.embed.contrast import Contrast, Trainer, train_contrast, usual_epochs
from quietgraph.embed.encoder import Encoder, TEDEncoder, leaky
from quietgraph.embed.losses import info_nce, prototype_loss, truncated_nuclear_norm
from quietgraph.embed.operator import Structure, normalised_adjacency, scale_rows
from quietgraph.embed.train import Schedule
from quietgraph.embed.views import View, ViewRates, draw_view, view_structure
from quietgraph.graph import CSR, Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.rng import torch_generator

NODES = 120
GRAPH = block_model(NODES, num_features=20, generator=np.random.default_rng(0)).graph


def rows_of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def slow_info_nce(first: Tensor, second: Tensor, temperature: float, intra_view: bool) -> Tensor:
    costs = []
    for here, there in ((first, second), (second, first)):
        for i, anchor in enumerate(here):
            own = [F.cosine_similarity(anchor, other, dim=0) for j, other in enumerate(here) if j != i]
            across = [F.cosine_similarity(anchor, other, dim=0) for other in there]
            logits = torch.stack(across + (own if intra_view else [])) / temperature
            costs.append(-logits.log_softmax(dim=0)[i])
    return torch.stack(costs).mean()


@pytest.mark.parametrize("intra_view", [True, False])
@pytest.mark.parametrize("block", [4, 4096])  # in blocks, and at once
def test_info_nce_equals_its_definition(intra_view: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quietgraph.embed.losses._BLOCK", block)
    first, second = rows_of(9, 3).requires_grad_(), rows_of(9, 3, seed=1)
    fast = info_nce(first, second, temperature=0.4, intra_view=intra_view)
    slow = slow_info_nce(first, second, 0.4, intra_view)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(torch.autograd.grad(fast, first), torch.autograd.grad(slow, first))


@pytest.mark.parametrize("intra_view", [True, False])
def test_rows_that_are_nearly_zero_do_not_explode(intra_view: bool) -> None:
    first = torch.cat([rows_of(5, 3), torch.full((1, 3), 4e-8)]).requires_grad_()
    (gradient,) = torch.autograd.grad(
        info_nce(first, rows_of(6, 3, seed=1), temperature=0.5, intra_view=intra_view), first
    )
    assert float(gradient[-1].norm()) < 1e6


def test_the_truncated_norm_sums_the_eigenvalues_beyond_the_largest() -> None:
    rows = rows_of(15, 6).double().requires_grad_()
    slow = torch.linalg.eigvalsh(rows @ rows.T)[:-2].sum()  # differentiates the eigenvalues
    fast = truncated_nuclear_norm(rows, 2)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(torch.autograd.grad(fast, rows), torch.autograd.grad(slow, rows))
    assert float(truncated_nuclear_norm(rows.detach(), 6)) == pytest.approx(0, abs=1e-9)
    assert float(truncated_nuclear_norm(torch.zeros(5, 300), 10)) == 0


def test_views_drop_what_their_rates_say() -> None:
    rates, draws = ViewRates(edge_drop=0.4, feature_mask=0.3, node_drop=0.2, edge_add=0.1), torch_generator(0, "views")
    structure = view_structure(GRAPH, [rates], generator=draws)
    adjacency = GRAPH.adjacency.to_dense()
    kept, added, lonely, masked = [], [], [], []
    for _ in range(30):
        view = draw_view(structure, 2000, rates, generator=draws)
        operator = view.operator.to_dense()
        assert torch.equal(operator, operator.T)
        off = (operator != 0).float().fill_diagonal_(0)
        kept.append(float((off * (adjacency != 0)).sum() / (adjacency != 0).sum()))
        added.append(float((off * (adjacency == 0)).sum() / (adjacency != 0).sum()))
        lonely.append(float((operator.diagonal() == 0).float().mean()))
        assert view.feature_mask is not None
        masked.append(float((view.feature_mask == 0).float().mean()))
    assert np.mean(kept) == pytest.approx(0.6 * 0.8**2, abs=0.03)
    assert np.mean(added) == pytest.approx(0.1 * 0.8**2, abs=0.02)
    assert np.mean(lonely) == pytest.approx(0.2, abs=0.03)
    assert np.mean(masked) == pytest.approx(0.3, abs=0.01)


def test_encoders_read_masked_columns_as_absent_and_some_nodes_as_all() -> None:
    draws = torch_generator(0, "encoder")
    mask = (torch.arange(20) % 3 > 0).float()
    view = View(normalised_adjacency(GRAPH), mask)
    features = scale_rows(GRAPH.features, "l2")
    assert isinstance(features, Tensor)
    nodes = torch.tensor([7, 3, 99])
    for hidden in (6, 30):  # features narrower, and wider, than the layer
        encoder = Encoder(20, hidden, 5, generator=draws)
        dense = normalised_adjacency(GRAPH).to_dense()
        inside = F.prelu(dense @ (features * mask) @ encoder.first + encoder.first_bias, encoder.slope)
        torch.testing.assert_close(encoder(GRAPH, view), dense @ inside @ encoder.second + encoder.second_bias)
        torch.testing.assert_close(encoder(GRAPH, view, nodes), encoder(GRAPH, view)[nodes])
    sparse = Graph(CSR.from_scipy(GRAPH.features), GRAPH.adjacency)
    torch.testing.assert_close(encoder(sparse, view), encoder(GRAPH, view), atol=1e-6, rtol=1e-5)
    ted = TEDEncoder(20, 5, depth=2.0, generator=draws)
    loopless = GRAPH.adjacency.to_dense()
    loopless *= loopless.sum(dim=1).rsqrt()[:, None] * loopless.sum(dim=1).rsqrt()
    halfway = (torch.eye(NODES) + loopless) / 2
    torch.testing.assert_close(
        ted(GRAPH, view), halfway @ halfway @ (features * mask) @ ted.weight, atol=1e-5, rtol=1e-4
    )
    torch.testing.assert_close(ted(GRAPH, view, nodes), ted(GRAPH, view)[nodes])


def test_leaky_is_prelu_with_one_slope() -> None:
    values, slope = rows_of(8, 5).requires_grad_(), torch.tensor([0.3], requires_grad=True)
    wanted = torch.autograd.grad(F.prelu(values, slope).pow(3).sum(), (values, slope))
    found = torch.autograd.grad(leaky(values, slope).pow(3).sum(), (values, slope))
    for own, reference in zip(found, wanted, strict=True):
        torch.testing.assert_close(own, reference)


def test_clusters_move_to_the_means_of_all_parts_as_last_seen() -> None:
    unit = F.normalize(rows_of(40, 4), dim=1)
    draws = torch_generator(0, "clusters")
    clusters = Clusters.start(unit, 3, generator=draws)
    parts = {0: unit[:25], 1: unit[25:]}
    before = {part: clusters.move(part, rows, generator=draws) for part, rows in parts.items()}
    assert torch.equal(before[0], (parts[0] @ clusters.prototypes.T).argmax(dim=1))
    moved = F.normalize(parts[0] + 0.1, dim=1)  # the encoder has changed; part 1 has not been seen since
    after = clusters.move(0, moved, generator=draws)
    sums = torch.zeros(3, 4).index_add_(0, torch.cat([before[0], before[1]]), torch.cat([moved, parts[1]]))
    torch.testing.assert_close(clusters.prototypes, F.normalize(sums, dim=1))
    assert torch.equal(after, (moved @ clusters.prototypes.T).argmax(dim=1))


def test_clusters_find_groups_and_refill_empty_ones() -> None:
    centres = torch.eye(4).repeat_interleave(10, dim=0)
    rows = F.normalize(centres + 0.05 * rows_of(40, 4), dim=1)
    found = Clusters.start(rows, 4, generator=torch_generator(0, "clusters"))
    own = found.move(0, rows, generator=torch_generator(1, "clusters"))
    assert all(len(own[start : start + 10].unique()) == 1 for start in range(0, 40, 10))
    assert len(own.unique()) == 4
    many = Clusters(torch.cat([rows[:1].repeat(6, 1), rows]))  # most of the first ones are of no row
    for _ in range(2):
        many.move(0, rows, generator=torch_generator(0, "clusters"))
    torch.testing.assert_close(many.prototypes.norm(dim=1), torch.ones(46))
    means, own = cluster_means(3 * centres + 0.1 * rows, 4, generator=torch_generator(0, "clusters"))
    assert len(own.unique()) == 4
    torch.testing.assert_close(means[own[0]], (3 * centres + 0.1 * rows)[:10].mean(dim=0))


def test_a_step_is_contrast_prototypes_and_truncated_norm() -> None:
    how = Contrast(anchors=40, prototypes=(4, 90), rank_weight=0.7, warm_up=1)
    encoder = Encoder(20, 24, 16, generator=torch_generator(0, "encoder"))
    trainer = Trainer(GRAPH, encoder, how, [torch.arange(NODES)], 3)
    draws = {name: torch_generator(3, name) for name in ("views", "anchors", "clusters")}
    clusters: list[Clusters] = []
    for step in range(3):
        found = trainer.losses(step)
        nodes = torch.randperm(NODES, generator=draws["anchors"])[:40]
        views = [draw_view(Structure.of(GRAPH), 20, rates, generator=draws["views"]) for rates in how.rates]
        seen = [F.normalize(encoder(GRAPH, view)[nodes], dim=1) for view in views]
        across = seen[0] @ seen[1].T / 0.5
        same = torch.arange(40)
        contrast = (F.cross_entropy(across, same) + F.cross_entropy(across.T, same)) / 2
        torch.testing.assert_close(found["contrast"], contrast)
        if step == 0:
            torch.testing.assert_close(found["loss"], contrast)
            continue
        unit = F.normalize(encoder(GRAPH), dim=1)
        if not clusters:
            clusters = [Clusters.start(unit.detach(), count, generator=draws["clusters"]) for count in (4, 90)]
        costs = []
        for one in clusters:
            own = one.move(0, unit.detach(), generator=draws["clusters"])[nodes]
            costs += [prototype_loss(rows, one.prototypes, own, temperature=0.3) for rows in seen]
        beyond = torch.linalg.eigvalsh(unit @ unit.T).flip(0)[math.ceil(0.2 * 16) :].sum() / NODES
        torch.testing.assert_close(found["rank"], beyond, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(found["prototypes"], torch.stack(costs).mean())
        torch.testing.assert_close(found["loss"], contrast + 0.5 * torch.stack(costs).mean() + 0.7 * beyond)


def test_the_norm_lowers_the_rank_of_the_embeddings() -> None:
    beyond = []
    for weight in (0.0, 5.0):
        encoder = Encoder(20, 24, 16, generator=torch_generator(0, "encoder"))
        train_contrast(GRAPH, encoder, Contrast(rank_weight=weight, warm_up=0), Schedule(30, 5e-3), seed=0)
        with torch.no_grad():
            beyond.append(float(truncated_nuclear_norm(F.normalize(encoder(GRAPH), dim=1), 4)))
    assert beyond[1] < 0.7 * beyond[0]


def test_dense_graphs_have_stronger_views_and_large_ones_more_epochs() -> None:
    dense = block_model(NODES, mean_degree=60, generator=np.random.default_rng(0)).graph
    assert Contrast().on(GRAPH) == Contrast()
    assert Contrast().on(dense).temperature < 0.5
    assert Contrast().on(dense).rates[0].edge_drop > 0.2
    assert usual_epochs(GRAPH) == 60
    large = block_model(11_000, mean_degree=1, generator=np.random.default_rng(0)).graph
    assert usual_epochs(large) == pytest.approx(60 * math.sqrt(11_000 / 2700), abs=1)
