"""All tables and figures of the paper by name."""

from typing import Final, Protocol

from quietgraph.errors import UnknownNameError
from quietgraph.paper.accuracy import (
    ANNOTATOR,
    CLASSIFICATION,
    CLASSIFICATION_MORE,
    CLASSIFIERS,
    HETEROPHILIC,
    REAL_LABELS,
    SENSITIVITY,
    THE_LETTER,
)
from quietgraph.paper.comparison import Comparison
from quietgraph.paper.controls import CONTROL_TABLE
from quietgraph.paper.facts import CROSS_VALIDATION, DATASET_STATISTICS
from quietgraph.paper.rank import RANK
from quietgraph.paper.results import Needs, Results
from quietgraph.paper.scope import Scope
from quietgraph.paper.significance import P_VALUES
from quietgraph.paper.theory_tables import (
    BOUND,
    KERNEL_COMPLEXITY,
    PROJECTION,
    PROJECTION_HETEROPHILIC,
    PROJECTION_MORE,
)
from quietgraph.paper.timing import TRAINING_TIME

ALL: Final = "all"


class Target(Protocol):
    """A table or figure of the paper."""

    @property
    def target(self) -> str:
        """Its name."""

    @property
    def title(self) -> str:
        """What it shows, in one line."""

    def needs(self, scope: Scope) -> Needs:
        """Return the runs it rests on."""

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return our numbers beside the printed ones, from what has been run."""


_IN_ORDER: Final[tuple[Target, ...]] = (
    DATASET_STATISTICS,
    CROSS_VALIDATION,
    CLASSIFICATION,
    CLASSIFICATION_MORE,
    THE_LETTER,
    BOUND,
    KERNEL_COMPLEXITY,
    TRAINING_TIME,
    RANK,
    PROJECTION,
    PROJECTION_MORE,
    PROJECTION_HETEROPHILIC,
    HETEROPHILIC,
    CLASSIFIERS,
    P_VALUES,
    SENSITIVITY,
    REAL_LABELS,
    ANNOTATOR,
    CONTROL_TABLE,
)
TARGETS: Final = {each.target: each for each in _IN_ORDER}


def find_targets(name: str) -> list[Target]:
    """Return the target of a name, or every one for `all`."""
    if name == ALL:
        return list(_IN_ORDER)
    if name not in TARGETS:
        raise UnknownNameError("paper target", name, (*TARGETS, ALL))
    return [TARGETS[name]]
