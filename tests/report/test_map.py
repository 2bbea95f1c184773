"""The map: similar nodes lie together, every node has a place, the same seed the same map."""

import numpy as np
import pytest

from quietgraph.report.embedding_map import _between, main_directions, place_nodes


def groups(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(0)
    codes = np.repeat(np.arange(count), size)
    centres = 4 * draws.standard_normal((count, 12))
    return (centres[codes] + 0.3 * draws.standard_normal((len(codes), 12))).astype("f4"), codes


@pytest.mark.parametrize("size", [10, 60, 500])  # by main directions, by t-SNE, between anchors
def test_nodes_of_a_group_lie_together(size: int) -> None:
    rows, codes = groups(3, size)
    places = place_nodes(rows, generator=np.random.default_rng(1))
    assert places.shape == (3 * size, 2)
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    far = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(far, np.inf)
    assert (codes[far.argmin(axis=1)] == codes).mean() > 0.97


def test_the_same_generator_gives_the_same_map() -> None:
    rows, _ = groups(2, 40)
    first, second = (place_nodes(rows, generator=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("shape", [(1, 4), (2, 1), (80, 1), (80, 3)])
def test_degenerate_embeddings_have_a_map(shape: tuple[int, int]) -> None:
    places = place_nodes(np.ones(shape, dtype="f4"), generator=np.random.default_rng(0))
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


@pytest.mark.parametrize("nodes", [None, 7], ids=["all nodes", "fewer than dimensions"])
def test_main_directions_are_those_of_the_svd(nodes: int | None) -> None:
    rows = groups(3, 20)[0][:nodes]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    slow = left[:, :4] * values[:4]
    np.testing.assert_allclose(np.abs(main_directions(rows, 4)), np.abs(slow), atol=1e-5)


def test_a_node_between_anchors_is_their_weighted_mean() -> None:
    draws = np.random.default_rng(0)
    rows, anchors = draws.standard_normal((7, 3)), draws.standard_normal((9, 3))
    placed = draws.standard_normal((9, 2))
    slow = []
    for row in rows:
        far = ((anchors - row) ** 2).sum(axis=1)
        near = far.argsort()[:4]
        weights = 1 / (far[near] + 1e-9)
        slow.append((weights[:, None] * placed[near]).sum(axis=0) / weights.sum())
    np.testing.assert_allclose(_between(rows, anchors, placed), slow, rtol=1e-6)
