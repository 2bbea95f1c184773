"""The training loop: best epoch, early stop, divergence, progress; Adam; personalised PageRank."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from quietgraph.embed.adam import Adam
from quietgraph.embed.diffusion import diffuse
from quietgraph.embed.operator import normalised_adjacency
from quietgraph.embed.train import DivergedError, Epoch, Schedule, train
from quietgraph.testing import small_data


class Slider(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.zeros(()))


def test_the_best_epoch_is_restored_not_the_last() -> None:
    slider = Slider()
    history = train(
        slider,
        lambda _: {"loss": -slider.place},
        Schedule(epochs=10, learning_rate=0.1),
        score=lambda: -abs(float(slider.place.detach()) - 0.3),
    )
    assert float(slider.place.detach()) == pytest.approx(0.3, abs=1e-5)
    assert len(history) == 10
    assert not slider.training


def test_patience_counts_epochs_without_a_better_loss() -> None:
    slider, losses = Slider(), iter([3.0, 2.0, 2.5, 2.5, 2.5, 1.0])
    schedule = Schedule(epochs=6, learning_rate=0.1, patience=3)
    history = train(slider, lambda _: {"loss": slider.place * 0 + next(losses)}, schedule)
    assert [record["loss"] for record in history] == [3.0, 2.0, 2.5, 2.5, 2.5]


def test_a_loss_that_is_no_number_is_told_at_once() -> None:
    slider = Slider()
    with pytest.raises(DivergedError, match="diverged at epoch 0: the loss is nan"):
        train(slider, lambda _: {"loss": slider.place * float("nan")}, Schedule(epochs=5, learning_rate=0.1))


def test_epochs_of_several_steps_are_told_with_their_means() -> None:
    slider, seen = Slider(), list[Epoch]()
    schedule = Schedule(epochs=2, learning_rate=0.1, steps=3)
    history = train(
        slider, lambda step: {"loss": slider.place * 0 + float(step)}, schedule, on_epoch=seen.append, what="sliding"
    )
    assert [record["loss"] for record in history] == [1.0, 4.0]
    assert [(one.what, one.number, one.total, one.metrics["loss"]) for one in seen] == [
        ("sliding", 1, 2, 1.0),
        ("sliding", 2, 2, 4.0),
    ]


def _layers() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2), nn.Linear(2, 2))


def _groups(module: nn.Sequential) -> list[dict[str, Any]]:
    first, *others = module
    return [
        {"params": list(first.parameters()), "weight_decay": 0.1},
        {"params": [parameter for one in others for parameter in one.parameters()]},
    ]


def _train(module: nn.Sequential, optimiser: Any) -> None:
    for step in range(6):
        optimiser.zero_grad()
        rows = torch.randn(5, 4, generator=torch.Generator().manual_seed(step))
        hidden: Tensor = module[1](module[0](rows))
        # The last layer has no gradient in the first steps.
        (module[2](hidden) if step > 2 else hidden).square().sum().backward()
        optimiser.step()


def test_steps_of_adam_are_those_of_torch_bit_for_bit() -> None:
    ours, theirs = _layers(), _layers()
    _train(ours, Adam(_groups(ours), learning_rate=0.01, weight_decay=0.02))
    _train(theirs, torch.optim.Adam(_groups(theirs), lr=0.01, weight_decay=0.02, fused=True))
    for own, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, wanted)


def test_a_fit_does_not_import_the_compiler_of_torch() -> None:
    code = (
        "import sys, quietgraph as qg; from quietgraph.testing import small_data;"
        "qg.GCN(epochs=2).fit(small_data()); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_diffusion_is_nearly_the_inverse_of_personalised_pagerank() -> None:
    graph = small_data().graph
    operator, teleport = normalised_adjacency(graph), 0.3
    rows = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(0))
    exact = teleport * torch.linalg.solve(torch.eye(graph.num_nodes) - (1 - teleport) * operator.to_dense(), rows)
    torch.testing.assert_close(diffuse(operator, rows, teleport), exact, atol=0.03, rtol=0)
    assert diffuse(operator, rows, 1.0) is rows
