"""From names to runs, and which run goes first."""

from pathlib import Path
from typing import Any

import pytest

from quietgraph.bench.grid import Grid, RunQueue, embedding_group, parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.errors import InvalidParameterError, QuietgraphError, UnknownNameError
from quietgraph.methods import METHODS

TWO_STAGE = {"dataset": "sbm", "variant": "gcl-lrr", "noise": "symmetric:0.4", "seed": 0}


def grid(**changes: Any) -> Grid:
    usual = {"datasets": ["sbm"], "methods": ["gcn"], "noise": ["none"], "seeds": [0]}
    return Grid.parse(**{**usual, **changes})


def two_stage(**changes: Any) -> Run:
    return Run.parse(**{**TWO_STAGE, "cache": "somewhere", **changes})


def test_grid_has_every_combination_once() -> None:
    runs = grid(
        datasets=["sbm", "digits", "sbm"],
        methods=["gcn", "gcn:hidden=8"],
        noise=["none", "pair:0.30", "asymmetric:0.3"],
        seeds=[1, 2, 1],
    ).runs()
    assert len(runs) == len(set(runs)) == 2 * 2 * 2 * 2
    assert {str(run.noise) for run in runs} == {"none", "asymmetric:0.3"}


def test_all_means_every_registered_method() -> None:
    assert {run.variant.method for run in grid(methods=["all"]).runs()} == set(METHODS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"datasets": ["smb"]}, "Did you mean 'sbm'?"),
        ({"methods": ["gnc"]}, "Did you mean 'gcn'?"),
        ({"noise": ["symetric:0.4"]}, "Did you mean 'symmetric'?"),
        ({"methods": ["gcn:hiden=8"]}, "Did you mean 'hidden'?"),
        ({"methods": ["gcn:hidden=0"]}, "hidden must be at least 1"),
        ({"methods": ["gcn:hidden"]}, "name:key=value"),
        ({"noise": ["symmetric:1.4"]}, "between 0 and 1"),
        ({"seeds": []}, "the grid is empty"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(changes: dict[str, list], words: str) -> None:
    with pytest.raises(QuietgraphError) as caught:
        grid(**changes).runs()
    assert words in str(caught.value)


def test_a_matrix_of_another_size_is_told_before_anything_runs(tmp_path: Path) -> None:
    matrix = tmp_path / "two.csv"
    matrix.write_text("0.9,0.1\n0.2,0.8\n")
    with pytest.raises(InvalidParameterError, match="must be 4 x 4"):
        grid(noise=[f"custom:{matrix}"]).rehearse()


def test_an_unknown_split_is_told_before_anything_runs() -> None:
    with pytest.raises(UnknownNameError, match="split of sbm 'public'"):
        grid(split="public").rehearse()


def test_uninformative_noise_is_named_with_its_dataset() -> None:
    (warning,) = grid(noise=["symmetric:0.75", "symmetric:0.4"]).warnings()
    assert warning.startswith("sbm: symmetric:0.75 with 4 classes carries no information")


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [0, 1, 2]), ("1000-1002", [1000, 1001, 1002]), ("3,5", [3, 5])]
)
def test_seeds_are_a_count_a_range_or_a_list(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text", ["ten", "1-x", "-3", "1,b", "0", "5-3", ",", "0-99999999999", "9" * 30, "9" * 9000]
)
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"a count \(10\), a range"):
        parse_seeds(text)


@pytest.mark.parametrize(
    "same",
    [
        {"noise": "none"},
        {"noise": "asymmetric:0.4"},
        {"variant": "gcl-lr-attention"},
        {"variant": "gcl-lrr:centre=false"},
    ],
)
def test_label_noise_and_second_stages_share_embeddings(same: dict[str, str]) -> None:
    assert embedding_group(two_stage(**same)) == embedding_group(two_stage())


@pytest.mark.parametrize(
    "other",
    [
        {"noise": "attribute:0.4"},
        {"seed": 1},
        {"dataset": "digits"},
        {"variant": "gcl-lrr:rank_weight=0"},
        {"variant": "gcn"},
        {"cache": None},
    ],
)
def test_other_graphs_seeds_and_encoders_share_none(other: dict[str, str]) -> None:
    assert embedding_group(two_stage(**other)) != embedding_group(two_stage())


def test_a_run_waits_while_its_embeddings_are_computed() -> None:
    first, second = (two_stage(noise=noise) for noise in ("none", "symmetric:0.2"))
    other = two_stage(seed=1)
    queue = RunQueue([first, second, other])
    assert queue.take() == first
    assert queue.take() == other  # passes the one that waits
    assert queue.take() is None
    queue.finish(first, is_done=True)
    assert queue.take() == second


def test_runs_go_side_by_side_once_embeddings_are_there() -> None:
    runs = [two_stage(noise=f"symmetric:0.{rate}") for rate in (1, 2, 3)]
    queue = RunQueue(runs)
    queue.take()
    queue.finish(runs[0], is_done=True)
    assert [queue.take(), queue.take()] == runs[1:]


def test_after_a_failure_the_next_run_computes_the_embeddings() -> None:
    runs = [two_stage(noise=f"symmetric:0.{rate}") for rate in (1, 2, 3)]
    queue = RunQueue(runs)
    queue.take()
    queue.finish(runs[0], is_done=False)
    assert queue.take() == runs[1]
    assert queue.take() is None


def test_runs_of_one_stage_never_wait() -> None:
    runs = [
        Run.parse("sbm", "gcn", noise, 0, cache="somewhere") for noise in ("none", "symmetric:0.2")
    ]
    queue = RunQueue(runs)
    assert [queue.take(), queue.take()] == runs
