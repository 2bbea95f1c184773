"""The PReLU against torch's own."""

import torch
import torch.nn.functional as F

from quietgraph.embed.activation import prelu


def test_prelu_has_the_value_and_the_gradients_of_torch() -> None:
    draws = torch.Generator().manual_seed(0)
    values = torch.randn(7, 5, generator=draws, dtype=torch.float64, requires_grad=True)
    slope = torch.full((1,), 0.3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(7, 5, generator=draws, dtype=torch.float64)
    results = []
    for function in (prelu, F.prelu):
        out = function(values, slope)
        results.append((out, *torch.autograd.grad((out * weights).sum(), (values, slope))))
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)
