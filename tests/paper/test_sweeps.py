"""What a target of the paper runs, how long that is expected to take, and that it goes on."""

import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from quietgraph.bench.costs import rough_seconds
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record, records_frame
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods import METHODS
from quietgraph.paper.accuracy import CLASSIFICATION
from quietgraph.paper.results import (
    KINDS,
    Needs,
    Results,
    digest_of,
    read_results,
    store_path,
)
from quietgraph.paper.scope import BUDGETS, STAND_IN, Extent, Scope, make_scope
from quietgraph.paper.studies import StudyEngine, carry_out, fold_numbers
from quietgraph.paper.sweeps import carry_out as run_missing
from quietgraph.paper.sweeps import (
    estimate,
    missing_runs,
)
from quietgraph.paper.targets import TARGETS, find_targets
from records import record_of


def record(run: Run, seconds: float, status: str = "done") -> Record:
    return record_of(run, status, seconds=seconds, test_accuracy=0.5)


def results(*records: Record) -> Results:
    frames = {kind: records_frame([]) for kind in KINDS}
    return Results(frames | {"accuracy": records_frame(records)})


def runs_of(variant: str, count: int, *, cache: str | None = None) -> tuple[Run, ...]:
    noises = ("none", "symmetric:0.4")
    return tuple(
        Run.parse("sbm", variant, noise, s, cache=cache) for noise in noises for s in range(count)
    )


def test_every_method_has_a_rough_time() -> None:
    assert all(method.cora_seconds > 0 for method in METHODS.values())


def test_the_estimate_knows_from_finished_runs() -> None:
    runs = runs_of("gcn:epochs=3", 3)
    found = estimate(Needs(accuracy=runs), results(record(runs[0], 10), record(runs[1], 20)))
    assert (found.total, found.missing, found.guessed) == (6, 4, 0)
    assert found.seconds == pytest.approx(4 * 15, abs=5)


def test_the_estimate_guesses_by_size_where_nothing_is_known() -> None:
    runs = (Run.parse("cora", "gcn", "none", 0), Run.parse("pubmed", "gcn", "none", 0))
    found = estimate(Needs(accuracy=runs), results())
    assert found.guessed == 2
    assert found.seconds == pytest.approx(sum(map(rough_seconds, runs)), abs=5)
    assert rough_seconds(runs[0]) == METHODS["gcn"].cora_seconds < rough_seconds(runs[1])


def test_embeddings_are_learned_once_a_draw_in_the_estimate() -> None:
    cached = estimate(Needs(accuracy=runs_of("gcl-lrr", 2, cache="cache")), results())
    alone = estimate(Needs(accuracy=runs_of("gcl-lrr", 2)), results())
    assert cached.guessed == 2
    assert alone.guessed == 4
    assert cached.seconds < alone.seconds


def test_a_method_that_found_embeddings_is_not_taken_for_a_fast_one() -> None:
    learner, finder = (
        Run.parse("sbm", name, "none", 0, cache="c") for name in ("gcl-lr-attention", "gcl-lrr")
    )
    known = results(record(learner, 40), record(finder, 0.1))
    wanted = Needs(accuracy=(replace(finder, seed=1),))
    assert estimate(wanted, known).seconds == pytest.approx(40, abs=5)


def test_more_jobs_shorten_all_but_the_timed_runs() -> None:
    runs = runs_of("gcn:epochs=3", 2)
    one, two = (estimate(Needs(accuracy=runs), results(), jobs=jobs) for jobs in (1, 2))
    assert two.seconds == pytest.approx(one.seconds / 2, abs=5)
    one, two = (estimate(Needs(times=runs), results(), jobs=jobs) for jobs in (1, 2))
    assert two.seconds == pytest.approx(one.seconds)


def test_a_failed_run_is_missing() -> None:
    runs = runs_of("gcn:epochs=3", 1)
    frame = records_frame([record(runs[0], 1, "failed"), record(runs[1], 1)])
    assert missing_runs(runs, frame) == [runs[0]]


def test_the_digest_is_that_of_the_runs_key() -> None:
    run = Run.parse("cora", "gcl-lrr:epochs=3", "attribute:0.4", 7, cache="somewhere")
    assert digest_of(run) == run.key().digest


def test_needs_of_two_targets_share_their_runs() -> None:
    first, second = runs_of("gcn", 2), runs_of("gcn", 3)
    assert set((Needs(accuracy=first) | Needs(accuracy=second)).accuracy) == set(second)


