"""What a method answers, checked before anybody uses it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.errors import InvalidGraphError, QuietgraphError, UnreadableFileError
from quietgraph.rng import deterministic_sums
from quietgraph.types import Embeddings, Scores

_SCALE: Final = "Scale features and edge weights to about 1, or choose another method."


def check_answer(scores: Scores, embeddings: Embeddings, method: str) -> None:
    """Raise where scores or embeddings are no numbers; a score of minus infinity is one."""

    def count_wrong(rows: slice) -> Tensor:
        some = scores[rows]
        wrong = torch.isnan(some).any() | torch.isposinf(some).any()
        return (wrong | ~torch.isfinite(embeddings[rows]).all()).to(torch.int64)

    if node_rows(len(scores)).sum(count_wrong) > 0:
        raise InvalidGraphError(
            f"{method} computed numbers that are not finite from this graph. {_SCALE}"
        )


@contextmanager
def solvable(method: str) -> Iterator[None]:
    """Compute in one order of sums; a system without a solution is a sentence about the graph."""
    try:
        with deterministic_sums():
            yield
    except (torch.linalg.LinAlgError, np.linalg.LinAlgError) as error:  # type: ignore[attr-defined]
        raise InvalidGraphError(
            f"{method} cannot solve its equations for the numbers of this graph. {_SCALE}"
        ) from error


@contextmanager
def applied_state(state: dict[str, Tensor], *, is_loaded: bool) -> Iterator[None]:
    """Turn what a loaded state raises where it is not one of its method into a sentence."""
    if not is_loaded:
        yield
        return
    largest = max((value.numel() for value in state.values()), default=0)

    def bounded(_: object, name: str, parameter: Tensor | None) -> None:
        # Before it is filled: memory that nobody wrote to is not taken yet.
        if parameter is not None and parameter.numel() > largest:
            raise _unfit(f"{name} of {tuple(parameter.shape)} is not there")

    hook = torch.nn.modules.module.register_module_parameter_registration_hook(bounded)
    try:
        yield
    except QuietgraphError:
        raise
    except (RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise _unfit(str(error).partition("\n")[0][:200]) from error
    finally:
        hook.remove()


def _unfit(reason: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"the loaded model does not hold what its method needs ({reason}). Fit the model again."
    )
