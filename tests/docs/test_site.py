"""The documentation builds, its links lead somewhere, and every public name is explained."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import quietgraph
from paths import ROOT

BUILD = ROOT / "docs" / "api" / "build.py"
SOURCES = sorted((ROOT / "src" / "quietgraph").rglob("*.py"))


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    pytest.importorskip("pdoc", reason="the reference is made by pdoc: pip install '.[docs]'")
    spec = importlib.util.spec_from_file_location("build_docs", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nameless(tree: ast.AST, where: str) -> Iterator[str]:
    """Yield what is public below a module or class and has no docstring."""
    for part in ast.iter_child_nodes(tree):
        if not isinstance(part, ast.ClassDef | ast.FunctionDef) or part.name.startswith("_"):
            continue
        name = f"{where}.{part.name}"
        overloaded = any("overload" in ast.dump(one) for one in part.decorator_list)
        if ast.get_docstring(part) is None and not overloaded:
            yield name
        if isinstance(part, ast.ClassDef):
            yield from nameless(part, name)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_every_public_name_has_a_docstring(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) is not None
    assert list(nameless(tree, source.stem)) == []


def test_what_the_package_offers_is_explained() -> None:
    for name in dir(quietgraph):
        offered = getattr(quietgraph, name)
        assert isinstance(offered, dict) or offered.__doc__.strip(), name


def test_a_part_of_the_reference_builds_without_a_warning(
    builder: ModuleType, tmp_path: Path
) -> None:
    names = ["quietgraph", "quietgraph.graph", "quietgraph.classify", "quietgraph.errors"]
    assert builder.build_reference(tmp_path, names) == []
    page = (tmp_path / "quietgraph.html").read_text()
    for name in quietgraph.__all__:
        assert f'id="{name}"' in page


def test_every_page_is_built_and_every_link_leads_somewhere(
    builder: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "quietgraph.html").touch()  # built by the other test
    builder.build_pages(tmp_path)
    assert builder.dead_links(tmp_path) == []
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages | {"index"} == {path.stem for path in tmp_path.glob("*.html")}


def test_a_link_to_nowhere_is_told(builder: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html"></a><a href="#here"></a><p id="there">')
    assert builder.dead_links(tmp_path) == [
        "a.html: there is no b.html",
        "a.html: there is no place #here",
    ]


def test_every_module_but_the_commands_is_in_the_reference(builder: ModuleType) -> None:
    names = builder.modules()
    assert {
        "quietgraph",
        "quietgraph.classify.label_issues.posterior",
        "quietgraph.methods.quiet.quiet",
    } <= set(names)
    assert not [name for name in names if name.startswith("quietgraph.cli")]


@pytest.mark.slow
def test_the_whole_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("pdoc", reason="the reference is made by pdoc: pip install '.[docs]'")
    done = subprocess.run(
        [sys.executable, str(BUILD), str(tmp_path / "site")], capture_output=True, check=False
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
