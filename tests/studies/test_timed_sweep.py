"""What a command expects, as `--estimate --json` says it."""

import sys

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

import timed_sweep


def test_the_expectation_of_one_grid_and_of_several_targets() -> None:
    one = '{"missing": 10, "runs": 12, "seconds": 26.5, "jobs": 2}'
    several = '{"bound": {"missing": 6, "seconds": 8.5}, "rank": {"missing": 1, "seconds": 1.0}}'
    assert timed_sweep.expectation(one) == (10, 26.5)
    assert timed_sweep.expectation(several) == (7, 9.5)
