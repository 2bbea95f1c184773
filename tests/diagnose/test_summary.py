import json

import pytest
import torch

from quietgraph.diagnose import (
    BoundSettings,
    Diagnosis,
    bound_terms,
    diagnose_embedding,
    label_projection,
)
from quietgraph.diagnose.kernel import attended_embeddings
from quietgraph.errors import InvalidLabelsError


def diagnosis(**kwargs: object) -> Diagnosis:
    generator = torch.Generator().manual_seed(0)
    right = torch.arange(90) % 3
    rows = torch.randn(3, 8, generator=generator)[right]
    rows = rows + 0.3 * torch.randn(90, 8, generator=generator)
    labels = torch.where(torch.rand(90, generator=generator) < 0.3, (right + 1) % 3, right)
    labelled = torch.rand(90, generator=generator) < 0.5
    known: dict[str, object] = {"reference": right, "labelled": labelled}
    return diagnose_embedding(rows, labels, **(known | kwargs))  # type: ignore[arg-type]


def test_everything_survives_the_way_through_json() -> None:
    found = diagnosis(probabilities=torch.full((90, 3), 1 / 3))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["bound"]["upper_bound"] == found.bound.upper_bound.tolist()
    assert plain["signal"]["rank_holding_80"] == found.signal.rank_holding(0.8)
    assert plain["noise_estimate"]["rate"] == found.noise_estimate.rate  # type: ignore[union-attr]


def test_attention_lowers_the_complexity_of_both_descriptions() -> None:
    found = diagnosis()
    assert found.attended_bound.complexity.value <= found.bound.complexity.value
    top, attended = found.spectrum.eigenvalues[0], found.attended_spectrum.eigenvalues[0]
    assert float(attended) == pytest.approx(float(top))


def test_signal_and_noise_are_seen_on_the_same_nodes() -> None:
    found = diagnosis()
    assert found.noise is not None
    assert found.noise.num_nodes == found.signal.num_nodes == 90


def test_without_reference_and_probabilities_nothing_is_said_of_noise() -> None:
    found = diagnosis(reference=None)
    assert (found.noise, found.noise_estimate) == (None, None)


def test_the_labels_given_outside_the_mask_measure_the_test_loss() -> None:
    assert diagnosis(reference=None).bound.test_loss is not None


def test_the_scale_asked_for_is_the_scale_reported() -> None:
    unit, raw = diagnosis(), diagnosis(settings=BoundSettings(scale="raw"))
    assert (unit.scale, raw.scale) == ("unit", "raw")
    assert float(unit.spectrum.eigenvalues.sum()) == pytest.approx(90)
    assert float(raw.spectrum.eigenvalues.sum()) != pytest.approx(90)


def test_a_reference_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidLabelsError, match="reference must have one entry per node"):
        diagnosis(reference=torch.zeros(89).long())


def test_the_inputs_are_left_as_they_were() -> None:
    rows = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(20) % 2
    labels[10:] = -1
    before = rows.clone(), labels.clone()
    diagnose_embedding(rows, labels)
    assert torch.equal(rows, before[0])
    assert torch.equal(labels, before[1])


def test_more_dimensions_than_nodes_change_no_number() -> None:
    draws = torch.Generator().manual_seed(3)
    wide, labels = torch.randn(12, 40, generator=draws), torch.arange(12) % 3
    labelled = torch.arange(12) < 8
    found = diagnose_embedding(wide, labels, labelled=labelled)
    direct = bound_terms(wide, labels, labelled=labelled)
    attended = bound_terms(
        attended_embeddings(wide), labels, labelled=labelled, settings=BoundSettings(scale="raw")
    )
    assert found.dim == 40
    torch.testing.assert_close(found.bound.upper_bound, direct.upper_bound)
    wanted = attended.upper_bound
    torch.testing.assert_close(found.attended_bound.upper_bound, wanted, rtol=1e-5, atol=1e-5)
    scores = label_projection(wide, labels).scores
    torch.testing.assert_close(found.signal.scores, scores, rtol=1e-4, atol=1e-5)
