from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from quietgraph.diagnose import Diagnosis, diagnose_embedding
from quietgraph.errors import InvalidParameterError, UnwritablePathError
from quietgraph.report.theory_figures import (
    bound_figure,
    projection_figure,
    save_figure,
    spectrum_figure,
)


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    generator = torch.Generator().manual_seed(0)
    right = torch.arange(60) % 3
    rows = torch.eye(3)[right] @ torch.randn(3, 6, generator=generator)
    rows = rows + 0.3 * torch.randn(60, 6, generator=generator)
    labels = torch.where(torch.arange(60) % 5 == 0, (right + 1) % 3, right)
    labelled = torch.arange(60) < 30
    return diagnose_embedding(rows, labels, labelled=labelled, reference=right)


def texts(figure: Figure) -> str:
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " | ".join(legends + [axes.get_title() for axes in figure.axes])


def test_projections_have_two_panels_per_case(diagnosis: Diagnosis) -> None:
    figure = projection_figure(
        {"a": (diagnosis.signal, None), "b": (diagnosis.signal, diagnosis.noise)}
    )
    assert len(figure.axes) == 4
    assert "right labels" in texts(figure)
    assert "label noise" in texts(figure)


def test_every_panel_of_the_first_row_shows_its_largest_score(diagnosis: Diagnosis) -> None:
    many = diagnose_embedding(
        torch.randn(400, 40, generator=torch.Generator().manual_seed(1)),
        torch.arange(400) % 2,
        labelled=torch.arange(400) < 99,
    )
    figure = projection_figure({"a": (diagnosis.signal, None), "b": (many.signal, None)})
    assert figure.axes[0].get_ylim()[1] > float(diagnosis.signal.scores.max())


def test_a_figure_of_no_case_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at least one case"):
        projection_figure({})


def test_spectra_name_effective_rank_and_complexity(diagnosis: Diagnosis) -> None:
    words = texts(spectrum_figure(diagnosis))
    assert f"effective rank {diagnosis.spectrum.effective_rank:.1f}" in words
    assert f"KC {diagnosis.attended_bound.complexity.value:.2f}" in words


def test_lines_differ_in_more_than_colour(diagnosis: Diagnosis) -> None:
    lines = bound_figure(diagnosis.bound).axes[0].get_lines()
    looks = {(line.get_linestyle(), str(line.get_marker()), line.get_linewidth()) for line in lines}
    assert len(looks) == len(lines) == 5


def test_the_bound_is_drawn_with_its_constant(diagnosis: Diagnosis) -> None:
    assert "c0 = 1" in texts(bound_figure(diagnosis.bound, title="toy"))


def test_a_saved_figure_is_the_same_file_every_time(diagnosis: Diagnosis, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_figure(bound_figure(diagnosis.bound), tmp_path / "new" / name)
    assert ">noise fitted, L2</text>" in (tmp_path / "new" / "one.svg").read_text()  # as text
    for suffix in ("svg", "png"):
        one, two = (tmp_path / "new" / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_a_path_that_cannot_be_written_is_named(diagnosis: Diagnosis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnwritablePathError, match=r"figure\.svg cannot be written"):
        save_figure(bound_figure(diagnosis.bound), tmp_path / "file" / "figure")
