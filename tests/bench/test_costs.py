"""Expected seconds of runs: from finished ones, embeddings once, and until the last one ends."""

from pathlib import Path

import pytest

from quietgraph.bench.costs import Costs, Plan, make_plan, rough_seconds
from quietgraph.bench.embedding_groups import group_of, learned_groups
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import records_frame
from quietgraph.methods import get_method
from records import record_of

TWO_STAGE = "gcl-lrr:epochs=2:dim=8:hidden=8"


def run_of(variant: str = "gcn", noise: str = "none", seed: int = 0, dataset: str = "sbm") -> Run:
    return Run.parse(dataset, variant, noise, seed, cache="somewhere")


def costs_of(*finished: tuple[Run, float]) -> Costs:
    rows = records_frame([record_of(run, seconds=seconds) for run, seconds in finished])
    return Costs.of(rows, cache="somewhere")


def test_the_longest_goes_first_by_known_seconds_then_by_size() -> None:
    runs = [run_of(dataset=name) for name in ("texas", "cora", "pubmed")]
    assert [run.dataset for run in make_plan(runs, Costs()).runs] == ["pubmed", "cora", "texas"]
    seconds = {"texas": 100.0, "cora": 1.0, "pubmed": 2.0}
    known = costs_of(*((run_of(seed=9, dataset=name), took) for name, took in seconds.items()))
    assert [run.dataset for run in make_plan(runs, known).runs] == ["texas", "pubmed", "cora"]


def test_a_guess_follows_the_epochs() -> None:
    usual, long = (rough_seconds(run_of(name)) for name in ("gcl-lrr", "gcl-lrr:epochs=120"))
    assert long == pytest.approx(2 * usual)
    printed = rough_seconds(run_of("gcl-lrr:preset=paper"))  # 500 epochs
    assert printed == pytest.approx(500 / 60 * usual)
    assert rough_seconds(run_of("gcn:epochs=1")) == pytest.approx(0.1 * rough_seconds(run_of()))
    assert rough_seconds(run_of("s2gc", dataset="cora")) == get_method("s2gc").cora_seconds


def test_a_noise_setting_has_its_own_seconds_where_they_are_known() -> None:
    known = costs_of((run_of(), 2), (run_of(noise="symmetric:0.4"), 8))
    assert known.seconds(run_of(seed=1), learns=True) == pytest.approx(2)
    assert known.seconds(run_of(noise="asymmetric:0.4"), learns=True) == pytest.approx(5)


def test_only_the_latest_runs_count() -> None:
    finished = [(run_of(seed=seed), 100.0 if seed < 5 else 1.0) for seed in range(20)]
    assert costs_of(*finished).seconds(run_of(seed=30), learns=True) == pytest.approx(1)


def test_seconds_of_a_busy_machine_count_as_those_of_its_processor() -> None:
    busy = record_of(run_of(), seconds=30.0, seconds_processor=10.0)
    threads = record_of(run_of("s2gc"), seconds=2.0, seconds_processor=4.0)
    known = Costs.of(records_frame([busy, threads]), cache=None)
    assert known.seconds(run_of(seed=1), learns=True) == pytest.approx(10)
    assert known.seconds(run_of("s2gc", seed=1), learns=True) == pytest.approx(2)
    older = Costs.of(records_frame([record_of(run_of(), seconds=30.0)]), cache=None)
    assert older.seconds(run_of(seed=1), learns=True) == pytest.approx(30)


def test_runs_without_processor_seconds_count_where_there_are_no_others() -> None:
    older = [record_of(run_of(seed=seed), seconds=30.0) for seed in range(3)]
    newer = record_of(run_of(seed=3), seconds=30.0, seconds_processor=10.0)
    both = Costs.of(records_frame([*older, newer]), cache=None)
    assert both.seconds(run_of(seed=4), learns=True) == pytest.approx(10)
    elsewhere = record_of(run_of("s2gc"), seconds=2.0)
    apart = Costs.of(records_frame([elsewhere, newer]), cache=None)
    assert apart.seconds(run_of("s2gc", seed=4), learns=True) == pytest.approx(2)


def test_one_run_that_was_held_up_does_not_count() -> None:
    finished = [(run_of(seed=seed), 900.0 if seed == 5 else 1.0) for seed in range(10)]
    assert costs_of(*finished).seconds(run_of(seed=30), learns=True) == pytest.approx(1)


def test_embeddings_are_paid_for_once_a_draw() -> None:
    known = costs_of(*((run_of(TWO_STAGE, noise), s) for noise, s in NOISES.items()))
    runs = [run_of(TWO_STAGE, noise, seed) for seed in (1, 2) for noise in NOISES]
    plan = make_plan(runs, known)
    assert [round(plan.seconds[run]) for run in plan.runs] == [41, 41, 1, 1, 1, 1]
    assert {run.seed for run in plan.runs[:2]} == {1, 2}
    assert plan.span(1) == pytest.approx(2 * 41 + 4, abs=5)
    there = [group for run in runs if (group := group_of(run)) is not None]
    assert make_plan(runs, known, learned=there).span(1) == pytest.approx(6, abs=5)


