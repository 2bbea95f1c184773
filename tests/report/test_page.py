import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import quietgraph as qg
from quietgraph.assessment.assess import Assessment
from quietgraph.assessment.verdict import Estimate, Verdict
from quietgraph.data.data import as_data
from quietgraph.report.evidence import Evidence
from quietgraph.report.page import page_parts, render_page
from quietgraph.report.run import Facts, mistake_sentences
from report.problem import CLASSES, Fitted


def test_the_page_needs_no_network_and_no_name_breaks_out_of_it(fitted: Fitted, tmp_path: Path) -> None:
    text = (fitted.write(tmp_path / "run") / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:|verified\.csv)""", text.split("<script>")[0])
    assert len(re.findall(r"<script", text)) == 2
    assert "default-src 'none'; script-src 'sha256-" in text
    order = [
        "<main>",
        "What is called what",
        "Suspects</h2>",
        "Map of the embedding",
        "What was understood",
        "Theory, training",
    ]
    places = [text.index(words, text.index("<main>")) for words in order]
    assert places == sorted(places)


def test_a_page_of_many_nodes_stays_below_three_megabytes(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    nodes, classes = 25_000, 150
    labels = np.arange(nodes) % classes
    names = np.array([f"kind {code} of something with a long name" for code in range(classes)])
    features = draws.normal(size=(nodes, 8)).astype(np.float32)
    graph = qg.Graph.from_arrays(features, draws.integers(nodes, size=(2, nodes)))
    model = SimpleNamespace(
        seed=0, observed_=SimpleNamespace(codes=torch.from_numpy(labels), train=torch.ones(nodes, dtype=torch.bool)),
        fitted_=SimpleNamespace(embeddings=torch.from_numpy(features), history=[]),
    )  # fmt: skip
    data = as_data(graph, names[labels])
    posterior = draws.dirichlet(np.full(classes, 0.1), size=nodes)
    noise = SimpleNamespace(rate=0.5, matrix=np.eye(classes), counts=np.ones((classes, classes)))
    assessment = Assessment(
        data, names, torch.from_numpy(labels), posterior, posterior, 1 - posterior[np.arange(nodes), labels],
        posterior.argmax(axis=1) != labels, noise, Verdict("trust", "Trust.", ()), Estimate(0.5, 0.4, 0.6, 0.1),
        {"neighbours": posterior, "nearest": posterior}, features,
    )  # fmt: skip
    facts = Facts(
        version="0",
        options={},
        method={"name": "x", "parameters": {"seed": 0}},
        assessment={"verdict": {"level": "trust"}},
        data={"name": "x", "nodes": nodes, "edges": 1},
    )
    parts = page_parts(model, assessment, Evidence(assessment))
    assert len(render_page(facts, parts).encode()) < 3_000_000
    assert len(parts["data"]["suspects"]["p_wrong"]) == 5_000


def test_the_page_says_why_there_is_no_theory(fitted: Fitted) -> None:
    model = qg.GCN(epochs=1, seed=0).fit(fitted.model.data_)
    model.fitted_ = replace(model.fitted_, embeddings=torch.full_like(model.fitted_.embeddings, torch.nan))
    parts = page_parts(model, fitted.assessment, Evidence(fitted.assessment))
    assert parts["diagnosis"] is None
    assert "finite" in parts["why_no_diagnosis"] or "NaN" in parts["why_no_diagnosis"]


def faked(counts: Any, classes: list[str], level: str = "trust") -> Any:
    noise, verdict = SimpleNamespace(counts=np.asarray(counts, dtype=float)), SimpleNamespace(level=level)
    return SimpleNamespace(noise=noise, classes=np.array(classes), verdict=verdict)


def test_mistakes_are_said_in_sentences() -> None:
    counts = [[163, 60, 50, 0], [0, 90, 0, 0.3], [5, 5, 80, 0], [4, 3, 3, 40]]
    classes = ["garden", "kitchen", "tools", "toys"]
    assert mistake_sentences(faked(counts, classes)) == [
        "Of 273 'garden' about 110 are kitchen or tools.",
        "Of 90 'tools' about 10 are garden or kitchen.",
        "Of 50 'toys' about 10 are garden, kitchen or tools.",
    ]
    assert mistake_sentences(faked(counts, classes, "do not trust")) == []


def test_evidence_argues_for_the_suggestion(fitted: Fitted) -> None:
    evidence, one = Evidence(fitted.assessment), fitted.assessment
    names = one.classes.tolist()
    for node in np.flatnonzero(one.is_suspect):
        words = evidence.argument(node)
        suggested, shares = int(one.predictions[node]), one.evidence["neighbours"][node]
        assert words.startswith((f"For '{names[suggested]}'", "Only the model as a whole"))
        if shares[suggested] > shares[int(one.codes[node])]:
            assert "For " in words
            assert "its neighbours" in words.split("Against")[0]
    sure = int(np.flatnonzero((one.codes >= 0).numpy() & ~one.is_suspect)[0])
    assert "stays the likeliest" in evidence.argument(sure)
    known = evidence.describe(sure)
    assert known["degree"] >= len(known["neighbours"]) > 0
    assert dict(known["columns"])["name"].strip().startswith("Some name")
    assert set(names) == set(CLASSES)


def test_evidence_argues_where_neighbours_differ(tmp_path: Path) -> None:
    # Buyers are linked to sellers alone: a node among sellers is a buyer, whatever its label says.
    draws = np.random.default_rng(0)
    sides = np.arange(200) % 2
    ends = np.stack([2 * draws.integers(100, size=1500), 2 * draws.integers(100, size=1500) + 1])
    graph = qg.Graph.from_arrays(np.eye(200, dtype=np.float32), np.hstack([ends, ends[::-1]]))
    labels = np.array(["buyer", "seller"])[sides]
    labels[0] = "seller"
    data = as_data(graph, labels)
    votes = np.stack([sides == 1, sides == 0], axis=1).astype(float)  # of buyers and sellers among the neighbours
    posterior = np.stack([sides == 0, sides == 1], axis=1) * 0.8 + 0.1
    noise = SimpleNamespace(matrix=np.eye(2))
    assessment = Assessment(
        data, data.classes, data.codes, posterior, posterior, np.zeros(200), np.arange(200) == 0, noise,
        Verdict("trust", "", ()), Estimate(0.5, 0.4, 0.6, 0.1), {"neighbours": votes}, np.eye(200),
    )  # fmt: skip
    words = Evidence(assessment).argument(0)
    assert words.startswith("For 'buyer': its neighbours (100% seller")
    assert "Against" not in words
