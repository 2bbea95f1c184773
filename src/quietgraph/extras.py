"""Packages that only some commands need, imported when they are asked for."""

from importlib import import_module
from types import ModuleType

from quietgraph.errors import QuietgraphError

# Package or module: extra of quietgraph.
_EXTRAS = {
    "ray": "ray",
    "optuna": "tune",
    "torch.utils.tensorboard": "tensorboard",
    "mlflow": "mlflow",
}


class MissingExtraError(QuietgraphError, ImportError):
    """An optional package is not installed."""


def import_extra(name: str, purpose: str) -> ModuleType:
    """Return an optional package; where it is missing, say how to install it.

    Args:
        name: Of the package.
        purpose: What needs it, for the message.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {name}, which cannot be imported ({error}). "
            f"Install it with: pip install 'quietgraph[{_EXTRAS[name]}]'"
        ) from error
