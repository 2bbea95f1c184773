"""The documentation builds, its links lead somewhere, and every public name is explained."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import quietgraph
from paths import ROOT
from quietgraph.methods.registry import METHODS
from quietgraph.params import parameters

SOURCES = sorted((ROOT / "src" / "quietgraph").rglob("*.py"))


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the whole site; a link to nowhere or a name that does not exist ends the build."""
    pytest.importorskip("mkdocs", reason="the site is built by mkdocs: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages == {path.stem for path in site.glob("*.html")} - {"404"}


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "adr"]
    assert [page.name for page in pages if f": {page.relative_to(ROOT / 'docs')}" not in menu] == []


def test_the_reference_explains_the_functions_on_plain_tensors(site: Path) -> None:
    page = (site / "reference" / "embed.html").read_text(encoding="utf-8")
    for name in ("info_nce", "prototype_loss", "truncated_nuclear_norm"):
        assert f'id="quietgraph.embed.losses.{name}"' in page


def test_the_reference_has_the_parameters_of_every_method(site: Path) -> None:
    page = (site / "reference" / "methods.html").read_text(encoding="utf-8")
    for name, method in METHODS.items():
        section = page.partition(f"<code>{name}</code>")[2].partition("<h2")[0]
        assert [one for one in parameters(method) if f"<code>{one}</code>" not in section] == []


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    for page in site.glob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert [one for one in loaded if "fonts" in one or "cdn" in one] == []


def test_figures_hold_text_as_text() -> None:
    drawn = sorted((ROOT / "docs" / "images").glob("*.svg"))
    assert drawn
    assert not [path.name for path in drawn if "<text" not in path.read_text(encoding="utf-8")]