def test_other_kinds_of_runs_have_files_beside_the_store() -> None:
    names = [store_path(Path("a/results.sqlite"), kind).name for kind in KINDS]
    assert names == [
        "results.sqlite",
        "results-times.sqlite",
        "results-theory.sqlite",
        "results-folds.sqlite",
    ]


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_target_plans_runs_whose_names_are_known(
    budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scope, "is_here", lambda *_: True)
    for target in TARGETS.values():
        needs = target.needs(make_scope(budget))
        pairs = {(run.dataset, run.variant): run for kind in KINDS for run in needs.of(kind)}
        for run in pairs.values():
            run.parameters()


def test_smoke_runs_are_kept_apart_by_their_parameters() -> None:
    smoke, small = (make_scope(budget, seeds="1") for budget in ("smoke", "small"))
    variants = {run.variant for run in CLASSIFICATION.runs(smoke)}
    assert variants
    assert not variants & {run.variant for run in CLASSIFICATION.runs(small)}


def test_a_smoke_without_files_takes_the_embedded_graph_and_says_so() -> None:
    scope = make_scope("smoke", data_root="nowhere")
    assert scope.datasets(Extent(("cora",), ("cora",), ("cora",))) == (STAND_IN,)
    assert f"{STAND_IN} stands in" in scope.notes()[0]


def test_the_other_budgets_keep_datasets_without_files() -> None:
    scope = make_scope("small", data_root="nowhere")
    assert scope.datasets(Extent(("cora",), ("cora",), ("cora",))) == ("cora",)
    assert CLASSIFICATION.needs(scope).accuracy == ()


def test_draws_may_be_replaced() -> None:
    assert make_scope("small").seeds == tuple(range(1000, 1005))
    assert make_scope("full", seeds="3,5").seeds == (3, 5)


def test_no_draws_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="of 1 to 100,000 draws"):
        make_scope("full", seeds="0")


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda: find_targets("clasification"), "Did you mean 'classification'"),
        (lambda: make_scope("smal"), "Did you mean 'small'"),
    ],
)
def test_an_unknown_name_gets_the_nearest(ask: object, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=hint):
        ask()  # type: ignore[operator]


def test_what_a_study_raises_becomes_a_row() -> None:
    def numbers(_: Run) -> dict[str, float]:
        raise ValueError("no such thing")

    found = carry_out(Run.parse("sbm", "gcn", "none", 0), numbers)
    assert (found.status, found.reason) == ("failed", "ValueError: no such thing")


def test_five_folds_look_at_training_labels_only() -> None:
    found = fold_numbers(Run.parse("sbm", "gcl-lrr:epochs=1:dim=8:hidden=8", "symmetric:0.2", 0))
    assert 0 < found["fold_accuracy"] <= 1


def test_an_engine_without_runs_starts_no_process() -> None:
    assert list(StudyEngine(fold_numbers).records([])) == []


def wait_by_seed(run: Run) -> dict[str, float]:
    time.sleep(1000 * run.seed)
    return {"seed": run.seed}


def test_stopping_an_engine_ends_the_runs_under_way() -> None:
    runs = [Run.parse("sbm", "gcn", "none", seed) for seed in range(2)]
    records = StudyEngine(wait_by_seed).records(runs)
    assert next(records).metrics == {"seed": 0}
    started = time.monotonic()
    records.close()
    assert time.monotonic() - started < 100


def test_a_sweep_runs_what_is_missing_and_nothing_twice(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    runs = tuple(Run.parse("sbm", "gcn:epochs=2", "none", seed) for seed in range(2))
    study = (Run.parse("sbm", "gcl-lrr:epochs=1:dim=8:hidden=8", "symmetric:0.4", 0),)
    needs = Needs(accuracy=runs, theory=study)
    assert run_missing(needs, store, read_results(store), jobs=1) == 3
    found = read_results(store)
    assert run_missing(needs, store, found, jobs=1) == 0
    theory = found.of("theory", study)
    assert theory["KC"].notna().all()
    assert theory["labels_held"].between(0, 1).all()
    assert isinstance(found.of("accuracy", runs), pd.DataFrame)


def test_scope_names_the_variant_of_a_row() -> None:
    smoke = Scope("smoke", (0,))
    assert smoke.variant("sugrl:classifier=gcn") == "sugrl:classifier=gcn:epochs=6:hidden=16:dim=16"
    assert Scope("full", (0,)).variant("sugrl") == "sugrl"
