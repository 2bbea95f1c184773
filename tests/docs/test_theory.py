import re
from pathlib import Path
from typing import Any

import pytest

from paths import ROOT

DOCS = ROOT / "docs" / "theory.md"


def test_the_worked_example_prints_what_the_docs_show(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    scope: dict[str, Any] = {}
    for kind, block in blocks:
        if kind == "python":
            exec(block, scope)
        else:
            assert capsys.readouterr().out == block
    assert sorted(path.name for path in (tmp_path / "figures").iterdir())[:2] == [
        "bound.png",
        "bound.svg",
    ]
