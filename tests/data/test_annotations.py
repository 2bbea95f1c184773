"""The value of annotations: votes, joins, simulated crowds."""

import numpy as np
import pytest
import torch

from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import one_annotator
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import observe
from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph

MATRIX = [["a", "a", None], ["b", "a", "b"], [None, None, None], ["c", None, "b"]]


def test_majority_breaks_ties_by_the_more_frequent_class() -> None:
    answers = read_annotations(MATRIX, range(4))
    assert answers.majority().tolist() == [0, 1, -1, 1]  # b has three answers, c one


def test_answers_on_some_nodes_keep_the_names_of_all_annotators() -> None:
    part = read_annotations(MATRIX, range(4)).within(torch.tensor([False, False, True, True]))
    assert part.nodes.tolist() == [3, 3]
    assert part.names == ("annotator 0", "annotator 1", "annotator 2")


def test_an_annotator_with_one_answer_is_noted_and_kept() -> None:
    table = {"node": [0, 1, 1], "annotator": [*"xxy"], "label": [*"aba"]}
    answers = read_annotations(table, range(2))
    assert answers.notes == (
        "the annotator 'y' gave one answer only: its quality is taken from the others",
    )


def test_a_class_that_may_be_misspelt_is_noted() -> None:
    labels = ["theory", "theory", "systems", "systems", "theroy", "zoo"]
    table = {"node": range(6), "annotator": "ann", "label": labels}
    notes = read_annotations(table, range(6)).notes
    assert notes == ("the class 'theroy' has one answer only: is 'theory' meant?",)


def test_answers_about_one_node_are_too_few_to_learn_from() -> None:
    table = {"node": [0, 0], "annotator": ["ann", "bob"], "label": ["a", "b"]}
    with pytest.raises(QuietgraphError, match="about two nodes at least"):
        observe(Graph.from_arrays(np.eye(2), [[0], [1]]), annotations=table)


def test_two_annotators_of_one_name_are_refused_in_a_join() -> None:
    own = one_annotator(torch.tensor([0, 1, -1, 0]), np.array(["a", "b", "c"]), "annotator 0")
    with pytest.raises(QuietgraphError, match="'annotator 0' is there twice"):
        own.joined(read_annotations(MATRIX, range(4)))


def test_a_crowd_answers_as_often_and_as_well_as_its_text_says() -> None:
    clean, reference = load_benchmark("digits", seed=0)
    setting = parse_noise("annotators:2:0.9/reader0.7/spammer")
    answers = apply_noise(clean, setting, seed=0, reference=reference).annotations
    assert answers is not None
    assert (np.bincount(answers.nodes)[clean.known.numpy()] == 2).all()
    right = answers.labels == reference.codes.numpy()[answers.nodes]
    accuracy = [right[answers.annotators == who].mean() for who in range(3)]
    assert accuracy == pytest.approx([0.9, 0.7, 0.1], abs=0.1)


@pytest.mark.parametrize("text", ["annotators", "annotators:0", "annotators:7", "annotators:2:x/y"])
def test_a_crowd_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(QuietgraphError, match=r"annotators:3|got 'x'"):
        parse_noise(text)


def test_a_crowd_is_named_by_its_text() -> None:
    assert str(parse_noise("annotators:2:0.9/0.5")) == "annotators:2:0.9/0.5"
    assert parse_noise(str(parse_noise("annotators:3"))) == parse_noise("annotators:3")
