"""Embeddings kept on disk: what goes in comes out, and a full disk stops nothing."""

from pathlib import Path

import pytest
import torch

from quietgraph.methods.base.cache import Embedded, EmbeddingCache


def test_what_was_kept_comes_back_by_its_key_alone(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache")
    cache.put({"seed": 0}, Embedded(torch.eye(2), {"weight": torch.ones(1)}))
    found = cache.get({"seed": 0})
    assert found is not None
    assert torch.equal(found.embeddings, torch.eye(2))
    assert torch.equal(found.state["weight"], torch.ones(1))
    assert cache.get({"seed": 1}) is None


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = EmbeddingCache(tmp_path / "file")
    with pytest.warns(RuntimeWarning, match="embeddings are not kept: .* cannot be written"):
        cache.put({}, Embedded(torch.eye(2)))
    assert cache.get({}) is None
