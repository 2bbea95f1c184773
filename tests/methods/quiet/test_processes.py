"""`quiet` by several processes: every choice is that of the first one."""

from dataclasses import dataclass

import pytest
import torch

import quietgraph as qg
from quietgraph.embed.scale import distributed
from quietgraph.embed.scale.distributed import World, current_world
from quietgraph.embed.scale.node_rows import NodeRows, SharedRows
from quietgraph.methods.quiet import features, quiet, random_views
from quietgraph.testing import small_problem


def fit(families: str = "ridge"):
    problem, labels, validation = small_problem()
    model = qg.get_method("quiet")(families=families, epochs=2)
    return model.fit(problem.graph, labels, validation)


@dataclass(frozen=True)
class Second(World):
    """The second process, to which the first one says what it has chosen."""

    said: dict[type, object] | None = None

    def agree(self, value: object) -> object:
        """Return what the first process has of this type."""
        return (self.said or {}).get(type(value), value)


def test_the_second_process_scores_by_the_ensemble_of_the_first(monkeypatch) -> None:
    own, first = fit("ridge"), fit("clusters")
    ensemble = quiet.Ensemble.from_tensors(first.state_)
    told = Second(said={tuple: (ensemble, first.notes_)})
    monkeypatch.setattr(quiet, "current_world", lambda: told)
    second = fit("ridge")
    assert torch.equal(second.scores_, first.scores_)
    assert not torch.equal(second.scores_, own.scores_)
    assert second.notes_ == first.notes_


@pytest.mark.parametrize(
    ("said", "has"), [({bool: True}, True), ({bool: False}, False)], ids=["joins", "does not"]
)
def test_whether_perceptrons_join_is_what_the_first_process_says(monkeypatch, said, has) -> None:
    monkeypatch.setattr(quiet, "current_world", lambda: Second(said=said))
    rounds = []
    add = quiet.Rounds.add
    monkeypatch.setattr(
        quiet.Rounds, "add", lambda self, families: (rounds.append(families), add(self, families))
    )
    fit("all")
    assert any("perceptron" in families for families in rounds) == has


@pytest.mark.parametrize("most", [100_000, 10])
def test_rows_of_a_small_graph_are_computed_whole_by_every_process(monkeypatch, most: int) -> None:
    monkeypatch.setattr(features, "_WHOLE_UP_TO", most)
    token = distributed._world.set(World(0, 2))
    try:
        with features.rows_by_size(1000):
            assert current_world().size == (1 if most > 1000 else 2)
        assert current_world().size == 2
    finally:
        distributed._world.reset(token)


@pytest.mark.parametrize("count", [300, 40_000, 100_000])
def test_nodes_left_out_of_a_view_do_not_depend_on_who_draws_them(monkeypatch, count: int) -> None:
    draws, rows = torch.Generator(), torch.zeros(count, 2)
    draws.manual_seed(3)
    whole = [(torch.rand(count, 1, generator=draws) < 0.5).float().squeeze(1) for _ in range(2)]
    monkeypatch.setattr(SharedRows, "numbers", NodeRows.numbers)
    for rank in range(3):
        share = SharedRows(count, None, World(rank, 3))
        monkeypatch.setattr(random_views, "node_rows", lambda _, share=share: share)
        draws.manual_seed(3)
        for view in whole:
            assert torch.equal(random_views._draw_kept(rows, draws), view[share.own])
