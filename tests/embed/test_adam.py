"""Adam: the numbers of PyTorch's class, without the import of its compiler."""

import subprocess
import sys

import torch
from torch import Tensor, nn

from quietgraph.embed.adam import Adam


def _layers() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2), nn.Linear(2, 2))


def _groups(module: nn.Sequential) -> list[dict[str, object]]:
    return [
        {"params": list(module[0].parameters()), "weight_decay": 0.1},
        {"params": [*module[1].parameters(), *module[2].parameters()]},
    ]


def _loss(module: nn.Sequential, step: int) -> Tensor:
    rows = torch.randn(5, 4, generator=torch.Generator().manual_seed(step))
    hidden: Tensor = module[1](module[0](rows))
    # The last layer has no gradient in the first steps.
    return (module[2](hidden) if step > 2 else hidden).square().sum()


def _train(module: nn.Sequential, optimiser: Adam | torch.optim.Adam, steps: range) -> None:
    for step in steps:
        optimiser.zero_grad()
        _loss(module, step).backward()
        optimiser.step()


def test_steps_are_those_of_torch_bit_for_bit() -> None:
    ours, theirs = _layers(), _layers()
    _train(ours, Adam(_groups(ours), learning_rate=0.01, weight_decay=0.02), range(6))
    reference = torch.optim.Adam(_groups(theirs), lr=0.01, weight_decay=0.02, fused=True)
    _train(theirs, reference, range(6))
    for own, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, wanted)


def test_loaded_state_continues_the_same_steps() -> None:
    whole, halves = _layers(), _layers()
    _train(whole, Adam(_groups(whole), learning_rate=0.01), range(6))
    first = Adam(_groups(halves), learning_rate=0.01)
    _train(halves, first, range(3))
    second = Adam(_groups(halves), learning_rate=0.01)
    second.load_state(first.state)
    _train(halves, second, range(3, 6))
    for own, wanted in zip(halves.parameters(), whole.parameters(), strict=True):
        assert torch.equal(own, wanted)


def test_training_does_not_import_the_compiler() -> None:
    code = (
        "import sys, quietgraph as qg; data = qg.load('digits');"
        "qg.GCN(epochs=2).fit(data.graph, data.labels);"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
