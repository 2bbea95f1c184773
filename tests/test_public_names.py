"""The public names: typed, imported only when used, and the same as the snippets of the README."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import quietgraph as qg
from paths import ROOT

WRONG = "qg.Quiet(sed=3)"


def python_blocks(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.M))


@pytest.mark.parametrize("name", qg.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(qg, name) is not None
    assert name in dir(qg)


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Quite'"):
        _ = qg.Quite


def test_importing_the_package_does_not_import_torch() -> None:
    program = "import sys, quietgraph; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_mypy_knows_every_method_and_accepts_the_readme(tmp_path: Path) -> None:
    """One run of mypy for the snippets, every estimator and a mistyped parameter."""
    pytest.importorskip("mypy")
    lines = [python_blocks(ROOT / "README.md"), "import quietgraph as qg"]
    lines += [f"assert qg.{method.__name__}(seed=3).seed" for method in qg.METHODS.values()]
    lines += ["fitted: qg.GCN = qg.GCN().fit(data.graph, data.labels)", WRONG]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty"]
    config = ["--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, *config, str(program)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout
    assert 'Unexpected keyword argument "sed" for "Quiet"' in errors[0]
