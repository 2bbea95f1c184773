"""What every registered method has beside its code, and how it is built."""

import ast

import pytest

import quietgraph as qg
from paths import ROOT
from quietgraph.methods.registry import class_path
from quietgraph.params import parameters

OURS = [name for name, method in qg.METHODS.items() if class_path(method).startswith("quietgraph.")]


@pytest.mark.parametrize("name", OURS)
def test_at_most_one_class_stands_between_a_method_and_the_base(name: str) -> None:
    method = qg.get_method(name)
    between = method.__mro__[1 : method.__mro__.index(qg.NodeClassifier)]
    assert len(between) <= 1
    assert all(len(each.__bases__) == 1 for each in (method, *between))
    assert method not in {base for other in qg.METHODS.values() for base in other.__mro__[1:]}


@pytest.mark.parametrize("name", OURS)
def test_a_method_has_a_test_of_its_own(name: str) -> None:
    method = qg.get_method(name)
    tests = (path.read_text() for path in (ROOT / "tests" / "methods").rglob("test_*.py"))
    wanted = {method.__module__, f"qg.{method.__name__}", f'"{name}"'}
    assert any(word in text for text in tests for word in wanted)


@pytest.mark.parametrize("name", OURS)
def test_a_method_declares_citation_quick_settings_and_cost(name: str) -> None:
    method = qg.get_method(name)
    own = vars(method)
    assert own["citation"].strip().endswith(".")
    assert set(own["quick"]) <= set(parameters(method))
    assert own["quick"]
    assert own["cora_seconds"] > 0
    method(**own["quick"])


@pytest.mark.parametrize("name", OURS)
def test_a_method_has_a_row_in_the_docs(name: str) -> None:
    page = (ROOT / "docs" / "methods.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert any(f"`{name}`" in row for row in rows)


@pytest.mark.parametrize("name", OURS)
def test_a_method_has_a_public_typed_name(name: str) -> None:
    method = qg.get_method(name)
    assert getattr(qg, method.__name__) is method
    tree = ast.parse((ROOT / "src" / "quietgraph" / "__init__.py").read_text())
    typed = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert (method.__module__, method.__name__) in typed
