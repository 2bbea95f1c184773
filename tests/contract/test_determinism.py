"""Same seed, same machine, same number of threads: the same bytes."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.methods import METHODS
from quietgraph.testing import quick_parameters

LINKED = ("nrgnn", "rtgnn", "crgnn")  # gradients of indexing: threads added them in any order


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def digest(name: str, nodes: int) -> str:
    """Return the hash of probabilities, embeddings and suspects' scores of one fit."""
    draws = np.random.default_rng(0)
    drawn = qg.block_model(nodes, num_classes=3, num_features=32, generator=draws)
    labels, validation = np.full(nodes, -1), np.zeros(nodes, dtype=bool)
    labels[: nodes // 4] = drawn.classes[: nodes // 4]
    validation[nodes // 8 : nodes // 4] = True
    kind = qg.get_method(name)
    model = kind(**quick_parameters(kind)).fit(drawn.graph, labels, validation)
    parts = (model.predict_proba(), model.embeddings_)
    return hashlib.blake2b(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("name", LINKED)
def test_two_fits_with_two_threads_are_the_same(name: str, two_threads: None) -> None:
    assert len({digest(name, 700) for _ in range(2)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_fits_of_every_method_are_the_same_with_two_threads(name: str, two_threads: None) -> None:
    assert len({digest(name, 1500) for _ in range(3)}) == 1


@pytest.mark.integration
@pytest.mark.parametrize("name", ["quiet", "gcl-lr-attention"])
def test_a_new_process_gives_the_same(name: str) -> None:
    code = (
        "import torch; torch.set_num_threads(1); from contract.test_determinism import digest; "
        f"print(digest({name!r}, 200))"
    )
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        here = digest(name, 200)
    finally:
        torch.set_num_threads(before)
    paths = os.pathsep.join(path for path in sys.path if path)
    there = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert there.stdout.split() == [here]


def test_the_way_of_adding_is_as_before_after_a_fit(two_threads: None) -> None:
    digest("gcn", 100)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory
