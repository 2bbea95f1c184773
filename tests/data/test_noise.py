"""Noise settings as text, transition matrices, kinds of label noise, wrong input."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.data.datasets import load_benchmark
from quietgraph.data.node_noise import instance_probabilities
from quietgraph.data.noise import (
    apply_noise,
    class_similarity,
    draw_labels,
    transition_matrix,
)
from quietgraph.data.noise_setting import NoiseSetting, parse_noise, warn_if_uninformative
from quietgraph.data.observation import Observation
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.graph import CSR, Graph
from quietgraph.types import Labels


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def sbm() -> Observation:
    return load_benchmark("sbm")[0]


@pytest.fixture(scope="module")
def truth() -> Labels:
    return load_benchmark("sbm")[1].codes


def write_matrix(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def sparse_twin(dataset: Observation) -> Observation:
    """The same dataset with features kept sparse."""
    features = CSR.from_scipy(dataset.graph.features.numpy())
    return replace(dataset, graph=Graph(features, dataset.graph.adjacency))


# Text


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "symmetric:0.4",
        "asymmetric:0.25",
        "similarity:1",
        "random:0",
        "instance:0.3",
        "cluster:0.3",
        "degree:0.3",
        "attribute:0.6",
        "symmetric:0.4+attribute:0.4",
        "symmetric:0.4+attribute:0.4+train-val+exact-count+clean-validation",
    ],
)
def test_canonical_text_is_read_back_as_the_same_setting(text: str) -> None:
    assert str(parse_noise(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pair:0.4", "asymmetric:0.4"),
        ("uniform:0.40", "symmetric:0.4"),
        (" Symmetric : 0.4 + attribute:.5 ", "symmetric:0.4+attribute:0.5"),
        ("attribute:0.4+symmetric:0.2", "symmetric:0.2+attribute:0.4"),
        ("clean-validation", "none"),
        ("symmetric:0.4+train-val", "symmetric:0.4"),
    ],
)
def test_settings_that_do_the_same_have_the_same_text(text: str, canonical: str) -> None:
    assert str(parse_noise(text)) == canonical


def test_a_setting_made_by_hand_has_the_text_of_the_parsed_one() -> None:
    assert NoiseSetting("symmetric", 0.4, exact_count=True) == parse_noise(
        "symmetric:0.4+exact-count"
    )


def test_a_custom_matrix_is_known_by_its_content(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "my+matrix.csv", [[0.9, 0.1], [0.2, 0.8]])
    first = parse_noise(f"custom:{path}")
    write_matrix(path, [[0.8, 0.2], [0.2, 0.8]])
    second = parse_noise(f"custom:{path}")
    assert str(first) != str(second)
    assert parse_noise(str(second)) == second
    with pytest.raises(InvalidParameterError, match="has changed"):
        parse_noise(str(first))


def test_an_unknown_kind_offers_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'symmetric'"):
        parse_noise("symetric:0.4")


@pytest.mark.parametrize("text", ["symmetric:1.5", "symmetric:-0.1", "attribute:40", "pair:nan"])
def test_a_rate_outside_0_and_1_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="must lie between 0 and 1"):
        parse_noise(text)


@pytest.mark.parametrize("text", ["symmetric", "symmetric:", "symmetric:much", "attribute"])
def test_a_missing_rate_says_how_to_write_one(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"Write \w+:0.4 for 40 %"):
        parse_noise(text)


def test_two_label_noises_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="gives kind twice"):
        parse_noise("symmetric:0.4+pair:0.2")


def test_a_flag_takes_no_value() -> None:
    with pytest.raises(InvalidParameterError, match="'exact-count' takes no value, got '3'"):
        parse_noise("symmetric:0.4+exact-count:3")


def test_custom_noise_without_a_file_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"Write custom:PATH.csv"):
        parse_noise("custom")


def test_a_matrix_for_another_kind_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="belongs to the noise kinds 'custom'"):
        NoiseSetting("symmetric", 0.4, matrix_path="T.csv")


def test_a_rate_for_no_noise_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="'none' takes no rate"):
        NoiseSetting("none", 0.4)


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no attribute noise scope 'test'"):
        NoiseSetting(attribute_rate=0.4, scope="test")


# Custom matrices


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[0.9, 0.2], [0.2, 0.8]], "row 1 sums to 1.1"),
        ([[1.1, -0.1], [0.2, 0.8]], "must hold probabilities, got -0.1"),
        ([[0.9, 0.1]], "as many columns as rows, got 1 rows of 2 columns"),
        ([[0.9, 0.1], [1.0]], "got 2 rows of 1 and 2 columns"),
        ([], "got 0 rows of 0 columns"),
    ],
)
def test_a_matrix_that_is_no_transition_matrix_is_refused(
    tmp_path: Path, rows: list[list[float]], sentence: str
) -> None:
    path = write_matrix(tmp_path / "T.csv", rows)
    with pytest.raises(InvalidParameterError, match=sentence):
        parse_noise(f"custom:{path}")


def test_a_matrix_with_words_in_it_is_unreadable(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "T.csv", [["cat", "dog"], [0.2, 0.8]])
    with pytest.raises(UnreadableFileError, match="must hold numbers and commas only"):
        parse_noise(f"custom:{path}")


def test_a_matrix_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="cannot be read: No such file"):
        parse_noise(f"custom:{tmp_path / 'none.csv'}")


def test_a_binary_file_is_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "T.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UnreadableFileError, match="must hold numbers"):
        parse_noise(f"custom:{path}")


def test_a_matrix_of_other_classes_is_refused(tmp_path: Path, sbm: Observation) -> None:
    path = write_matrix(tmp_path / "T.csv", [[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(InvalidParameterError, match=r"must be 4 x 4, .* of sbm, got 2 x 2"):
        apply_noise(sbm, parse_noise(f"custom:{path}"), seed=0)


def test_a_custom_matrix_moves_labels_as_it_says(tmp_path: Path, sbm: Observation) -> None:
    cycle = np.roll(np.eye(4), 2, axis=1)
    path = write_matrix(tmp_path / "T.csv", cycle.tolist())
    seen = apply_noise(sbm, parse_noise(f"custom:{path}"), seed=0).codes
    known = sbm.split.labelled
    assert torch.equal(seen[known], (sbm.codes[known] + 2) % 4)


# Transition matrices


def test_symmetric_noise_spreads_the_rate_evenly() -> None:
    expected = [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]
    np.testing.assert_allclose(transition_matrix("symmetric", 0.6, 3), expected)


def test_asymmetric_noise_goes_to_the_previous_class() -> None:
    expected = [[0.6, 0, 0.4], [0.4, 0.6, 0], [0, 0.4, 0.6]]
    np.testing.assert_allclose(transition_matrix("asymmetric", 0.4, 3), expected)


def test_similarity_noise_follows_the_weights() -> None:
    weights = np.array([[9.0, 1.0, 3.0], [1.0, 9.0, 1.0], [3.0, 1.0, 9.0]])
    expected = [[0.6, 0.1, 0.3], [0.2, 0.6, 0.2], [0.3, 0.1, 0.6]]
    np.testing.assert_allclose(
        transition_matrix("similarity", 0.4, 3, similarity=weights), expected
    )


def test_a_matrix_needs_what_its_kind_needs() -> None:
    with pytest.raises(InvalidParameterError, match="'random' needs a generator"):
        transition_matrix("random", 0.4, 3)
    with pytest.raises(InvalidParameterError, match="'similarity' needs a similarity matrix"):
        transition_matrix("similarity", 0.4, 3)


def test_one_class_cannot_be_confused() -> None:
    with pytest.raises(InvalidParameterError, match="at least 2 classes to confuse, got 1"):
        transition_matrix("symmetric", 0.4, 1)


def test_instance_noise_has_no_transition_matrix() -> None:
    with pytest.raises(UnknownNameError, match="no transition matrix 'instance'"):
        transition_matrix("instance", 0.4, 3)


def test_class_similarity_equals_its_definition(sbm: Observation, truth: Labels) -> None:
    features, labels = sbm.graph.features, truth
    means = [features[labels == code].mean(dim=0) for code in range(4)]
    cosines = [[torch.cosine_similarity(a, b, dim=0).item() for b in means] for a in means]
    expected = np.exp(np.array(cosines) / 0.1)
    for dataset in (sbm, sparse_twin(sbm)):
        similarity = class_similarity(dataset.graph.features, labels, 4)
        np.testing.assert_allclose(similarity, expected, rtol=1e-4)


# Drawing


def test_a_draw_of_a_node_does_not_depend_on_the_others() -> None:
    clean = torch.arange(300) % 3
    rows = transition_matrix("symmetric", 0.5, 3)[clean]
    everywhere = torch.ones(300, dtype=torch.bool)
    half = torch.arange(300) < 150
    whole = draw_labels(clean, everywhere, rows, generator=generator())
    part = draw_labels(clean, half, rows, generator=generator())
    assert torch.equal(part, torch.where(half, whole, clean))


def test_the_given_labels_are_not_changed_in_place() -> None:
    clean = torch.zeros(50, dtype=torch.int64)
    everywhere = torch.ones(50, dtype=torch.bool)
    rows = transition_matrix("asymmetric", 1, 3)[clean]
    changed = draw_labels(clean, everywhere, rows, generator=generator())
    assert (changed == 2).all()
    assert not clean.any()


def test_instance_probabilities_equal_their_definition(sbm: Observation, truth: Labels) -> None:
    features, labels = sbm.graph.features, truth[:40]
    fast = instance_probabilities(features[:40], labels, 0.3, 4, generator=generator())
    random = generator()
    weights = [random.standard_normal((32, 4), dtype=np.float32) for _ in range(4)]
    for node, code in enumerate(labels.tolist()):
        unit = features[node].numpy() / np.linalg.norm(features[node].numpy())
        scores = np.exp((unit @ weights[code]).astype(np.float64))
        scores[code] = 0
        others = np.arange(4) != code
        own_rate = 1 - fast[node, code]
        np.testing.assert_allclose(
            fast[node, others], own_rate * scores[others] / scores.sum(), rtol=1e-4
        )


def test_sparse_features_give_the_same_instance_probabilities(
    sbm: Observation, truth: Labels
) -> None:
    dense, sparse = (
        instance_probabilities(dataset.graph.features, truth, 0.3, 4, generator=generator())
        for dataset in (sbm, sparse_twin(sbm))
    )
    np.testing.assert_allclose(dense, sparse, rtol=1e-5)


def test_rates_of_instances_spread_around_the_given_one() -> None:
    labels = torch.zeros(5000, dtype=torch.int64)
    rows = instance_probabilities(torch.ones(5000, 2), labels, 0.4, 3, generator=generator())
    rates = 1 - rows[:, 0]
    assert abs(rates.mean() - 0.4) < 5 * 0.1 / 5000**0.5
    assert abs(rates.std() - 0.1) < 0.01
    assert rates.min() >= 0


def test_instance_noise_of_rate_0_changes_nothing(sbm: Observation) -> None:
    assert torch.equal(apply_noise(sbm, parse_noise("instance:0"), seed=0).codes, sbm.codes)


# The whole


def test_no_noise_hands_over_the_data_as_it_is(sbm: Observation) -> None:
    seen = apply_noise(sbm, parse_noise("none"), seed=0)
    assert seen.graph is sbm.graph
    assert torch.equal(seen.codes, sbm.codes)


@pytest.mark.parametrize(
    "kind", ["symmetric", "asymmetric", "similarity", "random", "instance", "cluster", "degree"]
)
def test_labels_outside_train_and_validation_are_withheld(
    kind: str, sbm: Observation, truth: Labels
) -> None:
    seen = apply_noise(sbm, parse_noise(f"{kind}:0.4"), seed=0).codes
    assert (seen[~sbm.split.labelled] == -1).all()
    changed = seen[sbm.split.labelled] != sbm.codes[sbm.split.labelled]
    assert 0.25 < changed.double().mean() < 0.55


def test_every_seed_has_its_own_draw_and_keeps_it(sbm: Observation) -> None:
    setting = parse_noise("symmetric:0.4+attribute:0.4")
    first, same, other = (apply_noise(sbm, setting, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.codes, same.codes)
    assert first.graph.fingerprint == same.graph.fingerprint
    assert not torch.equal(first.codes, other.codes)
    assert first.graph.fingerprint != other.graph.fingerprint


def test_clean_validation_keeps_the_draw_of_the_training_labels(
    sbm: Observation, truth: Labels
) -> None:
    noisy = apply_noise(sbm, parse_noise("symmetric:0.4"), seed=3).codes
    mixed = apply_noise(sbm, parse_noise("symmetric:0.4+clean-validation"), seed=3).codes
    train, validation = sbm.split.train, sbm.split.validation
    assert torch.equal(mixed[train], noisy[train])
    assert torch.equal(mixed[validation], sbm.codes[validation])


def test_attribute_noise_leaves_the_draw_of_labels_alone(sbm: Observation) -> None:
    alone = apply_noise(sbm, parse_noise("symmetric:0.4"), seed=3)
    both = apply_noise(sbm, parse_noise("symmetric:0.4+attribute:0.5"), seed=3)
    assert torch.equal(alone.codes, both.codes)
    assert alone.graph is sbm.graph


def test_attribute_noise_may_be_kept_to_train_and_validation(sbm: Observation) -> None:
    everywhere = apply_noise(sbm, parse_noise("attribute:0.5"), seed=0).graph.features
    labelled = apply_noise(sbm, parse_noise("attribute:0.5+train-val"), seed=0).graph.features
    changed = (labelled != sbm.graph.features).any(dim=1)
    assert torch.equal(changed, sbm.split.labelled)
    assert (everywhere != sbm.graph.features).any(dim=1).all()


def test_noise_does_not_touch_the_dataset(sbm: Observation, truth: Labels) -> None:
    before = sbm.graph.fingerprint, truth.clone(), sbm.codes.clone()
    apply_noise(sbm, parse_noise("symmetric:0.9+attribute:0.9"), seed=0)
    assert Graph(sbm.graph.features, sbm.graph.adjacency).fingerprint == before[0]
    assert torch.equal(truth, before[1])
    assert torch.equal(sbm.codes, before[2])


# Warnings


@pytest.mark.parametrize(
    ("text", "num_classes", "words"),
    [
        ("symmetric:0.8", 5, "carries no information"),
        ("symmetric:0.8", 3, "misleads"),
        ("asymmetric:0.5", 7, "as likely as the true one"),
        ("asymmetric:0.6", 7, "likelier than the true one"),
        ("random:0.9", 7, "likelier than the true one"),
    ],
)
def test_noise_that_hides_the_truth_is_named(text: str, num_classes: int, words: str) -> None:
    sentence = warn_if_uninformative(parse_noise(text), num_classes)
    assert sentence is not None
    assert words in sentence


@pytest.mark.parametrize(
    ("text", "num_classes"),
    [("none", 2), ("symmetric:0.8", 6), ("asymmetric:0.49", 3), ("attribute:1", 3)],
)
def test_noise_that_leaves_information_is_not_warned_of(text: str, num_classes: int) -> None:
    assert warn_if_uninformative(parse_noise(text), num_classes) is None


def test_a_custom_matrix_with_one_hidden_class_is_named(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "T.csv", [[0.9, 0.1], [0.6, 0.4]])
    sentence = warn_if_uninformative(parse_noise(f"custom:{path}"), 2)
    assert sentence is not None
    assert "likelier than the true one" in sentence
