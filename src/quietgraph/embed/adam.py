"""Adam by PyTorch's fused kernel.

The numbers are those of `torch.optim.Adam(fused=True)`, bit for bit; but that class imports the compiler of PyTorch
when it is first used, which takes longer than many a training here.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

State: TypeAlias = dict[int, tuple[Tensor, Tensor, Tensor]]  # of a parameter by its place: two moments, steps


class Adam:
    """Adam over groups of parameters that may differ in step size and weight decay."""

    def __init__(self, groups: Sequence[dict[str, Any]], *, learning_rate: float, weight_decay: float = 0.0) -> None:
        """Args: groups with `params` and, where they differ, `lr` and `weight_decay`."""
        usual = {"lr": learning_rate, "weight_decay": weight_decay}
        self.settings = [{name: group.get(name, value) for name, value in usual.items()} for group in groups]
        own = [(parameter, number) for number, group in enumerate(groups) for parameter in group["params"]]
        self.parameters: list[nn.Parameter] = [parameter for parameter, _ in own]
        self.group_of = [number for _, number in own]
        self.state: State = {}

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        usual: dict[str, Any] = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maximize": False}
        for number, settings in enumerate(self.settings):
            places = [place for place, group in enumerate(self.group_of) if group == number]
            places = [place for place in places if self.parameters[place].grad is not None]
            for place in places:
                if place not in self.state:
                    one = self.parameters[place]
                    steps = torch.zeros((), dtype=torch.float32, device=one.device)
                    self.state[place] = torch.zeros_like(one), torch.zeros_like(one), steps
            if places:
                moving: list[Tensor] = [self.parameters[place] for place in places]
                gradients: list[Any] = [one.grad for one in moving]
                first, second, steps_of = map(list, zip(*(self.state[place] for place in places), strict=True))
                adam(moving, gradients, first, second, [], steps_of, fused=True, **usual, **settings)
