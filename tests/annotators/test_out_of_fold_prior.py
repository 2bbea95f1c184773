"""Leave-one-out predictions in closed form equal those of refits."""

import numpy as np

from quietgraph.annotators.out_of_fold_prior import _PENALTIES, LeaveOneOutRidge


def left_out(
    rows: np.ndarray, targets: np.ndarray, penalty: float, counts: np.ndarray
) -> np.ndarray:
    """Fit without each row in turn; the penalty and the scale are those of all rows."""
    mean = np.average(rows, axis=0, weights=counts)
    unit = (counts[:, None] * np.square(rows - mean)).sum() / counts.sum()
    found = []
    for place in range(len(rows)):
        kept = np.arange(len(rows)) != place
        design = np.column_stack([rows[kept], np.ones(kept.sum())])
        ridge = penalty * unit * np.diag([*np.ones(rows.shape[1]), 0.0])
        scaled = counts[kept, None] * design
        weights = np.linalg.solve(scaled.T @ design + ridge, scaled.T @ targets[kept])
        found.append(np.append(rows[place], 1.0) @ weights)
    return np.array(found)


def test_leave_one_out_equals_refits() -> None:
    draws = np.random.default_rng(0)
    for shape in ((20, 4), (8, 12)):
        rows, labels = draws.normal(size=shape), draws.integers(3, size=shape[0])
        targets = np.eye(3)[labels] - 1 / 3
        for counts in (np.ones(len(rows)), draws.random(len(rows)).round(1)):
            counts[:2] = 1.0, 0.0  # the second row is predicted, and teaches nothing
            ridge = LeaveOneOutRidge.of(rows, counts)
            for penalty in _PENALTIES:
                np.testing.assert_allclose(
                    ridge.left_out(targets, penalty),
                    left_out(rows, targets, penalty, counts),
                    atol=1e-8,
                )
