"""Every plot draws what the model says on the axes that it is given, and returns them."""

import matplotlib as mpl
import numpy as np
import pytest

import quietgraph as qg

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(scope="module")
def model() -> qg.GCN:
    drawn = qg.block_model(120, num_classes=3, generator=np.random.default_rng(0))
    labels = np.where(np.arange(120) < 80, drawn.classes, -1)
    return qg.GCN(epochs=20, hidden=8).fit(drawn.graph, labels)


@pytest.mark.parametrize("name", qg.plots.__all__)
def test_a_plot_returns_the_axes_it_was_given_or_new_ones(name: str, model: qg.GCN) -> None:
    draw = getattr(qg.plots, name)
    figure, axes = plt.subplots()
    assert draw(model, ax=axes) is axes
    assert axes.get_xlabel() or name == "embedding"
    assert draw(model).figure is not figure
    plt.close("all")


def test_lines_are_the_numbers_of_the_model(model: qg.GCN) -> None:
    (line,) = qg.plots.training(model).get_lines()
    np.testing.assert_allclose(line.get_ydata(), [row["loss"] for row in model.history_])
    first = qg.plots.spectrum(model.diagnose()).get_lines()[0]
    values = model.diagnose().spectrum.eigenvalues
    assert first.get_ydata()[1] == pytest.approx(float(values[1] / values[0]))
    heights = [bar.get_height() for bar in qg.plots.suspects(model).patches]
    assert sum(heights) == 80
    plt.close("all")


def test_the_calibration_plot_shows_calibrated_probabilities(model: qg.GCN) -> None:
    _, _, expected = qg.plots.calibration(model).get_lines()
    rows = model.calibrated_out_of_fold()[:80]
    estimated = model.quality().estimated_accuracy
    assert rows.max(axis=1).mean() == pytest.approx(estimated)
    assert (model.expected_agreement()[:80] <= rows.max(axis=1) + 1e-9).all()
    assert expected.get_ydata().max() <= 1
    covered = qg.plots.coverage(model).get_lines()[0].get_ydata()
    assert covered[0] == pytest.approx(estimated)
    plt.close("all")


def test_what_has_no_epochs_says_so(model: qg.GCN) -> None:
    with pytest.raises(qg.NotFittedError):
        qg.plots.training(qg.GCN())
