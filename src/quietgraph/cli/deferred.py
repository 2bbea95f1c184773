"""Commands whose options are known before the library is loaded, so that `--help` is instant."""

import gc
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import ParamSpec

Options = ParamSpec("Options")


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

    return command
