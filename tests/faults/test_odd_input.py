"""Commands of a hurried user: nothing that was there is lost, and every end is a sentence."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import quietgraph as qg
from faults.inject import Ended, call, run_in_child
from quietgraph.annotators.batch_answers import read_batch_answers
from quietgraph.annotators.prompts import encode_id
from quietgraph.errors import UnwritablePathError
from quietgraph.files import whole_folder, write_file
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run
from quietgraph.testing import small_problem

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
NODES = "id,x,label\n" + "".join(f"n{place},{place},{'pq'[place % 2]}\n" for place in range(12))
EDGES = "source,target\n" + "".join(f"n{place},n{(place + 1) % 12}\n" for place in range(12))
FIT = ("fit", "t", "--method", "gcn", "--set", "epochs=1", "--set", "hidden=4")
PROMPT = ("label", "prompt", "t", "--text", "x", "--classes", "p,q")
SAID = '{"ranking": ["p", "q"], "confidence": 0.8}'


def batch_line(node: str, said: str = SAID, model: str = "m") -> str:
    body = {"model": model, "choices": [{"message": {"content": said}}]}
    line = {"custom_id": encode_id(node), "response": {"body": body}}
    return json.dumps(line, ensure_ascii=model == "\ud800") + "\n"


def write_sources(folder: Path) -> None:
    (folder / "t").mkdir()
    (folder / "t" / "nodes.csv").write_text(NODES)
    (folder / "t" / "edges.csv").write_text(EDGES)
    (folder / "batch.jsonl").write_text(batch_line("n1"))
    (folder / "elsewhere.csv").write_text("node\nnobody\n")
    (folder / "twice.csv").write_text("id,text\na,hello\na,again\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sources(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run in it that somebody decided on."""
    folder = tmp_path_factory.mktemp("fitted")
    write_sources(folder)
    assert run(folder, *FIT, "--out", "run").code == 0
    node = next(iter(open_run(folder / "run").suspects))
    DecisionStore(folder / "run" / "decisions.sqlite").add(node, "Ada", "keep", "p")
    return folder


