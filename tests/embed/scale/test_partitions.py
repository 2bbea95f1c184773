"""Training in partitions: several share the Gram matrix and the prototypes of all nodes."""

from itertools import chain

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.classify import smooth_rows
from quietgraph.classify.large_attributes import smooth_in_blocks
from quietgraph.classify.smoothing import pagerank_weights
from quietgraph.embed import (
    ContrastSettings,
    GCNEncoder,
    Schedule,
    TEDEncoder,
    ViewRates,
    encode,
    normalise_rows,
    normalised_adjacency,
    train_embeddings,
)
from quietgraph.embed.contrast_trainer import ContrastTrainer
from quietgraph.embed.scale import partitions
from quietgraph.embed.scale.block_inference import encode_in_blocks
from quietgraph.embed.scale.distributed import World
from quietgraph.embed.scale.partitions import (
    choose_partitioner,
    count_partitions,
    cut_nodes,
    describe_partitions,
    induced_graph,
    make_plan,
)
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.rng import torch_generator

SETTINGS = {
    "temperature": 0.5,
    "intra_view": False,
    "anchors": 60,
    "prototype_weight": 0.5,
    "prototype_counts": (4, 7),
    "prototype_temperature": 0.3,
    "rank_weight": 1.0,
    "rank_ratio": 0.2,
    "rank_scale": "mean",
    "warm_up": 2,
    "first_view": ViewRates(0.2, 0.3),
    "second_view": ViewRates(0.4, 0.4),
}


def make_graph(num_nodes: int = 240) -> Graph:
    draws = np.random.default_rng(0)
    return block_model(num_nodes, num_features=20, generator=draws).graph


def make_encoder(kind: str = "gcn"):
    draws = torch_generator(0, "encoder")
    if kind == "tedgcn":
        return TEDEncoder(20, 16, generator=draws)
    return GCNEncoder(20, 24, 16, generator=draws)


def plan_of(graph: Graph, count: int, per_step: int = 1):
    return make_plan(graph, count, per_step=per_step, seed=0)


def train_in_partitions(graph: Graph, count: int, *, per_step: int = 1, **changes):
    encoder = make_encoder()
    history = train_embeddings(
        graph,
        encoder,
        ContrastSettings(**SETTINGS | changes),
        Schedule(6, 1e-2, 1e-5),
        plan=plan_of(graph, count, per_step),
        feature_norm="l2",
    )
    return encoder, history


@pytest.mark.parametrize("norm", ["l2", "l1", "none"])
@pytest.mark.parametrize("width", [5, 60])
@pytest.mark.parametrize("output", ["linear", "relu"])
def test_inference_in_blocks_equals_the_encoder(norm: str, width: int, output: str) -> None:
    draws = np.random.default_rng(1)
    graph = block_model(150, num_features=width, generator=draws).graph
    encoder = GCNEncoder(width, 24, 16, output=output, generator=torch_generator(0, "e"))
    whole = encode(encoder, graph, normalise_rows(graph.features, norm))
    blocks = encode_in_blocks(encoder, graph, feature_norm=norm, block=40)
    torch.testing.assert_close(blocks, whole, atol=1e-5, rtol=1e-5)
    assert not blocks.requires_grad


@pytest.mark.parametrize("kind", ["gcn", "tedgcn"])
def test_inference_in_blocks_takes_sparse_features_and_isolated_nodes(kind: str) -> None:
    draws = np.random.default_rng(2)
    words = (draws.random((90, 80)) < 0.05).astype(np.float32)
    graph = Graph.from_arrays(words, draws.integers(80, size=(2, 200)))
    assert isinstance(graph.features, CSR)
    encoder = GCNEncoder(80, 24, 40, generator=torch_generator(0, "e"))
    if kind == "tedgcn":
        encoder = TEDEncoder(80, 40, generator=torch_generator(0, "e"))
    whole = encode(encoder, graph, normalise_rows(graph.features, "l2"))
    blocks = encode_in_blocks(encoder, graph, feature_norm="l2", block=32)
    torch.testing.assert_close(blocks, whole, atol=1e-5, rtol=1e-5)
    assert encoder.state_dict()[next(iter(encoder.state_dict()))].shape[0] in {80, 24, 40}


