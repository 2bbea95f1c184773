"""The embedding as a picture: places in a plane where similar nodes lie together."""

from typing import Final

import numpy as np

from quietgraph.types import Float32Array, FloatArray

_DIRECTIONS: Final = 32  # kept before anything is placed
_ANCHORS: Final = 800  # nodes that t-SNE places; the others follow them
_ROUNDS: Final = 350  # of t-SNE: enough for a picture, a few seconds
_ANGLE: Final = 0.8  # of far nodes that count as one: a quarter less time, no worse picture
_FEWEST: Final = 60  # with fewer nodes the two main directions are picture enough
_NEAREST: Final = 4  # anchors that a node is placed between
_SAME: Final = 1e-6  # embeddings spread less than this are all the same
_BLOCK: Final = 2048

Places = FloatArray  # [nodes, 2], within the unit square


def place_nodes(embeddings: Float32Array, *, generator: np.random.Generator) -> Places:
    """Return a place for every node, so that similar embeddings are close [nodes, 2].

    t-SNE places at most 800 drawn nodes by their main directions, every other node goes between
    the placed ones it is most similar to: linear in the nodes.

    Args:
        embeddings: One row per node [nodes, dim].
        generator: Draws the nodes that are placed first, and seeds t-SNE.
    """
    reduced = main_directions(embeddings, _DIRECTIONS)
    if len(reduced) < _FEWEST or reduced[:, 0].std() < _SAME:
        return _to_unit_square(reduced[:, :2])
    count = min(_ANCHORS, len(reduced))
    anchors = np.sort(generator.choice(len(reduced), size=count, replace=False))
    placed = _tsne(reduced[anchors], seed=int(generator.integers(2**31)))
    places = placed if count == len(reduced) else _between(reduced, reduced[anchors], placed)
    return _to_unit_square(places)


def main_directions(embeddings: Float32Array, count: int) -> FloatArray:
    """Return the normalised rows along their main directions [nodes, at least 2, at most count]."""
    rows = np.asarray(embeddings, dtype=np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows = rows - rows.mean(axis=0)
    if len(rows) < rows.shape[1]:  # the smaller of nodes x nodes and d x d
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept: FloatArray = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :count]
    else:
        kept = rows @ np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :count]
    return np.pad(kept, ((0, 0), (0, max(0, 2 - kept.shape[1]))))


def _tsne(rows: FloatArray, *, seed: int) -> Places:
    from sklearn.manifold import TSNE  # noqa: PLC0415  (slow to import)

    perplexity = min(30.0, (len(rows) - 1) / 3)
    start = (1e-4 * rows[:, :2] / rows[:, 0].std()).astype(np.float32)
    method = TSNE(
        perplexity=perplexity, max_iter=_ROUNDS, angle=_ANGLE, init=start, random_state=seed
    )
    return np.asarray(method.fit_transform(rows.astype(np.float32)), dtype=np.float64)


def _between(rows: FloatArray, anchors: FloatArray, placed: Places) -> FloatArray:
    """Return each row's place: the mean of its nearest anchors' places, near ones counting more."""
    lengths = (anchors**2).sum(axis=1)
    places = np.empty((len(rows), 2))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        far = (block**2).sum(axis=1)[:, None] - 2 * block @ anchors.T + lengths  # squared distance
        near = np.argpartition(far, _NEAREST, axis=1)[:, :_NEAREST]
        weights = 1 / (np.maximum(np.take_along_axis(far, near, axis=1), 0) + 1e-9)
        weights /= weights.sum(axis=1, keepdims=True)
        places[start : start + _BLOCK] = (weights[:, :, None] * placed[near]).sum(axis=1)
    return places


def _to_unit_square(places: Places) -> Places:
    low, high = places.min(axis=0), places.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    middle: Places = (places - (low + high) / 2) / width + 0.5
    return middle
