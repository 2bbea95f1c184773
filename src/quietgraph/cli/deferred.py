"""Commands whose options are known before the library is loaded, so that `--help` is instant."""

import gc
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec

Options = ParamSpec("Options")


@dataclass(frozen=True)
class OptionGroup:
    """Options that several commands take; a parameter annotated with it stands for all of them."""

    declaration: Callable[..., None]

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Return the options."""
        yield from inspect.signature(self.declaration).parameters.values()


def deferred(declaration: Callable[Options, None]) -> Callable[Options, None]:
    """Return a command of `cli/commands/X.py` that calls the function of its name in `cli/X.py`.

    That module, and with it torch, is imported when the command is called.
    """
    place = declaration.__module__.replace(".commands.", ".")

    @wraps(declaration)
    def command(*args: Options.args, **options: Options.kwargs) -> None:
        # What a module defines stays: looking for garbage in it costs a tenth of the command.
        gc.disable()
        carry_out = getattr(import_module(place), declaration.__name__)
        gc.freeze()
        gc.enable()
        carry_out(*args, **options)

    written = inspect.signature(declaration)
    options = [one for each in written.parameters.values() for one in _expanded(each)]
    command.__signature__ = written.replace(parameters=options)  # type: ignore[attr-defined]
    kinds = {one.name: one.annotation for one in options}
    command.__annotations__ = {**kinds, "return": None}
    return command


def _expanded(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    notes: tuple[Any, ...] = getattr(parameter.annotation, "__metadata__", ())
    groups = [note for note in notes if isinstance(note, OptionGroup)]
    yield from groups[0].parameters() if groups else [parameter]
