"""Stored runs whose parameters have been renamed since."""

from paths import ROOT
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import RunKey
from quietgraph.bench.renames import current_key
from quietgraph.bench.runs_csv import read_runs

STORED = (
    '{"biased":true,"caution":0.13,"encoder":true,"epochs":null,"families":"all","mending":0,'
    '"refit":false}'
)


def test_a_stored_key_becomes_the_one_that_the_same_run_has_today() -> None:
    stored = RunKey("cora", "quiet:mending=0", STORED, "none", 5000, "default", 1)
    today = Run.parse("cora", "quiet:correction_rounds=0", "none", 5000).key()
    assert stored.digest != today.digest
    assert current_key(stored) == today


def test_a_key_of_an_unknown_method_stays_as_it_is() -> None:
    key = RunKey("cora", "gone:mending=0", "{}", "none", 0, "default", 1)
    assert current_key(key) == key


def test_stored_results_of_quiet_are_found_under_their_new_keys() -> None:
    found = {record.key.digest for record in read_runs(ROOT / "results" / "quiet-texas.csv")}
    seeds = {record.key.seed for record in read_runs(ROOT / "results" / "quiet-texas.csv")}
    assert found & {Run.parse("texas", "quiet", "none", seed).key().digest for seed in seeds}
