"""Models on disk: whole, safe, and damaged ones told in one sentence."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.gcn import GCN
from quietgraph.methods.storage import load_model
from quietgraph.testing import small_data

DATA = small_data()


@dataclass(kw_only=True, eq=False, repr=False)
class Constant(NodeClassifier):
    """Of no registry."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        scores = torch.zeros(graph.num_nodes, observed.num_classes)
        return Fitted(scores, scores)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    GCN(epochs=2, hidden=4).fit(DATA).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("values", [["a", "b"], [3, 7], [True, False]])
def test_classes_keep_their_type(values: list[object], tmp_path: Path) -> None:
    labels = [values[one % 2] for one in range(40)]
    model = GCN(epochs=2, hidden=4).fit(DATA.graph, np.array(labels, dtype=object))
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict().tolist() == model.predict().tolist()


def test_own_tables_are_encoded_as_in_fit(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": range(40), "size": draws.random(40), "kind": draws.choice(["x", "y", "z"], 40)})
    nodes["label"] = np.where(nodes["size"] > 0.5, "large", "small")
    edges = pd.DataFrame(draws.integers(40, size=(90, 2)), columns=["source", "target"])
    model = GCN(epochs=3, hidden=4).fit(qg.load(nodes=nodes, edges=edges))
    model.save(tmp_path / "model")
    grown = pd.concat([nodes, pd.DataFrame({"id": [40], "size": [9.0], "kind": ["new"], "label": [None]})])
    found = load_model(tmp_path / "model").predict_proba(nodes=grown, edges=edges)
    np.testing.assert_array_equal(found, model.predict_proba(nodes=grown, edges=edges))
    assert found.shape == (41, 2)


def test_only_a_model_is_replaced(folder: Path, tmp_path: Path) -> None:
    model = GCN(epochs=3, hidden=5).fit(DATA)
    model.save(folder)
    np.testing.assert_array_equal(load_model(folder).predict_proba(), model.predict_proba())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("mine")
    with pytest.raises(UnwritablePathError):
        model.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "diary.txt").read_text() == "mine"


def damage_json(folder: Path) -> None:
    (folder / "model.json").write_text((folder / "model.json").read_text()[:-9])


def damage_tensors(folder: Path) -> None:
    content = bytearray((folder / "tensors.safetensors").read_bytes())
    content[-3] ^= 255
    (folder / "tensors.safetensors").write_bytes(content)


def change(name: str, value: object) -> object:
    def write(folder: Path) -> None:
        facts = json.loads((folder / "model.json").read_text())
        facts[name] = value
        (folder / "model.json").write_text(json.dumps(facts))

    return write


DAMAGE = {
    "half a file": damage_json,
    "other bytes": damage_tensors,
    "no tensors": lambda folder: (folder / "tensors.safetensors").unlink(),
    "no folder": lambda folder: [one.unlink() for one in folder.iterdir()] and folder.rmdir(),
    "not a file": lambda folder: (folder / "model.json").unlink() or (folder / "model.json").mkdir(),
    "unknown method": change("method", "sunshine"),
    "unknown parameter": change("parameters", {"sunshine": 3}),
    "another width": change("parameters", {"hidden": 5}),
    "fewer features": change("num_features", 3),
    "a later format": change("format", 2),
    "unknown entry": change("sunshine", 1),
    "a list": lambda folder: (folder / "model.json").write_text("[]"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_folder_is_told_in_one_sentence(kind: str, folder: Path) -> None:
    DAMAGE[kind](folder)  # type: ignore[operator]
    with pytest.raises(UnreadableFileError) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(folder))


def test_a_class_that_is_not_registered_has_to_be_named(tmp_path: Path) -> None:
    Constant().fit(DATA).save(tmp_path / "model")
    with pytest.raises(UnreadableFileError, match="not registered"):
        load_model(tmp_path / "model")
    assert isinstance(load_model(tmp_path / "model", method=Constant), Constant)


def test_nothing_is_pickled(folder: Path) -> None:
    assert {one.name for one in folder.iterdir()} == {"model.json", "tensors.safetensors"}
    assert b"pickle" not in (folder / "tensors.safetensors").read_bytes()
    facts = json.loads((folder / "model.json").read_text())
    assert facts["parameters"]["epochs"] == 2
    assert not any(isinstance(value, torch.Tensor) for value in facts.values())
