"""The search over parameters."""

from dataclasses import replace
from pathlib import Path

import pytest
from tiny_methods import LabelFree, Nearest, Unlucky, tiny_data

from quietgraph.bench import cross_validate, tune
from quietgraph.bench.tune import parse_space
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods.gcn import GCN


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    path, space = tmp_path / "tune.log", ["spread=0:50", "softness=0.5,1,2"]
    told: list[tuple[int, int]] = []
    first = tune(tiny_data(), Nearest(), path, space=space, trials=3, seeds=[0, 1])
    more = tune(tiny_data(), Nearest(), path, space=space, trials=5, seeds=[0, 1], on_trial=lambda *at: told.append(at))
    assert told == [(4, 5), (5, 5)]
    kept = more.merge(first, on=["spread", "softness", "score"])
    assert (len(first), len(more), len(kept)) == (3, 5, 3)
    assert more["spread"].nunique() == 5  # a search that goes on does not repeat its first draws
    assert more["score"].is_monotonic_decreasing
    revised = type("Nearest", (Nearest,), {"revision": 2})
    assert len(tune(tiny_data(), revised, path, space=space, trials=1, seeds=[0, 1])) == 1


def test_folds_share_embeddings_and_never_see_the_label_they_predict(tmp_path: Path) -> None:
    log, data = tmp_path / "log", tiny_data()
    share = cross_validate(LabelFree(log=str(log)), replace(data, codes=data.codes))
    assert 0.5 < share <= 1
    assert log.read_text().count("trained") == 1


def test_ranges_are_checked() -> None:
    assert parse_space(GCN, ["hidden=8:64:log", "dropout=0.2,0.5"]) == {
        "hidden": (8, 64, True),
        "dropout": ([0.2, 0.5],),
    }
    assert set(parse_space(GCN)) == {"learning_rate", "weight_decay", "dropout"}
    for text in ("hidden=64:8", "hidden=8:16:32", "hidden=", "feature_norm=l1:l2"):
        with pytest.raises(InvalidParameterError):
            parse_space(GCN, [text])
    with pytest.raises(UnknownNameError, match="parameter of GCN"):
        parse_space(GCN, ["width=8:16"])


def test_a_trial_that_fails_says_why(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    found = tune(tiny_data(), Unlucky(), tmp_path / "tune.log", space=["end=none,raise"], trials=6, seeds=[1])
    reasons = found.set_index("end")["reason"]
    assert found["score"].isna().tolist() == [end == "raise" for end in found["end"]]
    assert set(reasons[reasons.index == "none"]) <= {""}
    assert all(reason.startswith("RuntimeError: no luck") for reason in reasons[reasons.index == "raise"])
