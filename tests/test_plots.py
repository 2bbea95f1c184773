"""Plots: what is drawn on the axes that were given."""

from collections.abc import Iterator
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.axes import Axes

from quietgraph import plots
from quietgraph.errors import InvalidParameterError


@pytest.fixture
def ax() -> Iterator[Axes]:
    plt.switch_backend("agg")
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def labels_of(axes: Axes) -> list[str]:
    """Names in the legend."""
    return axes.get_legend_handles_labels()[1]


def test_training_draws_each_loss_where_it_was_recorded(ax: Axes) -> None:
    history = [{"loss": 3.0, "seconds": 0.1}, {"loss": 2.0, "rank": 0.5, "score": 0.7}]
    assert plots.training(history, ax=ax) is ax
    assert labels_of(ax) == ["loss", "rank"]
    assert ax.lines[1].get_xydata().tolist() == [[1, 0.5]]
    with pytest.raises(InvalidParameterError, match="no epochs"):
        plots.training([], ax=ax)


def test_calibration_draws_the_mean_of_each_bin(ax: Axes) -> None:
    confidence, right = np.array([0.61, 0.69, 0.95]), np.array([True, False, True])
    plots.calibration(confidence, right, confidence - 0.1, ax=ax)
    assert ax.lines[1].get_xydata().tolist() == [[pytest.approx(0.65), 0.5], [pytest.approx(0.95), 1]]
    assert ax.lines[2].get_ydata().tolist() == pytest.approx([0.55, 0.85])


def test_coverage_answers_the_most_confident_first(ax: Axes) -> None:
    plots.coverage(np.array([0.2, 0.9, 0.5, 0.8]), np.array([False, True, False, True]), ax=ax)
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([1, 1, 2 / 3, 0.5])


def test_theory_is_drawn_from_its_values(ax: Axes) -> None:
    signal = SimpleNamespace(scores=torch.tensor([0.6, 0.3]), concentration=torch.tensor([0.6, 0.9]), num_nodes=9)
    noise = SimpleNamespace(scores=torch.tensor([0.1, 0.2]), concentration=torch.tensor([0.1, 0.3]), num_nodes=9)
    plots.projections(signal, noise, ax=ax)
    assert labels_of(ax) == ["label noise", "labels"]
    ax.clear()
    plots.concentration(signal, noise, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.6, 0.9])
    ax.clear()
    plots.spectrum(SimpleNamespace(eigenvalues=torch.tensor([4.0, 2.0, 1e-9])), ax=ax)
    assert ax.lines[0].get_ydata().tolist() == [1, 0.5]
    ax.clear()
    terms = SimpleNamespace(
        constant=1.0, num_labelled=10, steps=torch.tensor([1, 10]), signal_loss=torch.tensor([5.0, 1.0]),
        noise_loss=torch.tensor([0.0, 2.0]), upper_bound=torch.tensor([2.0, 1.6]), test_loss=None,
        complexity=SimpleNamespace(value=1.0),
    )  # fmt: skip
    plots.bound(terms, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([1.0, 0.2])
    assert ax.get_xscale() == "log"


def test_a_noise_matrix_names_classes_and_writes_shares(ax: Axes) -> None:
    plots.noise_matrix(np.array([[0.7, 0.3], [0.0, 1.0]]), ["garden", "tools"], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["70", "30", "100"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["garden", "tools"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("label", "true class")


def test_curves_run_over_the_rate_of_one_kind(ax: Axes) -> None:
    rows = [
        {"dataset": "g", "protocol": "paper", "method": "a", "noise": noise, "test_accuracy": value}
        for noise, values in {"symmetric:0.4": [0.5, 0.7], "none": [0.9], "annotators:3:0.9": [0.1]}.items()
        for value in values
    ]
    plots.noise_curves(pd.DataFrame(rows), ax=ax)
    assert ax.lines[0].get_xydata().tolist() == [[0, 0.9], [40, pytest.approx(0.6)]]
    for column, value in {"noise": "asymmetric:0.2", "dataset": "h", "protocol": "same labels"}.items():
        with pytest.raises(InvalidParameterError, match="curves are of one"):
            plots.noise_curves(pd.DataFrame([*rows, {**rows[0], column: value}]), ax=ax)
    with pytest.raises(InvalidParameterError, match="no run has a noise"):
        plots.noise_curves(pd.DataFrame(rows[-1:]), ax=ax)


def test_mean_ranks_have_the_best_on_top(ax: Axes) -> None:
    plots.mean_ranks(pd.Series({"quiet": 1.2, "gcn": 2.5}), 0.8, ax=ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["quiet", "gcn"]
    assert ax.yaxis_inverted()


def test_similar_nodes_are_placed_together(ax: Axes) -> None:
    draws = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 330)  # more nodes than t-SNE places
    embeddings = (5 * draws.normal(size=(3, 16))[groups] + draws.normal(size=(990, 16))).astype(np.float32)
    places = plots.place_nodes(embeddings, seed=1)
    assert (places.min(), places.max()) == (0, 1)
    centres = np.stack([places[groups == group].mean(axis=0) for group in range(3)])
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == groups).mean() > 0.95
    plots.embedding(places, np.array(["a", "b", "c"])[groups], ax=ax)
    assert labels_of(ax) == ["a", "b", "c"]


@pytest.mark.parametrize("embeddings", [np.ones((4, 3)), np.ones((100, 1)), np.eye(2)])
def test_few_or_equal_embeddings_have_places_too(embeddings: np.ndarray) -> None:
    places = plots.place_nodes(embeddings.astype(np.float32))
    assert places.shape == (len(embeddings), 2)
    assert np.isfinite(places).all()


def test_the_same_figure_gives_the_same_bytes(ax: Axes) -> None:
    plots.coverage(np.array([0.2, 0.9]), np.array([True, False]), ax=ax)
    first, second = (plots.to_svg(ax.figure) for _ in range(2))
    assert first == second
    assert "accuracy</text>" in first