def test_the_warm_up_counts_steps_so_that_one_long_epoch_has_all_losses() -> None:
    graph, plan = make_graph(), plan_of(make_graph(), 8)
    settings = ContrastSettings(**SETTINGS | {"warm_up": 3})
    trainer = ContrastTrainer(graph, make_encoder(), settings, plan, "l2")
    counts = [len(trainer.losses(number)) for number in range(plan.steps)]
    assert counts == [2] * 3 + [4] * (plan.steps - 3)


def test_the_history_holds_means_over_the_steps_that_had_a_loss() -> None:
    graph = make_graph()
    trained = train_in_partitions(graph, 8, warm_up=3)[1][0]
    parts = 0.5 * trained["prototypes"] + trained["rank"]
    assert trained["loss"] == pytest.approx(trained["contrast"] + parts * 5 / 8, rel=1e-5)


def test_the_total_gram_matrix_is_that_of_all_partitions() -> None:
    graph, encoder = make_graph(), make_encoder()
    plan = plan_of(graph, 4)
    trainer = ContrastTrainer(graph, encoder, ContrastSettings(**SETTINGS), plan, "l2")
    trainer.losses(8)
    rows = []
    with torch.no_grad():
        for part in plan.ours():
            inside = induced_graph(graph, plan.nodes(part))
            features = normalise_rows(inside.features, "l2")
            rows.append(F.normalize(encode(encoder, inside, features), dim=1))
    unit = torch.cat(rows)
    torch.testing.assert_close(trainer.gram.total(), unit.T @ unit, atol=1e-4, rtol=1e-5)


def test_prototypes_are_the_directions_of_all_their_nodes() -> None:
    graph, encoder = make_graph(), make_encoder()
    plan = plan_of(graph, 4)
    trainer = ContrastTrainer(graph, encoder, ContrastSettings(**SETTINGS), plan, "l2")
    trainer.losses(8)
    level = trainer.prototypes.levels[0]
    before = {part: one.clone() for part, one in level.assignments.items()}
    trainer.losses(9)
    sums = torch.zeros_like(level.prototypes)
    with torch.no_grad():
        for part in range(4):
            unit = F.normalize(trainer._encode_alone(part), dim=1)
            sums.index_add_(0, before[part], unit)
    torch.testing.assert_close(level.prototypes, F.normalize(sums, dim=1), atol=1e-5, rtol=1e-5)


def test_a_step_on_two_partitions_counts_both_alike() -> None:
    _, one = train_in_partitions(make_graph(), 4, per_step=1)
    _, two = train_in_partitions(make_graph(), 4, per_step=2)
    assert len(one) == len(two) == 6
    assert set(one[-1]) == {"loss", "contrast", "prototypes", "rank", "seconds"}
    assert two[-1]["loss"] < two[0]["loss"] + two[-1]["prototypes"] + two[-1]["rank"]


def test_every_epoch_trains_on_every_partition_once_in_another_order() -> None:
    plan = plan_of(make_graph(), 6, per_step=2)
    orders = [[plan.group(epoch, step) for step in range(plan.steps)] for epoch in range(4)]
    assert all(sorted(chain(*order)) == list(range(6)) for order in orders)
    assert len({str(order) for order in orders}) > 1


@pytest.mark.parametrize("way", ["metis", "streaming", "random"])
def test_partitions_are_of_nearly_equal_size_and_hold_every_node(way: str) -> None:
    if way == "metis":
        pytest.importorskip("pymetis")
    graph = make_graph(400)
    sizes = torch.bincount(cut_nodes(graph.adjacency, 5, seed=0, partitioner=way))
    assert sizes.sum() == 400
    assert sizes.min() > 60
    plan = plan_of(graph, 5)
    held = torch.cat([plan.nodes(part) for part in plan.ours()])
    assert torch.equal(held.sort().values, torch.arange(400))


def test_processes_list_the_nodes_of_their_own_partitions_alone(monkeypatch) -> None:
    graph = make_graph(400)
    owner = cut_nodes(graph.adjacency, 6, seed=0)
    monkeypatch.setattr(partitions, "_AT_ONCE", 70)  # blocks that end inside a partition
    alone = make_plan(graph, 6, per_step=2, seed=0)
    for rank in range(2):
        plan = make_plan(graph, 6, per_step=2, world=World(rank, 2), seed=0, partitioner="random")
        assert plan.sizes == make_plan(graph, 6, per_step=2, seed=0, partitioner="random").sizes
        assert list(plan.partitions) == plan.ours()
    for part in range(6):
        expected = (owner == part).nonzero().squeeze(1)
        assert torch.equal(alone.nodes(part), expected)
        assert alone.sizes[part] == len(expected)


