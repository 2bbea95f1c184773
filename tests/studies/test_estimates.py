"""Later draws of stored runs, expected from the earlier ones."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study.estimates import by_the_clock, expected, split_draws


def frame_of(seconds: dict[int, float], method: str = "gcn") -> pd.DataFrame:
    place = {"dataset": "cora", "method": method, "noise": "none", "status": "done", "started": ""}
    return pd.DataFrame([{**place, "seed": s, "seconds": took} for s, took in seconds.items()])


def test_the_earlier_half_of_the_draws_of_each_method_tells() -> None:
    both = pd.concat([frame_of(dict.fromkeys(range(5), 1.0)), frame_of({7: 1.0, 8: 1.0}, "s2gc")])
    known, later = split_draws(both.reset_index(drop=True))
    assert list(known["seed"]) == [0, 1, 7]
    assert list(later["seed"]) == [2, 3, 4, 8]


def test_later_draws_are_expected_to_take_what_earlier_ones_took() -> None:
    known, later = split_draws(frame_of({0: 30.0, 1: 50.0, 2: 7.0, 3: 7.0}))
    assert expected(known, later) == pytest.approx(80, abs=5)  # and the start of a worker


def test_a_sweep_takes_from_its_first_start_to_its_last_end() -> None:
    frame = frame_of({0: 30.0, 1: 50.0}).assign(
        started=["2026-11-18T20:00:10+00:00", "2026-11-18T20:00:00+00:00"]
    )
    assert by_the_clock(frame) == pytest.approx(50)
    assert by_the_clock(frame.head(1)) == pytest.approx(30)
