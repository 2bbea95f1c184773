"""`--json` of every command: one JSON value that any parser takes, and nothing else on stdout."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from faults.inject import Ended, call, run_in_child
from fuzz.asked import write_batch, write_long
from fuzz.seeds import write_csv
from fuzz.stored import records
from quietgraph.bench.store import Store
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
FIT = "fit tables --method gcn --set epochs=1 --set hidden=4 --annotations answers.csv --overwrite"
STORE = "--store runs.sqlite"
COMMANDS = [
    f"{FIT} --out again",
    "predict run tables",
    "diagnose run",
    "label next run --budget 3",
    "label prompt tables --text story --classes a,b",
    "label answers batch.jsonl --classes a,b --out answered.csv",
    "convert tables mapped",
    "review run --export verified.csv",
    "methods",
    "methods gcn",
    "datasets",
    f"bench table {STORE}",
    f"bench compare {STORE}",
    f"bench curves {STORE}",
    f"bench ranks {STORE}",
    f"bench export {STORE} --out runs.csv",
    "bench import runs.csv --store taken.sqlite",
    f"bench run --datasets sbm --methods gcn:epochs=1 --seeds 1 --estimate {STORE}",
    "paper list",
    f"paper classification --no-run {STORE}",
    f"paper classification --estimate --budget smoke {STORE}",
]


def stdout_of(words: str, folder: Path) -> tuple[Ended, str]:
    def action() -> int:
        os.dup2(os.open(folder / "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        return call(tuple(shlex.split(words)), folder)()

    ended = run_in_child(action, folder)
    return ended, (folder / "stdout").read_text()


def strict(text: str) -> Any:
    """Return a JSON value; NaN and Infinity, which only Python writes, are refused."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    (folder / "tables").mkdir()
    write_csv(folder / "tables")
    write_batch(folder)
    write_long(folder)
    with Store(folder / "runs.sqlite") as store:
        store.add_missing(records())
    for words in (f"{FIT} --out run", f"bench export {STORE} --out runs.csv"):
        ended, _ = stdout_of(words, folder)
        assert ended.code == 0, ended.errors
    node = next(iter(open_run(folder / "run").suspects))
    DecisionStore(folder / "run" / "decisions.sqlite").add(node, "Ada", "keep", "a")
    return folder


@pytest.mark.parametrize("words", COMMANDS)
def test_stdout_is_one_json_value(words: str, folder: Path) -> None:
    ended, text = stdout_of(f"{words} --json", folder)
    assert ended.code == 0, ended.errors
    assert strict(text)


@pytest.mark.parametrize("words", ["fit nothing", "predict nothing tables", "diagnose nothing"])
def test_an_error_leaves_stdout_empty(words: str, folder: Path) -> None:
    ended, text = stdout_of(f"{words} --json", folder)
    assert ended.code == 2
    assert text == ""
    assert ended.errors.startswith("error: ")
