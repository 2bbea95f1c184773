"""Epochs reach functions, the log, TensorBoard and MLflow, and only inside their fit."""

import logging
import subprocess
import sys

import pytest

import quietgraph as qg
from quietgraph.callbacks import Callback, Epoch, MLflow, TensorBoard
from quietgraph.extras import MissingExtraError
from quietgraph.testing import small_problem

EPOCHS = 20


def fit(**options) -> qg.GCN:
    problem, labels, validation = small_problem()
    return qg.GCN(epochs=EPOCHS, hidden=8).fit(problem.graph, labels, validation, **options)


def test_a_function_gets_every_epoch_as_the_history_has_it() -> None:
    seen: list[Epoch] = []
    model = fit(callbacks=[seen.append])
    assert [epoch.number for epoch in seen] == list(range(1, EPOCHS + 1))
    assert [epoch.metrics for epoch in seen] == model.history_
    assert {epoch.what for epoch in seen} == {"training"}
    model.suspects()  # fits of the folds are not followed
    assert len(seen) == EPOCHS


def test_a_callback_is_told_start_and_end_also_of_a_fit_that_fails() -> None:
    class Told(Callback):
        def __init__(self) -> None:
            self.words: list[str] = []

        def on_fit_start(self, model: object) -> None:
            self.words.append("start")

        def on_epoch(self, epoch: Epoch) -> None:
            self.words.append("epoch")
            raise KeyError("stop")

        def on_fit_end(self, model: object) -> None:
            self.words.append("end")

    told = Told()
    with pytest.raises(KeyError, match="stop"):
        fit(callbacks=[told])
    assert told.words == ["start", "epoch", "end"]
    fit()
    assert told.words == ["start", "epoch", "end"]


def test_callbacks_and_verbose_are_checked() -> None:
    with pytest.raises(qg.InvalidParameterError, match="function of an epoch"):
        fit(callbacks=["loss"])
    with pytest.raises(qg.InvalidParameterError, match="0, 1 or 2"):
        fit(verbose=3)


def test_the_log_says_each_epoch_at_debug_and_every_tenth_at_info(caplog) -> None:
    with caplog.at_level(logging.DEBUG, logger="quietgraph"):
        fit()
    epochs = [record for record in caplog.records if ": epoch" in record.getMessage()]
    assert len(epochs) == EPOCHS
    assert sum(record.levelno == logging.INFO for record in epochs) == 10
    assert {record.name for record in caplog.records} == {"quietgraph"}


def test_verbose_shows_the_log_and_nothing_is_shown_without_it() -> None:
    program = (
        "import sys\nimport quietgraph as qg\nfrom quietgraph.testing import small_problem\n"
        "problem, labels, validation = small_problem()\n"
        "for verbose in (0, 1, 2):\n"
        "    qg.GCN(epochs=20).fit(problem.graph, labels, verbose=verbose)\n"
        "    print('--', file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    shown = [part.count("\n") for part in done.stderr.split("--\n")]
    assert shown == [0, 12, 22, 0], done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_holds_the_curves(tmp_path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = fit(callbacks=[TensorBoard(tmp_path / "logs")])
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    losses = [(one.step, one.value) for one in events.Scalars("training/loss")]
    expected = [(step, record["loss"]) for step, record in enumerate(model.history_, 1)]
    assert losses == [(step, pytest.approx(loss, rel=1e-5)) for step, loss in expected]


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_mlflow_holds_parameters_and_curves(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"file:{tmp_path / 'mlruns'}")
    with mlflow.start_run() as run:
        model = fit(callbacks=[MLflow()])
    stored = mlflow.get_run(run.info.run_id).data
    assert stored.params["method"] == "GCN"
    assert stored.params["epochs"] == str(EPOCHS)
    assert stored.metrics["training/loss"] == pytest.approx(model.history_[-1]["loss"])
    points = mlflow.MlflowClient().get_metric_history(run.info.run_id, "training/loss")
    assert len(points) == EPOCHS


def test_a_missing_tracker_is_named_with_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'quietgraph\[mlflow\]'"):
        MLflow()