NOISES = {"none": 41.0, "symmetric:0.4": 1.0, "asymmetric:0.4": 1.0}


def test_attribute_noise_has_embeddings_of_its_own() -> None:
    known = costs_of(*((run_of(TWO_STAGE, noise), s) for noise, s in NOISES.items()))
    runs = [run_of(TWO_STAGE, noise, 1) for noise in ("none", "attribute:0.4")]
    assert sum(make_plan(runs, known).seconds.values()) == pytest.approx(82, abs=1)


def test_workers_wait_for_embeddings_that_another_learns() -> None:
    runs = tuple(run_of(TWO_STAGE, noise) for noise in NOISES)
    plan = Plan(runs, dict(zip(runs, (40.0, 10.0, 10.0), strict=True)))
    assert plan.span(2) == pytest.approx(50, abs=5)  # 40 by one, then 10 by each of both


def test_two_workers_share_what_is_independent() -> None:
    runs = tuple(run_of(seed=seed) for seed in range(4))
    plan = Plan(runs, dict.fromkeys(runs, 10.0))
    assert [round(plan.span(jobs) - plan.span(4)) for jobs in (1, 2, 4)] == [30, 10, 0]
    assert Plan((), {}).span(2) == 0


def test_nothing_is_learned_where_the_cache_is_empty(tmp_path: Path) -> None:
    run, noisy = (
        Run.parse("sbm", TWO_STAGE, noise, 0, cache=str(tmp_path))
        for noise in ("none", "attribute:0.4")
    )
    assert learned_groups([noisy], [noisy], cache=str(tmp_path)) == set()
    (tmp_path / "a.safetensors").touch()
    assert learned_groups([noisy], [noisy], cache=str(tmp_path)) == {group_of(noisy)}
    assert learned_groups([run], [run], cache=str(tmp_path)) == set(), "of others"
    assert learned_groups([run], [run], cache=None) == set()


def test_embeddings_that_another_command_left_are_not_paid_for(tmp_path: Path) -> None:
    where = {"cache": str(tmp_path)}
    Run.parse("sbm", TWO_STAGE, "symmetric:0.4", 0, **where).fit(
        Run.parse("sbm", TWO_STAGE, "symmetric:0.4", 0, **where).observe()[0]
    )
    there, absent = (
        Run.parse("sbm", TWO_STAGE, "none", seed, split="train+validation", **where)
        for seed in (0, 1)
    )
    assert learned_groups([there, absent], [], cache=str(tmp_path)) == {group_of(there)}


def test_a_run_of_labels_from_a_file_that_is_gone_still_tells_its_seconds() -> None:
    frame = records_frame([record_of(run_of(), seconds=7)]).assign(noise="labels:gone.csv#1234")
    assert Costs.of(frame, cache=None).seconds(run_of(), learns=True) == pytest.approx(7)


def test_what_is_unknown_is_guessed_by_size() -> None:
    small, large = run_of(dataset="cora"), run_of(dataset="pubmed")
    assert not Costs().knows(small)
    assert Costs().seconds(small, learns=True) == rough_seconds(small) < rough_seconds(large)


def test_a_guess_follows_the_pace_of_finished_runs() -> None:
    guess = rough_seconds(run_of(dataset="cora"))
    finished = [(run_of(dataset="cora", seed=seed), guess / 4) for seed in range(5)]
    wanted = run_of("s2gc", dataset="pubmed")
    two_stage = run_of(TWO_STAGE, dataset="cora")
    for run in (wanted, two_stage):
        guessed = costs_of(*finished).seconds(run, learns=True)
        assert guessed == pytest.approx(rough_seconds(run) / 4)
    few = costs_of(*finished[:4]).seconds(wanted, learns=True)
    assert few == pytest.approx(rough_seconds(wanted))


def test_a_guess_follows_the_pace_of_its_own_method_on_graphs_of_such_a_size() -> None:
    finished = [(run_of(dataset="cora", seed=seed), 1.0) for seed in range(5)]
    other = run_of("s2gc", dataset="cora")
    costs = costs_of(*finished, (other, 3 * rough_seconds(other)))
    similar, larger = (run_of("s2gc", dataset=name) for name in ("citeseer", "pubmed"))
    assert costs.seconds(similar, learns=True) == pytest.approx(3 * rough_seconds(similar))
    pace = 1.0 / rough_seconds(finished[0][0])
    assert costs.seconds(larger, learns=True) == pytest.approx(pace * rough_seconds(larger))
