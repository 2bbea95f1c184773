"""Valid files that the software itself writes and reads again; the fuzzer starts from them."""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open

import quietgraph as qg
from fuzz.seeds import frames, write_csv
from quietgraph.bench.record import Record, RunKey
from quietgraph.bench.runs_csv import read_runs, write_runs
from quietgraph.bench.store import Store
from quietgraph.bench.trial_store import finished_trials, open_study
from quietgraph.data.annotator_noise import read_label_file
from quietgraph.data.noise_setting import NoiseSetting, read_transition
from quietgraph.embed.scale.checkpoint import Checkpoints, use_checkpoints
from quietgraph.errors import NotInductiveError
from quietgraph.graph.io import read_corrections
from quietgraph.graph.io.corrections import LabelDecision, corrections_csv
from quietgraph.methods.base.cache import Embedded, EmbeddingCache
from quietgraph.methods.storage import seal
from quietgraph.report.fit_run import FitRun
from quietgraph.report.write_run import write_run
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run, read_decisions
from quietgraph.tensor_file import write_tensors
from quietgraph.testing import quick_parameters, small_problem

_KEY = {"stage": "fuzz"}


def write_model(method: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        problem, labels, validation = small_problem(num_nodes=60)
        labels[30:], validation[:] = -1, False
        validation[15:30] = True
        kind = qg.get_method(method)
        model = kind(**quick_parameters(kind)).fit(problem.graph, labels, validation)
        model.suspects()
        return model.save(folder / "model")

    return write


def read_model(folder: Path) -> None:
    """Load a model and ask it everything; what it answers holds no NaN."""
    model = qg.load_model(folder)
    answers = [model.predict_proba()]
    model.predict()
    with suppress(qg.NotFittedError):
        table = model.suspects(columns="evidence")
        answers.append(table["score"].to_numpy())
        model.quality()
    model.diagnose().to_dict()
    with suppress(NotInductiveError):
        answers.append(model.predict_proba(small_problem(num_nodes=40)[0].graph))
    assert all(np.isfinite(answer).all() for answer in answers), "NaN in an answer"


def read_resealed_model(folder: Path) -> None:
    """Load a model whose checksums fit what it holds, as of somebody who knows the format."""
    with suppress(Exception):
        seal(folder)
    read_model(folder)


def records() -> list[Record]:
    keys = [
        RunKey("digits", method, '{"hidden":16}', "symmetric:0.4", seed, "public", 3)
        for method in ("gcn", "quiet")
        for seed in range(2)
    ]
    facts = {"seconds": 1.5, "peak_memory_mb": 300.0, "started": "2025-01-01T00:00:00+00:00"}
    done = [
        Record(key, "done", metrics={"test_accuracy": 0.5}, versions={"torch": "2"}, **facts)
        for key in keys[:3]
    ]
    return [*done, Record(keys[3], "failed", reason="it diverged", **facts)]


def write_store(folder: Path) -> Path:
    with Store(folder / "runs.sqlite") as store:
        for record in records():
            store.add(record)
    return folder / "runs.sqlite"


def read_store(path: Path) -> None:
    with Store(path, read_only=True) as store:
        store.to_frame()
    with Store(path) as store:
        store.add(records()[0])
        store.finished(record.key for record in records())


def write_trials(folder: Path) -> Path:
    import optuna

    with open_study(optuna, "fuzz", folder / "trials.sqlite") as study:
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        trial.set_user_attr("seconds", 1.0)
        study.tell(trial, 0.5)
    return folder / "trials.sqlite"


def read_trials(path: Path) -> None:
    import optuna

    with open_study(optuna, "fuzz", path) as study:
        finished_trials(optuna, study, path)


def write_exported(folder: Path) -> Path:
    write_runs(folder / "runs.csv", records())
    return folder / "runs.csv"


def write_run_folder(folder: Path) -> Path:
    (folder / "tables").mkdir()
    data = qg.load(write_csv(folder / "tables"))
    model = qg.get_method("gcn")(epochs=2, hidden=4).fit(data)
    model.suspects()
    command = "quietgraph fit tables"
    run = FitRun("tables", NoiseSetting(), model, data, None, {}, {}, command)
    write_run(run, folder / "run")
    store = DecisionStore(folder / "run" / "decisions.sqlite")
    nodes = list(open_run(folder / "run").suspects)
    for node, choice in zip(nodes, ("accept", "keep", "drop"), strict=False):
        store.add(node, "Ada", choice, "a" if choice == "accept" else "b")
    verified = [LabelDecision("n1", "keep", "a", "Ada", "2025-01-01")]
    (folder / "run" / "verified.csv").write_text(corrections_csv(verified))
    return folder / "run"


def read_run_folder(folder: Path) -> None:
    """Open a run as `review`, `fit --verified` and `predict` do."""
    run = open_run(folder)
    store = DecisionStore(folder / "decisions.sqlite")
    run.export(store.after())
    run.next_command("verified.csv")
    read_decisions(folder)
    qg.load_model(folder / "model").predict_proba()


def write_verified(folder: Path) -> Path:
    kept = [
        LabelDecision("n1", "keep", "a", "Ada", "2025-01-01"),
        LabelDecision("n2", "drop", "", "Ada; Bob", "2025-01-02"),
        LabelDecision("=n3", "other", "b", "+Bob", ""),
        LabelDecision("n4", "unsure"),
    ]
    (folder / "verified.csv").write_text(corrections_csv(kept))
    return folder / "verified.csv"


def read_verified(path: Path) -> None:
    found = read_corrections(path)
    ids = list(frames()[0]["id"])
    codes = torch.zeros(len(ids), dtype=torch.int64)
    found.within(ids).apply(codes, np.array(["a", "b"]), ids)
    found.verified(ids)


def trained(checkpoints: Checkpoints) -> None:
    problem, labels, validation = small_problem(num_nodes=40)
    labels[40:] = -1
    model = qg.get_method("gcl-lrr")(hidden=4, dim=4, epochs=3)
    with use_checkpoints(checkpoints):
        model.fit(problem.graph, labels, validation)
    assert np.isfinite(model.predict_proba()).all(), "NaN in an answer"


def write_checkpoint(folder: Path) -> Path:
    trained(Checkpoints(folder / "kept", minutes=0))
    return folder / "kept"


def read_checkpoint(folder: Path) -> None:
    trained(Checkpoints(folder, minutes=1e9))


def read_resealed_checkpoint(folder: Path) -> None:
    """Continue from a checkpoint whose checksum fits what it holds."""
    path = folder / "training.safetensors"
    with suppress(Exception), safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        write_tensors(path, tensors, json.loads(file.metadata()["facts"]))
    read_checkpoint(folder)


def write_embeddings(folder: Path) -> Path:
    embedded = Embedded(torch.eye(4), {"weight": torch.ones(3)}, [{"loss": 1.0}])
    EmbeddingCache(folder / "cache").put(_KEY, embedded)
    return folder / "cache"


def read_embeddings(folder: Path) -> None:
    EmbeddingCache(folder).get(_KEY)


def write_transition(folder: Path) -> Path:
    (folder / "t.csv").write_text("0.8,0.1,0.1\n0.2,0.6,0.2\n0,0.5,0.5\n")
    return folder / "t.csv"


def write_labels(folder: Path) -> Path:
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["node", "label"], *([place, "a"] for place in range(9))])
    return folder / "labels.csv"


STORED: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "model gcn": (write_model("gcn"), read_model),
    "model gcn resealed": (write_model("gcn"), read_resealed_model),
    "model quiet resealed": (write_model("quiet"), read_resealed_model),
    "model gcl-lr-attention resealed": (write_model("gcl-lr-attention"), read_resealed_model),
    "store": (write_store, read_store),
    "trials": (write_trials, read_trials),
    "exported runs": (write_exported, read_runs),
    "run folder": (write_run_folder, read_run_folder),
    "verified": (write_verified, read_verified),
    "checkpoint": (write_checkpoint, read_checkpoint),
    "checkpoint resealed": (write_checkpoint, read_resealed_checkpoint),
    "embedding cache": (write_embeddings, read_embeddings),
    "transition matrix": (write_transition, read_transition),
    "label file": (write_labels, read_label_file),
}
