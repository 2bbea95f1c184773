"""Figures of a benchmark: what is drawn, and that the files never change by themselves."""

import itertools
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from quietgraph.bench.statistics import mean_ranks
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.report.benchmark_figures import (
    _alike,
    critical_difference_diagram,
    noise_curves,
    save,
)
from quietgraph.report.svg import to_svg

NOISES = ("none", "symmetric:0.2", "symmetric:0.4", "asymmetric:0.4")


def runs(noises: tuple[str, ...] = NOISES, methods: tuple[str, ...] = ("gcn", "s2gc", "mlp")):
    generator = np.random.default_rng(0)
    places = itertools.product(("cora", "photo"), noises, enumerate(methods), range(4))
    rows = [
        {
            "dataset": dataset,
            "noise": noise,
            "method": method,
            "seed": seed,
            "status": "done",
            "test_accuracy": 0.5 + index / 10 + generator.normal() / 50,
        }
        for dataset, noise, (index, method), seed in places
    ]
    return pd.DataFrame(rows)


def alike_slow(ranks: list[float], critical: float) -> list[tuple[int, int]]:
    pairs = itertools.combinations(range(len(ranks)), 2)
    close = [(a, b) for a, b in pairs if ranks[b] - ranks[a] <= critical]
    return [
        (a, b)
        for a, b in close
        if not any((c, d) != (a, b) and c <= a and b <= d for c, d in close)
    ]


def test_there_is_one_panel_per_dataset_and_kind_of_noise() -> None:
    titles = [panel.get_title(loc="left") for panel in noise_curves(runs()).axes]
    assert titles == [
        "cora, asymmetric noise",
        "cora, symmetric noise",
        "photo, asymmetric noise",
        "photo, symmetric noise",
    ]


def test_a_curve_starts_with_the_runs_without_noise_and_is_in_percent() -> None:
    frame = runs()
    panel = noise_curves(frame).axes[1]
    curve = next(line for line in panel.get_lines() if line.get_label() == "gcn")
    is_curve = (frame["dataset"] == "cora") & (frame["method"] == "gcn")
    means = frame[is_curve].groupby("noise")["test_accuracy"].mean() * 100
    np.testing.assert_allclose(curve.get_xdata(), [0, 20, 40])
    expected = means[["none", "symmetric:0.2", "symmetric:0.4"]]
    np.testing.assert_allclose(curve.get_ydata(), expected)


def test_each_method_has_a_look_of_its_own() -> None:
    methods = tuple(f"m{index:02}" for index in range(21))
    lines = noise_curves(runs(methods=methods)).axes[0].get_lines()
    looks = {(line.get_color(), line.get_marker()) for line in lines}
    assert len(looks) == len(methods)


def test_only_the_wanted_methods_are_drawn() -> None:
    lines = noise_curves(runs(), methods=["mlp", "gcn"]).axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["mlp", "gcn"]


def test_an_unknown_method_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'s2gc'"):
        noise_curves(runs(), methods=["s2cg"])


def test_runs_without_noise_alone_are_drawn_too() -> None:
    panel = noise_curves(runs(("none",))).axes[0]
    assert panel.get_title(loc="left") == "cora, no noise"


def test_a_method_without_runs_in_a_panel_is_left_out_there() -> None:
    frame = runs()
    frame = frame[(frame["dataset"] == "cora") | (frame["method"] != "mlp")]
    to_svg(noise_curves(frame))


def test_noise_without_one_rate_has_no_curve() -> None:
    with pytest.raises(InvalidParameterError, match="noise with one rate"):
        noise_curves(runs(("symmetric:0.4+attribute:0.2",)))


@pytest.mark.parametrize("seed", range(5))
def test_bars_join_the_longest_runs_of_methods_not_told_apart(seed: int) -> None:
    ranks = np.sort(np.random.default_rng(seed).uniform(1, 8, size=8))
    assert _alike(ranks, 1.5) == alike_slow(ranks.tolist(), 1.5)


def test_the_diagram_names_every_method_with_its_rank() -> None:
    result = mean_ranks(runs())
    texts = [text.get_text() for text in critical_difference_diagram(result).axes[0].texts]
    for method, rank in result.ranks.items():
        assert any(str(method) in text and f"{rank:.2f}" in text for text in texts)


def test_a_diagram_needs_two_methods_and_a_complete_block() -> None:
    with pytest.raises(InvalidParameterError, match="got 1 methods and 32 complete blocks"):
        critical_difference_diagram(mean_ranks(runs(methods=("gcn",))))


def test_the_same_runs_give_the_same_file(tmp_path: Path) -> None:
    for name in ("first.svg", "second.svg"):
        save(noise_curves(runs()), tmp_path / name)
    first, second = ((tmp_path / name).read_bytes() for name in ("first.svg", "second.svg"))
    assert first == second
    assert b"<dc:date>" not in first
    ET.fromstring(first)


def test_drawing_changes_no_global_setting() -> None:
    before = dict(mpl.rcParams)
    to_svg(critical_difference_diagram(mean_ranks(runs())))
    assert dict(mpl.rcParams) == before


def test_figures_are_saved_as_svg_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"NAME\.svg"):
        save(noise_curves(runs()), tmp_path / "figure.png")
