"""How much of our code a fit runs through: what a reader must hold to follow it."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import quietgraph
from quietgraph.methods.gcn import GCN
from quietgraph.methods.low_rank.gcl import GCLLRAttention
from quietgraph.testing import small_data

ROOT = str(Path(quietgraph.__file__).parent)


def functions_of(call: Callable[[], object]) -> set[tuple[str, str]]:
    """Return file and name of every function of ours that a call runs; comprehensions are no functions."""
    seen = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            name = code.co_qualname.split(".<locals>.<")[0].removesuffix(".<genexpr>")
            if not name.startswith("<"):
                seen.add((code.co_filename, name))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.parametrize(
    ("model", "most_functions", "most_files"),
    [(GCN(epochs=2), 75, 16), (GCLLRAttention(epochs=18, encoder="gcn"), 130, 24)],
    ids=["gcn", "gcl-lr-attention"],
)
def test_a_fit_runs_through_few_functions_and_files(model: Any, most_functions: int, most_files: int) -> None:
    data = small_data().without_choice()
    found = functions_of(lambda: model.fit(data))
    files = {file for file, _ in found}
    assert len(found) <= most_functions, sorted(found)
    assert len(files) <= most_files, sorted(files)
