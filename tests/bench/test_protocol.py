"""One run: what determines it, and that the same run gives the same numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from quietgraph.bench.protocol import Run, execute, failure, score, versions
from quietgraph.bench.variant import parse_variant
from quietgraph.errors import InvalidParameterError, QuietgraphError, UnknownNameError
from quietgraph.methods import get_method

TEXTS = {"dataset": "sbm", "variant": "gcn:epochs=5:hidden=8", "noise": "symmetric:0.3", "seed": 0}
RUN = Run.parse(**TEXTS)


def numbers(run: Run) -> dict[str, float]:
    metrics = execute(run).metrics
    return {name: value for name, value in metrics.items() if "seconds" not in name}


def test_the_same_run_gives_the_same_numbers() -> None:
    assert numbers(RUN) == numbers(RUN)


def test_another_seed_gives_another_split_noise_and_start() -> None:
    assert numbers(RUN) != numbers(replace(RUN, seed=1))


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "digits"},
        {"variant": "gcn:epochs=5:hidden=9"},
        {"noise": "symmetric:0.4"},
        {"seed": 1},
        {"split": "noisygl"},
    ],
)
def test_what_determines_the_outcome_determines_the_key(change: dict[str, object]) -> None:
    assert Run.parse(**{**TEXTS, **change}).key().digest != RUN.key().digest


@pytest.mark.parametrize("change", [{"cache": "c"}, {"data_root": "d"}, {"device": "cpu"}])
def test_where_a_run_is_carried_out_is_no_part_of_its_key(change: dict[str, str]) -> None:
    assert replace(RUN, **change).key() == RUN.key()


def test_parameters_are_defaults_then_presets_then_the_variants_own() -> None:
    own = Run.parse("amazon-photo", "gcn:weight_decay=0.5", "none", 0).parameters()
    assert own["weight_decay"] == 0.5  # the variant's
    assert own["dropout"] == 0.8  # the preset of the dataset
    assert own["hidden"] == 64  # the default
    assert {"seed", "device"}.isdisjoint(own)


def test_the_key_holds_every_parameter() -> None:
    parameters = json.loads(RUN.key().parameters)
    assert parameters["epochs"] == 5
    assert parameters.keys() == get_method("gcn")().get_params().keys() - {"seed", "device"}


@pytest.mark.parametrize("variant", ["gcn:epochs", "gcn:=5", "gcn:epochs=0", "gcn:epoch=5", "gnc"])
def test_a_variant_that_cannot_be_is_refused(variant: str) -> None:
    with pytest.raises((InvalidParameterError, UnknownNameError)):
        parse_variant(variant)


def test_scores_are_read_from_clean_labels_and_choices_from_noisy_ones() -> None:
    observation, reference = RUN.observe()
    model, split = RUN.fit(observation), observation.split
    metrics = score(model, observation, reference)
    predicted, test = model.predict(), split.test.numpy()
    validation, clean = split.validation.numpy(), reference.codes.numpy()
    noisy = observation.labels
    assert metrics["test_accuracy"] == np.mean(predicted[test] == clean[test])
    assert metrics["validation_accuracy"] == np.mean(predicted[validation] == noisy[validation])
    assert (clean[validation] != noisy[validation]).any()


def test_a_class_that_no_label_shows_counts_as_never_likely() -> None:
    observation, reference = RUN.observe()
    shown = observation.codes.masked_fill(observation.codes == 2, -1)
    observation = replace(observation, codes=shown)
    model = RUN.fit(observation)
    assert list(model.classes_) == [0, 1, 3]
    metrics = score(model, observation, reference)
    assert 0 <= metrics["test_calibration_error"] <= 1


def test_a_record_says_what_it_was_made_with() -> None:
    record = execute(RUN)
    assert record.status == "done"
    assert record.versions == versions()
    assert {"quietgraph", "torch", "python"} <= record.versions.keys()
    assert record.seconds >= record.metrics["seconds_fit"] > 0
    assert record.metrics["seconds_processor"] > 0


def test_a_run_that_cannot_be_raises_and_its_failure_is_a_record() -> None:
    with pytest.raises(QuietgraphError, match="training diverged"):
        execute(replace(RUN, variant=parse_variant("gcn:learning_rate=1e30")))
    record = failure(RUN, "timeout", "longer than 1 s", 1.5)
    assert (record.key, record.status, record.seconds) == (RUN.key(), "timeout", 1.5)


def test_the_class_prior_control_uses_validation_labels_and_nothing_else() -> None:
    plain, controlled = RUN, replace(RUN, variant=RUN.variant.controlled())
    assert controlled.key().method == "gcn:class_prior=adjusted:epochs=5:hidden=8"
    assert controlled.parameters() == plain.parameters()
    observation, _ = plain.observe()
    before, after = plain.fit(observation), controlled.fit(observation)
    added = after.scores_ - before.scores_
    assert added.abs().max() > 0
    np.testing.assert_allclose(added, added[:1].expand_as(added), atol=1e-5)
    held_out = observation.split.validation.numpy()
    labels = observation.labels[held_out]
    hits = [(model.predict()[held_out] == labels).mean() for model in (before, after)]
    assert hits[1] >= hits[0]


def test_a_parameter_that_came_later_leaves_the_keys_of_earlier_runs_as_they_were() -> None:
    usual = Run.parse("cora", "gcl-lrr", "none", 0)
    streamed = Run.parse("cora", "gcl-lrr:partitioner=streaming", "none", 0)
    assert "partitioner" not in usual.key().parameters
    assert '"partitions":0' in usual.key().parameters
    assert "partition" not in Run.parse("cora", "quiet", "none", 0).key().parameters
    assert '"partitioner":"streaming"' in streamed.key().parameters
