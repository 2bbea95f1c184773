"""The statement of quality of a fit to annotators' answers: by folds that have not seen them."""

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.errors import InvalidLabelsError
from quietgraph.rng import numpy_generator


def answers_at_random(classes: int, annotators: int, seed: int) -> tuple[qg.Graph, pd.DataFrame]:
    """Return a graph without signal, and 280 of its 400 nodes answered at random."""
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(400, 16)).astype(np.float32)
    graph = qg.Graph.from_arrays(rows, draws.integers(0, 400, (2, 1200)))
    table = pd.DataFrame(
        [
            (node, f"a{who}", int(draws.integers(0, classes)))
            for node in range(280)
            for who in range(annotators)
        ],
        columns=["node", "annotator", "label"],
    )
    return graph, table


@pytest.mark.parametrize(("classes", "annotators", "seed"), [(3, 1, 311), (3, 1, 312), (2, 3, 233)])
def test_answers_at_random_are_not_trusted(classes: int, annotators: int, seed: int) -> None:
    graph, table = answers_at_random(classes, annotators, seed)
    model = qg.get_method("s2gc")().fit(graph, annotations=table)
    found = model.quality()
    assert found.verdict == "do not trust"
    assert found.accuracy == pytest.approx(found.chance, abs=0.06)
    assert "majority votes of the annotators" in found.sentences[1]
    assert not model.suspects()["is_issue"].any()
    assert model.predict_proba().max(axis=1).mean() < 0.75


def one_annotator() -> tuple[qg.Graph, pd.DataFrame, np.ndarray]:
    draws = numpy_generator(0, "one annotator")
    drawn = qg.block_model(400, num_classes=3, homophily=0.85, signal=1.0, generator=draws)
    labels = drawn.classes.copy()
    wrong = draws.random(400) < 0.2
    labels[wrong] = (labels[wrong] + draws.integers(1, 3, int(wrong.sum()))) % 3
    labels[280:] = -1
    table = pd.DataFrame({"node": np.arange(280), "annotator": "ann", "label": labels[:280]})
    return drawn.graph, table, labels


def test_one_annotator_is_predicted_as_well_as_the_same_labels() -> None:
    graph, table, labels = one_annotator()
    plain = qg.get_method("s2gc")().fit(graph, labels).quality()
    model = qg.get_method("s2gc")().fit(graph, annotations=table)
    found = model.quality()
    assert found.verdict == plain.verdict == "trust"
    assert found.accuracy == pytest.approx(plain.accuracy, abs=0.05)
    assert found.noise_rate == pytest.approx(0.2, abs=0.08)
    assert found.num_labels == 280


def test_the_model_of_some_nodes_makes_the_same_statement() -> None:
    graph, table, _ = one_annotator()
    model = qg.get_method("s2gc")().fit(graph, annotations=table)
    assert model.on_nodes(torch.arange(350)).quality().accuracy == model.quality().accuracy


def test_answers_that_nothing_supports_are_one_sentence() -> None:
    graph, table = answers_at_random(6, 1, 610)
    with pytest.raises(InvalidLabelsError, match="the annotators name 6 classes, but"):
        qg.get_method("s2gc")().fit(graph, annotations=table)
