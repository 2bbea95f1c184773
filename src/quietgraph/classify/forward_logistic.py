"""Logistic regression that explains wrong labels by a noise matrix and need not fit them."""

import torch
from torch import Tensor

from quietgraph.types import Embeddings


def fit_forward_logistic(
    rows: Embeddings, reading: Tensor, *, weights: Tensor | None = None, penalty: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return coefficients [dim, classes] and intercepts [classes] of p(c | z) = softmax(z W + b).

    They minimise mean_i w_i -log sum_c p(c | z_i) R_ic + penalty / (2 sum_i w_i) |W|^2 (forward correction, Patrini et
    al. 2017).

    Args:
        rows: Of the labelled nodes z [nodes, dim].
        reading: Probability of the observed label under each true class: T[:, y], of a verified label one-hot
            R [nodes, classes].
        weights: How much each label counts w [nodes]; 1 without them.
        penalty: Strength of the ridge penalty.
    """
    weights = torch.ones(len(rows)) if weights is None else weights
    every = torch.cat([rows, torch.ones(len(rows), 1)], dim=1)
    reading, total = reading.to(rows.dtype), weights.sum()
    solution = torch.zeros(every.shape[1], reading.shape[1])
    solver = torch.optim.LBFGS([solution], max_iter=200, line_search_fn="strong_wolfe")

    @torch.no_grad()
    def cost() -> Tensor:
        likely = (every @ solution).softmax(dim=1)
        joint = likely * reading
        said = joint.sum(dim=1, keepdim=True).clamp_min(1e-9)
        decay = penalty / total * solution
        decay[-1] = 0
        solution.grad = every.T @ ((likely - joint / said) * (weights / total)[:, None]) + decay
        return 0.5 * (decay * solution).sum() - (weights * said.log()[:, 0]).sum() / total

    solver.step(cost)
    return solution[:-1], solution[-1]
