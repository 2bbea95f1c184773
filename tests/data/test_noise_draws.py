"""Noise on labels and attributes: what is drawn, what is left alone, files."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.data import Data, Truth
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise, draw_labels, observed_probabilities
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.graph import CSR, Graph

NOISES = ("symmetric", "asymmetric", "random", "instance")
MATRIX = "0.7,0.1,0.1,0.1\n0.1,0.7,0.1,0.1\n0.1,0.1,0.7,0.1\n0.3,0.1,0.1,0.5\n"


@pytest.fixture(scope="module")
def sbm() -> tuple[Data, Truth]:
    return load_benchmark("sbm", seed=5)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def hashed(*arrays: torch.Tensor) -> str:
    return hashlib.blake2b(b"".join(one.numpy().tobytes() for one in arrays), digest_size=4).hexdigest()


# Draws


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("symmetric:0.4", "396f7a3b"),
        ("asymmetric:0.6", "8c4eeb57"),
        ("random:0.4", "249865c3"),
        ("instance:0.4", "d7e53246"),
        ("custom:T.csv", "f1153257"),
        ("annotators:2:0.9/0.7/spammer", "b43403f7"),
    ],
)
def test_the_draw_of_a_seed_stays_what_published_results_were_measured_on(
    text: str, wanted: str, sbm: tuple[Data, Truth], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("T.csv").write_text(MATRIX)
    assert hashed(apply_noise(*sbm, text, seed=5).codes) == wanted


def test_attribute_noise_of_a_seed_stays_too(sbm: tuple[Data, Truth]) -> None:
    data, truth = sbm
    assert apply_noise(data, truth, "attribute:0.6", seed=5).graph.fingerprint == "5e54cb496b655451f9f3a23d165221da"
    rows = data.graph.features.numpy().copy()
    rows[abs(rows) < 1] = 0
    wide = np.hstack([rows, np.zeros((1000, 288))])
    sparse = replace(data, graph=Graph(CSR.from_scipy(wide), data.graph.adjacency))
    found = apply_noise(sparse, truth, "attribute:0.6", seed=5).graph.features
    assert hashed(found.columns, found.values) == "fbe8f708"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("symmetric", [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]),
        ("asymmetric", [[0.4, 0, 0.6], [0.6, 0.4, 0], [0, 0.6, 0.4]]),
    ],
)
def test_probabilities_by_class(kind: str, wanted: list[list[float]], sbm: tuple[Data, Truth]) -> None:
    np.testing.assert_allclose(
        observed_probabilities(kind, sbm[0].graph.features, np.arange(3), 0.6, 3, generator=generator()), wanted
    )


@pytest.mark.parametrize("kind", NOISES)
def test_rows_of_probabilities_sum_to_1_with_the_wanted_mean_rate(kind: str, sbm: tuple[Data, Truth]) -> None:
    codes = sbm[1].codes.numpy()
    for rate in (0.0, 0.1, 0.4, 0.9, 1.0):  # 0.1: a normal cut at 0 alone would have a mean of 0.129
        rows = observed_probabilities(kind, sbm[0].graph.features, codes, rate, 4, generator=generator())
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        assert rows.min() >= 0
        assert 1 - rows[np.arange(1000), codes].mean() == pytest.approx(rate, abs=5 * 0.1 / 1000**0.5)


def test_instance_probabilities_equal_their_definition(sbm: tuple[Data, Truth]) -> None:
    graph, codes = sbm[0].graph, sbm[1].codes.numpy()
    sparse = CSR.from_scipy(scipy.sparse.csr_matrix(graph.features.numpy()))
    fast, other = (
        observed_probabilities("instance", features, codes, 0.3, 4, generator=generator())
        for features in (graph.features, sparse)
    )
    np.testing.assert_allclose(other, fast, rtol=1e-5)
    draws = generator()
    weights = [draws.standard_normal((32, 4), dtype=np.float32) for _ in range(4)]
    for node, code in enumerate(codes[:40]):
        row = graph.features[node].numpy()
        scores = np.exp((row / np.linalg.norm(row) @ weights[code]).astype(np.float64))
        scores[code] = 0
        others = np.arange(4) != code
        own_rate = 1 - fast[node, code]
        np.testing.assert_allclose(fast[node, others], own_rate * scores[others] / scores.sum(), rtol=1e-4)


def test_a_draw_of_a_node_depends_neither_on_the_others_nor_on_the_given_array() -> None:
    clean = np.arange(300) % 3
    rows = np.full((300, 3), 1 / 3)
    whole = draw_labels(clean, np.ones(300, dtype=bool), rows, generator=generator())
    part = draw_labels(clean, np.arange(300) < 150, rows, generator=generator())
    np.testing.assert_array_equal(part, np.where(np.arange(300) < 150, whole, np.arange(300) % 3))
    assert 0.5 < (whole != clean).mean() < 0.8


# What noise touches


@pytest.mark.parametrize("kind", [*NOISES, "annotator"])
def test_labels_of_train_and_validation_are_hit_and_no_others(kind: str, sbm: tuple[Data, Truth]) -> None:
    data, truth = sbm
    seen = apply_noise(data, truth, f"{kind}:0.4", seed=0)
    assert torch.equal(seen.known, data.split.labelled)
    assert torch.equal(seen.before, seen.codes)
    for part in (data.split.train, data.split.validation):
        assert 0.2 < float(truth.wrong(seen)[part].double().mean()) < 0.6
    assert seen.graph is data.graph


def test_every_seed_has_its_own_draw_and_no_noise_changes_nothing(sbm: tuple[Data, Truth]) -> None:
    first, other = (apply_noise(*sbm, "symmetric:0.4+attribute:0.4", seed=seed) for seed in (0, 1))
    assert not torch.equal(first.codes, other.codes)
    assert first.graph.fingerprint != other.graph.fingerprint
    assert apply_noise(*sbm, "none", seed=0) is sbm[0]


def test_clean_validation_and_attribute_noise_keep_the_draw_of_the_training_labels(sbm: tuple[Data, Truth]) -> None:
    data, truth = sbm
    noisy, mixed, both = (
        apply_noise(data, truth, f"symmetric:0.4{more}", seed=3).codes
        for more in ("", "+clean-validation", "+attribute:0.5")
    )
    train, validation = data.split.train, data.split.validation
    assert torch.equal(mixed[train], noisy[train])
    assert torch.equal(mixed[validation], data.codes[validation])
    assert torch.equal(both, noisy)


def test_noise_hides_the_answers_that_labels_came_from_and_a_crowd_brings_its_own(sbm: tuple[Data, Truth]) -> None:
    crowd = apply_noise(*sbm, "annotators:2:0.9/0.7/spammer", seed=0)
    assert crowd.annotations is not None
    assert torch.equal(crowd.annotations.majority(), crowd.codes)
    assert (
        np.bincount(crowd.annotations.nodes, minlength=1000)[sbm[0].split.labelled.nonzero().squeeze(1)].tolist()
        == [2] * 200
    )
    assert apply_noise(crowd, None, "symmetric:0.2", seed=0).annotations is None


# Attributes


@pytest.mark.parametrize("sparse", [False, True])
def test_a_fraction_of_each_row_is_shuffled(sparse: bool) -> None:
    rows = generator(1).random((200, 80), dtype=np.float32)
    rows[generator(2).random(rows.shape) < 0.9] = 0
    given = CSR.from_scipy(rows) if sparse else torch.from_numpy(rows)
    for rate in (0.0, 0.5, 1.0):
        found = shuffle_attributes(given, rate, generator=generator(3))
        dense = found.to_dense().numpy() if isinstance(found, CSR) else found.numpy()
        np.testing.assert_array_equal(np.sort(dense, axis=1), np.sort(rows, axis=1))
        stayed = (dense == rows)[rows != 0].mean()
        assert stayed == pytest.approx(1 - rate, abs=0.05)


def test_sparse_and_dense_rows_are_shuffled_alike() -> None:
    row = np.zeros((4000, 6), dtype=np.float32)
    row[:, :2] = [1, 2]
    dense = shuffle_attributes(torch.from_numpy(row), 0.5, generator=generator(0)).numpy()
    sparse = shuffle_attributes(CSR.from_scipy(row), 0.5, generator=generator(1)).to_dense().numpy()
    for value in (1, 2):
        np.testing.assert_allclose((dense == value).mean(axis=0), (sparse == value).mean(axis=0), atol=0.04)


# Files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0.9,0.2\n0.2,0.8\n", r"sums \[1.1, 1.0\]"),
        ("1.1,-0.1\n0.2,0.8\n", "a smallest entry of -0.1"),
        ("0.9,0.1\n", r"got shape \(1, 2\)"),
        ("0.9,0.1\n0.2,0.8\n", r"must be 4 x 4, one row per class of sbm"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(
    content: str, words: str, sbm: tuple[Data, Truth], tmp_path: Path
) -> None:
    (tmp_path / "T.csv").write_text(content)
    with pytest.raises(InvalidParameterError, match=words):
        apply_noise(*sbm, f"custom:{tmp_path / 'T.csv'}", seed=0)


@pytest.mark.parametrize("content", [None, b"cat,dog\n0.2,0.8\n", b"\xff\xfe\x00\x01", b"0.9,0.1\n1.0\n"])
def test_a_matrix_that_is_not_there_or_no_numbers_is_unreadable(
    content: bytes | None, sbm: tuple[Data, Truth], tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "T.csv").write_bytes(content)
    with pytest.raises(UnreadableFileError, match="must be rows of numbers and commas"):
        apply_noise(*sbm, f"custom:{tmp_path / 'T.csv'}", seed=0)


def test_another_matrix_is_another_draw(sbm: tuple[Data, Truth], tmp_path: Path) -> None:
    path, draws = tmp_path / "T.csv", []
    for content in (MATRIX, MATRIX, MATRIX.replace("0.3,0.1,0.1,0.5", "0.1,0.1,0.1,0.7")):
        path.write_text(content)
        draws.append(apply_noise(*sbm, f"custom:{path}", seed=0).codes)
    assert torch.equal(draws[0], draws[1])
    assert float((draws[0] != draws[2])[sbm[0].known].double().mean()) > 0.1
