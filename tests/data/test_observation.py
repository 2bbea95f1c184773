"""One observation for command line, benchmark and Python: labels, hold-out, corrections."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.data import labels as label_module
from quietgraph.data import observation as observation_module
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation, Reference, observe
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph.io.corrections import Corrections, LabelDecision
from quietgraph.methods.base.task import make_task
from quietgraph.testing import small_problem


@pytest.fixture
def observed(tmp_path: Path) -> Observation:
    problem, labels, _ = small_problem()
    arrays = {"x": problem.graph.features, "edges": problem.graph.edge_index, "y": labels}
    np.savez(tmp_path / "g.npz", **arrays)
    return qg.load(tmp_path / "g.npz")


def suspects(nodes: list[int], scores: list[float]) -> pd.DataFrame:
    suggested = ["b" if score > 0 else "a" for score in scores]
    issue = [score > 0 for score in scores]
    columns = {"node": nodes, "given": "a", "suggested": suggested, "score": scores}
    return pd.DataFrame({**columns, "is_issue": issue})


def dropped_nodes(before: Observation, after: Observation) -> list[int]:
    return (before.known & ~after.known).nonzero().squeeze(1).tolist()


# Labels


def test_labels_are_the_callers_own_values() -> None:
    problem, codes, _ = small_problem()
    names = np.array([None if code < 0 else "abc"[code] for code in codes], dtype=object)
    found = observe(problem.graph, names)
    assert found.labels.tolist() == names.tolist()
    assert found.classes.tolist() == ["a", "b", "c"]
    numbers = observe(problem.graph, codes)
    assert numbers.labels.tolist() == codes.tolist()
    assert numbers.labels.dtype.kind == "i"


def test_labels_survive_a_round_trip_through_fit() -> None:
    problem, codes, _ = small_problem()
    names = [None if code < 0 else "abc"[code] for code in codes]
    first = observe(problem.graph, names)
    second = observe(problem.graph, first.labels, first.split.validation)
    assert torch.equal(first.codes, second.codes)
    assert torch.equal(first.split.train, second.split.train)


def test_names_and_paths_give_the_same_type(observed: Observation) -> None:
    assert type(qg.load("sbm")) is type(observed) is qg.Observation
    assert observed.understood is not None
    assert observed.encoding is not None
    assert qg.load("sbm").understood is None
    assert not observed.verified.any()


def test_an_attribute_of_another_length_is_refused(observed: Observation) -> None:
    with pytest.raises(InvalidLabelsError, match="verified must have one entry per node"):
        replace(observed, verified=torch.zeros(3, dtype=torch.bool))


# The hold-out


def test_a_fifth_of_the_labels_is_held_out_by_one_rule(observed: Observation) -> None:
    problem, labels, _ = small_problem()
    assert int(observed.split.validation.sum()) == int(observed.known.sum()) // 5
    loaded, given = observed.split, observe(problem.graph, labels).split
    assert torch.equal(loaded.validation, given.validation)
    hidden = make_task(observed, 0)[0].without(torch.zeros(len(labels), dtype=torch.bool))
    assert torch.equal(hidden.validation, loaded.validation)


def test_the_seed_decides_what_is_held_out() -> None:
    problem, labels, _ = small_problem()
    first, other = (observe(problem.graph, labels, seed=seed).split for seed in (0, 1))
    assert not torch.equal(first.validation, other.validation)


# Fitting


def test_fit_takes_an_observation_or_its_parts() -> None:
    data = apply_noise(qg.load("sbm"), parse_noise("symmetric:0.3"), seed=0)
    whole, parts = (qg.get_method("gcn")(epochs=3, hidden=8) for _ in range(2))
    whole.fit(data)
    parts.fit(data.graph, data.labels, validation=data.split.validation)
    np.testing.assert_array_equal(whole.predict_proba(), parts.predict_proba())
    assert whole.classes_.tolist() == parts.classes_.tolist()


def test_fit_does_not_factorise_the_labels_of_an_observation_again(
    observed: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("labels were factorised again")

    monkeypatch.setattr(observation_module, "encode_labels", refuse)
    monkeypatch.setattr(label_module, "encode_labels", refuse)
    qg.get_method("gcn")(epochs=1, hidden=4).fit(observed)


def test_an_observation_takes_no_second_labels(observed: Observation) -> None:
    with pytest.raises(InvalidLabelsError, match="has labels and validation nodes already"):
        qg.get_method("gcn")().fit(observed, observed.labels)


def test_a_class_without_observed_labels_has_no_code_in_the_task(observed: Observation) -> None:
    without = replace(observed, codes=observed.codes.masked_fill(observed.codes == 1, -1))
    task, classes = make_task(without, 0)
    assert task.num_classes == 2
    assert classes.tolist() == [0, 2]
    assert set(task.labels.tolist()) == {-1, 0, 1}
    with pytest.raises(InvalidLabelsError, match="at least two classes, got 1"):
        make_task(replace(observed, codes=observed.codes.clamp(max=0)), 0)


# Changes


def test_only_suspects_with_another_suggestion_are_dropped_in_their_order(
    observed: Observation,
) -> None:
    table = suspects([4, 2, 7, 9], [0.9, 0.5, 0.1, -0.2])
    assert dropped_nodes(observed, observed.drop(table, 2)) == [2, 4]
    every = observed.drop(table, 10)
    assert dropped_nodes(observed, every) == [2, 4, 7]
    assert every.changes == ("3 of 10 suspicious labels dropped",)
    untrusted = table.assign(is_issue=False)
    assert dropped_nodes(observed, observed.drop(untrusted, 10)) == []


def test_every_class_keeps_two_labels(observed: Observation) -> None:
    dropped = observed.drop(suspects(list(range(60)), [1.0] * 60), 60)
    assert sorted(dropped.codes[dropped.known].tolist()) == [0, 0, 1, 1, 2, 2]


def corrections(*decisions: LabelDecision) -> Corrections:
    return Corrections(Path("fix.csv"), {one.node: one for one in decisions})


def test_corrections_may_label_unlabelled_nodes_of_own_data(observed: Observation) -> None:
    fixed = observed.correct(
        corrections(LabelDecision("0", "drop"), LabelDecision("100", "other", "2"))
    )
    assert fixed.labels[0] == -1
    assert fixed.labels[100] == 2
    assert fixed.changes == ("1 label corrected, 1 dropped by fix.csv",)
    assert fixed.verified.nonzero().flatten().tolist() == [100]


def test_labels_that_were_kept_are_verified(observed: Observation) -> None:
    label = str(observed.labels[0])
    kept = observed.correct(corrections(LabelDecision("0", "keep", label)))
    assert kept.codes.tolist() == observed.codes.tolist()
    assert kept.changes == ("0 labels corrected, 1 kept by fix.csv",)
    assert kept.verified.nonzero().flatten().tolist() == [0]
    assert not observed.correct(corrections(LabelDecision("0", "unsure"))).verified.any()


def test_labels_before_a_review_are_kept_whatever_is_decided_later(observed: Observation) -> None:
    before = observed.codes.tolist()
    right = str((before[0] + 1) % 3)
    once = observed.correct(corrections(LabelDecision("0", "other", right)))
    twice = once.correct(corrections(LabelDecision("0", "drop"), LabelDecision("1", "keep")))
    for reviewed in (once, twice):
        assert reviewed.before_review is not None
        assert reviewed.before_review.tolist() == before


def test_the_task_estimates_noise_from_labels_before_a_review(observed: Observation) -> None:
    code = int(observed.codes[0])
    right = str((code + 1) % 3)
    fixed = observed.correct(corrections(LabelDecision("0", "other", right)))
    task, _ = make_task(fixed, seed=0)
    assert task.labels[0] != code
    assert task.noisy_labels()[0] == code
    hidden = task.seeing(task.labels.masked_fill(torch.arange(len(task.labels)) == 0, -1))
    assert hidden.noisy_labels()[0] == -1  # a fold knows nothing of what it is to predict
    unknown, _ = make_task(replace(fixed, before_review=None), seed=0)
    assert unknown.noisy_labels()[0] == -1
    assert unknown.noisy_labels()[1] == observed.codes[1]


def test_a_class_that_a_review_removed_is_unknown_before_it() -> None:
    graph = qg.block_model(12, num_classes=2, generator=np.random.default_rng(0)).graph
    observed = observe(graph, [0, 1, 1, 2, 2, 2, 2, 1, 1, 2, 1, 2])
    task, classes = make_task(
        observed.correct(corrections(LabelDecision("0", "other", "1"))), seed=0
    )
    assert classes.tolist() == [1, 2]
    assert task.noisy_labels()[:4].tolist() == [-1, 0, 0, 1]


def test_corrections_may_not_label_test_nodes() -> None:
    data = qg.load("sbm")
    node = int(data.split.test.nonzero()[0])
    with pytest.raises(InvalidLabelsError, match=f"node {node}, which is a test node of sbm"):
        data.correct(corrections(LabelDecision(str(node), "other", "1")))


# The reference


def test_the_reference_knows_which_observed_labels_are_wrong() -> None:
    clean, reference = load_benchmark("sbm")
    noisy = apply_noise(clean, parse_noise("symmetric:0.4"), seed=0)
    assert torch.equal(noisy.known, clean.split.labelled)
    assert torch.equal(reference.wrong(noisy), noisy.codes != clean.codes)
    assert 0 < int(reference.wrong(noisy).sum()) < int(noisy.known.sum())
    assert not reference.wrong(clean).any()


def test_an_observation_holds_no_label_of_a_test_node() -> None:
    data, reference = load_benchmark("sbm")
    assert not (data.known & data.split.test).any()
    assert isinstance(reference, Reference)
    held = [value for value in vars(data).values() if isinstance(value, torch.Tensor)]
    assert not any(torch.equal(value, reference.codes) for value in held)


def test_it_shows_itself_in_one_line() -> None:
    data = qg.load("sbm")
    known = int(data.known.sum())
    shown = repr(data)
    assert shown.startswith("Observation('sbm', Graph(nodes=1000, ")
    assert shown.endswith(f"classes=4, training_labels=80, validation_labels={known - 80})")
