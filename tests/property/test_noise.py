"""What every draw of noise obeys."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.noise import draw_labels, transition_matrix
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.graph import CSR, Features

RATES = st.floats(0, 1)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(["symmetric", "asymmetric", "similarity", "random"])


def make_matrix(kind: str, rate: float, num_classes: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    similarity = np.exp(generator.standard_normal((num_classes, num_classes)))
    return transition_matrix(kind, rate, num_classes, similarity=similarity, generator=generator)


@given(KINDS, RATES, st.integers(2, 12), SEEDS)
def test_rows_sum_to_1_and_the_diagonal_keeps_the_rest(
    kind: str, rate: float, num_classes: int, seed: int
) -> None:
    matrix = make_matrix(kind, rate, num_classes, seed)
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(matrix.diagonal(), 1 - rate, atol=1e-12)


@settings(max_examples=30)
@given(KINDS, RATES, st.integers(2, 6), SEEDS)
def test_labels_are_drawn_at_the_probabilities_of_their_row(
    kind: str, rate: float, num_classes: int, seed: int
) -> None:
    matrix = make_matrix(kind, rate, num_classes, seed)
    count = 2000
    clean = torch.arange(num_classes).repeat_interleave(count)
    where = torch.ones(len(clean), dtype=torch.bool)
    noisy = draw_labels(clean, where, matrix[clean], generator=np.random.default_rng(seed))
    pairs = torch.bincount(clean * num_classes + noisy, minlength=num_classes**2)
    shares = pairs.reshape(num_classes, num_classes).numpy() / count
    # Six standard deviations of a binomial share, and room for rates close to 0 and 1.
    assert (np.abs(shares - matrix) <= 6 * np.sqrt(matrix * (1 - matrix) / count) + 0.003).all()


@given(KINDS, RATES, st.integers(2, 6), SEEDS, st.booleans())
def test_only_known_labels_in_the_mask_change(
    kind: str, rate: float, num_classes: int, seed: int, exact_count: bool
) -> None:
    generator = np.random.default_rng(seed)
    clean = torch.from_numpy(generator.integers(-1, num_classes, size=80))
    where = torch.from_numpy(generator.random(80) < 0.5)
    matrix = make_matrix(kind, rate, num_classes, seed)
    noisy = draw_labels(clean, where, matrix[clean], generator=generator, exact_count=exact_count)
    untouched = ~where | (clean == -1)
    assert torch.equal(noisy[untouched], clean[untouched])
    assert (noisy[~untouched] >= 0).all()
    assert (noisy < num_classes).all()


@given(KINDS, RATES, st.integers(2, 6), SEEDS)
def test_exact_count_changes_exactly_the_expected_number_of_each_class(
    kind: str, rate: float, num_classes: int, seed: int
) -> None:
    rate = round(rate, 3)
    generator = np.random.default_rng(seed)
    clean = torch.from_numpy(generator.integers(num_classes, size=150))
    where = torch.from_numpy(generator.random(150) < 0.7)
    matrix = make_matrix(kind, rate, num_classes, seed)
    noisy = draw_labels(clean, where, matrix[clean], generator=generator, exact_count=True)
    for code in range(num_classes):
        members = where & (clean == code)
        assert int((noisy[members] != code).sum()) == round(round(rate * int(members.sum()), 9))


def random_features(seed: int, nodes: int, width: int, density: float) -> Tensor:
    """Distinct non-zero values, so that a moved one is recognised."""
    generator = np.random.default_rng(seed)
    values = np.arange(1, nodes * width + 1, dtype=np.float32).reshape(nodes, width)
    return torch.from_numpy(values * (generator.random((nodes, width)) < density))


def as_dense(features: Features) -> Tensor:
    return features.to_dense() if isinstance(features, CSR) else features


@pytest.mark.parametrize("is_sparse", [False, True])
@given(RATES, st.integers(1, 30), st.floats(0, 1), SEEDS)
def test_a_shuffle_keeps_each_row_and_touches_few_positions_of_chosen_nodes(
    is_sparse: bool, rate: float, width: int, density: float, seed: int
) -> None:
    dense = random_features(seed, 12, width, density)
    where = torch.from_numpy(np.random.default_rng(seed).random(12) < 0.5)
    given_features = CSR.from_scipy(dense.numpy()) if is_sparse else dense
    result = shuffle_attributes(given_features, rate, where, generator=np.random.default_rng(seed))
    shuffled = as_dense(result)
    assert isinstance(result, CSR) == is_sparse
    assert torch.equal(shuffled.sort(dim=1).values, dense.sort(dim=1).values)
    changed = shuffled != dense
    assert (changed.sum(dim=1) <= int(rate * width + 1e-9)).all()
    assert not changed[~where].any()


def test_a_sparse_shuffle_keeps_columns_sorted_and_rows_in_place() -> None:
    features = CSR.from_scipy(random_features(0, 50, 40, 0.2).numpy())
    everywhere = torch.ones(50, dtype=torch.bool)
    shuffled = shuffle_attributes(features, 0.7, everywhere, generator=np.random.default_rng(0))
    assert isinstance(shuffled, CSR)
    assert torch.equal(shuffled.row_pointer, features.row_pointer)
    rebuilt = CSR.from_scipy(shuffled.to_scipy())
    assert torch.equal(rebuilt.columns, shuffled.columns)
    assert torch.equal(rebuilt.values, shuffled.values)


def shuffle_slow(row: tuple[int, ...], count: int) -> dict[tuple[int, ...], float]:
    """Chance of every outcome, by going through all subsets and permutations."""
    outcomes: Counter[tuple[int, ...]] = Counter()
    for subset in itertools.combinations(range(len(row)), count):
        for images in itertools.permutations(subset):
            moved = list(row)
            for source, target in zip(subset, images, strict=True):
                moved[target] = row[source]
            outcomes[tuple(moved)] += 1
    total = outcomes.total()
    return {outcome: number / total for outcome, number in outcomes.items()}


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("row", [(1, 2, 0, 0, 0), (0, 3, 1, 2, 0), (0, 0, 0, 1, 0)])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_shuffle_has_the_distribution_of_its_definition(
    is_sparse: bool, row: tuple[int, ...], count: int
) -> None:
    copies = 20_000
    dense = torch.tensor(row, dtype=torch.float32).repeat(copies, 1)
    features = CSR.from_scipy(dense.numpy()) if is_sparse else dense
    everywhere = torch.ones(copies, dtype=torch.bool)
    shuffled = shuffle_attributes(
        features, count / 5, everywhere, generator=np.random.default_rng(0)
    )
    seen = Counter(map(tuple, as_dense(shuffled).int().tolist()))
    expected = shuffle_slow(row, count)
    assert set(seen) <= set(expected)
    for outcome, chance in expected.items():
        assert abs(seen[outcome] / copies - chance) < 5 * (chance * (1 - chance) / copies) ** 0.5


@given(
    st.builds(
        NoiseSetting,
        st.sampled_from(["symmetric", "asymmetric", "similarity", "random", "instance", "degree"]),
        RATES,
        scope=st.sampled_from(["all", "train_val"]),
        exact_count=st.booleans(),
        clean_validation=st.booleans(),
        attribute_rate=RATES,
    )
)
def test_the_text_of_a_setting_says_all_that_matters(setting: NoiseSetting) -> None:
    again = parse_noise(str(setting))
    assert str(again) == str(setting)
    assert (again.kind, again.rate) == (setting.kind, setting.rate)
    assert again.attribute_rate == setting.attribute_rate
    assert again.exact_count == setting.exact_count
    assert again.clean_validation == setting.clean_validation
    assert setting.attribute_rate == 0 or again.scope == setting.scope
