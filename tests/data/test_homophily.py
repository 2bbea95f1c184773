"""Homophily of observed labels."""

import math

import pytest
import torch

import quietgraph as qg
from quietgraph.data.homophily import is_heterophilous, measure_homophily
from quietgraph.data.observation import observe


def path_of_five() -> qg.Graph:
    return qg.Graph.from_arrays(torch.ones(5, 1), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))


def test_edges_of_unlabelled_nodes_do_not_count() -> None:
    found = measure_homophily(observe(path_of_five(), ["a", "a", "b", "b", None]))
    assert found.edges == 3
    assert found.observed == pytest.approx(2 / 3)
    assert found.by_chance == pytest.approx(0.5**2 + 0.5**2)  # three ends of each label


def test_without_edges_between_labelled_nodes_nothing_is_known() -> None:
    found = measure_homophily(observe(path_of_five(), ["a", None, "b", None, "a"]))
    assert found.edges == 0
    assert math.isnan(found.observed)
    assert math.isnan(found.by_chance)


def test_few_edges_or_a_small_difference_are_no_heterophily() -> None:
    assert is_heterophilous(0.1, 0.33, 300)
    assert not is_heterophilous(0.1, 0.33, 5)
    assert not is_heterophilous(0.29, 0.33, 590)  # 2.1 standard errors, seen on random labels
    assert not is_heterophilous(math.nan, math.nan, 0)
    assert not measure_homophily(observe(path_of_five(), ["a", None, "b", None, "a"])).is_low
