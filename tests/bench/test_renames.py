"""Stored runs whose parameters have been renamed since."""

import json

import pytest

from paths import ROOT
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import RunKey, canonical_json
from quietgraph.bench.renames import current_key
from quietgraph.bench.runs_csv import read_runs

OLD_NAMES = {"class_prior_adjustment": "biased", "correction_rounds": "mending"}


def test_a_stored_key_becomes_the_one_that_the_same_run_has_today() -> None:
    today = Run.parse("cora", "quiet:correction_rounds=0", "none", 5000).key()
    values = {OLD_NAMES.get(name, name): v for name, v in json.loads(today.parameters).items()}
    old = canonical_json(values)
    stored = RunKey("cora", "quiet:mending=0", old, "none", 5000, "default", today.protocol_version)
    assert stored.digest != today.digest
    assert current_key(stored) == today


def test_a_key_of_an_unknown_method_stays_as_it_is() -> None:
    key = RunKey("cora", "gone:mending=0", "{}", "none", 0, "default", 1)
    assert current_key(key) == key


@pytest.mark.parametrize("method", ["gcn", "s2gc", "unionnet", "sel-cl", "jo-src", "grand-plus"])
def test_stored_results_of_unchanged_methods_are_found_under_their_new_keys(method: str) -> None:
    """Their parameters were called `parts`, `own_share`, `given_share`, `settling`, ..."""
    found = read_runs(ROOT / "results" / "paper-texas.csv")
    keys = [record.key for record in found if record.key.method == method]
    assert keys
    assert keys == [Run.parse("texas", method, key.noise, key.seed).key() for key in keys]
