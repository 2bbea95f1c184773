"""How columns became features: kept beside a model, so that a grown graph is read the same way."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.columns import Column

ENCODING_FILE = "encoding.json"
_FORMAT = 1


@dataclass(frozen=True)
class Encoding:
    """Where the features of a graph come from.

    Attributes:
        kind: `columns` of a table, a ready `matrix`, or the `structure` of the graph itself.
        columns: What each column became, in the order of the features.
        id_column: Name of the id column; None where there is none.
        landmarks: Ids of the nodes that structural features are measured from.
    """

    kind: str
    columns: tuple[Column, ...] = ()
    id_column: str | None = None
    landmarks: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the encoding as JSON."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=1)


def read_encoding(folder: Path) -> Encoding | None:
    """Return the encoding kept in a model folder; None where the model was not fitted on files."""
    path = folder / ENCODING_FILE
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.pop("format") != _FORMAT:
            raise ValueError("another format")  # noqa: TRY301  (one sentence for all of them)
        columns = [
            Column(**{**column, "values": tuple(column["values"])})
            for column in facts.pop("columns")
        ]
        return Encoding(columns=tuple(columns), landmarks=tuple(facts.pop("landmarks")), **facts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableFileError(
            f"{path} does not tell how columns become features ({error}). Fit the model again."
        ) from error
