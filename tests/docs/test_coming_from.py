"""Every row of the page for users of other tools is run, and cleanlab's names are its own."""

import re

import pytest
from sklearn.base import clone

from pages import blocks
from paths import ROOT

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!habit|---)([^|]+) \|.*\| `([^`]+)`[^|]*\|$", PAGE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """What the code of a row may use: the block at the top, and the tools it is compared with."""
    known: dict[str, object] = {"clone": clone}
    (block,) = blocks("python", PAGE)
    exec(block, known)  # the page's own words
    known["known"] = known["data"].known.numpy()  # type: ignore[attr-defined]
    known["find_label_issues"] = pytest.importorskip("cleanlab.filter").find_label_issues
    return known


def test_every_row_of_every_table_is_run() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (?!habit|---)", line)]
    assert len(ROWS) == len(rows) > 25


@pytest.mark.parametrize(("habit", "code"), ROWS, ids=[habit for habit, _ in ROWS])
def test_a_row_works(habit: str, code: str, names, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert eval(code, names) is not None
