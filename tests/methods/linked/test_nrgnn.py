import numpy as np
import torch

from quietgraph.data.observation import observe
from quietgraph.graph import LabelledGraph, block_model
from quietgraph.methods.base.task import Task, make_task
from quietgraph.methods.linked.nrgnn import NRGNN, _Trainer


def problem() -> tuple[LabelledGraph, np.ndarray]:
    drawn = block_model(200, num_classes=3, signal=2.0, generator=np.random.default_rng(0))
    return drawn, np.where(np.arange(200) < 40, drawn.classes, -1)


def small_task() -> Task:
    drawn, labels = problem()
    return make_task(observe(drawn.graph, labels), 0)[0]


def test_no_confident_node_costs_nothing() -> None:
    drawn, labels = problem()
    model = NRGNN(epochs=5, confidence_threshold=1.0).fit(drawn.graph, labels)
    assert model.notes_["confident_nodes"] == 0
    assert all(record["confident"] == 0 for record in model.history_)
    assert np.isfinite(model.predict_proba()).all()


def test_confident_nodes_are_found_and_unlabelled() -> None:
    drawn, labels = problem()
    model = NRGNN(epochs=80, learning_rate=0.01).fit(drawn.graph, labels)
    assert model.notes_["confident_nodes"] > 20
    found = model.predict()
    assert (found == drawn.classes)[40:].mean() > 0.8


def test_candidates_join_a_labelled_node_and_are_no_edges() -> None:
    task = small_task()
    pairs = _Trainer(NRGNN(candidates=4), task).candidates
    assert (task.train[pairs[0]] | task.train[pairs[1]]).all()
    present = task.graph.adjacency.to_dense()
    assert not present[pairs[0], pairs[1]].any()


def test_all_labelled_nodes_are_candidates_by_default() -> None:
    task = small_task()
    pairs = _Trainer(NRGNN(), task).candidates
    offered = torch.zeros(200, 200, dtype=torch.bool)
    offered[pairs[0], pairs[1]] = offered[pairs[1], pairs[0]] = True
    wanted = task.train[None, :] | task.train[:, None]
    wanted &= task.graph.adjacency.to_dense() == 0
    wanted.fill_diagonal_(False)
    assert torch.equal(offered, wanted)


def test_classification_loss_reaches_the_edge_predictor() -> None:
    task = small_task()
    trainer = _Trainer(NRGNN(edge_weight=0.0, link_above=1e-6), task)
    trainer.losses(0)["classifier"].backward()
    assert trainer.networks.predictor.first.weight.grad.abs().sum() > 0
