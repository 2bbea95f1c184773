"""Methods by name: ours, those that are registered, and those of entry points."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import quietgraph as qg
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.methods import Fitted, Task, method_name
from quietgraph.methods.registry import METHODS
from quietgraph.methods.storage import seal
from quietgraph.params import param
from quietgraph.testing import CHECKS, small_problem


@final
@dataclass(kw_only=True, eq=False)
class NearestMean(qg.NodeClassifier):
    """Class whose mean feature row is nearest by cosine: a method from outside the package."""

    scale: float = param(5.0, "factor of the cosines", low=0)

    def _fit(self, task: Task) -> Fitted:
        classes = F.one_hot(task.labels[task.train], task.num_classes).float()
        means = classes.T @ _dense(task.graph)[task.train]
        scores, embeddings = self._apply(task.graph, {"means": means})
        count = torch.tensor(task.graph.num_features)
        return Fitted(scores, embeddings, state={"means": means, "num_features": count})

    def _apply(self, graph, state):
        rows = F.normalize(_dense(graph), dim=1)
        return self.scale * rows @ F.normalize(state["means"], dim=1).T, rows


def _dense(graph) -> torch.Tensor:
    return graph.features.to_dense()


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(METHODS, "_registered", {})
    return qg.register(NearestMean)


def fitted() -> NearestMean:
    problem, labels, validation = small_problem()
    return NearestMean().fit(problem.graph, labels, validation)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_class_that_is_not_registered_keeps_the_contract(check) -> None:
    check(NearestMean)


def test_the_registry_maps_names_to_classes() -> None:
    assert qg.METHODS["quiet"] is qg.Quiet
    assert all(issubclass(method, qg.NodeClassifier) for method in qg.METHODS.values())
    with pytest.raises(UnknownNameError, match="Did you mean 'gcl-lrr'"):
        qg.METHODS["gcl-lr"]


def test_a_registered_class_is_known_by_its_name(registered) -> None:
    assert qg.get_method("nearest-mean") is NearestMean
    assert method_name(NearestMean) == "nearest-mean"
    assert list(qg.METHODS)[-1] == "nearest-mean"


def test_register_is_a_decorator_with_a_name_of_choice(registered) -> None:
    assert qg.register(name="means")(NearestMean) is NearestMean
    assert qg.get_method("means") is NearestMean


def test_a_name_that_another_class_has_is_refused(registered) -> None:
    with pytest.raises(InvalidParameterError, match="'gcn' belongs to"):
        qg.register(NearestMean, name="gcn")
    with pytest.raises(InvalidParameterError, match="must be a NodeClassifier"):
        qg.register(dict)


def test_a_registered_class_is_loaded_by_its_name(registered, tmp_path: Path) -> None:
    model = fitted()
    loaded = qg.load_model(model.save(tmp_path / "model"))
    assert type(loaded) is NearestMean
    np.testing.assert_array_equal(loaded.predict(), model.predict())


def test_a_class_that_is_not_registered_is_loaded_only_when_it_is_named(tmp_path: Path) -> None:
    folder = fitted().save(tmp_path / "model")
    with pytest.raises(UnreadableFileError, match=r"not registered\. Name its class"):
        qg.load_model(folder)
    assert type(qg.load_model(folder, method=NearestMean)) is NearestMean
    with pytest.raises(UnreadableFileError, match="as its class"):
        qg.load_model(folder, method=qg.GCN)


def test_a_file_cannot_have_a_module_imported(tmp_path: Path) -> None:
    folder = fitted().save(tmp_path / "model")
    facts = json.loads((folder / "model.json").read_text())
    facts["method"] = facts["class"] = "antigravity:Method"
    (folder / "model.json").write_text(json.dumps(facts))
    seal(folder)
    with pytest.raises(UnreadableFileError, match="not registered"):
        qg.load_model(folder)
    assert "antigravity" not in sys.modules


def test_entry_points_are_found(tmp_path: Path) -> None:
    package = tmp_path / "outside-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[quietgraph.methods]\nplain = outside:Plain\nbroken = nowhere:Gone\ngcn = outside:Plain\n"
    )
    (tmp_path / "outside.py").write_text(
        "from quietgraph.methods.gcn.backbone import GCNBackbone\n"
        "class Plain(GCNBackbone):\n    '''Plain.'''\n"
    )
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import quietgraph as qg\n"
        "from quietgraph.methods import method_name\n"
        "assert qg.get_method('plain').__module__ == 'outside'\n"
        "assert method_name(qg.get_method('plain')) == 'plain'\n"
        "assert qg.get_method('gcn') is qg.GCN\n"
        "try:\n    qg.get_method('broken')\n"
        "except qg.InvalidParameterError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "'broken' cannot be imported from nowhere:Gone" in done.stdout


def test_a_model_of_an_earlier_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    problem, labels, validation = small_problem(num_nodes=60)
    folder = (
        qg.GCLLRR(**qg.GCLLRR.quick).fit(problem.graph, labels, validation).save(tmp_path / "m")
    )
    facts = folder / "model.json"
    facts.write_text(facts.read_text().replace('"format": 3', '"format": 2'))
    with pytest.raises(UnreadableFileError, match="has model format 2, this version reads 3"):
        qg.load_model(folder)
