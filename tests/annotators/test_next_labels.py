"""What to ask next."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from annotators.test_consensus import crowd
from quietgraph.annotators.next_labels import choose_nodes, next_labels, next_labels_of_run
from quietgraph.annotators.quality import annotator_table
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError


def test_the_choice_equals_its_definition() -> None:
    draws = np.random.default_rng(0)
    doubt, rows = draws.random(30), draws.normal(size=(30, 3))
    nodes, gain = choose_nodes(doubt, rows, 5, price=np.ones(30), certain=np.zeros(30, dtype=bool))
    unit = rows - rows.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    use = np.array([[1.0 if i == j else max(unit[i] @ unit[j], 0) ** 16 for j in range(30)] for i in range(30)])
    for node, removed in zip(nodes, gain, strict=True):
        gains = [sum(use[i, j] * doubt[j] for j in range(30)) for i in range(30)]
        assert removed == pytest.approx(max(gains))
        assert gains.index(max(gains)) == node
        doubt = doubt * (1 - use[node])
    assert len(set(nodes)) == 5


def test_certain_and_unaffordable_nodes_are_not_asked_about() -> None:
    draws = np.random.default_rng(0)
    price, certain = np.ones(10), np.zeros(10, dtype=bool)
    price[:3], certain[3:6] = np.inf, True
    nodes, _ = choose_nodes(draws.random(10), draws.normal(size=(10, 4)), 20, price=price, certain=certain)
    assert sorted(nodes) == [6, 7, 8, 9]


@pytest.fixture(scope="module")
def result() -> object:
    return qg.assess(qg.METHODS["gcn"](epochs=20).fit(crowd(nodes=200)[0]))


def test_nodes_are_asked_of_good_annotators_who_have_not_answered(result) -> None:
    table, given = next_labels(result, 20), result.data.annotations
    done = {(node, given.names[who]) for node, who in zip(given.nodes, given.annotators, strict=True)}
    assert not done & set(zip(table["node"], table["annotator"], strict=True))
    assert "ada" in set(table["annotator"])
    assert (table["label"] == "").all()
    assert (table["suggested"] != table["second"]).all()


def test_the_price_decides_who_is_asked(result) -> None:
    dear = next_labels(result, 20, costs={"ada": 1000.0})
    assert (dear["annotator"] == "ada").sum() < (next_labels(result, 20)["annotator"] == "ada").sum()


def test_without_annotators_a_person_is_asked(result) -> None:
    alone = replace(result, consensus=None)
    assert set(next_labels(alone, 3)["annotator"]) == {"person"}


def test_what_cannot_be_bought_is_refused(result) -> None:
    with pytest.raises(InvalidParameterError, match="above 0"):
        next_labels(result, 1, costs={"ada": 0.0})
    with pytest.raises(UnknownNameError, match="ada"):
        next_labels(result, 1, costs={"adda": 1.0})


def test_a_run_folder_is_enough(tmp_path, result) -> None:
    with pytest.raises(UnreadableFileError, match="no folder of a run"):
        next_labels_of_run(tmp_path, budget=3)
    columns = {"id": result.data.ids, "predicted": "", "probability": 0.0}
    table = pd.DataFrame(columns).join(pd.DataFrame(result.posterior, columns=result.classes))
    table.to_csv(tmp_path / "predictions.csv", index=False)
    np.save(tmp_path / "embeddings.npy", result.embeddings)
    found = next_labels_of_run(tmp_path, budget=3)
    expected = next_labels(replace(result, consensus=None), 3)
    assert found["node"].astype(int).tolist() == expected["node"].tolist()
    assert found["suggested"].tolist() == expected["suggested"].tolist()
    given = result.data.annotations
    annotator_table(given, result.consensus).to_csv(tmp_path / "annotators.csv", index=False)
    given.to_frame(result.data.ids).to_csv(tmp_path / "annotations.csv", index=False)
    found, expected = next_labels_of_run(tmp_path, budget=20), next_labels(result, 20)
    assert found["node"].astype(int).tolist() == expected["node"].tolist()
    assert found["annotator"].tolist() == expected["annotator"].tolist()
