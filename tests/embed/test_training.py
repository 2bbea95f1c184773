"""The one training loop: best snapshot, early stop, divergence, progress."""

import pytest
import torch
from torch import Tensor, nn

from quietgraph.embed import Schedule, train
from quietgraph.embed.training import DivergedError
from quietgraph.progress import listen


class Slider(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.zeros(()))


def test_the_best_epoch_is_restored_not_the_last() -> None:
    slider = Slider()
    history = train(
        slider,
        lambda epoch: {"loss": -slider.place},
        Schedule(epochs=10, learning_rate=0.1),
        score=lambda: -abs(float(slider.place.detach()) - 0.3),
    )
    assert float(slider.place.detach()) == pytest.approx(0.3, abs=1e-5)
    assert len(history) == 10


def test_patience_counts_epochs_without_a_better_loss() -> None:
    slider = Slider()
    losses = iter([3.0, 2.0, 2.5, 2.5, 2.5, 1.0])
    history = train(
        slider,
        lambda epoch: {"loss": slider.place * 0 + next(losses)},
        Schedule(epochs=6, learning_rate=0.1, patience=3),
    )
    assert [record["loss"] for record in history] == [3.0, 2.0, 2.5, 2.5, 2.5]


def test_a_loss_that_is_no_number_is_told_at_once() -> None:
    slider = Slider()
    with pytest.raises(DivergedError, match="diverged at epoch 0: the loss is nan"):
        train(
            slider,
            lambda epoch: {"loss": slider.place * float("nan")},
            Schedule(epochs=5, learning_rate=0.1),
        )


def test_progress_reaches_the_listener_and_nobody_else() -> None:
    slider, heard = Slider(), []
    schedule = Schedule(epochs=3, learning_rate=0.1)
    with listen(lambda *message: heard.append(message)):
        train(slider, lambda epoch: {"loss": slider.place**2}, schedule, what="sliding")
    assert heard == [("sliding", 1, 3), ("sliding", 2, 3), ("sliding", 3, 3)]
    train(slider, lambda epoch: {"loss": slider.place**2}, schedule)
    assert len(heard) == 3


def test_an_epoch_of_several_steps_numbers_them_and_records_their_mean() -> None:
    slider, numbers = Slider(), []

    def losses(number: int) -> dict[str, Tensor]:
        numbers.append(number)
        return {"loss": slider.place * 0 + float(number)}

    history = train(slider, losses, Schedule(epochs=2, learning_rate=0.1, steps=3))
    assert numbers == [0, 1, 2, 3, 4, 5]
    assert [record["loss"] for record in history] == [1.0, 4.0]
