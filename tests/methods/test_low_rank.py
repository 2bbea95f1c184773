"""The low-rank methods: what the classifier reads, choices that follow from the graph, the letter of the paper."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.classify.attention import attention_matrix, centre_rows, mean_direction
from quietgraph.classify.smoothing import smooth_rows
from quietgraph.data.data import Data
from quietgraph.data.splits import Split, no_node
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.low_rank.gcl import GCLLRR, GCLLRAttention
from quietgraph.methods.low_rank.paper import PaperGCL

QUICK: dict[str, Any] = {"hidden": 16, "dim": 12, "epochs": 8, "warm_up": 2}


def data_of(homophily: float, *, nodes: int = 240) -> tuple[Data, np.ndarray]:
    drawn = block_model(nodes, num_features=16, homophily=homophily, signal=2.5, generator=np.random.default_rng(0))
    known = torch.arange(nodes) < nodes // 2
    validation = torch.arange(nodes) % 3 == 0
    split = Split(known & ~validation, known & validation, no_node(known))
    codes = torch.from_numpy(drawn.classes).masked_fill(~known, -1)
    return Data("drawn", drawn.graph, codes, np.arange(4), split), drawn.classes


ALIKE, CLASSES = data_of(0.8)


def accuracy(model: NodeClassifier) -> float:
    return float((model.predict() == CLASSES)[120:].mean())


def test_scores_are_linear_in_attended_rows_of_embeddings_and_attributes() -> None:
    model = GCLLRAttention(**QUICK).fit(ALIKE)
    network: Any = model.fitted_.network
    embeddings = torch.from_numpy(model.embed())
    rows = smooth_rows(ALIKE.graph, centre_rows(embeddings, mean_direction(embeddings)))
    attributes = network.rows.of(ALIKE.graph, embeddings)[1]
    torch.testing.assert_close(network.rows.of(ALIKE.graph, embeddings)[0], rows)
    wanted = torch.zeros(240, 4)
    for branch, own in zip(network.head.each, (rows, attributes), strict=True):
        read = torch.cat([own, 2.0 * F.normalize(own @ attention_matrix(own), dim=1)], dim=1)
        wanted += (read @ branch.weight + branch.bias) / 2
    torch.testing.assert_close(model.fitted_.scores, wanted, atol=1e-5, rtol=1e-4)
    assert set(model.fitted_.notes) == {"ridge 1", "ridge 2", "validation_accuracy"}


def test_both_methods_learn() -> None:
    assert accuracy(GCLLRAttention(**QUICK).fit(ALIKE)) > 0.9
    assert accuracy(GCLLRR(**QUICK).fit(ALIKE)) > 0.6


def test_where_neighbours_differ_nothing_is_averaged_and_filters_are_tried() -> None:
    mixed, _ = data_of(0.25)
    model = GCLLRAttention(**QUICK).fit(mixed)
    sizes = model.fitted_.network.sizes  # type: ignore[union-attr]
    assert not sizes["smooth"]
    assert sizes["columns"] == 0
    chosen = {
        encoder: GCLLRAttention(**QUICK, encoder=encoder).fit(mixed).fitted_.notes for encoder in ("gcn", "tedgcn")
    }
    best = max(one["validation_accuracy"] for one in chosen.values())
    assert model.fitted_.notes["validation_accuracy"] == best
    assert "depth" in chosen["tedgcn"]
    assert "depth" not in chosen["gcn"]


def test_labels_that_count_more_are_predicted_more() -> None:
    before, after = (
        GCLLRR(**QUICK).fit(ALIKE, sample_weight=np.where(CLASSES == 0, weight, 1.0)) for weight in (1e-3, 30.0)
    )
    assert (after.predict() == 0).sum() > (before.predict() == 0).sum() + 10


LETTER: dict[str, Any] = {"dim": 16, "epochs": 6}


@pytest.mark.parametrize("attention", [True, False])
def test_the_letter_classifies_what_it_prints(attention: bool) -> None:
    model = PaperGCL(**LETTER, attention=attention).fit(ALIKE)
    embeddings = torch.from_numpy(model.embed())
    kernel = embeddings @ embeddings.T
    read = kernel @ embeddings / torch.linalg.eigvalsh(kernel)[-1] if attention else embeddings
    network: Any = model.fitted_.network
    torch.testing.assert_close(model.fitted_.scores, read @ network.weight, atol=1e-4, rtol=1e-3)
    assert float(embeddings.min()) >= 0


def test_the_norm_of_the_letter_is_a_sum_over_all_nodes() -> None:
    record = PaperGCL(**LETTER, dropout=0.0).fit(ALIKE).fitted_.history[0]
    untrained = PaperGCL(**LETTER, learning_rate=0.0, dropout=0.0).fit(ALIKE)
    rows = torch.from_numpy(untrained.embed())
    beyond = torch.linalg.eigvalsh(rows @ rows.T).flip(0)[4:].sum()
    assert record["rank"] == pytest.approx(float(beyond), rel=1e-3)
    assert record["loss"] == pytest.approx(record["contrast"] + record["prototypes"] + 0.1 * record["rank"], rel=1e-5)


def test_the_letter_stops_by_nodes_held_out_and_has_its_options() -> None:
    model = PaperGCL(dim=16, epochs=200, patience=2, learning_rate=0.05).fit(ALIKE)
    assert len(model.fitted_.history) < 200
    scores = [epoch["score"] for epoch in model.fitted_.history]
    assert max(scores) == max(scores[:-2])
    assert accuracy(PaperGCL(**LETTER, classifier="logistic").fit(ALIKE)) > 0.4
    encoder: Any = PaperGCL(**LETTER, encoder="tedgcn").fit(ALIKE).fitted_.network.encoder  # type: ignore[union-attr]
    assert float(encoder.depth) != float(encoder.start)
