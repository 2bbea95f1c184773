"""Valid answers of annotators, requests to the servers, options and datasets: fuzzed like files."""

import json
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch

import quietgraph as qg
from asgi import Client
from fuzz.seeds import arrays, frames, write_csv, write_graphml
from fuzz.stored import write_run_folder
from quietgraph.annotators.batch_answers import read_batch_answers
from quietgraph.annotators.prompts import batch_lines, encode_id
from quietgraph.annotators.tables import disagreement_table
from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.search_space import parse_space
from quietgraph.bench.variant import parse_variants
from quietgraph.cli.diagnose import diagnose
from quietgraph.cli.label import choose
from quietgraph.data import dataset_cache
from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import Annotations
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.sources import SOURCES, RawDataset
from quietgraph.graph.io.limits import parse_size
from quietgraph.graph.io.node_table import read_node_table
from quietgraph.methods.storage import seal
from quietgraph.report.fit_run import FitRun
from quietgraph.report.write_run import write_run, write_table
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run
from quietgraph.review.server import Review
from quietgraph.review.service import PredictionService
from quietgraph.testing import small_problem

IDS = list(frames()[0]["id"])
CLASSES = ("a", "b")


def answers() -> pd.DataFrame:
    draws = np.random.default_rng(0)
    rows = [
        (node, who, str(draws.choice(CLASSES)), round(float(draws.random()), 2))
        for node in IDS
        for who in ("Ann", "Bob", "gpt")
    ]
    table = pd.DataFrame(rows, columns=["node", "annotator", "label", "confidence"])
    table["ranking"] = [f"{label} > {'b' if label == 'a' else 'a'}" for label in table["label"]]
    return table


def write_long(folder: Path) -> Path:
    answers().to_csv(folder / "answers.csv", index=False)
    return folder / "answers.csv"


def write_wide(folder: Path) -> Path:
    given = {who: list(few["label"]) for who, few in answers().groupby("annotator")}
    pd.DataFrame({"node": IDS, **given}).to_csv(folder / "answers.csv", index=False)
    return folder / "answers.csv"


def write_parquet(folder: Path) -> Path:
    table = answers()
    table["ranking"] = [text.split(" > ") for text in table["ranking"]]
    table.to_parquet(folder / "answers.parquet")
    return folder / "answers.parquet"


def read_answers(path: Path) -> None:
    """Read answers as `fit --annotations` does, with classes and without, and use them."""
    for classes in (None, np.array(CLASSES)):
        with suppress(qg.QuietgraphError):
            check_answers(read_annotations(path, IDS, classes))
    check_answers(read_annotations(path, IDS))


def check_answers(found: Annotations) -> None:
    assert len(found) > 0
    assert (found.nodes >= 0).all()
    assert (found.nodes < len(IDS)).all()
    assert (found.labels >= 0).all()
    assert (found.labels < len(found.classes)).all()
    said = found.confidences[~np.isnan(found.confidences)]
    assert ((said >= 0) & (said <= 1)).all()
    assert (found.ranks[np.arange(len(found)), found.labels] == 0).all()
    disagreement_table(found)
    found.to_frame(IDS)
    found.in_words()


