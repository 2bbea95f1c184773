"""The epochs without labels, taken from the cache, change nothing but the time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.graph import block_model
from quietgraph.methods import EmbeddingCache, NodeClassifier, get_method, use_cache
from quietgraph.methods.merit.labelled_siamese import best_epoch

SMALL = {"dim": 8, "hidden": 8, "sample": 20, "seed": 3}


def fit(
    name: str, noise: int, cache: EmbeddingCache | None, warm_up: int, epochs: int
) -> NodeClassifier:
    drawn = block_model(60, num_classes=3, num_features=6, generator=np.random.default_rng(0))
    labels = drawn.classes.copy()
    labels[:noise] = (labels[:noise] + 1) % 3
    model = get_method(name)(**SMALL, warm_up=warm_up, epochs=epochs)
    with use_cache(cache):
        return model.fit(drawn.graph, labels, np.arange(60) >= 40)


def without_seconds(model: NodeClassifier) -> list[dict[str, float]]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in model.history_]


@pytest.mark.parametrize("name", ["jo-src", "sel-cl"])
@pytest.mark.parametrize(("warm_up", "epochs"), [(4, 12), (20, 21)])
def test_a_kept_warm_up_gives_what_one_training_gives(
    name: str, warm_up: int, epochs: int, tmp_path: Path
) -> None:
    cache = EmbeddingCache(tmp_path)
    for noise in (0, 8):  # the second one finds the first one's epochs
        kept = fit(name, noise, cache, warm_up, epochs)
        plain = fit(name, noise, None, warm_up, epochs)
        assert without_seconds(kept) == without_seconds(plain)
        assert torch.equal(kept.scores_, plain.scores_)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_best_epoch_is_the_first_of_the_largest_score() -> None:
    assert best_epoch([{"score": 0.1}, {"score": 0.4}, {"score": 0.4}]) == 1
