"""Scripts of studies and benchmarks import names that exist."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from paths import ROOT

SCRIPTS = sorted([*(ROOT / "studies").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_name_that_a_script_imports_from_us_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quietgraph"):
            module = import_module(node.module or "")
            for one in node.names:
                below = f"{node.module}.{one.name}"
                assert hasattr(module, one.name) or find_spec(below) is not None, below
