"""Every error that the library raises on purpose: one sentence, with the way out."""

import difflib
from collections.abc import Iterable


class QuietgraphError(Exception):
    """Base of all errors a caller can fix; the command line turns them into exit code 2."""


class InvalidGraphError(QuietgraphError, ValueError):
    """The features or edges do not form a graph."""


class InvalidLabelsError(QuietgraphError, ValueError):
    """The labels or the validation mask do not fit the graph or each other."""


class InvalidParameterError(QuietgraphError, ValueError):
    """A parameter of a method, a noise setting or a command is out of its range."""


class NotInductiveError(QuietgraphError, AttributeError):
    """A method that answers only for the graph it was fitted on was given another one."""


class UnreadableFileError(QuietgraphError):
    """A file cannot be read, or does not hold what it should."""


class UnwritablePathError(QuietgraphError):
    """A result cannot be written where it was asked for."""


class DataNotFoundError(QuietgraphError):
    """A dataset is known, but its files are not here and cannot be fetched."""


class UnknownNameError(QuietgraphError, KeyError):
    """A name that is not in a registry; the message offers the nearest one, and says `where` in a file it stands."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        names = sorted(known)
        nearest = nearest_name(name, names)
        hint = f"Did you mean '{nearest}'?" if nearest else f"Known: {', '.join(names)}."
        super().__init__(f"{where}{': ' if where else ''}there is no {kind} '{name}'. {hint}")

    def __str__(self) -> str:  # KeyError would show the quoted repr
        return str(self.args[0])


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if there is one."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)), None)
