"""The page on Python runs as it stands."""

import re

import pytest

from paths import ROOT


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text()
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.M)
    assert len(blocks) >= 5
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
