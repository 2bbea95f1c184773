"""What the command line says of how a graph is trained on."""

import numpy as np
import pytest

import quietgraph as qg
from quietgraph.cli.scale import say_partitions
from quietgraph.embed.scale.distributed import ALONE

NONE = "no encoder is trained"
DECIDE = "validation labels decide whether embeddings are used"


def said(model: qg.NodeClassifier, degree: float, capsys: pytest.CaptureFixture[str]) -> str:
    draws = np.random.default_rng(0)
    drawn = qg.block_model(200, num_classes=3, mean_degree=degree, generator=draws)
    say_partitions(model, drawn.graph, ALONE)
    return " ".join(capsys.readouterr().err.split())


def test_a_sparse_graph_is_trained_on_without_further_words(capsys) -> None:
    found = said(qg.Quiet(), 6, capsys)
    assert "training on the whole graph" in found
    assert NONE not in found
    assert DECIDE not in found


@pytest.mark.parametrize("learns", [True, False])
def test_of_a_dense_graph_it_is_said_whether_embeddings_are_learned(
    learns: bool, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qg.Quiet, "learns_embeddings", lambda *_: learns)
    found = said(qg.Quiet(), 30, capsys)
    assert ("training on the whole graph" in found) == learns
    assert (DECIDE in found) == learns
    assert ("neighbours a node with similar attributes" in found) != learns


def test_nothing_is_left_to_decide_where_an_encoder_is_asked_for(capsys) -> None:
    assert DECIDE not in said(qg.Quiet(encoder=True), 30, capsys)
    assert "similar" not in said(qg.Quiet(encoder=False), 30, capsys)
    assert NONE not in said(qg.get_method("gcl-lr-attention")(), 30, capsys)
