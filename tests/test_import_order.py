"""A stage imports only from those before it, and a file is one idea of at most 300 lines."""

import ast
from pathlib import Path
from types import ModuleType

import pytest

import quietgraph

ROOT = Path(quietgraph.__file__).parent
ROOTS = ("errors", "types", "params", "rng", "files", "progress", "linalg")
STAGES = ("graph", "graph.io", "data", "embed", "classify", "annotators", "methods", "assessment", "diagnostics")
STAGES = (*STAGES, "plots", "sklearn", "transforms", "testing", "bench", "paper", "report", "review", "cli")
# Inside functions alone: a fit asks annotators' consensus, reads own tables, saves; a graph reads PyG data.
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem not in {"__init__", "__main__"})


def stage_of(module: str) -> int:
    """Return the place of a module such as `graph.io.tables` in the order; root modules come first."""
    parts = module.split(".")
    if parts[0] in ROOTS:
        return -1
    return STAGES.index("graph.io" if parts[:2] == ["graph", "io"] else parts[0])


def imported(path: Path) -> set[str]:
    """Return the modules of ours that a file imports when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    later = {id(node) for function in inside for node in ast.walk(function)}
    guarded = [one for one in ast.walk(tree) if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test)]
    later |= {id(node) for block in guarded for node in ast.walk(block)}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names |= {node.module or ""} if id(node) not in later else set()
        elif isinstance(node, ast.Import) and id(node) not in later:
            names |= {alias.name for alias in node.names}
    return {name.removeprefix("quietgraph.") for name in names if name.startswith("quietgraph.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_stages_before_it(path: Path) -> None:
    own = stage_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    later = {name for name in imported(path) if stage_of(name) > own}
    assert not later, f"{path.relative_to(ROOT)} imports {', '.join(sorted(later))}"


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    assert not {path.stem for path in FILES} & {"utils", "helpers", "common", "misc"}


def test_no_module_takes_the_place_of_a_public_function_once_it_is_imported() -> None:
    functions = {name for name in quietgraph.__all__ if not isinstance(getattr(quietgraph, name), ModuleType)}
    assert not functions & {path.stem for path in ROOT.iterdir()}


def test_no_file_is_longer_than_300_lines() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: size for name, size in sizes.items() if size > 300} == {}
