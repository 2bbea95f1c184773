"""A stage imports only from the stages above it: the way of the data is the tree."""

import ast
from pathlib import Path

import quietgraph

ROOT = Path(quietgraph.__file__).parent
CORE = (
    "errors",
    "eigen",
    "types",
    "rng",
    "params",
    "progress",
    "extras",
    "tensor_file",
    "callbacks",
    "files",
    "html",
    "sqlite_file",
)
STAGES = (
    "graph",
    "data",
    "embed",
    "classify",
    "diagnose",
    "annotators",
    "methods",
    "bench",
    "paper",
    "report",
    "review",
    "cli",
)


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{path}: relative import")
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    ours = (name.split(".") for name in names if name.startswith("quietgraph."))
    return {parts[1] for parts in ours}


def test_the_core_imports_nothing_of_ours_but_the_core() -> None:
    for name in CORE:
        assert imported(ROOT / f"{name}.py") <= set(CORE), name


def test_stages_import_only_from_above() -> None:
    for position, stage in enumerate(STAGES):
        allowed = {*CORE, *STAGES[: position + 1]}
        for path in (ROOT / stage).rglob("*.py"):
            assert imported(path) <= allowed, f"{path.relative_to(ROOT)} imports from below"


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    names = {path.stem for path in ROOT.rglob("*.py")}
    assert not names & {"utils", "helpers", "common", "misc"}


def test_no_file_is_longer_than_300_lines() -> None:
    sizes = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.py")
    }
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > 300} == {}
