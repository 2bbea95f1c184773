"""A model that was fitted in Python writes the page of a run."""

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.testing import small_problem


def test_a_model_writes_its_page_with_the_callers_node_ids(tmp_path) -> None:
    drawn = qg.block_model(80, num_classes=2, generator=np.random.default_rng(0))
    data = qg.load(nodes=_nodes(drawn.classes), edges=_edges(drawn.graph))
    model = qg.S2GC(epochs=20).fit(data)
    page = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "paper-17" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_loaded_model_says_that_its_graph_is_not_here(tmp_path) -> None:
    problem, labels, _ = small_problem()
    folder = qg.GCN(epochs=2).fit(problem.graph, labels).save(tmp_path / "model")
    with pytest.raises(qg.NotFittedError, match="Fit again"):
        qg.load_model(folder).report(tmp_path / "page.html")
    with pytest.raises(qg.NotFittedError):
        qg.GCN().report(tmp_path / "page.html")


def _nodes(classes):
    draws = np.random.default_rng(1)
    columns = {f"f{i}": draws.standard_normal(80) + classes for i in range(3)}
    return pd.DataFrame({"id": [f"paper-{i}" for i in range(80)], "label": classes, **columns})


def _edges(graph):
    rows, columns = graph.edge_index.numpy()
    names = np.array([f"paper-{i}" for i in range(80)])
    return pd.DataFrame({"source": names[rows], "target": names[columns]})
