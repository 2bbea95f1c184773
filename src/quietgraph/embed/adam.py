"""Adam by PyTorch's fused kernel.

The numbers are those of `torch.optim.Adam(fused=True)`, bit for bit; but that class imports the
compiler of PyTorch when it is first used, which takes longer than many a training here.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

State = dict[int, dict[str, Tensor]]  # of each parameter by its position: step, exp_avg, exp_avg_sq


class Adam:
    """Adam over groups of parameters that may differ in step size and weight decay."""

    def __init__(self, groups: Sequence[dict[str, Any]], *, learning_rate: float, weight_decay: float = 0.0) -> None:
        """Args: groups with `params` and, where they differ, `lr` and `weight_decay`."""
        usual = {"lr": learning_rate, "weight_decay": weight_decay}
        self.groups: list[tuple[list[nn.Parameter], dict[str, float]]] = [
            (list(group["params"]), {name: group.get(name, value) for name, value in usual.items()}) for group in groups
        ]
        self.state: State = {}

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All parameters, in the order of their groups."""
        return [parameter for parameters, _ in self.groups for parameter in parameters]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        first = 0
        for parameters, settings in self.groups:
            moving = [
                (parameter, parameter.grad, self._state_of(first + place, parameter))
                for place, parameter in enumerate(parameters)
                if parameter.grad is not None
            ]
            first += len(parameters)
            if moving:
                _move(moving, settings)

    def _state_of(self, index: int, parameter: nn.Parameter) -> dict[str, Tensor]:
        if index not in self.state:
            self.state[index] = {
                "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.state[index]


def _move(moving: list[tuple[nn.Parameter, Tensor, dict[str, Tensor]]], settings: dict[str, float]) -> None:
    states = [state for _, _, state in moving]
    adam(
        [parameter for parameter, _, _ in moving],
        [gradient for _, gradient, _ in moving],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [],
        [state["step"] for state in states],
        fused=True,
        amsgrad=False,
        beta1=0.9,
        beta2=0.999,
        lr=settings["lr"],
        weight_decay=settings["weight_decay"],
        eps=1e-8,
        maximize=False,
    )
