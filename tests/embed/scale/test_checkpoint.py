"""A training that is interrupted goes on from its last checkpoint."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.embed.scale.checkpoint import Checkpoints, Snapshot, use_checkpoints
from quietgraph.errors import UnreadableFileError
from quietgraph.progress import listen
from quietgraph.testing import small_problem

QUICK = {
    "epochs": 36,
    "warm_up": 12,
    "hidden": 24,
    "dim": 16,
    "prototypes": 4,
    "fine_prototypes": 8,
}


class Killed(BaseException):
    """Stands for the end of the process."""


def fit(checkpoints: Checkpoints | None, *, kill_after: int | None = None, **parameters):
    problem, labels, validation = small_problem(num_nodes=200)
    model = qg.get_method("gcl-lrr")(**QUICK | parameters)

    def listener(what: str, done: int, total: int) -> None:
        if done == kill_after:
            raise Killed

    with listen(listener), use_checkpoints(checkpoints):
        return model.fit(problem.graph, labels, validation), problem


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("step", [5, 13, 30])
def test_a_killed_training_goes_on_where_it_was(partitions: int, step: int, tmp_path) -> None:
    checkpoints = Checkpoints(tmp_path / "kept", minutes=0)
    with pytest.raises(Killed):
        fit(checkpoints, kill_after=step, partitions=partitions)
    steps = []

    def count(what: str, done: int, total: int) -> None:
        steps.append(done)

    problem, labels, validation = small_problem(num_nodes=200)
    again = qg.get_method("gcl-lrr")(**QUICK | {"partitions": partitions})
    with listen(count), use_checkpoints(Checkpoints(tmp_path / "kept")):
        again.fit(problem.graph, labels, validation)
    assert steps[0] == step  # the step under way when it was killed is done again
    assert len(again.history_) == 36 // partitions
    whole, _ = fit(None, partitions=partitions)
    right = [(model.predict()[60:] == problem.classes[60:]).mean() for model in (again, whole)]
    assert abs(right[0] - right[1]) < 0.1


def test_a_finished_training_is_not_trained_again(tmp_path) -> None:
    first, _ = fit(Checkpoints(tmp_path), partitions=3)
    second, _ = fit(Checkpoints(tmp_path), partitions=3, kill_after=36)
    np.testing.assert_array_equal(first.embeddings_, second.embeddings_)
    assert first.history_ == second.history_


def test_checkpoints_change_no_number(tmp_path) -> None:
    plain, _ = fit(None)
    kept, _ = fit(Checkpoints(tmp_path, minutes=0))
    np.testing.assert_array_equal(plain.scores_, kept.scores_)


def test_the_checkpoint_of_another_training_is_refused(tmp_path) -> None:
    fit(Checkpoints(tmp_path), partitions=3)
    with pytest.raises(UnreadableFileError, match="another training"):
        fit(Checkpoints(tmp_path), partitions=3, temperature=0.4)


def test_a_broken_checkpoint_is_named(tmp_path) -> None:
    (tmp_path / "training.safetensors").write_bytes(b"broken")
    with pytest.raises(UnreadableFileError, match="Remove it"):
        fit(Checkpoints(tmp_path), partitions=3)


def test_a_folder_that_cannot_be_written_is_a_warning_that_names_it(tmp_path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(UserWarning, match="without a checkpoint: .*Choose a writable folder"):
        Checkpoints(tmp_path / "file").keep("key", Snapshot({}, {}))


def test_a_checkpoint_is_kept_when_it_is_due_and_forgotten_at_the_end(tmp_path) -> None:
    checkpoints = Checkpoints(tmp_path / "kept", minutes=60)
    assert not checkpoints.is_due()
    assert Checkpoints(tmp_path, minutes=0).is_due()
    checkpoints.keep("key", Snapshot({"x": torch.ones(2)}, {"n": 1}))
    assert checkpoints.has_one
    found = checkpoints.last("key")
    assert found is not None
    assert found.facts == {"n": 1}
    assert torch.equal(found.tensors["x"], torch.ones(2))
    checkpoints.forget()
    assert not checkpoints.folder.exists()
    assert checkpoints.last("key") is None
