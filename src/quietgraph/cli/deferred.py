"""Commands whose options are known before the library is loaded, so that `--help` is instant."""

import ctypes
import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Final, ParamSpec

Options = ParamSpec("Options")
_MALLOPT: Final = {-1: 256 << 20, -3: 32 << 20}  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: bytes


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
        _keep_freed_memory()
        carry_out(*args, **options)

    written = inspect.signature(declaration)
    options = [one for each in written.parameters.values() for one in _expanded(each)]
    command.__signature__ = written.replace(parameters=options)  # type: ignore[attr-defined]
    kinds = {one.name: one.annotation for one in options}
    command.__annotations__ = {**kinds, "return": None}
    return command


def _keep_freed_memory() -> None:
    """Let glibc keep what a matrix leaves for the next one: new pages cost a twentieth of a fit."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # other C libraries have no mallopt
            for option, value in _MALLOPT.items():
                ctypes.CDLL(None).mallopt(option, value)


def _expanded(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    notes: tuple[Any, ...] = getattr(parameter.annotation, "__metadata__", ())
    groups = [note for note in notes if isinstance(note, OptionGroup)]
    yield from groups[0].parameters() if groups else [parameter]
