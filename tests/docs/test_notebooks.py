"""The notebooks run from the first cell to the last, and are committed with small outputs."""

from pathlib import Path

import pytest

from paths import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["llm_labels", "noisy_benchmark", "own_table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_committed_and_small(path: Path) -> None:
    assert path.stat().st_size < 60_000
    cells = [one for one in nbformat.read(path, as_version=4).cells if one.cell_type == "code"]
    assert any(one.outputs for one in cells)
    assert not [out for one in cells for out in one.outputs if out.output_type == "error"]
    assert str(ROOT) not in path.read_text()
    assert str(Path.home()) not in path.read_text()


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=500, kernel_name="python3", resources=resources).execute()