def write_batch(folder: Path) -> Path:
    """Write answers of both providers, good ones and refusals."""
    said = '{"ranking": ["a", "b"], "confidence": 0.8}'
    lines: list[dict[str, Any]] = []
    for node in IDS[:5]:
        body = {"model": "m", "choices": [{"message": {"content": said}}]}
        lines.append({"custom_id": encode_id(node), "response": {"body": body}})
    for node in IDS[5:9]:
        message = {"model": "n", "content": [{"type": "text", "text": f"I think {said}, 85%"}]}
        lines.append({"custom_id": encode_id(node), "result": {"message": message}})
    lines.append({"custom_id": encode_id(IDS[9]), "error": {"code": "x"}})
    (folder / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "batch.jsonl"


def read_batch(path: Path) -> None:
    """Read the answers of a batch, write the table, and read that as annotations."""
    found = read_batch_answers(path, CLASSES)
    if found.table.empty:
        return
    check_answers(read_annotations(write_table(found.table, path.with_suffix(".csv")), IDS))


def read_prompts(source: Path) -> None:
    """Write prompts for all nodes as `label prompt` does."""
    table = read_node_table(source)
    if table is not None:
        key, text = str(table.columns[0]), [str(table.columns[-1])]
        lines = batch_lines(table, CLASSES, id_column=key, text_columns=text)
        "".join(lines).encode()


def write_answered_run(folder: Path) -> Path:
    (folder / "tables").mkdir()
    data = qg.load(write_csv(folder / "tables"), annotations=[write_long(folder)])
    model = qg.get_method("gcn")(epochs=2, hidden=4).fit(data)
    model.suspects()
    run = FitRun("tables", NoiseSetting(), model, data, None, {}, {}, "quietgraph fit tables")
    return write_run(run, folder / "run")


def write_answered_model(folder: Path) -> Path:
    write_answered_run(folder)
    return folder / "run" / "model"


def read_answered_model(folder: Path) -> None:
    """Load a model with a consensus whose checksums fit, and ask it about annotators."""
    with suppress(Exception):
        seal(folder)
    model = qg.load_model(folder)
    found = [model.predict_proba(), model.annotators()["answers"].to_numpy()]
    model.next_labels(3)
    assert all(np.isfinite(one).all() for one in found), "NaN in an answer"


def read_next(folder: Path) -> None:
    """Ask a run what to label next, and diagnose it."""
    options = {"annotator": None, "costs": None, "out": folder / "next.csv", "data_root": None}
    options["as_json"] = True
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        with suppress(qg.QuietgraphError):
            choose(run_dir=folder, budget=3, **options)
        diagnosed(folder)


def diagnosed(folder: Path) -> None:
    given = {"method": "gcn", "embeddings": None, "noise": "none", "seed": 0, "scale": "unit"}
    more = {"constant": 1.0, "out": None, "data_root": None, "as_json": True}
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        diagnose(source=str(folder), **given, **more)


def write_requests(folder: Path) -> Path:
    nodes, edges = frames()
    few = arrays()
    asked = {
        "positions": {"nodes": [0, 1, 2]},
        "arrays": {"features": few["x"].tolist(), "edges": few["edge_index"].T.tolist()},
        "rows": {"nodes": nodes.to_dict("records"), "edges": edges.to_dict("records")},
    }
    asked["arrays"]["weights"] = few["edge_weight"].tolist()
    (folder / "asked").mkdir()
    for name, body in asked.items():
        (folder / "asked" / f"{name}.json").write_text(json.dumps(body))
    return folder / "asked"


@cache
def service() -> Client:
    with tempfile.TemporaryDirectory() as scratch:
        data = qg.load(write_csv(Path(scratch)))
    model = qg.get_method("gcn")(epochs=2, hidden=4).fit(data)
    served = PredictionService(model, "127.0.0.1", data.encoding)
    served.known.rate = served.known.burst = 1e9
    headers = {"Authorization": f"Bearer {served.token}"}
    return Client(served.app(), headers)


def send_requests(folder: Path) -> None:
    """Ask for predictions; a server error is an exception here."""
    for path in sorted(folder.iterdir()):
        answer = service().post("/predict", content=path.read_bytes())
        assert answer.status_code in {200, 400}, answer.text
        if answer.status_code == 200:
            rows = [row["probabilities"] for row in answer.json()["predictions"]]
            assert np.isfinite(np.array(rows)).all(), "NaN in an answer"


def write_decision(folder: Path) -> Path:
    sent = {"node": "n1", "reviewer": "Ada", "choice": "other", "label": "a"}
    (folder / "sent.json").write_text(json.dumps(sent))
    return folder / "sent.json"


@cache
def reviewed() -> tuple[Client, Any]:
    scratch = tempfile.TemporaryDirectory()  # kept as long as the client
    folder = write_run_folder(Path(scratch.name))
    run = open_run(folder)
    served = Review(run, DecisionStore(folder / "decisions.sqlite"), "127.0.0.1")
    served.known.rate = served.known.burst = 1e9
    headers = {
        "Origin": "http://127.0.0.1:8899",
        "Content-Type": "application/json",
        "Cookie": f"quietgraph-8899={served.cookie}",
    }
    return Client(served.app(), headers), scratch


def send_decision(path: Path) -> None:
    """Send a decision; what is taken can be listed and exported."""
    client, _ = reviewed()
    answer = client.post("/decisions", content=path.read_bytes())
    assert answer.status_code in {201, 400}, answer.text
    if answer.status_code == 201:
        after = answer.json()["id"] - 1
        assert len(client.get("/decisions", params={"after": after}).json()) == 1
        assert client.get("/verified.csv").status_code == 200


def write_options(folder: Path) -> Path:
    """Write options of the command line, one a line, as a file that can be mutated."""
    noise = ["symmetric:0.4", "annotators:3:0.9/0.7/spammer", "asymmetric:0.2+attribute:0.1"]
    asked = {
        "noise": [*noise, "annotator:0.3", "instance:0.3", "none+clean-validation"],
        "seeds": ["3", "0-4", "1,5,9"],
        "methods": ["gcn", "quiet:correction_rounds=0", "gcl-lrr:rank=3:epochs=2"],
        "space": ["epochs=10..100", "learning_rate=0.001..0.1", "hidden=16,32"],
        "limit": ["8GB", "100MB"],
    }
    (folder / "options.json").write_text(json.dumps(asked))
    return folder / "options.json"


OPTIONS: dict[str, Callable[[str], Any]] = {
    "noise": lambda text: str(parse_noise(text)),
    "seeds": parse_seeds,
    "methods": lambda text: [one.estimator() for one in parse_variants([text])],
    "space": lambda text: parse_space(qg.get_method("gcn"), [text]),
    "limit": parse_size,
}


def read_options(path: Path) -> None:
    """Parse all options of a file, each of which ends in a value or our error."""
    try:
        asked = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return
    for name, texts in asked.items() if isinstance(asked, dict) else ():
        for text in texts if isinstance(texts, list) and name in OPTIONS else ():
            with suppress(qg.QuietgraphError):
                OPTIONS[name](str(text))


def raw_arrays() -> dict[str, Any]:
    few = arrays()
    ends = few["edge_index"]
    adjacency = scipy.sparse.csr_matrix((np.ones(ends.shape[1]), ends), shape=(12, 12))
    features = scipy.sparse.csr_matrix(few["x"])
    parts: dict[str, Any] = {"labels": few["y"]}
    for start, matrix in (("adj_", adjacency), ("attr_", features)):
        for part in ("data", "indices", "indptr", "shape"):
            parts[start + part] = np.asarray(getattr(matrix, part))
    return parts


def write_raw(folder: Path) -> Path:
    place = folder / SOURCES["dblp"].folder
    place.mkdir(parents=True)
    np.savez(place / "dblp.npz", **raw_arrays())
    return place / "dblp.npz"


def read_raw(path: Path) -> None:
    """Read a benchmark's own file, without the cache."""
    root = path.parents[3]
    read = dataset_cache._read_raw("dblp", SOURCES["dblp"], root, root)
    assert len(read.labels) == read.graph.num_nodes, "lengths differ"


def write_cached(folder: Path) -> Path:
    problem, labels, _ = small_problem(num_nodes=40)
    codes = torch.as_tensor(np.asarray(labels, dtype=np.int64))
    raw = RawDataset(problem.graph, codes, torch.zeros((40, 0), dtype=torch.int8))
    dataset_cache._save(raw, folder / "kept.safetensors")
    return folder / "kept.safetensors"


def read_cached(path: Path) -> None:
    """Read a cached dataset: a whole one, or none."""
    kept = dataset_cache._load(path)
    if kept is not None:
        assert len(kept.labels) == kept.graph.num_nodes
        kept.graph.adjacency.to_scipy().check_format(full_check=True)


ASKED: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "annotations": (write_long, read_answers),
    "annotations wide": (write_wide, read_answers),
    "annotations parquet": (write_parquet, read_answers),
    "batch answers": (write_batch, read_batch),
    "prompts": (write_csv, read_prompts),
    "prompts graphml": (write_graphml, read_prompts),
    "run folder to label next": (write_answered_run, read_next),
    "run folder to diagnose": (write_run_folder, diagnosed),
    "model of annotators resealed": (write_answered_model, read_answered_model),
    "request to serve": (write_requests, send_requests),
    "decision of review": (write_decision, send_decision),
    "options": (write_options, read_options),
    "raw dataset": (write_raw, read_raw),
    "cached dataset": (write_cached, read_cached),
}
