"""Names of methods, and what was published of them."""

from dataclasses import dataclass

import pytest

from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.gcn import GCN
from quietgraph.methods.low_rank.paper import PaperGCL
from quietgraph.methods.published import citation, for_dataset, published
from quietgraph.methods.registry import METHODS, class_named, method_name, register
from quietgraph.params import check_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class MyOwnMethod(NodeClassifier):
    """Of a notebook."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        raise NotImplementedError


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_its_class_its_name_and_its_publication(name: str) -> None:
    method = METHODS[name]
    assert method_name(method) == name
    assert class_named(method.__name__) is method
    assert method.__doc__
    assert len(citation(method)) > 20


@pytest.mark.parametrize("name", published())
def test_published_settings_are_parameters_within_their_range(name: str) -> None:
    settings = published()[name].get("settings", [])
    datasets = [] if isinstance(settings, str) else [one for group in settings for one in group["datasets"]]
    assert len(datasets) == len(set(datasets))
    for dataset in datasets or ["cora", "pubmed"]:
        check_parameters(for_dataset(METHODS[name], dataset))


def test_settings_of_a_dataset_give_way_to_those_that_are_named() -> None:
    assert for_dataset(GCN, "amazon-photo", dropout=0.1).get_params()["dropout"] == 0.1
    assert for_dataset(GCN, "amazon-photo").get_params()["weight_decay"] == 1e-3
    assert for_dataset(GCN, "a dataset of my own").get_params() == GCN().get_params()
    found = for_dataset(PaperGCL, "pubmed").get_params()
    assert (found["rank_weight"], found["rank_ratio"]) == (0.1, 0.3)
    assert for_dataset(PaperGCL, "texas").get_params()["encoder"] == "tedgcn"


def test_a_method_of_your_own_has_a_name_and_takes_no_other_ones() -> None:
    assert method_name(MyOwnMethod) == "my-own-method"
    assert citation(MyOwnMethod) == ""
    try:
        assert register(MyOwnMethod) is MyOwnMethod
        assert METHODS["my-own-method"] is MyOwnMethod
        assert "my-own-method" in METHODS
        assert len(METHODS) == len(list(METHODS))
        with pytest.raises(InvalidParameterError, match="taken"):
            register(MyOwnMethod, name="gcn")
    finally:
        METHODS._registered.pop("my-own-method", None)


def test_a_wrong_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'gcl-lr-attention'"):
        METHODS["gcl-lr-atention"]