@pytest.mark.parametrize("way", ["metis", "streaming"])
def test_clusters_cut_fewer_edges_than_chance(way: str) -> None:
    if way == "metis":
        pytest.importorskip("pymetis")
    places = np.random.default_rng(0).permutation(600)  # rows tell nothing of the neighbours
    ring = np.arange(600)
    edges = np.concatenate([np.stack([ring, (ring + step) % 600]) for step in (1, 2, 3)], axis=1)
    graph = Graph.from_arrays(np.ones((600, 1)), places[edges])

    def inside(partitioner: str) -> float:
        owner = cut_nodes(graph.adjacency, 4, seed=0, partitioner=partitioner)
        first, second = owner[graph.edge_index]
        return float((first == second).float().mean())

    assert inside(way) > 2 * inside("random")


def test_without_metis_and_above_its_size_the_graph_is_streamed(monkeypatch) -> None:
    adjacency, module = make_graph().adjacency, "quietgraph.embed.scale.partitions"
    monkeypatch.setattr(f"{module}.has_metis", lambda: True)
    assert choose_partitioner(adjacency) == "metis"
    monkeypatch.setattr(f"{module}._METIS_UP_TO", 10)
    assert choose_partitioner(adjacency) == "streaming"
    assert choose_partitioner(adjacency, "metis") == "metis"
    monkeypatch.setattr(f"{module}.has_metis", lambda: False)
    with pytest.raises(InvalidParameterError, match="choose streaming"):
        choose_partitioner(adjacency, "metis")


def test_every_partition_comes_from_all_over_the_graph() -> None:
    """A partition of one class would leave the contrast nobody to tell its nodes from."""
    pytest.importorskip("pymetis")
    drawn = block_model(
        2000, num_classes=4, homophily=0.95, num_features=8, generator=np.random.default_rng(0)
    )
    owner = cut_nodes(drawn.graph.adjacency, 4, seed=0)
    for part in range(4):
        shares = np.bincount(drawn.classes[owner.numpy() == part], minlength=4) / 500
        assert shares.max() < 0.5


def test_an_induced_graph_holds_the_edges_among_its_nodes() -> None:
    graph = make_graph(60)
    nodes = torch.tensor([3, 4, 10, 22, 23, 40, 59])
    dense = graph.adjacency.to_dense()[nodes][:, nodes]
    inside = induced_graph(graph, nodes)
    assert torch.equal(inside.adjacency.to_dense(), dense)
    assert torch.equal(inside.features, graph.features[nodes])


def test_small_graphs_are_trained_whole_and_large_ones_in_partitions() -> None:
    assert count_partitions(200_000) == 1
    assert count_partitions(1_000_000) == 20
    assert count_partitions(1_000_000, per_step=3) == 21
    assert count_partitions(5_000, 3, per_step=2) == 4
    graph = make_graph(60)
    assert "whole graph" in describe_partitions(graph, 0)
    assert "as asked for" in describe_partitions(graph, 2)
    assert "by streaming" in describe_partitions(graph, 2, partitioner="streaming")
    with pytest.raises(InvalidParameterError, match="fewer partitions"):
        count_partitions(6, 5)


def test_a_matrix_too_large_for_the_memory_lives_in_a_file(monkeypatch) -> None:
    graph, encoder = make_graph(), make_encoder()
    whole = encode_in_blocks(encoder, graph, feature_norm="l2")
    monkeypatch.setattr("quietgraph.embed.scale.large_matrix._SHARE", 0.0)
    mapped = encode_in_blocks(encoder, graph, feature_norm="l2")
    assert torch.equal(mapped, whole)
    assert isinstance(mapped.numpy().base, np.memmap) or mapped.data_ptr() % 4096 == 0
    weights = pagerank_weights(3)
    smooth = [smooth_in_blocks(graph.adjacency, rows, weights) for rows in (whole, mapped)]
    assert torch.equal(*smooth)
    twin = smooth_rows(normalised_adjacency(graph), whole, steps=3)
    torch.testing.assert_close(smooth[0], twin, atol=1e-5, rtol=1e-5)