def run(folder: Path, *words: str) -> Ended:
    ended = run_in_child(call(words, folder), folder)
    assert ended.code in {0, 2}, ended.errors
    assert "Traceback" not in ended.errors, ended.errors
    return ended


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files but those that SQLite makes beside a store to read it."""
    files = [one for one in folder.rglob("*") if one.is_file() and "sqlite-" not in one.name]
    return {str(one): one.read_bytes() for one in files}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*PROMPT, "--out", "t/nodes.csv"), "is read by this command"),
        ((*PROMPT, "--out", "run/run.json"), "belongs to a run"),
        (
            ("label", "answers", "batch.jsonl", "--classes", "p,q", "--out", "batch.jsonl"),
            "is read",
        ),
        (("label", "next", "run", "--out", "run/predictions.csv"), "belongs to a run"),
        (("predict", "run", "t", "--out", "run"), "belongs to a run"),
        (("review", "run", "--export", "run/suspects.csv"), "belongs to a run"),
        (("bench", "export", "--store", "s.sqlite", "--out", "s.sqlite"), "is read by"),
        (("bench", "table", "--store", "s.sqlite", "--out", "s.sqlite"), "is read by"),
        (("paper", "classification", "--no-run", "--store", "s.sqlite", "--out", "s.sqlite"), "is"),
        (("convert", "t", "t"), "holds other files"),
        (("convert", "t", "run"), "holds other files"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_no_output_takes_the_place_of_an_input(
    words: tuple[str, ...], said: str, fitted: Path
) -> None:
    from fuzz.stored import records
    from quietgraph.bench.store import Store

    with Store(fitted / "s.sqlite") as store:
        store.add_missing(records())
    before = contents(fitted)
    ended = run(fitted, *words)
    assert ended.code == 2
    assert said in ended.errors
    assert contents(fitted) == before


def test_labels_that_were_given_are_not_written_over(fitted: Path) -> None:
    for name in ("next_labels.csv", "next_labels-2.csv", "next_labels-3.csv"):
        assert name in run(fitted, "label", "next", "run", "--budget", "2").errors
        (fitted / "run" / name).write_text("filled in")
    for name in ("next_labels.csv", "next_labels-2.csv", "next_labels-3.csv"):
        assert (fitted / "run" / name).read_text() == "filled in"
        (fitted / "run" / name).unlink()


def test_a_model_never_replaces_a_folder_of_other_files(folder: Path) -> None:
    problem, labels, validation = small_problem()
    model = qg.get_method("gcn")(epochs=1).fit(problem.graph, labels, validation)
    with pytest.raises(UnwritablePathError, match=r"holds other files \(edges.csv\)"):
        model.save(folder / "t")
    assert (folder / "t" / "nodes.csv").read_text() == NODES
    for _ in range(2):  # another model is replaced
        qg.load_model(model.save(folder / "model"))
    (folder / "model" / "notes.txt").touch()
    with pytest.raises(UnwritablePathError, match=r"notes.txt"):
        model.save(folder / "model")


def test_a_converted_folder_with_other_files_is_not_replaced(folder: Path) -> None:
    assert run(folder, "convert", "t", "mapped").code == 0
    assert run(folder, "convert", "t", "mapped").code == 0
    (folder / "mapped" / "notes.txt").touch()
    ended = run(folder, "convert", "t", "mapped")
    assert ended.code == 2
    assert "holds other files (notes.txt)" in ended.errors


def test_a_device_or_pipe_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnwritablePathError, match="a device or a pipe"):
        write_file(tmp_path / "pipe", "text")
    with pytest.raises(UnwritablePathError, match="not a folder"), whole_folder(tmp_path / "pipe"):
        pass
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("seed", ["-1", str(2**32), "9" * 30, "9" * 400])
def test_a_seed_beyond_the_range_is_one_sentence(seed: str, folder: Path) -> None:
    ended = run(folder, *FIT, "--seed", seed, "--out", "run")
    assert ended.code == 2
    assert "seed must be between 0 and 4.29497e+09" in ended.errors
    sweep = ("bench", "run", "--datasets", "sbm", "--methods", "gcn", "--seeds", f"{seed},3")
    assert "seeds must be" in run(folder, *sweep).errors


@pytest.mark.parametrize("value", ["9" * 400, "1e400", "nan", "-1"])
def test_a_number_beyond_all_others_is_one_sentence(value: str, folder: Path) -> None:
    ended = run(folder, *FIT, "--set", f"learning_rate={value}", "--out", "run")
    assert ended.code == 2
    assert "learning_rate must be" in ended.errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*PROMPT, "--nodes", "elsewhere.csv"), "no node of elsewhere.csv is in t"),
        (("label", "prompt", "twice.csv", "--text", "text", "--classes", "p,q"), "more than once"),
        ((*PROMPT[:-1], "p,p"), "two classes or more, got 1"),
        (("label", "answers", "batch.jsonl", "--classes", "a b,a_b"), "differ only in case"),
        (("label", "answers", "nothing.jsonl", "--classes", "p,q"), "Name the JSON lines"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_prompts_and_answers_that_cannot_be_meant(
    words: tuple[str, ...], said: str, folder: Path
) -> None:
    ended = run(folder, *words)
    assert ended.code == 2
    assert said in ended.errors


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "--nodes", "pipe", "--edges", "t/edges.csv"),
        (*FIT, "--fix", "pipe"),
        (*FIT, "--annotations", "pipe"),
        (*FIT, "--verified", "pipe"),
        ("diagnose", "sbm", "--embeddings", "pipe"),
        ("label", "answers", "pipe", "--classes", "p,q"),
        ("bench", "import", "pipe"),
    ],
    ids=" ".join,
)
def test_nobody_waits_for_a_pipe(words: tuple[str, ...], folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    ended = run(folder, *words)
    assert ended.code == 2
    assert "pipe is no file. Name a file" in ended.errors


def test_an_archive_is_no_matrix_of_embeddings(folder: Path) -> None:
    np.savez(folder / "e.npz", x=np.eye(3))
    ended = run(folder, "diagnose", "sbm", "--embeddings", "e.npz")
    assert ended.code == 2
    assert "e.npz holds no readable matrix" in ended.errors


@pytest.mark.parametrize("host", ["a" * 300, "a..b", "no host"])
def test_a_host_that_cannot_be_is_one_sentence(host: str) -> None:
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    from quietgraph.review.listen import listen

    with pytest.raises(UnwritablePathError, match="cannot listen on"):
        listen(host, 0)


def test_answers_hold_any_character(folder: Path) -> None:
    text = f"one line\u2028another\x85third {SAID}"
    lines = batch_line("n1", text) + batch_line("n2", SAID, model="\ud800")
    (folder / "batch.jsonl").write_text(lines, encoding="utf-8")
    table = read_batch_answers(folder / "batch.jsonl", ["p", "q"]).table
    assert list(table["label"]) == ["p", "p"]
    assert list(table["annotator"]) == ["m", "?"]


def test_thousands_of_annotators_are_not_thousands_of_lines(folder: Path) -> None:
    rows = "".join(f"n{place % 12},w{place},{'pq'[place % 2]}\n" for place in range(300))
    (folder / "a.csv").write_text(f"node,annotator,label\n{rows}")
    ended = run(folder, *FIT, "--annotations", "a.csv", "--out", "run")
    assert ended.code == 0
    assert "300 annotators, such as 'w0', gave one answer only" in ended.errors
    assert "281 more annotators are in annotators.csv" in ended.errors  # one is the graph itself
    assert ended.errors.count("\n") < 60
